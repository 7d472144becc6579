/* traffic.c: the loop of events, and its set-up. */
#include "lab/traffic.h"

#include "util/alloc.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/int_math.h"

#include <math.h>

const char *const rsti_lab_traffic_columns[RSTI_LAB_TRAFFIC_FLOW_WIDTH] = {
    "sent", "resent", "dropped", "lost", "delivered", "window", "state", "refused"};

static int64_t power_of_two(int64_t least)
{
    int64_t size = 16;
    while (size < least) {
        size *= 2;
    }
    return size;
}

int64_t rsti_lab_traffic_window(const rsti_lab_flow_t *flow)
{
    return rsti_max_i64((int64_t)(flow->spec->window_bytes / flow->spec->datagram), 2);
}

/* A sender that listens to nobody. */
static int fixed_init(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow)
{
    (void)traffic;
    flow->of.fixed = 0;
    return 0;
}

static void fixed_fini(rsti_lab_flow_t *flow)
{
    (void)flow;
}

static void fixed_send(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns)
{
    (void)rsti_lab_traffic_put(traffic, flow, flow->of.fixed++, false, now_ns);
    flow->send_ns = now_ns + (int64_t)(flow->datagram / flow->spec->app_rate * 1e9);
}

static void fixed_on_packet(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t id,
    int64_t now_ns)
{
    (void)traffic;
    (void)id;
    (void)now_ns;
    flow->delivered += flow->datagram;
}

static double fixed_zero(const rsti_lab_flow_t *flow)
{
    (void)flow;
    return 0;
}

static const rsti_lab_flow_kind_law_t fixed_kind = {
    .init = fixed_init,
    .fini = fixed_fini,
    .send = fixed_send,
    .on_packet = fixed_on_packet,
    .window = fixed_zero,
    .state = fixed_zero,
};

static int way_init(rsti_lab_way_t *way, int64_t entries, bool is_back)
{
    const int64_t size = power_of_two(entries);
    *way = (rsti_lab_way_t){
        .due_ns = rsti_alloc((size_t)size * sizeof(int64_t)),
        .ids = is_back ? NULL : rsti_alloc((size_t)size * sizeof(int64_t)),
        .news = is_back ? rsti_alloc((size_t)size * sizeof(rsti_lab_news_t)) : NULL,
        .mask = size - 1,
    };
    if (way->due_ns == NULL || (way->ids == NULL && way->news == NULL)) {
        return RST_SET_ERR(RST_ENOMEM, "a way of %lld packets", (long long)size);
    }
    return 0;
}

static void way_fini(rsti_lab_way_t *way)
{
    rsti_free(way->due_ns);
    rsti_free(way->ids);
    rsti_free(way->news);
}

static int64_t way_next_ns(const rsti_lab_way_t *way)
{
    return way->head == way->tail ? RSTI_LAB_FOREVER : way->due_ns[way->head & way->mask];
}

static int64_t drawn_ns(rsti_lab_flow_t *flow, double mean_ns)
{
    return (int64_t)(-log(1.0 - rsti_rng_unit(&flow->rng)) * mean_ns);
}

/* Whether the host does what is due now, or stands still. */
static bool is_free(rsti_lab_flow_t *flow, int64_t now_ns, int64_t *stall_ns, int64_t *free_ns)
{
    while (now_ns >= *stall_ns) {
        *free_ns = *stall_ns + drawn_ns(flow, flow->spec->stall_ns);
        *stall_ns = *free_ns + drawn_ns(flow, flow->spec->stall_every_ns);
    }
    return now_ns >= *free_ns;
}

static void set_next(rsti_lab_flow_t *flow)
{
    const int64_t sender_ns = rsti_min_i64(flow->send_ns, way_next_ns(&flow->back));
    const int64_t receiver_ns = rsti_min_i64(flow->tell_ns, way_next_ns(&flow->forward));
    flow->next_ns = rsti_min_i64(rsti_max_i64(sender_ns, flow->sender_free_ns),
        rsti_max_i64(receiver_ns, flow->receiver_free_ns));
}

