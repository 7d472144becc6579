/* congestion.h: the receiver window an image announces (wire reference 11). Pure. Owner: conductor;
 * what stands under "before use" the receiver reads too.
 *
 * Every law keeps  window <= max_window = min(configured, term_length / 2): a sender drops status
 * messages with a larger window, and bytes beyond it would meet memory that is still being read. */
#ifndef RSTI_FLOW_CONGESTION_H
#define RSTI_FLOW_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_congestion_t rsti_congestion_t;

/* What one rebuild pass of an image found. */
typedef struct rsti_rebuild_facts_t {
    int64_t now_ns;
    int64_t consumed;         /* least position of the subscribers */
    int64_t last_sm_position; /* of the newest status message */
    int64_t hwm;              /* end of the furthest frame seen */
    int64_t from, to;         /* contiguous data ended at from before the pass, at to after it */
    int64_t rtt_ns;           /* smoothed; 0: not measured yet */
    int64_t rtt_least_ns;
    bool has_loss;            /* a gap was found that was not known before */
} rsti_rebuild_facts_t;

typedef struct rsti_congestion_law_t {
    const char *name;
    /* Returns the window in bytes; *force_sm when a status message must go out. */
    int32_t (*on_rebuild)(rsti_congestion_t *congestion, const rsti_rebuild_facts_t *facts,
        bool *force_sm);
} rsti_congestion_law_t;

struct rsti_congestion_t {
    /* before use */
    const rsti_congestion_law_t *law;
    int32_t max_window;   /* min(configured, term_length / 2) */
    int32_t mtu;
    bool is_measuring;    /* the law wants the round trip, whoever the sender is */
    int64_t rtt_floor_ns; /* then it is asked for every 4 x max(round trip, this); 0: at leisure */
    /* written by: the law */
    int32_t window; /* now */
};

extern const rsti_congestion_law_t rsti_congestion_static;

typedef struct rsti_congestion_params_t {
    const char *cc_text; /* of the channel; NULL or "": default_text */
    const char *default_text;
    int32_t window;      /* configured */
    int32_t term_length;
    int32_t mtu;
    int64_t now_ns;
} rsti_congestion_params_t;

/* 0, or -RST_ECHANNEL naming cc and the value. */
int rsti_congestion_init(rsti_congestion_t *congestion, const rsti_congestion_params_t *params);

#endif
