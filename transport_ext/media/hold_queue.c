/* hold_queue.c: see hold_queue.h. No datagram is held longer than the delay and a millisecond, so
 * the places of entries that left early are free again soon. */
#include "media/hold_queue.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

#include <string.h>

#define HOLD_ENTRIES 256
#define HOLD_BYTES (512 * 1024)
#define DELAY_ENTRIES 8192
#define DELAY_BYTES (8 * 1024 * 1024)

int rsti_hold_queue_init(rsti_hold_queue_t *queue, bool is_delay_line)
{
    memset(queue, 0, sizeof *queue);
    queue->entry_capacity = is_delay_line ? DELAY_ENTRIES : HOLD_ENTRIES;
    queue->byte_capacity = is_delay_line ? DELAY_BYTES : HOLD_BYTES;
    queue->next_due_ns = INT64_MAX;
    queue->next_due_passed = INT64_MAX;
    queue->entries = rsti_alloc(queue->entry_capacity * sizeof *queue->entries);
    queue->bytes = rsti_alloc(queue->byte_capacity);
    return queue->entries != NULL && queue->bytes != NULL ? 0 : -RST_ENOMEM;
}

void rsti_hold_queue_fini(rsti_hold_queue_t *queue)
{
    rsti_free(queue->entries);
    rsti_free(queue->bytes);
}

static rsti_held_t *entry_at(const rsti_hold_queue_t *queue, uint64_t number)
{
    return &queue->entries[number & (queue->entry_capacity - 1)];
}

uint8_t *rsti_hold_queue_bytes(const rsti_hold_queue_t *queue, const rsti_held_t *held)
{
    return queue->bytes + held->begin % queue->byte_capacity;
}

bool rsti_hold_queue_put(rsti_hold_queue_t *queue, const rsti_datagram_t *datagram, int64_t due_ns,
    int64_t due_passed)
{
    const size_t length = datagram->length;
    uint64_t begin = queue->bytes_end;
    const size_t to_edge = queue->byte_capacity - (size_t)(begin % queue->byte_capacity);
    if (length > to_edge) {
        begin += to_edge; /* a copy lies in one piece */
    }
    if (queue->last - queue->first == queue->entry_capacity
        || begin + length - queue->bytes_begin > queue->byte_capacity) {
        return false;
    }
    rsti_held_t *held = entry_at(queue, queue->last++);
    held->address = datagram->address;
    held->arrived_ns = datagram->arrived_ns;
    held->due_ns = due_ns;
    held->due_passed = due_passed;
    held->begin = begin;
    held->end = begin + length;
    held->length = length;
    held->is_live = true;
    memcpy(rsti_hold_queue_bytes(queue, held), datagram->data, length);
    queue->bytes_end = held->end;
    queue->next_due_ns = rsti_min_i64(queue->next_due_ns, due_ns);
    queue->next_due_passed = rsti_min_i64(queue->next_due_passed, due_passed);
    return true;
}

bool rsti_hold_queue_has_due(const rsti_hold_queue_t *queue, int64_t now_ns)
{
    return now_ns >= queue->next_due_ns || queue->passed >= queue->next_due_passed;
}

void rsti_hold_queue_settle(rsti_hold_queue_t *queue)
{
    while (queue->first != queue->last && !entry_at(queue, queue->first)->is_live) {
        queue->bytes_begin = entry_at(queue, queue->first)->end;
        queue->first++;
    }
    if (queue->first == queue->last) {
        queue->bytes_begin = queue->bytes_end;
    }
    queue->next_due_ns = INT64_MAX;
    queue->next_due_passed = INT64_MAX;
    for (uint64_t i = queue->first; i != queue->last; i++) {
        const rsti_held_t *held = entry_at(queue, i);
        if (held->is_live) {
            queue->next_due_ns = rsti_min_i64(queue->next_due_ns, held->due_ns);
            queue->next_due_passed = rsti_min_i64(queue->next_due_passed, held->due_passed);
        }
    }
}

rsti_held_t *rsti_hold_queue_find_due(const rsti_hold_queue_t *queue, uint64_t *from,
    int64_t now_ns)
{
    for (uint64_t i = *from; i != queue->last; i++) {
        rsti_held_t *held = entry_at(queue, i);
        if (held->is_live && (now_ns >= held->due_ns || queue->passed >= held->due_passed)) {
            *from = i + 1;
            return held;
        }
    }
    return NULL;
}
