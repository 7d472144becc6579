/* tcp_bbr.c: a model of BBR version 3, in packets: bandwidth (greatest of two cycles) and least
 * round trip give the pace and the window; loss above 2 % of a round bounds what is under way. */
#include "lab/tcp.h"

#include <math.h>

#define STARTUP_GAIN 2.77
#define LOSS_MOST 0.02
#define KEEP 0.7
#define HEADROOM 0.85
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

void rsti_lab_bbr_init(rsti_lab_tcp_t *tcp)
{
    tcp->law.bbr = (rsti_lab_bbr_t){
        .high = INFINITY, .low = INFINITY, .low_rate = INFINITY, .least_s = INFINITY};
}

static double bandwidth_of(const rsti_lab_bbr_t *bbr)
{
    return fmax(bbr->bandwidth, bbr->before);
}

static double product_of(const rsti_lab_bbr_t *bbr)
{
    return fmin(bandwidth_of(bbr), bbr->low_rate) * bbr->least_s;
}

static void enter(rsti_lab_bbr_t *bbr, rsti_lab_bbr_phase_t phase, int64_t now_ns)
{
    bbr->phase = phase;
    bbr->phase_ns = now_ns;
    bbr->phase_rounds = 0;
}

static void enter_down(rsti_lab_bbr_t *bbr, int64_t now_ns)
{
    if (bbr->phase == RSTI_LAB_BBR_UP) {
        bbr->before = bbr->bandwidth;
        bbr->bandwidth = 0;
    }
    enter(bbr, RSTI_LAB_BBR_DOWN, now_ns);
    bbr->cruise_ns = now_ns + 2 * S + now_ns % S; /* 2 to 3 s, as if drawn */
}

static bool is_lossy(const rsti_lab_bbr_t *bbr)
{
    return bbr->round_lost >= 3
        && (double)bbr->round_lost > LOSS_MOST * (double)(bbr->round_lost + bbr->round_delivered);
}

static void note_loss(rsti_lab_bbr_t *bbr, const rsti_lab_acked_t *acked)
{
    if (bbr->phase == RSTI_LAB_BBR_UP || bbr->phase == RSTI_LAB_BBR_STARTUP) {
        bbr->high = fmax((double)acked->under_way, KEEP * product_of(bbr));
        enter_down(bbr, acked->now_ns);
        if (bbr->full_rounds < 3) {
            bbr->full_rounds = 3;
            enter(bbr, RSTI_LAB_BBR_DRAIN, acked->now_ns);
        }
    } else if (bbr->phase != RSTI_LAB_BBR_REFILL) {
        const double rate = fmin(bbr->low_rate, bandwidth_of(bbr));
        const double low = fmin(bbr->low, fmin(bbr->high, 2.0 * product_of(bbr)));
        bbr->low_rate = fmax(bbr->newest_rate, KEEP * rate);
        bbr->low = fmax((double)bbr->newest, KEEP * low);
    }
}

static void end_round(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked)
{
    rsti_lab_bbr_t *bbr = &tcp->law.bbr;
    if (is_lossy(bbr)) {
        note_loss(bbr, acked);
    }
    if (bbr->phase == RSTI_LAB_BBR_STARTUP) {
        if (bandwidth_of(bbr) >= 1.25 * bbr->full) {
            bbr->full = bandwidth_of(bbr);
            bbr->full_rounds = 0;
        } else if (++bbr->full_rounds >= 3) {
            enter(bbr, RSTI_LAB_BBR_DRAIN, acked->now_ns);
        }
    } else if (bbr->phase == RSTI_LAB_BBR_UP && (double)acked->under_way >= 0.95 * bbr->high) {
        bbr->up_step *= 2.0;
        bbr->high += bbr->up_step;
    }
    bbr->phase_rounds++;
    bbr->round_delivered = 0;
    bbr->round_lost = 0;
    bbr->newest = 0;
    bbr->newest_rate = 0;
}

