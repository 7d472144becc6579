/* reader_messages.h: the largest mean size of a message among the readers that hold the window, as
 * they tell it in their position counters (rsti_position_ext_t). 0: none of them tells it. Another
 * process writes these words; the laws clamp impossible values. */
#ifndef RSTI_DRIVER_CONDUCTOR_READER_MESSAGES_H
#define RSTI_DRIVER_CONDUCTOR_READER_MESSAGES_H

#include "driver/base/subscribers.h"

int64_t rsti_readers_message_bytes(const rsti_subscribers_t *subscribers);

#endif
