/* way.c: see the header. */
#include "tests/net/way.h"

#include <stdlib.h>

#define NS_PER_S 1e9

bool net_way_init(net_way_t *way, const net_way_params_t *params, size_t capacity)
{
    *way = (net_way_t){.params = *params, .capacity = capacity};
    rsti_rng_init(&way->rng, params->seed);
    way->queue = calloc(capacity, sizeof(net_packet_t *));
    way->under_way = calloc(capacity, sizeof(net_packet_t *));
    if (way->queue == NULL || way->under_way == NULL) {
        net_way_fini(way);
        return false;
    }
    return true;
}

void net_way_fini(net_way_t *way)
{
    free(way->queue);
    free(way->under_way);
    way->queue = way->under_way = NULL;
}

bool net_way_step(net_way_t *way, int64_t at_ns, int64_t bits_per_s)
{
    if (way->step_count == NET_STEPS_MAX) {
        return false;
    }
    way->steps[way->step_count++] = (net_step_t){at_ns, bits_per_s};
    return true;
}

/* How long bytes take at the rate of that time. */
static int64_t sending_ns(const net_way_t *way, int64_t at_ns, int64_t bytes)
{
    int64_t bits_per_s = way->params.bits_per_s;
    for (int i = 0; i < way->step_count && way->steps[i].at_ns <= at_ns; i++) {
        bits_per_s = way->steps[i].bits_per_s;
    }
    return bits_per_s == 0 ? 0 : (int64_t)((double)bytes * 8 * NS_PER_S / (double)bits_per_s);
}

static bool is_before(const net_packet_t *a, const net_packet_t *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->order < b->order);
}

static void push(net_way_t *way, net_packet_t *packet)
{
    net_packet_t **heap = way->under_way;
    size_t at = way->under_way_count++;
    for (; at > 0 && is_before(packet, heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = packet;
}

static net_packet_t *pop(net_way_t *way)
{
    net_packet_t **heap = way->under_way;
    net_packet_t *top = heap[0];
    net_packet_t *last = heap[--way->under_way_count];
    const size_t count = way->under_way_count;
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_before(heap[child + 1], heap[child]);
        if (!is_before(heap[child], last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    if (count > 0) {
        heap[at] = last;
    }
    return top;
}

static void leave_queue(net_way_t *way, net_packet_t *packet)
{
    const net_way_params_t *params = &way->params;
    packet->is_lost = params->loss > 0 && rsti_rng_unit(&way->rng) < params->loss;
    packet->due_ns = way->sent_ns + params->delay_ns + packet->extra_ns;
    if (params->reorder > 0 && rsti_rng_unit(&way->rng) < params->reorder) {
        packet->due_ns += params->reorder_ns;
    }
    packet->order = way->sent_count++;
    push(way, packet);
}

/* Lets everything leave the queue that has been sent by now, as far as there is room. */
static void advance(net_way_t *way, int64_t now_ns)
{
    while (way->count > 0 && way->sent_ns <= now_ns && way->under_way_count < way->capacity) {
        net_packet_t *packet = way->queue[way->first];
        leave_queue(way, packet);
        way->first = (way->first + 1) % way->capacity;
        way->count--;
        way->queued_bytes -= (int64_t)packet->length;
        if (way->count > 0) {
            way->sent_ns += sending_ns(way, way->sent_ns, (int64_t)way->queue[way->first]->length);
        }
    }
}

bool net_way_offer(net_way_t *way, int64_t now_ns, net_packet_t *packet)
{
    const int64_t length = (int64_t)packet->length;
    advance(way, now_ns);
    const bool is_full = way->params.queue_bytes > 0 && way->count > 0
        && way->queued_bytes + length > way->params.queue_bytes;
    if (is_full || way->count == way->capacity) {
        return false;
    }
    if (way->count == 0) {
        way->sent_ns = now_ns + sending_ns(way, now_ns, length);
    }
    way->queue[(way->first + way->count++) % way->capacity] = packet;
    way->queued_bytes += length;
    return true;
}

int64_t net_way_next_ns(const net_way_t *way)
{
    int64_t next_ns = way->under_way_count > 0 ? way->under_way[0]->due_ns : INT64_MAX;
    if (way->count > 0) {
        const int64_t first_ns = way->sent_ns + way->params.delay_ns
            + way->queue[way->first]->extra_ns;
        next_ns = first_ns < next_ns ? first_ns : next_ns;
    }
    return next_ns;
}

net_packet_t *net_way_take(net_way_t *way, int64_t now_ns)
{
    advance(way, now_ns);
    const bool has_one = way->under_way_count > 0 && way->under_way[0]->due_ns <= now_ns;
    return has_one ? pop(way) : NULL;
}

int64_t net_way_wait_ns(net_way_t *way, int64_t now_ns)
{
    advance(way, now_ns);
    if (way->count == 0) {
        return 0;
    }
    const int64_t behind = way->queued_bytes - (int64_t)way->queue[way->first]->length;
    return way->sent_ns - now_ns + sending_ns(way, now_ns, behind);
}
