/* tcp.c: sending, acknowledgement, loss and time-outs. tcp_cubic.c and tcp_bbr.c: the windows. */
#include "lab/tcp.h"

#include "lab/traffic.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/int_math.h"

#include <math.h>

#define FIRST_WINDOW 10.0
#define REORDER 3 /* packets */
#define FIRST_TIMEOUT_NS (1000 * RSTI_NS_PER_MS)
#define TIMEOUT_LEAST_NS (200 * RSTI_NS_PER_MS)
#define PROBE_LEAST_NS (2 * RSTI_NS_PER_MS)

static int init(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow)
{
    rsti_lab_tcp_t *tcp = &flow->of.tcp;
    int64_t size = 64;
    while (size < 2 * rsti_lab_traffic_window(flow)) {
        size *= 2;
    }
    (void)traffic;
    *tcp = (rsti_lab_tcp_t){
        .sendings = rsti_alloc((size_t)size * sizeof(rsti_lab_sending_t)),
        .mask = size - 1,
        .window = FIRST_WINDOW,
        .is_bbr = (int32_t)flow->spec->kind == RSTI_LAB_FLOW_BBR,
    };
    if (tcp->sendings == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "a window of %lld packets", (long long)size);
    }
    (tcp->is_bbr ? rsti_lab_bbr_init : rsti_lab_cubic_init)(tcp);
    return 0;
}

static void fini(rsti_lab_flow_t *flow)
{
    rsti_free(flow->of.tcp.sendings);
}

static int64_t window_of(const rsti_lab_flow_t *flow)
{
    const double window = fmax(flow->of.tcp.window, 1.0);
    return (int64_t)fmin(window, (double)rsti_lab_traffic_window(flow));
}

/* When the sender gives up waiting for an acknowledgement: a probe first, then everything. */
static int64_t timeout_ns(const rsti_lab_tcp_t *tcp)
{
    if (tcp->under_way == 0) {
        return RSTI_LAB_FOREVER;
    }
    if (!(tcp->smoothed_s > 0)) {
        return tcp->progress_ns + FIRST_TIMEOUT_NS;
    }
    const int64_t smoothed_ns = (int64_t)(tcp->smoothed_s * 1e9);
    const int64_t probe_ns = rsti_max_i64(2 * smoothed_ns, PROBE_LEAST_NS);
    return tcp->progress_ns
        + (tcp->probes == 0 ? probe_ns : rsti_max_i64(TIMEOUT_LEAST_NS, 2 * probe_ns));
}

static bool send_one(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns)
{
    rsti_lab_tcp_t *tcp = &flow->of.tcp;
    const bool is_again = tcp->given_up > 0;
    const bool is_full = tcp->next - tcp->first > tcp->mask;
    if (is_full
        || (!is_again
            && rsti_lab_traffic_written(flow, now_ns)
                < (double)((tcp->fresh + 1) * flow->datagram))) {
        return false;
    }
    if (tcp->under_way == 0) {
        tcp->progress_ns = now_ns;
        tcp->delivered_ns = now_ns;
    }
    tcp->given_up -= is_again;
    tcp->fresh += !is_again;
    tcp->under_way++;
    tcp->sendings[tcp->next & tcp->mask] = (rsti_lab_sending_t){.sent_ns = now_ns,
        .delivered = tcp->delivered,
        .delivered_ns = tcp->delivered_ns,
        .under_way = (int32_t)tcp->under_way};
    (void)rsti_lab_traffic_put(traffic, flow, tcp->next++, is_again, now_ns);
    return true;
}

static void give_up(rsti_lab_tcp_t *tcp, rsti_lab_sending_t *sending)
{
    sending->is_done = true;
    tcp->under_way--;
    tcp->given_up++;
}

static void on_timeout(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns)
{
    rsti_lab_tcp_t *tcp = &flow->of.tcp;
    tcp->progress_ns = now_ns;
    if (tcp->probes++ == 0 && tcp->smoothed_s > 0) {
        if (!send_one(traffic, flow, now_ns)) { /* nothing new: the last one again */
            rsti_lab_sending_t *last = &tcp->sendings[(tcp->next - 1) & tcp->mask];
            if (!last->is_done) {
                give_up(tcp, last);
                (void)send_one(traffic, flow, now_ns);
            }
        }
        return;
    }
    for (int64_t i = tcp->first; i < tcp->next; i++) {
        if (!tcp->sendings[i & tcp->mask].is_done) {
            give_up(tcp, &tcp->sendings[i & tcp->mask]);
        }
    }
    tcp->first = tcp->next;
    tcp->recovery_to = tcp->next;
    (tcp->is_bbr ? rsti_lab_bbr_on_timeout : rsti_lab_cubic_on_timeout)(tcp);
}

