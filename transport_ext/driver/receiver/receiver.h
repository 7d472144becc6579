/* receiver.h: the life of the receiver agent. Other agents send it commands through the proxies
 * (base/proxies.h). The objects that it shares with the conductor have headers of their own:
 * image.h with image_*.h for its parts, receive_endpoint.h, receive_transport.h, dispatcher.h. */
#ifndef RSTI_DRIVER_RECEIVER_RECEIVER_H
#define RSTI_DRIVER_RECEIVER_RECEIVER_H

#include "driver/base/driver_state.h"

/* Makes driver->receiver, and opens its inbox. 0 or -RST_ENOMEM. Called when the driver opens. */
int rsti_receiver_create(rst_driver_t *driver);
/* Frees driver->receiver, which may be NULL. Called when the driver closes. */
void rsti_receiver_destroy(rst_driver_t *driver);
/* Runs one pass; arg is the receiver. Called by the receiver's thread. */
int64_t rsti_receiver_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

#endif
