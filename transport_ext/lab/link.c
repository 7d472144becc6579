/* link.c: see the header. */
#include "lab/link.h"

#include "util/alloc.h"
#include "util/error.h"

static int64_t power_of_two(int64_t least)
{
    int64_t size = 16;
    while (size < least) {
        size *= 2;
    }
    return size;
}

int rsti_lab_link_init(rsti_lab_link_t *link, int64_t delay_steps, int64_t chunks, int64_t feedback)
{
    const int64_t chunk_count = power_of_two(chunks);
    const int64_t feedback_count = power_of_two(feedback);
    *link = (rsti_lab_link_t){
        .delay_steps = delay_steps,
        .data.mask = chunk_count - 1,
        .control.mask = feedback_count - 1,
        .chunks = rsti_alloc((size_t)chunk_count * sizeof(rsti_lab_chunk_t)),
        .feedback = rsti_alloc((size_t)feedback_count * sizeof(rsti_lab_feedback_t)),
    };
    if (link->chunks == NULL || link->feedback == NULL) {
        rsti_lab_link_fini(link);
        return RST_SET_ERR(RST_ENOMEM, "a link of %lld chunks and %lld feedback",
            (long long)chunk_count, (long long)feedback_count);
    }
    return 0;
}

void rsti_lab_link_fini(rsti_lab_link_t *link)
{
    rsti_free(link->chunks);
    rsti_free(link->feedback);
    link->chunks = NULL;
    link->feedback = NULL;
}

/* Index of the new entry; -1: the ring is full. */
static int64_t put(rsti_lab_ring_t *ring)
{
    if (ring->tail - ring->head > ring->mask) {
        ring->dropped++;
        return -1;
    }
    return ring->tail++ & ring->mask;
}

void rsti_lab_link_send_data(rsti_lab_link_t *link, int64_t step, int64_t from, int64_t to,
    bool is_resend)
{
    const int64_t at = put(&link->data);
    if (at >= 0) {
        link->chunks[at] = (rsti_lab_chunk_t){step + link->delay_steps, from, to, is_resend};
    }
}

const rsti_lab_chunk_t *rsti_lab_link_receive_data(rsti_lab_link_t *link, int64_t step)
{
    rsti_lab_ring_t *ring = &link->data;
    if (ring->head == ring->tail || link->chunks[ring->head & ring->mask].due_step > step) {
        return NULL;
    }
    return &link->chunks[ring->head++ & ring->mask];
}

static int32_t length_of(rsti_lab_feedback_kind_t kind)
{
    return kind == RSTI_LAB_STATUS  ? RSTI_LAB_STATUS_BYTES
        : kind == RSTI_LAB_FILL_NAK ? RSTI_LAB_REPORT_BYTES
                                    : RSTI_LAB_NAK_BYTES;
}

void rsti_lab_link_send_feedback(rsti_lab_link_t *link, int64_t step,
    const rsti_lab_feedback_t *feedback, bool is_lost)
{
    link->control_bytes += feedback->image >= 0 ? length_of(feedback->kind) : 0;
    const int64_t at = is_lost ? -1 : put(&link->control);
    if (at >= 0) {
        link->feedback[at] = *feedback;
        link->feedback[at].due_step = step + link->delay_steps;
    }
}

const rsti_lab_feedback_t *rsti_lab_link_receive_feedback(rsti_lab_link_t *link, int64_t step)
{
    rsti_lab_ring_t *ring = &link->control;
    if (ring->head == ring->tail || link->feedback[ring->head & ring->mask].due_step > step) {
        return NULL;
    }
    return &link->feedback[ring->head++ & ring->mask];
}
