/* image_fill.h: how full an image is, and its fill NAKs (flow/fill.h; docs/reference/wire.md,
 * "Fill"). The conductor judges, because it knows how far the readers came; the receiver sends.
 * They meet in a sequence lock (conductor writes, receiver reads).
 *
 * When the conductor looks: at every pass that it makes anyway, which is what the counters show. A
 * sender that follows fill (its SETUP says so), or whose window does (image_window.h), costs more
 * of them: each eighth of W, within 0.25 and 2 ms, while the fill is at least half of where reports
 * begin; below that the receiver wakes it when as much has come in. So a look adds little to a stop
 * where the buffer is small, and a stream without such a sender, or one that is read in time, costs
 * nothing. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_FILL_H
#define RSTI_DRIVER_RECEIVER_IMAGE_FILL_H

#include "concurrent/sequence.h"
#include "flow/fill_suppress.h"
#include "protocol/sm_fill.h"
#include "protocol/sm_items.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_fill_item_t {
    uint8_t bytes[RSTI_SM_FILL_LENGTH]; /* as they are sent */
} rsti_fill_item_t;

typedef struct rsti_image_fill_t {
    /* written by: conductor */
    rsti_fill_t fill;
    rsti_fill_suppress_t suppress;
    rsti_fill_demand_t demand;
    int32_t fill_id, drain_id, naks_id;
    int64_t *told_fill;  /* counters; NULL: there is none */
    int64_t *told_drain;
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_fill_item_t) mailbox;
    int64_t heard_seen;
    int64_t wake_position, wake_ns; /* the receiver wakes the conductor from there and then on */
    /* written by: receiver, atomic */
    int32_t is_wanted; /* some source follows fill */
    int64_t heard_bits; /* strength of the last fill NAK of another receiver, as a double's bits */
    int64_t heard_count;
    int64_t target_ns; /* L as the sender has told it; 0: it has not */
    int64_t overrun_until; /* up to there the buffer reached when data last found it full */
    /* written by: receiver */
    int64_t *told_naks;
    int64_t seen;
} rsti_image_fill_t;

/* Receiver, these four. Some source follows fill, or none does. */
void rsti_image_fill_set_wanted(rsti_image_fill_t *state, int32_t is_wanted);
/* A status message from the sender of the image told another receiver's fill NAK, or the delay that
 * it aims at. True when it was a fill NAK: the conductor is to be woken. */
bool rsti_image_fill_on_items(rsti_image_fill_t *state, const rsti_sm_items_t *items);
/* Data came. True when it is time for the conductor to look, provided that some source wants to
 * know the fill. */
bool rsti_image_fill_is_look_due(const rsti_image_fill_t *state, int64_t hwm, int64_t now_ns);
/* True when there is a new fill NAK: *item. */
bool rsti_image_fill_pending(rsti_image_fill_t *state, rsti_fill_item_t *item);

#endif
