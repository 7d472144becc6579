/* image_noop.h: NOOPs of an rstream sender and the answers of the readers of an image
 * (flow/noop.h; docs/reference/wire.md, "NOOP"). The receiver writes the number of a NOOP into the
 * log and wakes the readers. Each reader writes the number that it saw at its last poll behind its
 * position. When all readers have answered, the conductor tells the receiver, which answers the
 * sender in an additional status message. A lost answer is sent again: flow/retell.h.
 *
 * The answer shows that the application polls. An application without demand (0) need not poll, so
 * its reader counts as having answered as long as its client is alive. The same holds for Aeron's
 * clients, which do not know NOOPs. */
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
    int64_t change; /* rises with each answer that has to be sent */
    /* written by: receiver */
    int64_t seen;
} rsti_image_noop_t;

/* True when the number in a heartbeat differs from the last one. Receiver. */
bool rsti_image_noop_is_new(const rsti_image_noop_t *state, int64_t number);
/* True when an answer has to be sent. Receiver. */
bool rsti_image_noop_pending(rsti_image_noop_t *state);

#endif