static int flow_init(rsti_lab_traffic_t *traffic, int32_t number)
{
    static const rsti_lab_flow_kind_law_t *const kinds[] = {
        &rsti_lab_path_kind, &rsti_lab_tcp_kind, &rsti_lab_tcp_kind, &fixed_kind};
    rsti_lab_flow_t *flow = &traffic->flows[number];
    const rsti_lab_flow_spec_t *spec = &traffic->spec.flow[number];
    const double rate = traffic->bottleneck.rate;
    *flow = (rsti_lab_flow_t){
        .spec = spec,
        .number = number,
        .datagram = (int32_t)spec->datagram,
        .delay_ns = (int64_t)spec->rtt_ns / 2,
        .jitter_ns = (int64_t)fmin(spec->datagram / rate * 1e9, spec->rtt_ns / 8.0),
        .tell_ns = RSTI_LAB_FOREVER,
        .send_ns = (int64_t)spec->begins_ns,
        .sender_stall_ns = RSTI_LAB_FOREVER,
        .receiver_stall_ns = RSTI_LAB_FOREVER,
    };
    rsti_rng_init(&flow->rng, (uint64_t)traffic->spec.link->seed * 64 + (uint64_t)number + 1);
    if (spec->stall_every_ns > 0) {
        flow->sender_stall_ns = drawn_ns(flow, spec->stall_every_ns);
        flow->receiver_stall_ns = drawn_ns(flow, spec->stall_every_ns);
    }
    /* What the link can carry in the delay and in a stall, at its highest rate. */
    double most = rate;
    for (int32_t i = 0; i < traffic->spec.counts[RSTI_LAB_CHANGE]; i++) {
        most = fmax(most, traffic->spec.change[i].rate);
    }
    const double away_s = (spec->rtt_ns / 2.0 + 40.0 * spec->stall_ns + 1e6) / 1e9;
    const int64_t packets = (int64_t)(most * away_s / spec->datagram) + 64;
    int result = way_init(&flow->forward, packets, false);
    if (result == 0) {
        /* Each packet is answered, or asked for again. */
        result = way_init(&flow->back, 2 * packets + rsti_lab_traffic_window(flow), true);
    }
    if (result == 0) {
        flow->kind = kinds[(int32_t)spec->kind];
        result = flow->kind->init(traffic, flow);
    }
    set_next(flow);
    return result;
}

static int allocate(rsti_lab_traffic_t *traffic)
{
    const rsti_lab_link_spec_t *link = traffic->spec.link;
    traffic->flow_count = traffic->spec.counts[RSTI_LAB_FLOW];
    traffic->sample_ns = (int64_t)link->sample_ns;
    traffic->row_width = RSTI_LAB_TRAFFIC_WIDTH
        + (int64_t)traffic->flow_count * RSTI_LAB_TRAFFIC_FLOW_WIDTH;
    const int64_t rows = (int64_t)(link->duration_ns / link->sample_ns) + 1;
    traffic->values = rsti_alloc((size_t)(rows * traffic->row_width) * sizeof(double));
    traffic->flows = rsti_alloc((size_t)traffic->flow_count * sizeof(rsti_lab_flow_t));
    if (traffic->values == NULL || traffic->flows == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "%lld rows of samples", (long long)rows);
    }
    double least = 65536;
    for (int32_t i = 0; i < traffic->flow_count; i++) {
        least = fmin(least, traffic->spec.flow[i].datagram);
    }
    int result = rsti_lab_bottleneck_init(&traffic->bottleneck, link, (int32_t)least);
    for (int32_t i = 0; result == 0 && i < traffic->flow_count; i++) {
        result = flow_init(traffic, i);
    }
    return result;
}

int rsti_lab_traffic_init(rsti_lab_traffic_t *traffic, const double *values, size_t count)
{
    *traffic = (rsti_lab_traffic_t){0};
    int result = rsti_lab_spec_init_link(&traffic->spec, values, count);
    if (result < 0) {
        return result;
    }
    result = allocate(traffic);
    if (result < 0) {
        rsti_lab_traffic_fini(traffic);
    }
    return result;
}

void rsti_lab_traffic_fini(rsti_lab_traffic_t *traffic)
{
    for (int32_t i = 0; traffic->flows != NULL && i < traffic->flow_count; i++) {
        rsti_lab_flow_t *flow = &traffic->flows[i];
        if (flow->kind != NULL) {
            flow->kind->fini(flow);
        }
        way_fini(&flow->forward);
        way_fini(&flow->back);
    }
    rsti_lab_bottleneck_fini(&traffic->bottleneck);
    rsti_free(traffic->flows);
    rsti_free(traffic->values);
    rsti_lab_spec_fini(&traffic->spec);
    *traffic = (rsti_lab_traffic_t){0};
}

bool rsti_lab_traffic_put(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t id,
    bool is_resend, int64_t now_ns)
{
    const rsti_lab_packet_t packet = {id, flow->number, flow->datagram};
    const bool fits = rsti_lab_bottleneck_put(&traffic->bottleneck, &packet, now_ns);
    flow->sent += flow->datagram;
    flow->resent += is_resend ? flow->datagram : 0;
    flow->dropped += fits ? 0 : flow->datagram;
    return fits;
}

void rsti_lab_traffic_answer(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow,
    const rsti_lab_news_t *news, int64_t now_ns)
{
    rsti_lab_way_t *way = &flow->back;
    const double loss = traffic->spec.link->control_loss;
    const bool is_full = way->tail - way->head > way->mask;
    if (is_full || (loss > 0 && rsti_rng_unit(&flow->rng) < loss)) {
        return;
    }
    const int64_t late_ns = (int64_t)(rsti_rng_unit(&flow->rng) * (double)flow->jitter_ns);
    const int64_t before_ns = way->head == way->tail ? 0 : way->due_ns[(way->tail - 1) & way->mask];
    way->due_ns[way->tail & way->mask] = rsti_max_i64(now_ns + flow->delay_ns + late_ns, before_ns);
    way->news[way->tail++ & way->mask] = *news;
}

