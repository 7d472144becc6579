/* rate.h: how much a publication may send per second, in addition to the limit of its window. A law
 * is one constant table of functions and one small file:
 *
 *   adaptive   follows fill NAKs and the drain that they report
 *   nak        the proposal: triggers of fill, the highest in a window, growing steps upward
 *   fixed      what the user says
 *   aimd       adds a little, multiplies down
 *   unlimited  the window alone
 *
 * What holds under every law, for any sequence of reports:
 *     max(floor_share * H, least) <= bytes_per_s <= most       most wins where they cross
 * H is the highest of the last RSTI_RATE_SAMPLES to twice as many samples. A sample is the bytes
 * per second that were sent in RSTI_RATE_SAMPLE_NS; one below half of the rate, without any report
 * in it, makes no older one forgotten. This has four effects:
 *   - Forged reports push a stream down to its floor, and no further for seconds.
 *   - Idle times do not lower the floor.
 *   - A rate that was tried for some milliseconds does not raise the floor.
 *   - A receiver that is really slow lowers the floor to a twentieth each time the samples pass.
 *
 * The report of a source is forgotten after RSTI_RATE_SOURCE_LIFE_NS. If there are more than
 * RSTI_RATE_SOURCES_MAX sources, the one heard longest ago is forgotten.
 *
 * The rate never grows while the application sends less than half of it.
 *
 * Pure: now_ns is an argument; time that goes back counts as no time. Owner: sender. Tokens
 * (tokens.h) turn the rate into bytes that may be sent now. */
#ifndef RSTI_FLOW_RATE_H
#define RSTI_FLOW_RATE_H

#include "flow/fill.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_RATE_SOURCES_MAX 16
#define RSTI_RATE_SOURCE_LIFE_NS INT64_C(2000000000)
#define RSTI_RATE_SAMPLE_NS INT64_C(100000000)
#define RSTI_RATE_SAMPLES 20
#define RSTI_RATE_TRIGGERS_MAX 8
#define RSTI_DETECT_NS INT64_C(200000) /* default of D */

typedef struct rsti_rate_t rsti_rate_t;

/* Fields that a law does not use are ignored; all are clamped. */
typedef struct rsti_rate_params_t {
    double initial; /* bytes per second; 0: the law's own beginning */
    double least, most; /* bytes per second */
    double floor_share; /* of H */
    double datagrams_per_s; /* fixed; 0: no limit */
    int64_t target_delay_ns, detect_ns; /* adaptive: L, and D: what a stop costs beyond RTT + P */
    bool is_group; /* adaptive: more than one receiver may follow */
    int64_t window_ns; /* nak */
    int32_t trigger_count; /* nak: fills and what each of them cuts off the rate */
    double triggers[RSTI_RATE_TRIGGERS_MAX];
    double cuts[RSTI_RATE_TRIGGERS_MAX];
    double step_share; /* nak: of H, first step upward */
    double increase; /* aimd: bytes per second and round */
    double decrease; /* aimd: factor */
    int64_t now_ns;
} rsti_rate_params_t;

/* The documented defaults: triggers 50/75/87/100 %, 50 ms, floor 5 %, L 10 ms. */
rsti_rate_params_t rsti_rate_defaults(void);

/* A pass of the sender. */
typedef struct rsti_rate_use_t {
    int64_t now_ns;
    int64_t sent_bytes; /* since the beginning, with retransmissions */
    int64_t rtt_ns; /* as the sender measured it; 0: unknown */
    int64_t buffer_bytes; /* window of the receivers; 0: unknown. Counts until one reports */
} rsti_rate_use_t;

typedef struct rsti_rate_law_t {
    const char *name;
    void (*init)(rsti_rate_t *rate);
    /* Optional. The report is clean and stored in sources, and rate->now_ns is up to date. */
    void (*on_report)(rsti_rate_t *rate, const rsti_fill_report_t *report);
    /* Optional. Called when rate->due_ns has come; sets the next due_ns. */
    void (*on_step)(rsti_rate_t *rate);
} rsti_rate_law_t;

typedef struct rsti_rate_source_t {
    int64_t heard_ns;
    rsti_fill_report_t report;
} rsti_rate_source_t;

