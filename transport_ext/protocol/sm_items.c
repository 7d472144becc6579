/* sm_items.c: the whole tail is checked before the first item is delivered, so a malformed item
 * changes nothing at the sender. */
#include "protocol/sm_items.h"

#include "util/bits.h"

#include <string.h>

#define ITEMS_VERSION 1
#define ITEMS_HEADER_LENGTH 4
#define ITEM_HEADER_LENGTH 2

_Static_assert(RSTI_SM_ITEMS_MAX <= UINT16_MAX, "the length field holds every tail");

void rsti_sm_items_begin(rsti_sm_items_writer_t *writer, uint8_t *buffer, size_t capacity)
{
    *writer = (rsti_sm_items_writer_t){
        .buffer = buffer,
        .capacity = capacity < RSTI_SM_ITEMS_MAX ? capacity : RSTI_SM_ITEMS_MAX,
        .length = ITEMS_HEADER_LENGTH,
    };
}

bool rsti_sm_items_add(rsti_sm_items_writer_t *writer, uint8_t type, const void *value,
    uint8_t length)
{
    size_t item_length = ITEM_HEADER_LENGTH + (size_t)length;
    if (writer->count == UINT8_MAX || writer->length > writer->capacity
        || item_length > writer->capacity - writer->length) {
        return false;
    }
    uint8_t *item = writer->buffer + writer->length;
    item[0] = type;
    item[1] = length;
    if (length > 0) {
        memcpy(item + ITEM_HEADER_LENGTH, value, length);
    }
    writer->length += item_length;
    writer->count++;
    return true;
}

size_t rsti_sm_items_end(rsti_sm_items_writer_t *writer)
{
    if (writer->capacity < RSTI_SM_ITEMS_MIN) {
        return 0;
    }
    RST_ASSERT(writer->length <= writer->capacity);
    size_t items_length = writer->length - ITEMS_HEADER_LENGTH;
    writer->buffer[0] = ITEMS_VERSION;
    writer->buffer[1] = writer->count;
    writer->buffer[2] = (uint8_t)items_length;
    writer->buffer[3] = (uint8_t)(items_length >> 8);
    if (writer->length < RSTI_SM_ITEMS_MIN) {
        memset(writer->buffer + writer->length, 0, RSTI_SM_ITEMS_MIN - writer->length);
        writer->length = RSTI_SM_ITEMS_MIN;
    }
    return writer->length;
}

/* The least value length of the known items. A later version may append to a value, never shorten
 * it. */
static uint8_t value_length_min(uint8_t type)
{
    switch (type) {
    case RSTI_SM_ITEM_TAG_PRESENT:
        return sizeof(uint8_t);
    case RSTI_SM_ITEM_FILL:
        return RSTI_SM_FILL_LENGTH;
    case RSTI_SM_ITEM_DEMAND:
        return RSTI_SM_DEMAND_LENGTH;
    case RSTI_SM_ITEM_NOOP:
        return RSTI_SM_NOOP_LENGTH;
    case RSTI_SM_ITEM_BUDGET:
        return RSTI_SM_BUDGET_LENGTH;
    case RSTI_SM_ITEM_PATH:
        return RSTI_SM_PATH_LENGTH;
    case RSTI_SM_ITEM_ROUND_TRIP:
    case RSTI_SM_ITEM_ARRIVAL_RATE:
        return sizeof(int64_t);
    default:
        return 0;
    }
}

static bool are_items_sound(const uint8_t *items, size_t items_length, uint8_t count)
{
    size_t at = 0;
    for (uint8_t i = 0; i < count; i++) {
        if (items_length - at < ITEM_HEADER_LENGTH) {
            return false;
        }
        size_t value_length = items[at + 1];
        if (value_length < value_length_min(items[at])
            || value_length > items_length - at - ITEM_HEADER_LENGTH) {
            return false;
        }
        at += ITEM_HEADER_LENGTH + value_length;
    }
    return at == items_length;
}

bool rsti_sm_items_are_sound(const uint8_t *tail, size_t length)
{
    if (length < RSTI_SM_ITEMS_MIN || length > RSTI_SM_ITEMS_MAX || tail[0] != ITEMS_VERSION) {
        return false;
    }
    const size_t items_length = (size_t)tail[2] | (size_t)tail[3] << 8;
    return items_length <= length - ITEMS_HEADER_LENGTH
        && are_items_sound(tail + ITEMS_HEADER_LENGTH, items_length, tail[1]);
}

bool rsti_sm_items_read(const uint8_t *tail, size_t length,
    void (*on_item)(void *arg, uint8_t type, const uint8_t *value, uint8_t length), void *arg)
{
    if (!rsti_sm_items_are_sound(tail, length)) {
        return false;
    }
    const uint8_t *items = tail + ITEMS_HEADER_LENGTH;
    const uint8_t count = tail[1];
    size_t at = 0;
    for (uint8_t i = 0; i < count; i++) {
        on_item(arg, items[at], items + at + ITEM_HEADER_LENGTH, items[at + 1]);
        at += ITEM_HEADER_LENGTH + (size_t)items[at + 1];
    }
    return true;
}

static void decode_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    rsti_sm_items_t *items = arg;
    switch (type) {
    case RSTI_SM_ITEM_ROUND_TRIP:
        items->rtt_ns = rsti_get_i64(value);
        break;
    case RSTI_SM_ITEM_ARRIVAL_RATE:
        items->arrival_rate = rsti_get_i64(value);
        break;
    case RSTI_SM_ITEM_FILL:
        rsti_sm_fill_decode(&items->fill, value);
        items->has_fill = true;
        break;
    case RSTI_SM_ITEM_DEMAND:
        rsti_sm_demand_decode(&items->demand, value);
        items->has_demand = true;
        break;
    case RSTI_SM_ITEM_BUDGET:
        rsti_sm_budget_decode(&items->budget, value);
        items->has_budget = true;
        break;
    case RSTI_SM_ITEM_NOOP:
        rsti_sm_noop_decode(&items->noop, value);
        items->has_noop = true;
        break;
    case RSTI_SM_ITEM_PATH:
        rsti_sm_path_decode(&items->path, value);
        items->has_path = true;
        break;
    case RSTI_SM_ITEM_TARGET_DELAY:
        if (length >= sizeof items->target_ns) { /* no least length is checked for it */
            items->target_ns = rsti_get_i64(value);
        }
        break;
    case RSTI_SM_ITEM_WHY:
        items->why = value;
        items->why_length = length;
        break;
    default:
        break;
    }
}

bool rsti_sm_items_decode(rsti_sm_items_t *items, const rsti_sm_t *sm)
{
    const int32_t length = sm->frame.frame_length;
    *items = (rsti_sm_items_t){0};
    return length >= RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MIN
        && rsti_sm_items_read((const uint8_t *)sm + RSTI_SM_ITEMS_OFFSET,
            (size_t)(length - RSTI_SM_ITEMS_OFFSET), decode_item, items);
}
