/* fill_report.h: what a fill NAK says. It comes from the network: rsti_fill_report_clean first. */
#ifndef RSTI_FLOW_FILL_REPORT_H
#define RSTI_FLOW_FILL_REPORT_H

#include "flow/saturate.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_RATE_MAX 1e12 /* bytes per second; a rate of that much is no limit */

typedef struct rsti_fill_report_t {
    int64_t receiver_id;
    bool is_clear;        /* the overload is over; no rate is asked for any more */
    double fill;          /* share of the buffer that is taken, 0 ... 2 */
    double drain;         /* bytes per second that the consumer takes; 0: unknown */
    double allowed;       /* bytes per second that would keep its queue short (fill.h) */
    int64_t buffer_bytes; /* B_eff; 0: unknown */
    int64_t rtt_ns;       /* as the receiver measured it; 0: unknown */
} rsti_fill_report_t;

static inline void rsti_fill_report_clean(rsti_fill_report_t *report)
{
    report->fill = rsti_clamp_double(report->fill, 0.0, 2.0);
    report->drain = rsti_clamp_double(report->drain, 0.0, RSTI_RATE_MAX);
    report->allowed = rsti_clamp_double(report->allowed, 0.0, RSTI_RATE_MAX);
    report->buffer_bytes = rsti_clamp_i64(report->buffer_bytes, 0, RSTI_BUFFER_MAX);
    report->rtt_ns = rsti_clamp_i64(report->rtt_ns, 0, RSTI_REPORT_RTT_MAX_NS);
}

#endif