typedef struct rsti_rate_adaptive_t {
    double before; /* R_0: the rate when the episode began */
    double back_to; /* R_0 on the way back after clear; 0: none */
    double drain; /* d of the last clear */
    double jump; /* the first step of that way in a group, at due_ns; 0: none */
    int32_t growths; /* steps of growth since the last episode began */
    bool is_episode;
    bool is_starting; /* doubles until the first report */
    bool has_begun; /* the initial rate is settled */
} rsti_rate_adaptive_t;

typedef struct rsti_rate_nak_t {
    double base; /* rate when the window was opened */
    double deepest; /* cut in it */
    double used; /* bytes per second before the last step */
    int64_t opened_ns; /* INT64_MIN: never */
    int32_t quiet; /* steps since the last report */
} rsti_rate_nak_t;

struct rsti_rate_t {
    const rsti_rate_law_t *law;
    rsti_rate_params_t params;
    /* results of the law */
    double bytes_per_s;
    double datagrams_per_s; /* RSTI_RATE_MAX: no limit */
    int64_t due_ns; /* when on_cycle is wanted at the latest; INT64_MAX: never */
    double margin; /* headroom X; 0: unknown */
    /* inputs and memory */
    int64_t now_ns;
    int64_t rtt_ns, buffer_bytes;
    int64_t sent_bytes, marked_bytes, marked_ns; /* use since the mark */
    double younger, older; /* highest of these samples, and of the RSTI_RATE_SAMPLES before them */
    int32_t sample_count; /* of these */
    int64_t sample_ns, sample_bytes; /* where the running sample began */
    int64_t report_count; /* that ask for a rate */
    bool has_governor; /* a receiver has asked for a rate; the next two are set */
    int64_t governor_id; /* who asked for the least when a report came last */
    int64_t governor_since_ns;
    int64_t sample_reports; /* how many there were at the last sample */
    int32_t source_count;
    rsti_rate_source_t sources[RSTI_RATE_SOURCES_MAX];
    union {
        rsti_rate_adaptive_t adaptive;
        rsti_rate_nak_t nak;
        int64_t cut_ns; /* aimd; INT64_MIN: never */
    } state;
};

extern const rsti_rate_law_t rsti_rate_adaptive;
extern const rsti_rate_law_t rsti_rate_nak;
extern const rsti_rate_law_t rsti_rate_fixed;
extern const rsti_rate_law_t rsti_rate_aimd;
extern const rsti_rate_law_t rsti_rate_unlimited;

/* Whether the law follows fill NAKs. */
bool rsti_rate_law_listens(const rsti_rate_law_t *law);
/* NULL: no law has that name. */
const rsti_rate_law_t *rsti_rate_find(const char *name);

void rsti_rate_init(rsti_rate_t *rate, const rsti_rate_law_t *law,
    const rsti_rate_params_t *params);
void rsti_rate_on_report(rsti_rate_t *rate, const rsti_fill_report_t *report, int64_t now_ns);
/* Each pass of the sender; returns due_ns. */
int64_t rsti_rate_on_cycle(rsti_rate_t *rate, const rsti_rate_use_t *use);
/* While running: the rate of fixed, the upper limit of the others. datagrams_per_s 0: no limit. */
void rsti_rate_change(rsti_rate_t *rate, double bytes_per_s, double datagrams_per_s,
    int64_t now_ns);

/* The last report of the governor, whose least wish the rate follows; NULL: nobody has asked for a
 * rate, or it is forgotten. */
const rsti_fill_report_t *rsti_rate_governor(const rsti_rate_t *rate);

/* P of fill.h, with the round trip that the sender knows. */
int64_t rsti_rate_period_ns(const rsti_rate_t *rate);
/* Headroom X (rate_adaptive.c); 0: unknown. */
double rsti_rate_headroom(int64_t target_delay_ns, int64_t detect_ns, int64_t buffer_bytes,
    int64_t rtt_ns, double bytes_per_s);

/* For laws. */
double rsti_rate_highest(const rsti_rate_t *rate); /* H */
void rsti_rate_set(rsti_rate_t *rate, double bytes_per_s);
void rsti_rate_restart(rsti_rate_t *rate, double bytes_per_s); /* H begins anew too */
/* Returns the bytes per second since the last mark, and sets a new mark. */
double rsti_rate_take_use(rsti_rate_t *rate);

#endif
