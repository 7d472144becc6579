/* send_rate.c: see send_rate.h. */
#include "driver/sender/send_rate.h"

#include "concurrent/counters.h"

#define AHEAD_NS (10 * RSTI_NS_PER_MS)
#define AHEAD_DATAGRAMS 16
#define LIAR_ERROR_INTERVAL_NS RSTI_NS_PER_S

void rsti_send_rate_init(rsti_send_rate_t *send_rate, int32_t mtu, int64_t detect_ns)
{
    *send_rate = (rsti_send_rate_t){
        .mtu = mtu,
        .detect_ns = detect_ns,
        .part_ns = RSTI_NO_DEADLINE,
        .liar_told_ns = INT64_MIN / 2,
        .target_told_ns = INT64_MIN / 2,
        .ahead_bytes = INT64_MAX,
    };
    rsti_fill_truth_init(&send_rate->truth);
}

int64_t rsti_send_rate_ahead(const rsti_send_rate_t *send_rate, int64_t window)
{
    return rsti_min_i64(window, rsti_load_acquire_i64(&send_rate->ahead_bytes));
}

/* Passes the current rate of the law to tokens, publisher and counters. */
static void take_rate(rsti_send_rate_t *send_rate, int64_t now_ns)
{
    const rsti_rate_t *rate = &send_rate->rate;
    rsti_tokens_set(&send_rate->tokens, rate->bytes_per_s, rate->datagrams_per_s, now_ns);
    const bool is_bounded = rate->bytes_per_s < RSTI_RATE_MAX
        || rate->datagrams_per_s < RSTI_RATE_MAX;
    const double most = rate->datagrams_per_s * send_rate->mtu;
    const double bytes_per_s = most < rate->bytes_per_s ? most : rate->bytes_per_s;
    /* Under the adaptive law the queue of the receiver bridges a publisher that is late. */
    const int64_t ahead_ns = rate->law == &rsti_rate_adaptive
        ? rsti_min_i64(AHEAD_NS, rate->params.target_delay_ns / 2)
        : AHEAD_NS;
    const int64_t ahead = rsti_max_i64((int64_t)(bytes_per_s * (double)ahead_ns / 1e9),
        (int64_t)AHEAD_DATAGRAMS * send_rate->mtu);
    rsti_store_release_i64(&send_rate->ahead_bytes, is_bounded ? ahead : INT64_MAX);
    if (send_rate->told.rate != NULL) {
        rsti_store_changed_i64(send_rate->told.rate, (int64_t)rate->bytes_per_s);
        /* One receiver's window holds the sender, so its buffer cannot overrun. */
        const double margin = send_rate->is_group ? rate->margin : 0.0;
        rsti_store_changed_i64(send_rate->told.margin, (int64_t)(margin * 1000.0));
        rsti_store_changed_i64(send_rate->told.fill_naks, rate->report_count);
    }
}

void rsti_send_rate_set(rsti_send_rate_t *send_rate, const rsti_rate_choice_t *choice,
    const rsti_rate_counters_t *counters, int64_t now_ns)
{
    const bool is_change = send_rate->is_limited && choice->law == &rsti_rate_fixed
        && send_rate->rate.law == &rsti_rate_fixed;
    rsti_rate_params_t params = choice->params;
    params.now_ns = now_ns;
    params.detect_ns = send_rate->detect_ns;
    params.is_group = send_rate->is_group;
    if (is_change) {
        /* rsti_rate_init turns a choice without a rate into the largest rate. */
        rsti_rate_t made;
        rsti_rate_init(&made, choice->law, &params);
        rsti_rate_change(&send_rate->rate, made.bytes_per_s, params.datagrams_per_s, now_ns);
    } else {
        rsti_rate_init(&send_rate->rate, choice->law, &params);
        send_rate->sent_bytes = 0;
        rsti_tokens_init(&send_rate->tokens, send_rate->rate.bytes_per_s,
            send_rate->rate.datagrams_per_s, send_rate->mtu, now_ns);
    }
    rsti_standstill_init(&send_rate->standstill, now_ns);
    send_rate->is_limited = choice->law != &rsti_rate_unlimited;
    if (counters->rate != NULL) {
        send_rate->told = *counters;
    }
    take_rate(send_rate, now_ns);
}

int64_t rsti_send_rate_on_cycle(rsti_send_rate_t *send_rate, int64_t now_ns)
{
    const rsti_rate_use_t use = {
        .now_ns = now_ns,
        .sent_bytes = send_rate->sent_bytes,
        .rtt_ns = send_rate->rtt_ns,
        .buffer_bytes = send_rate->buffer_bytes,
    };
    const double before = send_rate->rate.bytes_per_s;
    const int64_t due_ns = rsti_rate_on_cycle(&send_rate->rate, &use);
    if (send_rate->rate.bytes_per_s != before) {
        take_rate(send_rate, now_ns);
    }
    return due_ns;
}

/* Returns the end of the last full datagram while the rate is near its limit. Messages longer than
 * half a datagram gain nothing by this; they lose at most the wait. */
