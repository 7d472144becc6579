/* cc_static.c: a window that never changes. */
#include "flow/congestion.h"

static int32_t on_track_rebuild(rsti_congestion_t *congestion, int64_t now_ns,
    int64_t new_consumption_position, int64_t last_sm_position, int64_t hwm_position,
    int64_t starting_rebuild_position, int64_t ending_rebuild_position, bool loss_occurred,
    bool *force_sm)
{
    (void)now_ns;
    (void)new_consumption_position;
    (void)last_sm_position;
    (void)hwm_position;
    (void)starting_rebuild_position;
    (void)ending_rebuild_position;
    (void)loss_occurred;
    *force_sm = false;
    return congestion->window;
}

static bool should_measure_rtt(rsti_congestion_t *congestion, int64_t now_ns)
{
    (void)congestion;
    (void)now_ns;
    return false;
}

static void on_rtt_sent(rsti_congestion_t *congestion, int64_t now_ns)
{
    (void)congestion;
    (void)now_ns;
}

static void on_rtt(rsti_congestion_t *congestion, int64_t now_ns, int64_t rtt_ns)
{
    (void)now_ns;
    congestion->rtt_ns = rtt_ns;
}

const rsti_congestion_law_t rsti_congestion_static = {
    .name = "static",
    .on_track_rebuild = on_track_rebuild,
    .should_measure_rtt = should_measure_rtt,
    .on_rtt_sent = on_rtt_sent,
    .on_rtt = on_rtt,
};
