/* rate.c: the common part of all laws: limits, the samples of the floor, sources, use. */
#include "flow/rate.h"

#include "util/clock.h"

#include <string.h>

#define MOST_SLOW 1.0 /* bytes per second */
#define LEAST_DEFAULT 4096.0

rsti_rate_params_t rsti_rate_defaults(void)
{
    return (rsti_rate_params_t){
        .least = LEAST_DEFAULT,
        .most = RSTI_RATE_MAX,
        .floor_share = 0.05,
        .target_delay_ns = RSTI_TARGET_DELAY_NS,
        .detect_ns = RSTI_DETECT_NS,
        .window_ns = 50 * RSTI_NS_PER_MS,
        .trigger_count = 4,
        .triggers = {0.5, 0.75, 0.87, 1.0},
        .cuts = {0.1, 0.25, 0.5, 0.75},
        .step_share = 0.01,
        .increase = 1e6,
        .decrease = 0.5,
    };
}

static void clean_params(rsti_rate_params_t *params)
{
    const double most = RSTI_RATE_MAX;
    params->least = rsti_clamp_double(params->least, MOST_SLOW, most);
    params->most = rsti_clamp_double(params->most, params->least, most);
    params->initial = rsti_clamp_double(params->initial, 0.0, most);
    params->floor_share = rsti_clamp_double(params->floor_share, 0.0, 1.0);
    params->datagrams_per_s = rsti_clamp_double(params->datagrams_per_s, 0.0, most);
    params->target_delay_ns = rsti_clamp_i64(params->target_delay_ns, 1, RSTI_REPORT_RTT_MAX_NS);
    params->detect_ns = rsti_clamp_i64(params->detect_ns, 0, RSTI_REPORT_RTT_MAX_NS);
    params->window_ns = rsti_clamp_i64(params->window_ns, RSTI_NS_PER_MS, RSTI_REPORT_RTT_MAX_NS);
    params->trigger_count = rsti_max_i32(0,
        rsti_min_i32(params->trigger_count, RSTI_RATE_TRIGGERS_MAX));
    for (int32_t i = 0; i < params->trigger_count; i++) {
        params->triggers[i] = rsti_clamp_double(params->triggers[i], 0.0, 2.0);
        params->cuts[i] = rsti_clamp_double(params->cuts[i], 0.0, 1.0);
    }
    params->step_share = rsti_clamp_double(params->step_share, 0.0, 1.0);
    params->increase = rsti_clamp_double(params->increase, 0.0, most);
    params->decrease = rsti_clamp_double(params->decrease, 0.0, 1.0);
}

const rsti_rate_law_t *rsti_rate_find(const char *name)
{
    static const rsti_rate_law_t *const laws[] = {&rsti_rate_adaptive, &rsti_rate_nak,
        &rsti_rate_fixed, &rsti_rate_aimd, &rsti_rate_unlimited, NULL};
    for (int i = 0; laws[i] != NULL; i++) {
        if (name != NULL && strcmp(laws[i]->name, name) == 0) {
            return laws[i];
        }
    }
    return NULL;
}

bool rsti_rate_law_listens(const rsti_rate_law_t *law)
{
    return law->on_report != NULL;
}

void rsti_rate_init(rsti_rate_t *rate, const rsti_rate_law_t *law, const rsti_rate_params_t *params)
{
    *rate = (rsti_rate_t){
        .law = law,
        .params = *params,
        .now_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, params->now_ns),
        .datagrams_per_s = RSTI_RATE_MAX,
        .due_ns = RSTI_NO_DEADLINE,
    };
    clean_params(&rate->params);
    rate->bytes_per_s = rsti_clamp_double(rate->params.initial, rate->params.least,
        rate->params.most);
    rate->younger = rate->bytes_per_s;
    rate->marked_ns = rate->now_ns;
    rate->sample_ns = rate->now_ns;
    law->init(rate);
}

double rsti_rate_highest(const rsti_rate_t *rate)
{
    return rate->younger > rate->older ? rate->younger : rate->older;
}

void rsti_rate_set(rsti_rate_t *rate, double bytes_per_s)
{
    const double floor = rate->params.floor_share * rsti_rate_highest(rate);
    const double raised = bytes_per_s > floor ? bytes_per_s : floor;
    rate->bytes_per_s = rsti_clamp_double(raised, rate->params.least, rate->params.most);
}

void rsti_rate_restart(rsti_rate_t *rate, double bytes_per_s)
{
    rate->younger = 0;
    rate->older = 0;
    rsti_rate_set(rate, bytes_per_s);
    rate->younger = rate->bytes_per_s;
}

double rsti_rate_take_use(rsti_rate_t *rate)
{
    const int64_t passed_ns = rate->now_ns - rate->marked_ns;
    const int64_t bytes = rate->sent_bytes - rate->marked_bytes;
    rate->marked_ns = rate->now_ns;
    rate->marked_bytes = rate->sent_bytes;
    return passed_ns > 0 ? (double)bytes / (double)passed_ns * 1e9 : 0.0;
}

static void forget_sources(rsti_rate_t *rate)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < rate->source_count; i++) {
        if (rate->now_ns - rate->sources[i].heard_ns < RSTI_RATE_SOURCE_LIFE_NS) {
            if (kept < i) {
                rate->sources[kept] = rate->sources[i];
            }
            kept++;
        }
    }
    rate->source_count = kept;
}

