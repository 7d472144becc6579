/* congestion.h: the receiver window an image announces (docs/reference/aeron/wire.md 11). Pure.
 * Owner: conductor. The receiver also reads the fields under "before use".
 *
 * Every law keeps  window <= max_window = min(configured, term_length / 2): a sender drops status
 * messages with a larger window, and bytes beyond it would meet memory that is still being read. */
#ifndef RSTI_FLOW_CONGESTION_H
#define RSTI_FLOW_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_congestion_t rsti_congestion_t;
typedef struct rsti_congestion_params_t rsti_congestion_params_t;

/* Results of one rebuild pass of an image. */
typedef struct rsti_rebuild_facts_t {
    int64_t now_ns;
    int64_t consumed; /* least position of the subscribers */
    int64_t last_sm_position; /* of the newest status message */
    int64_t hwm; /* end of the furthest frame seen */
    int64_t from, to; /* end of contiguous data before and after the pass */
    int64_t rtt_ns; /* smoothed; 0: not measured yet */
    int64_t rtt_least_ns;
    bool has_loss; /* a gap was found that was not known before */
} rsti_rebuild_facts_t;

typedef struct rsti_congestion_law_t {
    const char *name;
    /* Counters of an image that show round trip (ns) and window (bytes); NULL: none. */
    const char *rtt_counter;
    const char *window_counter;
    /* Optional. window is max_window before it. */
    void (*init)(rsti_congestion_t *congestion, const rsti_congestion_params_t *params);
    /* Returns the window in bytes; *force_sm when a status message must go out. */
    int32_t (*on_rebuild)(rsti_congestion_t *congestion, const rsti_rebuild_facts_t *facts,
        bool *force_sm);
} rsti_congestion_law_t;

/* Cubic counts in datagrams of mtu bytes. */
typedef struct rsti_cubic_t {
    int64_t initial_rtt_ns;
    bool is_tcp_mode;
    int32_t max_cwnd, cwnd, w_max;
    double k; /* seconds from a loss until the window is w_max again */
    int64_t epoch_ns; /* last loss */
    int64_t updated_ns;
} rsti_cubic_t;

#define RSTI_AUTO_SAMPLES 8

/* The running interval, and the last intervals that count. */
typedef struct rsti_auto_t {
    double drains[RSTI_AUTO_SAMPLES]; /* bytes per second */
    int64_t gaps[RSTI_AUTO_SAMPLES]; /* ns */
    int32_t next, count;
    int64_t behinds[RSTI_AUTO_SAMPLES]; /* bytes behind a gap */
    int32_t next_behind;
    int64_t started_ns; /* of the running interval; INT64_MIN: before the first */
    int64_t started_at; /* consumed at that time */
    int64_t started_limit;
    int64_t gap_ns; /* longest gap in it */
    int64_t behind; /* most in it */
    int64_t consumed; /* in the last pass */
    int64_t waiting_ns; /* since when there is data to read; INT64_MIN: there is none */
} rsti_auto_t;

struct rsti_congestion_t {
    /* before use */
    const rsti_congestion_law_t *law;
    int32_t max_window; /* min(configured, term_length / 2) */
    int32_t mtu;
    bool is_measuring; /* the law needs the round trip, from any kind of sender */
    int64_t rtt_floor_ns; /* with is_measuring: ask every 4 x max(round trip, this); 0: rarely */
    /* written by: the law */
    int32_t window; /* now */
    int64_t rtt_ns; /* the round trip that the law uses */
    union {
        rsti_cubic_t cubic;
        rsti_auto_t automatic;
    } state;
};

extern const rsti_congestion_law_t rsti_congestion_static;
extern const rsti_congestion_law_t rsti_congestion_cubic;
extern const rsti_congestion_law_t rsti_congestion_auto;

struct rsti_congestion_params_t {
    const char *cc_text; /* of the channel; NULL or "": default_text */
    const char *default_text;
    int32_t window; /* configured */
    int32_t term_length;
    int32_t mtu;
    int64_t now_ns;
    bool cubic_measure_rtt;
    bool cubic_tcp_mode;
    int64_t cubic_initial_rtt_ns;
};

bool rsti_congestion_is_known(const char *name);
/* 0, or -RST_ECHANNEL naming the value and cc (congestion-control if it is the driver's). */
int rsti_congestion_init(rsti_congestion_t *congestion, const rsti_congestion_params_t *params);

#endif
