/* fill_image.h: an image pass by pass in virtual time: what arrives, what its consumer takes, and
 * the reports that are due. A report counts as sent at once. */
#ifndef RSTI_TESTS_FLOW_FILL_IMAGE_H
#define RSTI_TESTS_FLOW_FILL_IMAGE_H

#include "flow/fill.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/int_math.h"

#include <math.h>

#define US INT64_C(1000)
#define MS RSTI_NS_PER_MS
#define S RSTI_NS_PER_S
#define MB 1e6
#define BUFFER (4 * 1024 * 1024)
#define MTU 1408
#define STEP_NS (100 * US)
#define P RSTI_FILL_PERIOD_NS
#define F (60 * MS) /* rsti_fill_fresh_ns of a short round trip */

typedef struct image_t {
    rsti_fill_t fill;
    int64_t now_ns, rtt_ns, window_bytes;
    double received, consumed;
    double behind; /* bytes that wait behind a gap */
    double told; /* the allowed rate of the last report */
    int64_t report_count, clear_count;
    int64_t reported_ns; /* the last report */
    int64_t gap_least_ns, gap_most_ns; /* between two reports of an overload */
} image_t;

static inline void image_init(image_t *image)
{
    *image = (image_t){.rtt_ns = MS, .gap_least_ns = INT64_MAX};
    rsti_fill_init(&image->fill, 0);
}

static inline rsti_fill_facts_t facts_of(const image_t *image)
{
    return (rsti_fill_facts_t){.now_ns = image->now_ns,
        .received = (int64_t)image->received,
        .highest = (int64_t)(image->received + image->behind),
        .consumed = (int64_t)image->consumed,
        .buffer_bytes = BUFFER,
        .rtt_ns = image->rtt_ns,
        .mtu = MTU,
        .window_bytes = image->window_bytes};
}

/* What is due is sent at once. */
static inline rsti_fill_due_t look(image_t *image)
{
    const rsti_fill_facts_t facts = facts_of(image);
    const rsti_fill_due_t due = rsti_fill_update(&image->fill, &facts);
    if (due == RSTI_FILL_REPORT) {
        if (image->fill.sent_ns != INT64_MIN) {
            const int64_t gap_ns = image->now_ns - image->reported_ns;
            image->gap_least_ns = rsti_min_i64(image->gap_least_ns, gap_ns);
            image->gap_most_ns = rsti_max_i64(image->gap_most_ns, gap_ns);
        }
        image->report_count++;
        image->reported_ns = image->now_ns;
        image->told = image->fill.allowed;
        rsti_fill_on_sent(&image->fill);
    } else if (due == RSTI_FILL_CLEAR) {
        image->clear_count++;
        rsti_fill_on_sent(&image->fill);
    }
    return due;
}

static inline rsti_fill_due_t step(image_t *image, double arriving, double taking)
{
    image->now_ns += STEP_NS;
    image->received += arriving / 10000;
    const double there = image->received - image->consumed;
    image->consumed += there < taking / 10000 ? there : taking / 10000;
    return look(image);
}

/* Passes of 100 us; arriving bytes per second and the consumer's rate. */
static inline void pass(image_t *image, int64_t ms, double arriving, double taking)
{
    for (int64_t i = 0; i < ms * 10; i++) {
        (void)step(image, arriving, taking);
    }
}

static inline void forget_counts(image_t *image)
{
    image->report_count = image->clear_count = 0;
    image->gap_least_ns = INT64_MAX;
    image->gap_most_ns = 0;
}

/* A consumer of 100 MB/s whose drain is known, with an empty queue. Set point 800 KB. */
static inline void image_known(image_t *image)
{
    image_init(image);
    pass(image, 1000, 100 * MB, 100 * MB);
}

static inline bool is_near(double value, double expected, double share)
{
    return fabs(value - expected) <= share * fabs(expected);
}

#endif
