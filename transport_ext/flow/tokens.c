/* tokens.c: see the header for the laws. */
#include "flow/tokens.h"

#include "flow/fill_report.h"
#include "flow/saturate.h"

#define FREE_SHARE 0.25
#define RATE_LEAST 1.0

static void account_set(rsti_account_t *account, double rate, double burst_least)
{
    account->rate = rsti_clamp_double(rate, RATE_LEAST, RSTI_RATE_MAX);
    const double burst = account->rate * (double)RSTI_TOKENS_BURST_NS / 1e9;
    account->burst = burst > burst_least ? burst : burst_least;
    account->level = rsti_clamp_double(account->level, -RSTI_TOKENS_DEBT_BURSTS * account->burst,
        account->burst);
}

static bool is_limited(const rsti_account_t *account)
{
    return account->rate < RSTI_RATE_MAX;
}

static void account_fill(rsti_account_t *account, int64_t passed_ns)
{
    const double filled = account->level + account->rate * (double)passed_ns / 1e9;
    account->level = filled < account->burst ? filled : account->burst;
}

static void fill(rsti_tokens_t *tokens, int64_t now_ns)
{
    const int64_t until_ns = rsti_later_ns(tokens->filled_ns, now_ns);
    account_fill(&tokens->bytes, until_ns - tokens->filled_ns);
    account_fill(&tokens->datagrams, until_ns - tokens->filled_ns);
    tokens->filled_ns = until_ns;
}

static void set_rates(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s)
{
    account_set(&tokens->bytes, bytes_per_s, RSTI_TOKENS_BURST_DATAGRAMS * tokens->mtu);
    account_set(&tokens->datagrams, datagrams_per_s, RSTI_TOKENS_BURST_DATAGRAMS);
}

void rsti_tokens_init(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s,
    int32_t mtu, int64_t now_ns)
{
    *tokens = (rsti_tokens_t){
        .mtu = (double)rsti_max_i32(1, rsti_min_i32(mtu, 65536)),
        .filled_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, now_ns),
    };
    set_rates(tokens, bytes_per_s, datagrams_per_s);
    tokens->bytes.level = tokens->bytes.burst;
    tokens->datagrams.level = tokens->datagrams.burst;
}

void rsti_tokens_set(rsti_tokens_t *tokens, double bytes_per_s, double datagrams_per_s,
    int64_t now_ns)
{
    fill(tokens, now_ns);
    set_rates(tokens, bytes_per_s, datagrams_per_s);
}

static double needed(const rsti_account_t *account, int64_t amount)
{
    const double wanted = (double)rsti_max_i64(amount, 0);
    return wanted < account->burst ? wanted : account->burst;
}

static rsti_tokens_state_t account_state(const rsti_account_t *account, int64_t amount)
{
    if (!is_limited(account)) {
        return RSTI_TOKENS_FREE;
    }
    if (account->level < needed(account, amount)) {
        return RSTI_TOKENS_REFUSED;
    }
    return account->level < FREE_SHARE * account->burst ? RSTI_TOKENS_BATCH_ONLY : RSTI_TOKENS_FREE;
}

rsti_tokens_state_t rsti_tokens_ask(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams,
    int64_t now_ns)
{
    fill(tokens, now_ns);
    const rsti_tokens_state_t by_bytes = account_state(&tokens->bytes, bytes);
    const rsti_tokens_state_t by_datagrams = account_state(&tokens->datagrams, datagrams);
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
    return tokens->bytes.level > 0 ? (int64_t)tokens->bytes.level : 0;
}

static void account_spend(rsti_account_t *account, int64_t amount)
{
    const double least = -RSTI_TOKENS_DEBT_BURSTS * account->burst;
    account->level = rsti_clamp_double(account->level - (double)rsti_max_i64(amount, 0), least,
        account->burst);
}

void rsti_tokens_spend(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams, int64_t now_ns)
{
    fill(tokens, now_ns);
    account_spend(&tokens->bytes, bytes);
    account_spend(&tokens->datagrams, datagrams);
}

static int64_t account_wait_ns(const rsti_account_t *account, int64_t amount)
{
    const double missing = needed(account, amount) - account->level;
    if (!is_limited(account) || !(missing > 0)) {
        return 0;
    }
    /* A nanosecond more than it takes, and a millionth for what floating point rounds off. */
    const double wait = missing / account->rate * 1e9;
    return rsti_to_ns(wait + wait * 1e-6) + 1;
}

int64_t rsti_tokens_due_ns(rsti_tokens_t *tokens, int64_t bytes, int64_t datagrams, int64_t now_ns)
{
    fill(tokens, now_ns);
    const int64_t wait_ns = rsti_max_i64(account_wait_ns(&tokens->bytes, bytes),
        account_wait_ns(&tokens->datagrams, datagrams));
    return rsti_saturating_add_i64(tokens->filled_ns, wait_ns);
}
