/* log_memory.h: the memory of network streams follows what they move. A log is used round and
 * round, so a stream that moves little would in the end hold three terms all the same.
 *
 *     in RSTI_LOG_QUIET_NS it moved less than it has reserved:   it gives back what lies before its
 *                                                                readers and behind its window
 *     free storage < what all logs may still take:               the same in each pass of the timer
 *
 * A fast stream keeps its memory: fresh pages cost more than the copy. Owner: conductor. */
#ifndef RSTI_DRIVER_CONDUCTOR_LOG_MEMORY_H
#define RSTI_DRIVER_CONDUCTOR_LOG_MEMORY_H

#include "driver/conductor/network_publication.h"
#include "driver/receiver/image.h"

#define RSTI_LOG_QUIET_NS (2 * RSTI_NS_PER_S)

/* With the timer. */
void rsti_log_memory_on_timer(rst_driver_t *driver, int64_t now_ns);
/* Gives back what can be given back now. True: it was something. */
bool rsti_publication_give_back(rst_driver_t *driver, rsti_network_publication_t *publication);
bool rsti_image_give_back(rst_driver_t *driver, rsti_image_t *image);

#endif
