/* samples.h: the results of a run, the same for the queue engine (lab.h) and the real agents
 * (agents.h). The engine fills in the facts. The samples are rows of facts during the run, and one
 * row for each image at its end.
 *
 * Rows hold time_s and gap_s (real time: the longest time between two steps since the row before),
 * then RSTI_LAB_SENDER_COLUMNS for each sender and RSTI_LAB_IMAGE_COLUMNS for each of the first
 * traced_images images; results hold one row of RSTI_LAB_RESULT_COLUMNS for each image. Nothing is
 * allocated between init and fini. */
#ifndef RSTI_LAB_SAMPLES_H
#define RSTI_LAB_SAMPLES_H

#include "lab/spec.h"

#include <stdbool.h>

/* delivered: by images that neither die nor hang. Counts are since the beginning. */
/* clang-format off */
#define RSTI_LAB_SENDER_COLUMNS(C) \
    C(limit) C(sent) C(resent) C(reports) C(ignored) C(control_bytes) C(queue_most) C(fill_most) \
    C(delivered_least) C(delivered_sum) C(overrun) C(backlog) C(rtt_ns) C(margin)
#define RSTI_LAB_IMAGE_COLUMNS(C) C(queue) C(consumed) C(capacity)
#define RSTI_LAB_RESULT_COLUMNS(C) \
    C(consumed) C(capacity) C(overrun) C(lost) C(given_up) C(reports) C(silenced) C(statuses) \
    C(naks) C(is_gone) C(unmasked_ns) C(left)
/* clang-format on */

#define RSTI_LAB_COUNT_COLUMN(name) +1
enum {
    RSTI_LAB_RESULT_WIDTH = 0 RSTI_LAB_RESULT_COLUMNS(RSTI_LAB_COUNT_COLUMN)
};

/* Bytes, bytes per second, and counts since the beginning. */
typedef struct rsti_lab_sender_facts_t {
    double limit, sent, resent;
    double forged;    /* reports of forgers */
    double ignored;   /* reports that were not believed */
    double control_bytes, backlog, rtt_ns, margin;
} rsti_lab_sender_facts_t;

typedef struct rsti_lab_image_facts_t {
    bool is_gone;   /* died or evicted */
    bool survives;  /* the scenario lets it neither die nor hang */
    double queue, buffer_bytes;
    double consumed, capacity, overrun, lost, given_up, reports, silenced, statuses, naks;
    double unmasked_ns; /* the sender began to ignore it; -1: never */
} rsti_lab_image_facts_t;

enum {
    RSTI_LAB_TIME_WIDTH = 2
};

typedef struct rsti_lab_samples_t {
    const rsti_lab_spec_t *spec;
    rsti_lab_sender_facts_t *senders; /* filled in by the engine */
    rsti_lab_image_facts_t *images;
    int64_t step_count;
    int64_t sample_every; /* steps */
    int64_t gap_ns; /* since the last row; 0 in virtual time */
    double *values;
    int64_t row_width, row_count, row_most;
} rsti_lab_samples_t;

extern const char *const rsti_lab_sender_columns[];
extern const char *const rsti_lab_image_columns[];
extern const char *const rsti_lab_result_columns[];
extern const int32_t rsti_lab_sender_column_count;
extern const int32_t rsti_lab_image_column_count;
extern const int32_t rsti_lab_result_column_count;

/* The spec outlives the samples. 0, -RST_EINVAL or -RST_ENOMEM, with a text. */
int rsti_lab_samples_init(rsti_lab_samples_t *samples, const rsti_lab_spec_t *spec);
void rsti_lab_samples_fini(rsti_lab_samples_t *samples);
/* The step of the next row; INT64_MAX: there is none. */
int64_t rsti_lab_samples_next(const rsti_lab_samples_t *samples);
/* Whether this step makes a row. */
bool rsti_lab_samples_is_due(const rsti_lab_samples_t *samples, int64_t step);
void rsti_lab_samples_add(rsti_lab_samples_t *samples, int64_t now_ns);
/* One row of results; out has room for RSTI_LAB_RESULT_WIDTH. */
void rsti_lab_samples_result(const rsti_lab_samples_t *samples, int32_t index, double *out);

#endif
