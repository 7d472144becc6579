/* reader_messages.h: what the readers that hold the window tell of their messages in their position
 * counters (rsti_position_ext_t). Another process writes these words; the laws clamp impossible
 * values. */
#ifndef RSTI_DRIVER_CONDUCTOR_READER_MESSAGES_H
#define RSTI_DRIVER_CONDUCTOR_READER_MESSAGES_H

#include "driver/base/subscribers.h"

/* How far the slowest reader that a law of rate follows has read; INT64_MAX: there is none. For one
 * that sets messages aside it is where it reads on, else its position as the last range found it:
 * what waits in a queue of its program is not in the way of what comes. A law follows readers that
 * hold the window for as long as they live or move. It does not follow readers with tether=false,
 * with rs-evict or without: with a short queue they would never be behind, so they would never be
 * let go, and would slow the stream down for ever. */
int64_t rsti_readers_read(const rsti_subscribers_t *subscribers);
/* The largest mean size of a message. 0: none of them tells it. */
int64_t rsti_readers_message_bytes(const rsti_subscribers_t *subscribers);
/* Whether each of them was given a message, which it may not have consumed yet. */
bool rsti_readers_have_read(const rsti_subscribers_t *subscribers);
/* Whether one of them reads on behind messages that wait in a queue of its program: these are not
 * consumed, and still no sign that it is slow. */
bool rsti_readers_set_aside(const rsti_subscribers_t *subscribers);

#endif
