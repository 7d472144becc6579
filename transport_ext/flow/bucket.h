/* bucket.h: a token bucket. Every limit on bytes or datagrams per second is one of these.
 *
 *     spent in any time t <= rate * t + burst      and with debt: + what is forgiven
 *
 *   rate    tokens that come in per second
 *   burst   the most tokens that the bucket holds
 *   level   tokens that it holds now: at most burst; below zero it is a debt
 *   debt    the lowest level is -debt
 *
 * The owner asks before it spends, or spends without asking and goes into debt. The rate pays a
 * debt off before there is room again, so the bound holds over the whole time. Spending that would
 * go below -debt stops there: the rest is forgiven, and comes on top of the bound. A debt of
 * RSTI_BUCKET_NO_LIMIT forgives nothing.
 *
 * Level is a fraction, and each fill counts the time up to now_ns exactly. Frequent fills therefore
 * lose nothing. Time that goes back counts as no time. Pure: now_ns is an argument. */
#ifndef RSTI_FLOW_BUCKET_H
#define RSTI_FLOW_BUCKET_H

#include <stdint.h>

#define RSTI_BUCKET_NO_LIMIT 1e300

typedef struct rsti_bucket_t {
    double rate;
    double burst;
    double debt;
    double level;
    int64_t filled_ns;
} rsti_bucket_t;

/* Call rsti_bucket_set next; it finds the bucket full. */
void rsti_bucket_init(rsti_bucket_t *bucket, int64_t now_ns);
/* The new numbers hold from the last fill on. The level stays, clamped to the new limits. */
void rsti_bucket_set(rsti_bucket_t *bucket, double rate, double burst, double debt);
void rsti_bucket_fill(rsti_bucket_t *bucket, int64_t now_ns);
/* Tokens from elsewhere, up to the burst. */
void rsti_bucket_add(rsti_bucket_t *bucket, double tokens);
/* Negative tokens count as zero. */
void rsti_bucket_spend(rsti_bucket_t *bucket, double tokens);
/* Whole tokens that may be spent without a debt; after a fill. */
int64_t rsti_bucket_room(const rsti_bucket_t *bucket);
/* Nanoseconds from the last fill until the bucket holds that many tokens, at most the burst; 0: it
 * holds them. */
double rsti_bucket_wait_ns(const rsti_bucket_t *bucket, double tokens);

#endif
