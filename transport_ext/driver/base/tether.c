/* tether.c: one step of an untethered subscriber's life. */
#include "driver/base/tether.h"

static rsti_tether_event_t enter(rsti_tether_t *tether, rsti_tether_state_t state,
    rsti_tether_event_t event, int64_t now_ns)
{
    tether->state = state;
    tether->since_ns = now_ns;
    return event;
}

void rsti_tether_let_go(rsti_tether_t *tether, int64_t now_ns)
{
    if (tether->state == RSTI_TETHER_ACTIVE) {
        (void)enter(tether, RSTI_TETHER_LINGER, RSTI_TETHER_LET_GO, now_ns);
    }
}

/* True when the subscriber is behind by nearly a window, and under eviction also stands still. */
static bool is_holding(rsti_tether_t *tether, int64_t position, int64_t limit)
{
    const bool has_moved = tether->is_evicting && position != tether->seen_position;
    tether->seen_position = position;
    return position <= limit && !has_moved;
}

rsti_tether_event_t rsti_tether_check(rsti_tether_t *tether, int64_t position, int64_t limit,
    int64_t now_ns)
{
    if (tether->is_tethered) {
        return RSTI_TETHER_NOTHING;
    }
    const int64_t passed_ns = now_ns - tether->since_ns;
    switch (tether->state) {
    case RSTI_TETHER_ACTIVE:
        if (!is_holding(tether, position, limit)) {
            tether->since_ns = now_ns;
        } else if (passed_ns > tether->times.window_limit_ns) {
            return enter(tether, RSTI_TETHER_LINGER, RSTI_TETHER_LET_GO, now_ns);
        }
        break;
    case RSTI_TETHER_LINGER:
        if (passed_ns > tether->times.linger_ns) {
            return tether->is_rejoin || tether->is_evicting
                ? enter(tether, RSTI_TETHER_RESTING, RSTI_TETHER_REST, now_ns)
                : enter(tether, RSTI_TETHER_CLOSED, RSTI_TETHER_CLOSE, now_ns);
        }
        break;
    case RSTI_TETHER_RESTING:
        if (!tether->is_evicting && passed_ns > tether->times.resting_ns) {
            return enter(tether, RSTI_TETHER_ACTIVE, RSTI_TETHER_REJOIN, now_ns);
        }
        break;
    case RSTI_TETHER_CLOSED:
        break;
    }
    return RSTI_TETHER_NOTHING;
}