static void send(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns)
{
    rsti_lab_tcp_t *tcp = &flow->of.tcp;
    if (now_ns >= timeout_ns(tcp)) {
        on_timeout(traffic, flow, now_ns);
    }
    bool has_more = true;
    while (has_more && tcp->under_way < window_of(flow)
        && (!(tcp->pace > 0) || tcp->paced_ns <= now_ns)) {
        has_more = send_one(traffic, flow, now_ns);
        if (has_more && tcp->pace > 0) {
            tcp->paced_ns = rsti_max_i64(tcp->paced_ns, now_ns - RSTI_NS_PER_MS)
                + (int64_t)(1e9 / tcp->pace);
        }
    }
    tcp->is_held = tcp->is_held || has_more;
    flow->send_ns = timeout_ns(tcp);
    if (tcp->under_way < window_of(flow) && has_more) {
        flow->send_ns = rsti_min_i64(flow->send_ns, rsti_max_i64(tcp->paced_ns, now_ns + 1));
    } else if (!has_more && flow->spec->app_rate > 0) {
        flow->send_ns = rsti_min_i64(flow->send_ns,
            now_ns + 1 + (int64_t)((double)flow->datagram / flow->spec->app_rate * 1e9));
    }
}

static void on_packet(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t id,
    int64_t now_ns)
{
    const rsti_lab_news_t ack = {.kind = RSTI_LAB_NEWS_ACK, .number = id};
    flow->delivered += flow->datagram;
    rsti_lab_traffic_answer(traffic, flow, &ack, now_ns);
}

/* Gives up what was sent too long before the newest acknowledged packet. Returns how many. */
static int64_t find_losses(rsti_lab_tcp_t *tcp, int64_t number, bool *is_new)
{
    int64_t lost = 0;
    for (; tcp->first <= number - REORDER; tcp->first++) {
        rsti_lab_sending_t *sending = &tcp->sendings[tcp->first & tcp->mask];
        if (!sending->is_done) {
            give_up(tcp, sending);
            lost++;
            *is_new = *is_new || tcp->first >= tcp->recovery_to;
        }
    }
    while (tcp->first < tcp->next && tcp->sendings[tcp->first & tcp->mask].is_done) {
        tcp->first++;
    }
    return lost;
}

static void on_news(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, const rsti_lab_news_t *news,
    int64_t now_ns)
{
    rsti_lab_tcp_t *tcp = &flow->of.tcp;
    rsti_lab_sending_t *sending = &tcp->sendings[news->number & tcp->mask];
    if (news->number < tcp->first || sending->is_done) {
        return; /* given up before */
    }
    rsti_lab_acked_t acked = {.now_ns = now_ns,
        .rtt_s = (double)(now_ns - sending->sent_ns) / 1e9,
        .under_way = sending->under_way};
    sending->is_done = true;
    tcp->under_way--;
    tcp->delivered++;
    tcp->delivered_ns = now_ns;
    tcp->progress_ns = now_ns;
    tcp->probes = 0;
    if (now_ns > sending->delivered_ns) {
        acked.rate = (double)(tcp->delivered - sending->delivered)
            / ((double)(now_ns - sending->delivered_ns) / 1e9);
    }
    tcp->smoothed_s = tcp->smoothed_s > 0 ? tcp->smoothed_s + (acked.rtt_s - tcp->smoothed_s) / 8.0
                                          : acked.rtt_s;
    tcp->least_s = tcp->least_s > 0 ? fmin(tcp->least_s, acked.rtt_s) : acked.rtt_s;
    acked.lost = find_losses(tcp, news->number, &acked.is_new_loss);
    acked.is_round = news->number >= tcp->round_to;
    if (acked.is_round) {
        tcp->round_to = tcp->next;
    }
    (tcp->is_bbr ? rsti_lab_bbr_on_ack : rsti_lab_cubic_on_ack)(tcp, &acked);
    if (acked.is_new_loss) {
        tcp->recovery_to = tcp->next;
    }
    if (acked.is_round) {
        tcp->is_held = false;
    }
    send(traffic, flow, now_ns);
}

static double window(const rsti_lab_flow_t *flow)
{
    return flow->of.tcp.window * flow->datagram;
}

static double state(const rsti_lab_flow_t *flow)
{
    return flow->of.tcp.is_bbr ? (double)flow->of.tcp.law.bbr.phase : 0;
}

const rsti_lab_flow_kind_law_t rsti_lab_tcp_kind = {
    .init = init,
    .fini = fini,
    .send = send,
    .on_packet = on_packet,
    .on_news = on_news,
    .window = window,
    .state = state,
};
