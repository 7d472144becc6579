/* bucket.c: see the header for the law. */
#include "flow/bucket.h"

#include "flow/saturate.h"

void rsti_bucket_init(rsti_bucket_t *bucket, int64_t now_ns)
{
    *bucket = (rsti_bucket_t){
        .level = RSTI_BUCKET_NO_LIMIT,
        .filled_ns = rsti_later_ns(-RSTI_TIME_MAX_NS, now_ns),
    };
}

void rsti_bucket_set(rsti_bucket_t *bucket, double rate, double burst, double debt)
{
    bucket->rate = rate;
    bucket->burst = burst;
    bucket->debt = debt;
    bucket->level = rsti_clamp_double(bucket->level, -debt, burst);
}

void rsti_bucket_add(rsti_bucket_t *bucket, double tokens)
{
    const double level = bucket->level + tokens;
    bucket->level = level < bucket->burst ? level : bucket->burst;
}

void rsti_bucket_fill(rsti_bucket_t *bucket, int64_t now_ns)
{
    const int64_t until_ns = rsti_later_ns(bucket->filled_ns, now_ns);
    rsti_bucket_add(bucket, bucket->rate * (double)(until_ns - bucket->filled_ns) / 1e9);
    bucket->filled_ns = until_ns;
}

void rsti_bucket_spend(rsti_bucket_t *bucket, double tokens)
{
    const double level = bucket->level - (tokens > 0 ? tokens : 0);
    bucket->level = rsti_clamp_double(level, -bucket->debt, bucket->burst);
}

int64_t rsti_bucket_room(const rsti_bucket_t *bucket)
{
    return bucket->level > 0 ? (int64_t)bucket->level : 0;
}

double rsti_bucket_wait_ns(const rsti_bucket_t *bucket, double tokens)
{
    const double wanted = tokens < bucket->burst ? tokens : bucket->burst;
    const double missing = wanted - bucket->level;
    return missing > 0 ? missing / bucket->rate * 1e9 : 0.0;
}
