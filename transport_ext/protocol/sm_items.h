/* sm_items.h: type-length-value items behind the group-tag slot of an additional status message
 * between rstream peers. Rules (docs/reference/wire.md): (1) items travel in additional SMs, never
 * instead of plain ones; (2) no tag -> the slot is zero and item TAG says so; (3) an additional SM
 * repeats position and window of the last plain one; (4) same socket, same receiver id; (5) only to
 * a source whose SETUP carried RSTI_SETUP_FLAG_RSTREAM.
 *
 * Layout from byte 44: u8 version (1), u8 item count, u16 length of all items, then items of
 * {u8 type, u8 length of value, value}, padded with zeros to at least 16 bytes. */
#ifndef RSTI_PROTOCOL_SM_ITEMS_H
#define RSTI_PROTOCOL_SM_ITEMS_H

#include "protocol/frame.h"
#include "protocol/sm_budget.h"
#include "protocol/sm_demand.h"
#include "protocol/sm_fill.h"
#include "protocol/sm_noop.h"
#include "protocol/sm_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RSTI_SM_ITEM_TAG_PRESENT = 1, /* u8 */
    RSTI_SM_ITEM_FILL = 9,        /* a fill NAK: sm_fill.h. 2 was one by strength */
    RSTI_SM_ITEM_DEMAND = 3,      /* the demand of its readers: sm_demand.h */
    /* the budget of unacknowledged bytes, and the consumed position: sm_budget.h */
    RSTI_SM_ITEM_BUDGET = 4,
    RSTI_SM_ITEM_ROUND_TRIP = 5, /* i64 ns, the least of the recent ones */
    RSTI_SM_ITEM_ARRIVAL_RATE = 6, /* i64 bytes per second, requested by the receiver; 0: any */
    RSTI_SM_ITEM_NOOP = 7, /* NOOPs received and answered: sm_noop.h */
    RSTI_SM_ITEM_TARGET_DELAY = 8, /* i64 ns, from sender to receivers: L of flow/fill.h */
    /* 1 to RSTI_SM_WHY_MAX bytes of text: the error with which its last reader left. In a status
     * message with EOS, which goes before the plain one */
    RSTI_SM_ITEM_WHY = 10,
    RSTI_SM_ITEM_PATH = 11 /* what has arrived, to a sender that follows the path: sm_path.h */
};

#define RSTI_SM_ITEMS_OFFSET 44
#define RSTI_SM_ITEMS_MIN 16
#define RSTI_SM_ITEMS_MAX 128
#define RSTI_SM_WHY_MAX 119 /* with the tag, the items have RSTI_SM_ITEMS_MAX bytes then */

/* Builds the tail in buffer. Returns the bytes used so far; -1: it does not fit. */
typedef struct rsti_sm_items_writer_t {
    uint8_t *buffer;
    size_t capacity;
    size_t length;
    uint8_t count;
} rsti_sm_items_writer_t;
void rsti_sm_items_begin(rsti_sm_items_writer_t *writer, uint8_t *buffer, size_t capacity);
bool rsti_sm_items_add(rsti_sm_items_writer_t *writer, uint8_t type, const void *value,
    uint8_t length);
size_t rsti_sm_items_end(rsti_sm_items_writer_t *writer);

/* Untrusted: whether the tail consists of items. */
bool rsti_sm_items_are_sound(const uint8_t *tail, size_t length);
/* Untrusted: calls per item, unknown types included (callers skip them); false when malformed. */
bool rsti_sm_items_read(const uint8_t *tail, size_t length,
    void (*on_item)(void *arg, uint8_t type, const uint8_t *value, uint8_t length), void *arg);

/* The items of one status message, decoded. A number that was not told is 0. */
typedef struct rsti_sm_items_t {
    int64_t rtt_ns;
    int64_t arrival_rate; /* bytes per second */
    int64_t target_ns;
    bool has_fill, has_demand, has_budget, has_noop, has_path;
    rsti_sm_fill_t fill;
    rsti_sm_demand_t demand;
    rsti_sm_budget_t budget;
    rsti_sm_noop_t noop;
    rsti_sm_path_t path;
    const uint8_t *why; /* within the status message */
    uint8_t why_length; /* 0: it says none */
} rsti_sm_items_t;
/* Untrusted, but frame_length is true. False, and nothing is told, when the status message has no
 * items or malformed ones. The last one of several of the same type counts. */
bool rsti_sm_items_decode(rsti_sm_items_t *items, const rsti_sm_t *sm);

#endif
