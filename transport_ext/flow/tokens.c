/* tokens.c: see the header for the laws. */
#include "flow/tokens.h"

#include "flow/fill_report.h"
#include "flow/saturate.h"

#include <stdbool.h>

#define FREE_SHARE 0.25
#define RATE_LEAST 1.0

static bool is_limited(const rsti_bucket_t *bucket)
{
    return bucket->rate < RSTI_RATE_MAX;
}

static void fill(rsti_tokens_t *tokens, int64_t now_ns)
{
    rsti_bucket_fill(&tokens->bytes, now_ns);
    rsti_bucket_fill(&tokens->datagrams, now_ns);
}

static void set_rate(rsti_bucket_t *bucket, double rate, double burst_least)
{
    const double per_s = rsti_clamp_double(rate, RATE_LEAST, RSTI_RATE_MAX);
    const double by_time = per_s * (double)RSTI_TOKENS_BURST_NS / 1e9;
    const double burst = by_time > burst_least ? by_time : burst_least;
    rsti_bucket_set(bucket, per_s, burst, RSTI_TOKENS_DEBT_BURSTS * burst);
}

static void set_rates(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s)
{
    set_rate(&tokens->bytes, bytes_per_s, RSTI_TOKENS_BURST_DATAGRAMS * tokens->mtu);
    set_rate(&tokens->datagrams, datagrams_per_s, RSTI_TOKENS_BURST_DATAGRAMS);
}

void rsti_tokens_init(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s,
    int32_t mtu, int64_t now_ns)
{
    *tokens = (rsti_tokens_t){
        .mtu = (double)rsti_max_i32(1, rsti_min_i32(mtu, 65536)),
    };
    rsti_bucket_init(&tokens->bytes, now_ns);
    rsti_bucket_init(&tokens->datagrams, now_ns);
    set_rates(tokens, bytes_per_s, datagrams_per_s);
}

void rsti_tokens_set(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s,
    int64_t now_ns)
{
    fill(tokens, now_ns);
    set_rates(tokens, bytes_per_s, datagrams_per_s);
}

static double needed(const rsti_bucket_t *bucket, int64_t amount)
{
    const double wanted = (double)rsti_max_i64(amount, 0);
    return wanted < bucket->burst ? wanted : bucket->burst;
}

static rsti_tokens_state_t state_of(const rsti_bucket_t *bucket, int64_t amount)
{
    if (!is_limited(bucket)) {
        return RSTI_TOKENS_FREE;
    }
    if (bucket->level < needed(bucket, amount)) {
        return RSTI_TOKENS_REFUSED;
    }
    return bucket->level < FREE_SHARE * bucket->burst ? RSTI_TOKENS_BATCH_ONLY : RSTI_TOKENS_FREE;
}

rsti_tokens_state_t rsti_tokens_ask(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams,
    int64_t now_ns)
{
    fill(tokens, now_ns);
    const rsti_tokens_state_t by_bytes = state_of(&tokens->bytes, bytes);
    const rsti_tokens_state_t by_datagrams = state_of(&tokens->datagrams, datagrams);
    return by_bytes > by_datagrams ? by_bytes : by_datagrams;
}

int64_t rsti_tokens_room(rsti_tokens_t *tokens, int64_t now_ns)
{
    fill(tokens, now_ns);
    if (is_limited(&tokens->datagrams) && tokens->datagrams.level < 1.0) {
        return 0;
    }
    if (!is_limited(&tokens->bytes)) {
        return INT64_MAX;
    }
    return rsti_bucket_room(&tokens->bytes);
}

void rsti_tokens_spend(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams, int64_t now_ns)
{
    fill(tokens, now_ns);
    rsti_bucket_spend(&tokens->bytes, (double)bytes);
    rsti_bucket_spend(&tokens->datagrams, (double)datagrams);
}

static int64_t wait_ns_of(const rsti_bucket_t *bucket, int64_t amount)
{
    const double wait = rsti_bucket_wait_ns(bucket, (double)rsti_max_i64(amount, 0));
    if (!is_limited(bucket) || !(wait > 0)) {
        return 0;
    }
    /* One nanosecond and one millionth longer, to make up for rounding. */
    return rsti_to_ns(wait + wait * 1e-6) + 1;
}

int64_t rsti_tokens_due_ns(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams, int64_t now_ns)
{
    fill(tokens, now_ns);
    const int64_t wait_ns = rsti_max_i64(wait_ns_of(&tokens->bytes, bytes),
        wait_ns_of(&tokens->datagrams, datagrams));
    return rsti_saturating_add_i64(tokens->bytes.filled_ns, wait_ns);
}
