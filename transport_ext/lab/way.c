/* way.c: see the header. */
#include "lab/way.h"

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

int rsti_lab_way_init(rsti_lab_way_t *way, int64_t delay_steps, int64_t chunks, int64_t letters)
{
    const int64_t chunk_count = power_of_two(chunks);
    const int64_t letter_count = power_of_two(letters);
    *way = (rsti_lab_way_t){
        .delay_steps = delay_steps,
        .data.mask = chunk_count - 1,
        .control.mask = letter_count - 1,
        .chunks = rsti_alloc((size_t)chunk_count * sizeof(rsti_lab_chunk_t)),
        .letters = rsti_alloc((size_t)letter_count * sizeof(rsti_lab_letter_t)),
    };
    if (way->chunks == NULL || way->letters == NULL) {
        rsti_lab_way_fini(way);
        return RST_SET_ERR(RST_ENOMEM, "a way of %lld chunks and %lld letters",
            (long long)chunk_count, (long long)letter_count);
    }
    return 0;
}

void rsti_lab_way_fini(rsti_lab_way_t *way)
{
    rsti_free(way->chunks);
    rsti_free(way->letters);
    way->chunks = NULL;
    way->letters = NULL;
}

/* Index of the next entry; -1: full. */
static int64_t put(rsti_lab_ring_t *ring)
{
    if (ring->tail - ring->head > ring->mask) {
        ring->dropped++;
        return -1;
    }
    return ring->tail++ & ring->mask;
}

void rsti_lab_way_send(rsti_lab_way_t *way, int64_t step, int64_t from, int64_t to, bool is_resend)
{
    const int64_t at = put(&way->data);
    if (at >= 0) {
        way->chunks[at] = (rsti_lab_chunk_t){step + way->delay_steps, from, to, is_resend};
    }
}

const rsti_lab_chunk_t *rsti_lab_way_receive(rsti_lab_way_t *way, int64_t step)
{
    rsti_lab_ring_t *ring = &way->data;
    if (ring->head == ring->tail || way->chunks[ring->head & ring->mask].due_step > step) {
        return NULL;
    }
    return &way->chunks[ring->head++ & ring->mask];
}

static int32_t length_of(rsti_lab_letter_kind_t kind)
{
    return kind == RSTI_LAB_STATUS  ? RSTI_LAB_STATUS_BYTES
        : kind == RSTI_LAB_FILL_NAK ? RSTI_LAB_REPORT_BYTES
                                    : RSTI_LAB_NAK_BYTES;
}

void rsti_lab_way_post(rsti_lab_way_t *way, int64_t step, const rsti_lab_letter_t *letter,
    bool is_lost)
{
    way->control_bytes += letter->image >= 0 ? length_of(letter->kind) : 0;
    const int64_t at = is_lost ? -1 : put(&way->control);
    if (at >= 0) {
        way->letters[at] = *letter;
        way->letters[at].due_step = step + way->delay_steps;
    }
}

const rsti_lab_letter_t *rsti_lab_way_open(rsti_lab_way_t *way, int64_t step)
{
    rsti_lab_ring_t *ring = &way->control;
    if (ring->head == ring->tail || way->letters[ring->head & ring->mask].due_step > step) {
        return NULL;
    }
    return &way->letters[ring->head++ & ring->mask];
}
