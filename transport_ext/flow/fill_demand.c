/* fill_demand.c: the buffer that counts for the law when the consumer asks by request(n).
 *
 *     B_eff = min(window, max(highest demand of the last T * mean message size, one MTU))
 *
 * A consumer that never asks for more than a few messages at a time is full with a few messages.
 * The minimum is one MTU, because a sender cannot send less. Demand falls with each delivery and
 * rises with the next request, so the highest of the last one to two T counts. */
#include "flow/fill.h"

void rsti_fill_demand_init(rsti_fill_demand_t *demand)
{
    *demand = (rsti_fill_demand_t){.younger = -1, .older = -1};
}

void rsti_fill_demand_set(rsti_fill_demand_t *demand, int64_t messages, int64_t in_ns,
    int64_t now_ns)
{
    const int64_t asked = rsti_clamp_i64(messages, 0, RSTI_COUNT_MAX);
    const int64_t period_ns = rsti_clamp_i64(in_ns, 1, RSTI_REPORT_RTT_MAX_NS);
    const int64_t at_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, now_ns);
    if (!demand->has_begun || at_ns >= demand->ends_ns) {
        const bool is_late = !demand->has_begun || at_ns - demand->ends_ns >= period_ns;
        demand->older = is_late ? asked : demand->younger;
        demand->younger = asked;
        demand->ends_ns = at_ns + period_ns;
        demand->has_begun = true;
    }
    demand->younger = rsti_max_i64(demand->younger, asked);
}

int64_t rsti_fill_demand_highest(const rsti_fill_demand_t *demand)
{
    return rsti_max_i64(demand->younger, demand->older);
}

int64_t rsti_fill_buffer(int64_t window, int64_t highest_demand, int64_t mean_message_bytes,
    int64_t mtu)
{
    const int64_t whole = rsti_clamp_i64(window, 0, RSTI_BUFFER_MAX);
    if (highest_demand < 0) {
        return whole;
    }
    int64_t wanted = 0;
    if (__builtin_mul_overflow(highest_demand, rsti_max_i64(mean_message_bytes, 0), &wanted)) {
        wanted = INT64_MAX;
    }
    return rsti_min_i64(whole, rsti_max_i64(wanted, rsti_max_i64(mtu, 0)));
}
