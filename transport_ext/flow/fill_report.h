/* fill_report.h: what a fill NAK says. It comes from the network: rsti_fill_report_clean first. */
#ifndef RSTI_FLOW_FILL_REPORT_H
#define RSTI_FLOW_FILL_REPORT_H

#include "flow/saturate.h"

#include <stdint.h>

#define RSTI_RATE_MAX 1e12 /* bytes per second; a rate of that much is no limit */
#define RSTI_REPORT_SENDERS_MAX 1024

typedef struct rsti_fill_report_t {
    int64_t receiver_id;
    double strength;      /* 0 ... 1; 0: not overloaded */
    double fill;          /* share of the buffer that is taken, 0 ... 2 */
    double drain;         /* bytes per second that the consumer takes of this image; 0: unknown */
    double drain_all;     /* and of all images that it reads; at least drain */
    double variation;     /* of drain, relative, 0 ... 1 */
    int32_t sender_count; /* how many images share drain_all; at least 1 */
    int64_t buffer_bytes; /* B_eff; 0: unknown */
    int64_t rtt_ns;       /* as the receiver measured it; 0: unknown */
} rsti_fill_report_t;

static inline void rsti_fill_report_clean(rsti_fill_report_t *report)
{
    report->strength = rsti_clamp_double(report->strength, 0.0, 1.0);
    report->fill = rsti_clamp_double(report->fill, 0.0, 2.0);
    report->drain = rsti_clamp_double(report->drain, 0.0, RSTI_RATE_MAX);
    report->drain_all = rsti_clamp_double(report->drain_all, report->drain, RSTI_RATE_MAX);
    report->variation = rsti_clamp_double(report->variation, 0.0, 1.0);
    report->sender_count = rsti_max_i32(1,
        rsti_min_i32(report->sender_count, RSTI_REPORT_SENDERS_MAX));
    report->buffer_bytes = rsti_clamp_i64(report->buffer_bytes, 0, RSTI_BUFFER_MAX);
    report->rtt_ns = rsti_clamp_i64(report->rtt_ns, 0, RSTI_REPORT_RTT_MAX_NS);
}

#endif