double rsti_lab_traffic_written(const rsti_lab_flow_t *flow, int64_t now_ns)
{
    const double to_ns = fmin((double)now_ns, flow->spec->ends_ns);
    return flow->spec->app_rate > 0 ? flow->spec->app_rate * (to_ns - flow->spec->begins_ns) / 1e9
        : (double)now_ns < flow->spec->ends_ns ? INFINITY
                                               : 0.0;
}

static void leave_bottleneck(rsti_lab_traffic_t *traffic)
{
    rsti_lab_packet_t packet;
    const int64_t now_ns = traffic->bottleneck.leaves_ns;
    const bool arrives = rsti_lab_bottleneck_take(&traffic->bottleneck, &packet);
    rsti_lab_flow_t *flow = &traffic->flows[packet.flow];
    rsti_lab_way_t *way = &flow->forward;
    if (!arrives || way->tail - way->head > way->mask) {
        flow->lost += packet.bytes;
        return;
    }
    way->due_ns[way->tail & way->mask] = now_ns + flow->delay_ns;
    way->ids[way->tail++ & way->mask] = packet.id;
    if (way->tail - way->head == 1) {
        set_next(flow);
    }
}

/* One event of the flow. What is due at the same time goes in this order. */
static void advance(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow)
{
    const int64_t now_ns = flow->next_ns;
    const bool is_receiver_free = is_free(flow, now_ns, &flow->receiver_stall_ns,
        &flow->receiver_free_ns);
    const bool is_sender_free = is_free(flow, now_ns, &flow->sender_stall_ns,
        &flow->sender_free_ns);
    if (is_receiver_free && way_next_ns(&flow->forward) <= now_ns) {
        flow->kind->on_packet(traffic, flow,
            flow->forward.ids[flow->forward.head++ & flow->forward.mask], now_ns);
    } else if (is_receiver_free && flow->tell_ns <= now_ns) {
        flow->kind->tell(traffic, flow, now_ns);
    } else if (is_sender_free && way_next_ns(&flow->back) <= now_ns) {
        const rsti_lab_news_t news = flow->back.news[flow->back.head++ & flow->back.mask];
        flow->kind->on_news(traffic, flow, &news, now_ns);
    } else if (is_sender_free && flow->send_ns <= now_ns) {
        flow->kind->send(traffic, flow, now_ns);
    }
    if ((double)now_ns >= flow->spec->ends_ns && flow->kind == &fixed_kind) {
        flow->send_ns = RSTI_LAB_FOREVER;
    }
    set_next(flow);
}

static void sample(rsti_lab_traffic_t *traffic, int64_t now_ns)
{
    double *row = traffic->values + traffic->row_count++ * traffic->row_width;
    *row++ = (double)now_ns / 1e9;
    *row++ = (double)traffic->bottleneck.queue_bytes;
    *row++ = traffic->bottleneck.rate;
    for (int32_t i = 0; i < traffic->flow_count; i++) {
        const rsti_lab_flow_t *flow = &traffic->flows[i];
        const bool is_stream = flow->kind == &rsti_lab_path_kind;
        *row++ = (double)flow->sent;
        *row++ = (double)flow->resent;
        *row++ = (double)flow->dropped;
        *row++ = (double)flow->lost;
        *row++ = (double)flow->delivered;
        *row++ = flow->kind->window(flow);
        *row++ = flow->kind->state(flow);
        *row++ = is_stream ? (double)flow->of.stream.path.track.refused_count : 0;
    }
}

static int64_t change_ns(const rsti_lab_traffic_t *traffic)
{
    return traffic->next_change < traffic->spec.counts[RSTI_LAB_CHANGE]
        ? (int64_t)traffic->spec.change[traffic->next_change].at_ns
        : RSTI_LAB_FOREVER;
}

void rsti_lab_traffic_run(rsti_lab_traffic_t *traffic)
{
    const int64_t end_ns = (int64_t)traffic->spec.link->duration_ns;
    int64_t sample_ns = 0;
    for (;;) {
        rsti_lab_flow_t *first = &traffic->flows[0];
        for (int32_t i = 1; i < traffic->flow_count; i++) {
            first = traffic->flows[i].next_ns < first->next_ns ? &traffic->flows[i] : first;
        }
        const int64_t leaves_ns = traffic->bottleneck.leaves_ns;
        const int64_t now_ns = rsti_min_i64(rsti_min_i64(first->next_ns, leaves_ns),
            change_ns(traffic));
        while (sample_ns <= rsti_min_i64(now_ns, end_ns)) {
            sample(traffic, sample_ns);
            sample_ns += traffic->sample_ns;
        }
        if (now_ns > end_ns) {
            return;
        }
        if (now_ns == change_ns(traffic)) {
            traffic->bottleneck.rate = traffic->spec.change[traffic->next_change++].rate;
        } else if (leaves_ns == now_ns) {
            leave_bottleneck(traffic);
        } else {
            advance(traffic, first);
        }
    }
}
