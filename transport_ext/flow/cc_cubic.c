/* cc_cubic.c: the window grows as the cubic function of the time since the last loss
 * (docs/reference/aeron/wire.md 11.2). With C = 0.4, B = 0.2, in datagrams:
 *
 *     at a loss    w_max = cwnd,  cwnd = max(1, cwnd * (1 - B)),  K = cbrt(w_max * B / C)
 *     t later      cwnd = min(max_cwnd, w_max + C * (t - K)^3)
 *     TCP mode     below w_max not less than  w_max * (1 - B) + 3 * B / (2 - B) * t / rtt
 *
 * updated every initial round trip. In Aeron, TCP mode may exceed max_cwnd, and its sender drops
 * such a window. Here no window exceeds max_cwnd. */
#include "flow/congestion.h"

#include "util/int_math.h"

#include <math.h>

#define CUBIC_C 0.4
#define CUBIC_B 0.2
#define CWND_FIRST 10

static int32_t window_of(const rsti_congestion_t *congestion)
{
    return (int32_t)rsti_min_i64((int64_t)congestion->state.cubic.cwnd * congestion->mtu,
        congestion->max_window);
}

static void set_w_max(rsti_cubic_t *cubic, int32_t w_max)
{
    cubic->w_max = w_max;
    cubic->k = cbrt((double)w_max * CUBIC_B / CUBIC_C);
}

static void init(rsti_congestion_t *congestion, const rsti_congestion_params_t *params)
{
    rsti_cubic_t *cubic = &congestion->state.cubic;
    *cubic = (rsti_cubic_t){
        .initial_rtt_ns = params->cubic_initial_rtt_ns,
        .is_tcp_mode = params->cubic_tcp_mode,
        .max_cwnd = rsti_max_i32(congestion->max_window / params->mtu, 1),
        .epoch_ns = params->now_ns,
        .updated_ns = params->now_ns,
    };
    cubic->cwnd = rsti_min_i32(CWND_FIRST, cubic->max_cwnd);
    set_w_max(cubic, cubic->max_cwnd);
    congestion->is_measuring = params->cubic_measure_rtt;
    congestion->rtt_floor_ns = params->cubic_measure_rtt ? params->cubic_initial_rtt_ns : 0;
    congestion->rtt_ns = params->cubic_initial_rtt_ns;
    congestion->window = window_of(congestion);
}

/* Truncated to whole datagrams, as a C conversion does, without its overflow. */
static int32_t clamp(double value, int32_t max_cwnd)
{
    return value >= max_cwnd ? max_cwnd : value < 1 ? 1 : (int32_t)value;
}

static void grow(rsti_cubic_t *cubic, int64_t rtt_ns, int64_t now_ns)
{
    const double t = (double)(now_ns - cubic->epoch_ns) / 1e9;
    const double distance = t - cubic->k;
    const double target = cubic->w_max + trunc(CUBIC_C * distance * distance * distance);
    cubic->cwnd = clamp(target, cubic->max_cwnd);
    if (cubic->is_tcp_mode && cubic->cwnd < cubic->w_max) {
        const double rtt = (double)rsti_max_i64(rtt_ns, 1) / 1e9;
        const double tcp = cubic->w_max * (1.0 - CUBIC_B)
            + 3.0 * CUBIC_B / (2.0 - CUBIC_B) * (t / rtt);
        cubic->cwnd = rsti_max_i32(cubic->cwnd, clamp(tcp, cubic->max_cwnd));
    }
    cubic->updated_ns = now_ns;
}

static int32_t on_rebuild(rsti_congestion_t *congestion, const rsti_rebuild_facts_t *facts,
    bool *force_sm)
{
    rsti_cubic_t *cubic = &congestion->state.cubic;
    *force_sm = false;
    if (facts->rtt_ns > 0) {
        congestion->rtt_ns = facts->rtt_ns;
    }
    if (facts->has_loss) {
        *force_sm = true;
        set_w_max(cubic, cubic->cwnd);
        cubic->cwnd = clamp(cubic->cwnd * (1.0 - CUBIC_B), cubic->max_cwnd);
        cubic->epoch_ns = facts->now_ns;
    } else if (cubic->cwnd < cubic->max_cwnd
        && facts->now_ns > cubic->updated_ns + cubic->initial_rtt_ns) {
        grow(cubic, congestion->rtt_ns, facts->now_ns);
    } else if (cubic->cwnd == 1 && facts->consumed > facts->last_sm_position) {
        *force_sm = true; /* a quarter of one datagram is never reached */
    }
    congestion->window = window_of(congestion);
    return congestion->window;
}

const rsti_congestion_law_t rsti_congestion_cubic = {
    .name = "cubic",
    .rtt_counter = "rcv-cc-cubic-rtt",
    .window_counter = "rcv-cc-cubic-wnd",
    .init = init,
    .on_rebuild = on_rebuild,
};
