/* image_noop.h: NOOPs of a sender of ours, on their way to the readers of an image and back
 * (flow/noop.h; docs/reference/wire.md, "NOOP"). The receiver puts the number into the log and
 * wakes the readers; each of them writes behind its position which number it saw when it polled.
 * When all have, the conductor says so to the receiver, which tells it in an additional status
 * message. A message that is lost is repeated: flow/retell.h.
 *
 * A reader answers for the application that waits on it. A reader whose application asks for
 * nothing (demand of 0) is not meant to poll, so its silence says nothing: it counts as having
 * answered, as long as its client lives. So do Aeron's clients, which do not know NOOPs. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_NOOP_H
#define RSTI_DRIVER_RECEIVER_IMAGE_NOOP_H

#include "flow/retell.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_image_noop_t {
    /* written by: receiver, atomic */
    int64_t heard; /* 0: none yet */
    /* written by: conductor */
    rsti_retell_t retell;
    /* written by: conductor, atomic */
    int64_t answered;
    int64_t change; /* rises when something is to be told */
    /* written by: receiver */
    int64_t seen;
} rsti_image_noop_t;

/* Receiver: the number that a heartbeat had is not the one heard last. */
bool rsti_image_noop_is_new(const rsti_image_noop_t *state, int64_t number);
/* Receiver: true when there is something new to be told. */
bool rsti_image_noop_pending(rsti_image_noop_t *state);

#endif
