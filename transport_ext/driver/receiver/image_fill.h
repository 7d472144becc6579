/* image_fill.h: the fill of an image's buffer, and its fill NAKs (flow/fill.h;
 * docs/reference/wire.md, "Fill"). The conductor decides about fill NAKs, because it knows the
 * positions of the readers; the receiver sends them. They share a sequence lock (conductor writes,
 * receiver reads).
 *
 * The conductor checks the fill in each of its passes, and shows it in counters. Additional passes
 * are made only when a sender follows fill (its SETUP says so) or its window does (image_window.h):
 *
 *     queue >= a quarter of the set point   every millisecond
 *     queue below that                      when the receiver has got enough data to reach it
 *
 * With a small buffer these passes add little to the time that a stop takes. All other streams, and
 * streams that are read in time, cost no additional passes. */
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
    int64_t *told_fill;  /* counters; NULL: no such counter */
    int64_t *told_drain;
    /* written by: conductor, atomic */
    RSTI_MAILBOX(rsti_fill_item_t) mailbox;
    int64_t heard_seen;
    int64_t wake_position, wake_ns; /* the receiver wakes the conductor when both are reached */
    /* written by: receiver, atomic */
    int32_t is_wanted; /* some source follows fill */
    int64_t heard_allowed; /* the rate that the last fill NAK of another receiver asks for */
    int64_t heard_count;
    int64_t target_ns; /* target delay L that the sender has sent; 0: none yet */
    int64_t overrun_until; /* end of the buffer when data last found it full */
    /* written by: receiver */
    int64_t *told_naks;
    int64_t seen;
} rsti_image_fill_t;

/* All four functions are called by the receiver. */

/* Notes whether any source follows fill. */
void rsti_image_fill_set_wanted(rsti_image_fill_t *state, int32_t is_wanted);
/* Handles the items of a status message from the sender: another receiver's fill NAK, or the target
 * delay. True when it was a fill NAK: the caller wakes the conductor. */
bool rsti_image_fill_on_items(rsti_image_fill_t *state, const rsti_sm_items_t *items);
/* Data came. True when the conductor has to check the fill, provided that a source follows it. */
bool rsti_image_fill_is_look_due(const rsti_image_fill_t *state, int64_t hwm, int64_t now_ns);
/* True when there is a new fill NAK to send: *item. */
bool rsti_image_fill_pending(rsti_image_fill_t *state, rsti_fill_item_t *item);

#endif
