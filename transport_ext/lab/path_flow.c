/* path_flow.c: a stream of rstream on a bottleneck: the law of the path at both ends, repair by
 * NAK, a pace that resends spend as well. The reader takes everything at once.
 *
 * After a silence with nothing to send, the sender sends its last datagram again. It stands for the
 * heartbeats and the repeated status messages of drivers. Without them a lost last datagram or item
 * stops a stream whose window is full. */
#include "lab/traffic.h"

#include "flow/saturate.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/int_math.h"

#include <math.h>

#define HAS_ARRIVED 1U
#define IS_QUEUED 2U /* for a resend */
#define RETRY_NS INT64_C(1000000)
#define RETRY_MOST_NS INT64_C(200000000)

static int init(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow)
{
    rsti_lab_path_flow_t *stream = &flow->of.stream;
    int64_t size = 64;
    while (size < 2 * rsti_lab_traffic_window(flow)) {
        size *= 2;
    }
    const rsti_path_params_t params = {
        .datagram = flow->datagram, .now_ns = (int64_t)flow->spec->begins_ns};
    (void)traffic;
    *stream = (rsti_lab_path_flow_t){
        .flags = rsti_alloc((size_t)size),
        .missing = rsti_alloc((size_t)size * sizeof(int64_t)),
        .missing_due_ns = rsti_alloc((size_t)size * sizeof(int64_t)),
        .resends = rsti_alloc((size_t)size * sizeof(int64_t)),
        .mask = size - 1,
        .credit_ns = (int64_t)flow->spec->begins_ns,
    };
    rsti_path_arrival_init(&stream->arrival, 0, params.now_ns);
    if (stream->flags == NULL || stream->missing == NULL || stream->missing_due_ns == NULL
        || stream->resends == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "a window of %lld datagrams", (long long)size);
    }
    return rsti_path_init(&stream->path, &params);
}

static void fini(rsti_lab_flow_t *flow)
{
    rsti_lab_path_flow_t *stream = &flow->of.stream;
    rsti_path_fini(&stream->path);
    rsti_free(stream->flags);
    rsti_free(stream->missing);
    rsti_free(stream->missing_due_ns);
    rsti_free(stream->resends);
}

static bool has_new(const rsti_lab_flow_t *flow, int64_t now_ns)
{
    const rsti_lab_path_flow_t *stream = &flow->of.stream;
    return stream->next - stream->contiguous < rsti_lab_traffic_window(flow)
        && rsti_lab_traffic_written(flow, now_ns) >= (double)((stream->next + 1) * flow->datagram);
}

/* Sends one datagram, a resend first. False: there is none. */
static bool send_one(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns)
{
    rsti_lab_path_flow_t *stream = &flow->of.stream;
    bool is_resend = false;
    int64_t number = 0;
    while (stream->resend_head < stream->resend_tail && !is_resend) {
        number = stream->resends[stream->resend_head++ & stream->mask];
        stream->flags[number & stream->mask] &= (uint8_t)~IS_QUEUED;
        is_resend = number >= stream->contiguous;
    }
    if (!is_resend) {
        if (!has_new(flow, now_ns)) {
            return false;
        }
        number = stream->next++;
        stream->flags[number & stream->mask] = 0;
    }
    (void)rsti_lab_traffic_put(traffic, flow, number, is_resend, now_ns);
    rsti_path_on_sent(&stream->path, (number + 1) * flow->datagram, flow->datagram, now_ns);
    return true;
}

static bool has_any(const rsti_lab_flow_t *flow, int64_t now_ns)
{
    return flow->of.stream.resend_head < flow->of.stream.resend_tail || has_new(flow, now_ns);
}

/* When the sender has something to do: a run is earned, or the silence lasts too long. */
static int64_t send_due_ns(const rsti_lab_flow_t *flow, int64_t now_ns)
{
    const rsti_lab_path_flow_t *stream = &flow->of.stream;
    const rsti_path_t *path = &stream->path;
    int64_t due_ns = rsti_path_due_ns(path);
    if (has_any(flow, now_ns)) {
        const double lacking = (double)rsti_path_run(path) - stream->credit;
        const double wait_ns = lacking / (double)rsti_path_pace(path) * 1e9;
        const int64_t earned_ns = stream->credit_ns + 1 + (int64_t)fmax(wait_ns, 0.0);
        due_ns = rsti_min_i64(due_ns,
            rsti_max_i64(rsti_path_room_ns(path, flow->datagram, now_ns), earned_ns));
    } else if (flow->spec->app_rate > 0 && !has_any(flow, now_ns)
        && (double)now_ns < flow->spec->ends_ns) {
        due_ns = rsti_min_i64(due_ns,
            now_ns + 1 + (int64_t)((double)flow->datagram / flow->spec->app_rate * 1e9));
    }
    return rsti_max_i64(due_ns, now_ns);
}

static void put_resend(rsti_lab_path_flow_t *stream, int64_t number)
{
    uint8_t *flags = &stream->flags[number & stream->mask];
    if (number >= stream->contiguous && (*flags & IS_QUEUED) == 0) {
        *flags |= IS_QUEUED;
        stream->resends[stream->resend_tail++ & stream->mask] = number;
    }
}