static void cycle(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked)
{
    rsti_lab_bbr_t *bbr = &tcp->law.bbr;
    const int64_t now_ns = acked->now_ns;
    const double product = product_of(bbr), under_way = (double)tcp->under_way;
    const double for_ns = (double)(now_ns - bbr->phase_ns);
    if (bbr->phase == RSTI_LAB_BBR_DRAIN && under_way <= product) {
        enter_down(bbr, now_ns);
    } else if (bbr->phase == RSTI_LAB_BBR_DOWN
        && under_way <= fmin(product, HEADROOM * bbr->high)) {
        enter(bbr, RSTI_LAB_BBR_CRUISE, now_ns);
    }
    const bool is_steady = bbr->phase == RSTI_LAB_BBR_CRUISE || bbr->phase == RSTI_LAB_BBR_DOWN;
    if (is_steady && (now_ns >= bbr->cruise_ns || bbr->phase_rounds > 62)) {
        bbr->low = bbr->low_rate = INFINITY;
        bbr->up_step = 1.0;
        enter(bbr, RSTI_LAB_BBR_REFILL, now_ns);
    } else if (bbr->phase == RSTI_LAB_BBR_REFILL && bbr->phase_rounds >= 1) {
        enter(bbr, RSTI_LAB_BBR_UP, now_ns);
    } else if (bbr->phase == RSTI_LAB_BBR_UP && for_ns > bbr->least_s * 1e9
        && under_way >= 1.25 * product) {
        enter_down(bbr, now_ns);
    } else if (bbr->phase == RSTI_LAB_BBR_PROBE_RTT && now_ns >= bbr->probe_ns) {
        bbr->least_ns = now_ns;
        enter_down(bbr, now_ns);
    }
    if (bbr->phase >= RSTI_LAB_BBR_DOWN && bbr->phase != RSTI_LAB_BBR_PROBE_RTT
        && now_ns - bbr->least_ns > 5 * S) {
        bbr->least_s = acked->rtt_s;
        bbr->probe_ns = now_ns + 200 * MS + (int64_t)(acked->rtt_s * 1e9);
        enter(bbr, RSTI_LAB_BBR_PROBE_RTT, now_ns);
    }
}

static void set_pace_and_window(rsti_lab_tcp_t *tcp)
{
    static const double paces[] = {STARTUP_GAIN, 0.35, 0.9, 1.0, 1.0, 1.25, 1.0};
    static const double windows[] = {2.0, 2.0, 2.0, 2.0, 2.0, 2.25, 0.5};
    const rsti_lab_bbr_t *bbr = &tcp->law.bbr;
    double bound = INFINITY;
    if (bbr->phase == RSTI_LAB_BBR_CRUISE || bbr->phase == RSTI_LAB_BBR_PROBE_RTT) {
        bound = HEADROOM * bbr->high;
    } else if (bbr->phase >= RSTI_LAB_BBR_DOWN) {
        bound = bbr->high;
    }
    bound = fmin(bound, bbr->low);
    tcp->pace = 0.99 * paces[bbr->phase] * fmin(bandwidth_of(bbr), bbr->low_rate);
    tcp->window = fmax(fmin(windows[bbr->phase] * product_of(bbr) + 3.0, bound), 4.0);
}

void rsti_lab_bbr_on_ack(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked)
{
    rsti_lab_bbr_t *bbr = &tcp->law.bbr;
    bbr->bandwidth = fmax(bbr->bandwidth, acked->rate);
    bbr->newest_rate = fmax(bbr->newest_rate, acked->rate);
    bbr->newest = acked->under_way > bbr->newest ? acked->under_way : bbr->newest;
    bbr->round_delivered++;
    bbr->round_lost += acked->lost;
    if (acked->rtt_s <= bbr->least_s) {
        bbr->least_s = acked->rtt_s;
        bbr->least_ns = acked->now_ns;
    }
    if (acked->is_round) {
        end_round(tcp, acked);
    }
    cycle(tcp, acked);
    set_pace_and_window(tcp);
}

void rsti_lab_bbr_on_timeout(rsti_lab_tcp_t *tcp)
{
    tcp->window = 4.0;
}