static int64_t full_datagrams(rsti_send_rate_t *send_rate, int64_t position, int64_t limit,
    int64_t pending, int64_t now_ns, int64_t *due_ns)
{
    const int64_t mtu = send_rate->mtu;
    const int64_t full = pending - pending % mtu;
    const bool is_near = rsti_tokens_ask(&send_rate->tokens, rsti_min_i64(pending, mtu), 1, now_ns)
        == RSTI_TOKENS_BATCH_ONLY;
    if (!is_near || full == pending || full >= limit - position) {
        send_rate->part_ns = RSTI_NO_DEADLINE;
        return limit;
    }
    if (send_rate->part_ns == RSTI_NO_DEADLINE) {
        send_rate->part_ns = now_ns;
    } else if (now_ns - send_rate->part_ns >= RSTI_SEND_BATCH_NS) {
        send_rate->part_ns = RSTI_NO_DEADLINE;
        return limit;
    }
    *due_ns = send_rate->part_ns + RSTI_SEND_BATCH_NS;
    return position + full;
}

int64_t rsti_send_rate_limit(rsti_send_rate_t *send_rate, int64_t position, int64_t limit,
    int64_t pending, int64_t now_ns, int64_t *due_ns)
{
    const int64_t mtu = send_rate->mtu;
    if (send_rate->rate.law == &rsti_rate_adaptive) {
        limit = rsti_standstill_limit(&send_rate->standstill, &send_rate->truth, position, limit,
            send_rate->mtu, now_ns);
        if (limit <= position) {
            *due_ns = rsti_standstill_due_ns(&send_rate->standstill);
            return position;
        }
    }
    const int64_t room = rsti_tokens_room(&send_rate->tokens, now_ns);
    if (room >= limit - position) {
        return full_datagrams(send_rate, position, limit, pending, now_ns, due_ns);
    }
    if (room >= mtu) { /* the next pass asks for more */
        return full_datagrams(send_rate, position, position + room - room % mtu, pending, now_ns,
            due_ns);
    }
    /* Few passes with many datagrams each; a small amount of pending data does not wait for more.
     */
    const int64_t most = rsti_max_i64((int64_t)(send_rate->tokens.bytes.burst / 4), mtu);
    const int64_t wanted = rsti_min_i64(rsti_max_i64(pending, mtu), most);
    *due_ns = rsti_tokens_due_ns(&send_rate->tokens, wanted, 1, now_ns);
    return position;
}

int32_t rsti_send_rate_datagrams(const rsti_send_rate_t *send_rate)
{
    const rsti_bucket_t *bucket = &send_rate->tokens.datagrams;
    return bucket->rate >= RSTI_RATE_MAX || bucket->level >= INT32_MAX
        ? INT32_MAX
        : (int32_t)rsti_clamp_double(bucket->level, 0.0, INT32_MAX);
}

void rsti_send_rate_on_sent(rsti_send_rate_t *send_rate, int64_t bytes, int64_t datagrams,
    int64_t now_ns)
{
    if (send_rate->is_limited) {
        send_rate->sent_bytes += bytes;
        rsti_tokens_spend(&send_rate->tokens, bytes, datagrams, now_ns);
    }
}

void rsti_send_rate_on_status(rsti_send_rate_t *send_rate, int64_t receiver_id, int64_t consumed,
    int64_t window, int64_t now_ns)
{
    if (send_rate->is_limited) {
        send_rate->is_news = rsti_fill_truth_on_status(&send_rate->truth, receiver_id, consumed,
            window, now_ns);
    }
}

rsti_report_result_t rsti_send_rate_on_report(rsti_send_rate_t *send_rate,
    const rsti_fill_report_t *report, int64_t sent_position, int64_t now_ns)
{
    if (!send_rate->is_limited) {
        return RSTI_REPORT_IGNORED;
    }
    if (!send_rate->is_news) {
        send_rate->stale_count++;
        return RSTI_REPORT_IGNORED;
    }
    if (rsti_fill_truth_is_believed(&send_rate->truth, report, sent_position, send_rate->mtu,
            now_ns)) {
        rsti_rate_on_report(&send_rate->rate, report, now_ns);
        rsti_standstill_on_report(&send_rate->standstill, &send_rate->truth, report, now_ns);
        take_rate(send_rate, now_ns);
        return !report->is_clear
                && rsti_fill_echo_is_due(&send_rate->echo, report->allowed,
                    rsti_rate_period_ns(&send_rate->rate), now_ns)
            ? RSTI_REPORT_ECHO
            : RSTI_REPORT_TAKEN;
    }
    if (now_ns - send_rate->liar_told_ns < LIAR_ERROR_INTERVAL_NS) {
        return RSTI_REPORT_IGNORED;
    }
    send_rate->liar_told_ns = now_ns;
    return RSTI_REPORT_LIE;
}

int64_t rsti_send_rate_target_due(rsti_send_rate_t *send_rate, bool is_report, int64_t now_ns)
{
    if (send_rate->rate.law != &rsti_rate_adaptive) {
        return 0;
    }
    const int64_t target_ns = send_rate->rate.params.target_delay_ns;
    const int64_t again_ns = is_report ? RSTI_TELL_REPORTER_NS : RSTI_TELL_NS;
    if (target_ns == send_rate->target_told && now_ns - send_rate->target_told_ns < again_ns) {
        return 0;
    }
    send_rate->target_told = target_ns;
    send_rate->target_told_ns = now_ns;
    return target_ns;
}