static void advance(rsti_rate_t *rate, int64_t now_ns)
{
    rate->now_ns = rsti_later_ns(rate->now_ns, now_ns);
    forget_sources(rate);
}

static void take_sample(rsti_rate_t *rate)
{
    const int64_t passed_ns = rate->now_ns - rate->sample_ns;
    if (passed_ns < RSTI_RATE_SAMPLE_NS) {
        return;
    }
    const int64_t bytes = rate->sent_bytes - rate->sample_bytes;
    const double used = (double)bytes / (double)passed_ns * 1e9;
    rate->sample_ns = rate->now_ns;
    rate->sample_bytes = rate->sent_bytes;
    /* While receivers report, the rate or a window holds the sender: it is not idle. */
    const bool is_used = used >= rate->bytes_per_s / 2.0
        || rate->report_count != rate->sample_reports;
    rate->sample_reports = rate->report_count;
    if (is_used && rate->sample_count == RSTI_RATE_SAMPLES) {
        rate->older = rate->younger;
        rate->younger = 0;
        rate->sample_count = 0;
    }
    const double counted = rsti_clamp_double(used, 0.0, RSTI_RATE_MAX);
    rate->younger = counted > rate->younger ? counted : rate->younger;
    rate->sample_count += is_used;
    rsti_rate_set(rate, rate->bytes_per_s); /* the floor may have risen */
}

static void note_source(rsti_rate_t *rate, const rsti_fill_report_t *report)
{
    int32_t at = 0;
    int32_t oldest = 0;
    for (; at < rate->source_count; at++) {
        if (rate->sources[at].report.receiver_id == report->receiver_id) {
            break;
        }
        if (rate->sources[at].heard_ns < rate->sources[oldest].heard_ns) {
            oldest = at;
        }
    }
    if (at == RSTI_RATE_SOURCES_MAX) {
        at--;
        memmove(&rate->sources[oldest], &rate->sources[oldest + 1],
            (size_t)(at - oldest) * sizeof rate->sources[0]);
    } else if (at == rate->source_count) {
        rate->source_count++;
    }
    rate->sources[at] = (rsti_rate_source_t){rate->now_ns, *report};
}

/* Of those that still ask, the one that asks for the least; of several such the former one. */
static void note_governor(rsti_rate_t *rate)
{
    const rsti_rate_source_t *least = NULL;
    const int64_t fresh_ns = rsti_fill_fresh_ns(rate->rtt_ns);
    for (int32_t i = 0; i < rate->source_count; i++) {
        const rsti_rate_source_t *source = &rate->sources[i];
        const bool is_governor = rate->has_governor
            && source->report.receiver_id == rate->governor_id;
        if (!source->report.is_clear && rate->now_ns - source->heard_ns <= fresh_ns
            && (least == NULL || source->report.allowed < least->report.allowed
                || (source->report.allowed == least->report.allowed && is_governor))) {
            least = source;
        }
    }
    if (least != NULL && !(rate->has_governor && least->report.receiver_id == rate->governor_id)) {
        rate->has_governor = true;
        rate->governor_id = least->report.receiver_id;
        rate->governor_since_ns = rate->now_ns;
    }
}

const rsti_fill_report_t *rsti_rate_governor(const rsti_rate_t *rate)
{
    for (int32_t i = 0; rate->has_governor && i < rate->source_count; i++) {
        if (rate->sources[i].report.receiver_id == rate->governor_id) {
            return &rate->sources[i].report;
        }
    }
    return NULL;
}

void rsti_rate_on_report(rsti_rate_t *rate, const rsti_fill_report_t *report, int64_t now_ns)
{
    rsti_fill_report_t cleaned = *report;
    rsti_fill_report_clean(&cleaned);
    advance(rate, now_ns);
    note_source(rate, &cleaned);
    note_governor(rate);
    rate->report_count += !cleaned.is_clear;
    if (rate->law->on_report != NULL) {
        rate->law->on_report(rate, &cleaned);
    }
}

int64_t rsti_rate_on_cycle(rsti_rate_t *rate, const rsti_rate_use_t *use)
{
    advance(rate, use->now_ns);
    rate->sent_bytes = rsti_max_i64(rate->sent_bytes,
        rsti_min_i64(use->sent_bytes, RSTI_COUNT_MAX));
    rate->rtt_ns = rsti_clamp_i64(use->rtt_ns, 0, RSTI_REPORT_RTT_MAX_NS);
    rate->buffer_bytes = rsti_clamp_i64(use->buffer_bytes, 0, RSTI_BUFFER_MAX);
    take_sample(rate);
    if (rate->law->on_step != NULL && rate->now_ns >= rate->due_ns) {
        rate->law->on_step(rate);
    }
    return rate->due_ns;
}

void rsti_rate_change(rsti_rate_t *rate, double bytes_per_s, double datagrams_per_s, int64_t now_ns)
{
    advance(rate, now_ns);
    rate->params.most = rsti_clamp_double(bytes_per_s, rate->params.least, RSTI_RATE_MAX);
    rate->params.datagrams_per_s = rsti_clamp_double(datagrams_per_s, 0.0, RSTI_RATE_MAX);
    rate->datagrams_per_s = rate->params.datagrams_per_s > 0 ? rate->params.datagrams_per_s
                                                             : RSTI_RATE_MAX;
    /* A law without steps cannot rise to a higher limit by itself. */
    rsti_rate_set(rate, rate->law->on_step == NULL ? rate->params.most : rate->bytes_per_s);
}