static void send(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns)
{
    rsti_lab_path_flow_t *stream = &flow->of.stream;
    rsti_path_t *path = &stream->path;
    if (now_ns >= rsti_path_due_ns(path)) {
        rsti_path_on_silence(path, now_ns);
        if (!has_any(flow, now_ns) && stream->next > stream->contiguous) {
            put_resend(stream, stream->next - 1);
        }
    }
    const double earned = (double)rsti_path_pace(path) * (double)(now_ns - stream->credit_ns) / 1e9;
    stream->credit = fmin(stream->credit + earned, (double)rsti_path_run(path));
    stream->credit_ns = now_ns;
    while (stream->credit >= flow->datagram && rsti_path_room(path, now_ns) >= flow->datagram
        && send_one(traffic, flow, now_ns)) {
        stream->credit -= flow->datagram;
    }
    flow->send_ns = send_due_ns(flow, now_ns);
}

static void set_tell(rsti_lab_flow_t *flow)
{
    const rsti_lab_path_flow_t *stream = &flow->of.stream;
    const int64_t item_ns = rsti_path_arrival_due_ns(&stream->arrival,
        rsti_to_ns(stream->path.newest_s * 1e9));
    const int64_t nak_ns = stream->missing_head < stream->missing_tail
        ? stream->missing_due_ns[stream->missing_head & stream->mask]
        : RSTI_LAB_FOREVER;
    flow->tell_ns = rsti_min_i64(item_ns, nak_ns);
}

static void put_missing(rsti_lab_path_flow_t *stream, int64_t number, int64_t due_ns)
{
    const int64_t at = stream->missing_tail++ & stream->mask;
    stream->missing[at] = number;
    stream->missing_due_ns[at] = due_ns;
}

static void on_packet(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t id,
    int64_t now_ns)
{
    rsti_lab_path_flow_t *stream = &flow->of.stream;
    (void)traffic;
    rsti_path_arrival_on_data(&stream->arrival, id * flow->datagram, (id + 1) * flow->datagram,
        flow->datagram, now_ns);
    for (; stream->highest < id; stream->highest++) {
        put_missing(stream, stream->highest, now_ns + (int64_t)flow->spec->nak_delay_ns);
    }
    stream->highest = rsti_max_i64(stream->highest, id + 1);
    uint8_t *flags = &stream->flags[id & stream->mask];
    if (id >= stream->received_to && (*flags & HAS_ARRIVED) == 0) {
        *flags |= HAS_ARRIVED;
        flow->delivered += flow->datagram;
    }
    while (stream->received_to < stream->highest
        && (stream->flags[stream->received_to & stream->mask] & HAS_ARRIVED) != 0) {
        stream->received_to++;
    }
    set_tell(flow);
}

static void tell(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns)
{
    rsti_lab_path_flow_t *stream = &flow->of.stream;
    const int64_t rtt_ns = rsti_to_ns(stream->path.newest_s * 1e9);
    while (stream->missing_head < stream->missing_tail
        && stream->missing_due_ns[stream->missing_head & stream->mask] <= now_ns) {
        const int64_t number = stream->missing[stream->missing_head++ & stream->mask];
        if (number >= stream->received_to
            && (stream->flags[number & stream->mask] & HAS_ARRIVED) == 0) {
            const rsti_lab_news_t nak = {.kind = RSTI_LAB_NEWS_NAK, .number = number};
            rsti_lab_traffic_answer(traffic, flow, &nak, now_ns);
            put_missing(stream, number,
                now_ns + rsti_min_i64(rtt_ns + rtt_ns / 2 + RETRY_NS, RETRY_MOST_NS));
        }
    }
    if (rsti_path_arrival_due_ns(&stream->arrival, rtt_ns) <= now_ns) {
        rsti_lab_news_t news = {.kind = RSTI_LAB_NEWS_ITEM};
        rsti_path_arrival_tell(&stream->arrival, stream->received_to * flow->datagram, now_ns,
            &news.item);
        rsti_lab_traffic_answer(traffic, flow, &news, now_ns);
    }
    set_tell(flow);
}

static void on_news(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, const rsti_lab_news_t *news,
    int64_t now_ns)
{
    rsti_lab_path_flow_t *stream = &flow->of.stream;
    (void)traffic;
    if (news->kind == RSTI_LAB_NEWS_ITEM) {
        (void)rsti_path_on_item(&stream->path, &news->item, now_ns);
        stream->contiguous = rsti_max_i64(stream->contiguous,
            news->item.contiguous / flow->datagram);
    } else {
        put_resend(stream, news->number);
    }
    flow->send_ns = rsti_max_i64(send_due_ns(flow, now_ns), now_ns);
}

static double window(const rsti_lab_flow_t *flow)
{
    return flow->of.stream.path.window;
}

static double state(const rsti_lab_flow_t *flow)
{
    return flow->of.stream.path.state;
}

const rsti_lab_flow_kind_law_t rsti_lab_path_kind = {
    .init = init,
    .fini = fini,
    .send = send,
    .on_packet = on_packet,
    .on_news = on_news,
    .tell = tell,
    .window = window,
    .state = state,
};
