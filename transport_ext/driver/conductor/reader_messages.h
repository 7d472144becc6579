/* reader_messages.h: what the readers that hold the window tell of their messages in their position
 * counters (rsti_position_ext_t). Another process writes these words; the laws clamp impossible
 * values. */
#ifndef RSTI_DRIVER_CONDUCTOR_READER_MESSAGES_H
#define RSTI_DRIVER_CONDUCTOR_READER_MESSAGES_H

#include "driver/base/subscribers.h"

/* The largest mean size of a message. 0: none of them tells it. */
int64_t rsti_readers_message_bytes(const rsti_subscribers_t *subscribers);
/* Whether one of them reads on behind messages that wait in a queue of its program: these are not
 * consumed, and still no sign that it is slow. */
bool rsti_readers_set_aside(const rsti_subscribers_t *subscribers);

#endif
