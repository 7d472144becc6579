/* congestion.h: the receiver window an image announces (wire reference 11). Pure. */
#ifndef RSTI_FLOW_CONGESTION_H
#define RSTI_FLOW_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_congestion_t rsti_congestion_t;

typedef struct rsti_congestion_law_t {
    const char *name;
    /* One rebuild pass. Returns the window in bytes; *force_sm when a status message must go out. */
    int32_t (*on_track_rebuild)(rsti_congestion_t *congestion, int64_t now_ns,
        int64_t new_consumption_position, int64_t last_sm_position, int64_t hwm_position,
        int64_t starting_rebuild_position, int64_t ending_rebuild_position, bool loss_occurred,
        bool *force_sm);
    bool (*should_measure_rtt)(rsti_congestion_t *congestion, int64_t now_ns);
    void (*on_rtt_sent)(rsti_congestion_t *congestion, int64_t now_ns);
    void (*on_rtt)(rsti_congestion_t *congestion, int64_t now_ns, int64_t rtt_ns);
} rsti_congestion_law_t;

struct rsti_congestion_t {
    const rsti_congestion_law_t *law;
    int32_t window;     /* now */
    int32_t max_window; /* min(configured, term_length / 2) */
    int64_t rtt_ns;     /* 0 = unknown */
};

extern const rsti_congestion_law_t rsti_congestion_static;

/* cc text: "" or "static"; "cubic" joins later (-RST_ENOTSUP); anything else -RST_ECHANNEL. */
int rsti_congestion_init(rsti_congestion_t *congestion, const char *cc_text, int32_t window,
    int32_t term_length, int32_t mtu);

#endif
