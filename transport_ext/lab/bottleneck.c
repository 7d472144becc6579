/* bottleneck.c: see the header. */
#include "lab/bottleneck.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

int rsti_lab_bottleneck_init(rsti_lab_bottleneck_t *bottleneck, const rsti_lab_link_spec_t *spec,
    int32_t packet_least)
{
    int64_t size = 16;
    while (size < (int64_t)spec->queue_bytes / packet_least + 2) {
        size *= 2;
    }
    *bottleneck = (rsti_lab_bottleneck_t){
        .packets = rsti_alloc((size_t)size * sizeof(rsti_lab_packet_t)),
        .mask = size - 1,
        .rate = spec->rate,
        .loss = spec->loss,
        .queue_most = (int64_t)spec->queue_bytes,
        .leaves_ns = INT64_MAX,
    };
    rsti_rng_init(&bottleneck->rng, (uint64_t)spec->seed);
    if (bottleneck->packets == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "a queue of %lld packets", (long long)size);
    }
    return 0;
}

void rsti_lab_bottleneck_fini(rsti_lab_bottleneck_t *bottleneck)
{
    rsti_free(bottleneck->packets);
    bottleneck->packets = NULL;
}

static int64_t time_of(const rsti_lab_bottleneck_t *bottleneck, int32_t bytes)
{
    return rsti_max_i64((int64_t)((double)bytes / bottleneck->rate * 1e9), 1);
}

bool rsti_lab_bottleneck_put(rsti_lab_bottleneck_t *bottleneck, const rsti_lab_packet_t *packet,
    int64_t now_ns)
{
    if (bottleneck->queue_bytes + packet->bytes > bottleneck->queue_most) {
        return false;
    }
    if (bottleneck->head == bottleneck->tail) {
        bottleneck->leaves_ns = now_ns + time_of(bottleneck, packet->bytes);
    }
    bottleneck->packets[bottleneck->tail++ & bottleneck->mask] = *packet;
    bottleneck->queue_bytes += packet->bytes;
    return true;
}

bool rsti_lab_bottleneck_take(rsti_lab_bottleneck_t *bottleneck, rsti_lab_packet_t *packet)
{
    *packet = bottleneck->packets[bottleneck->head++ & bottleneck->mask];
    bottleneck->queue_bytes -= packet->bytes;
    bottleneck->leaves_ns = bottleneck->head == bottleneck->tail ? INT64_MAX
                                                                 : bottleneck->leaves_ns
            + time_of(bottleneck, bottleneck->packets[bottleneck->head & bottleneck->mask].bytes);
    return !(bottleneck->loss > 0) || rsti_rng_unit(&bottleneck->rng) >= bottleneck->loss;
}
