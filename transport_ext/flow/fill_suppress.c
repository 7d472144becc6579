/* fill_suppress.c: see the header for the law. */
#include "flow/fill_suppress.h"

#include "util/clock.h"

#include <math.h>

#define GROUP_MAX 1e6
#define LEAST_SHARE 64
#define SMALL_GROUP 4.0
#define FOLLOWED_MOST 8.0
#define LOWER 0.1 /* a report that allows less by this share is news */
#define CROWD_LAMBDA 2.0
#define CROWD_MOST 5.0

static double lambda_of(double group_size)
{
    return log(group_size) + 1.0;
}

static double haste_of(const rsti_fill_t *fill)
{
    const double twice = 2.0 * (double)rsti_max_i64(fill->set_point, 1);
    return fill->is_stalled ? 1.0 : rsti_clamp_double((double)fill->standing / twice, 0.0, 1.0);
}

static int64_t longest_ns(const rsti_fill_t *fill, double group_size)
{
    const double period_ns = (double)fill->period_ns;
    const double size = rsti_clamp_double(group_size, 1.0, GROUP_MAX);
    const double wanted_ns = 2.0 * lambda_of(size) * (double)fill->rtt_ns;
    const double haste = haste_of(fill) * (1.0 + fmin(SMALL_GROUP / size, 1.0)) / 2.0;
    const double most_ns = fmax(wanted_ns, period_ns / 2.0) * (1.0 - haste);
    return rsti_to_ns(fmin(most_ns, 3.0 * period_ns));
}

static double alike_of(double group_size)
{
    const double lambda = lambda_of(rsti_clamp_double(group_size, 1.0, GROUP_MAX));
    return 1.0 - LOWER * rsti_clamp_double(lambda / CROWD_LAMBDA, 1.0, CROWD_MOST);
}

int64_t rsti_fill_wait_ns(double group_size, int64_t longest_ns, double unit)
{
    const double size = rsti_clamp_double(group_size, 1.0, GROUP_MAX);
    const int64_t most_ns = rsti_clamp_i64(longest_ns, 0, RSTI_REPORT_RTT_MAX_NS);
    if (!(size > 1.0)) {
        return 0;
    }
    const double lambda = lambda_of(size);
    const double at = rsti_clamp_double(unit, 0.0, 1.0);
    const double wait = (double)most_ns / lambda * log(1.0 + at * (exp(lambda) - 1.0));
    const int64_t least_ns = most_ns / LEAST_SHARE + 1;
    return rsti_clamp_i64(rsti_to_ns(wait), least_ns, rsti_max_i64(most_ns, least_ns));
}

void rsti_fill_suppress_init(rsti_fill_suppress_t *suppress)
{
    *suppress = (rsti_fill_suppress_t){.alike = 1.0 - LOWER};
}

static int64_t end_of_wait(const rsti_fill_suppress_t *suppress, const rsti_fill_t *fill,
    double group_size)
{
    return suppress->began_ns
        + rsti_fill_wait_ns(group_size, longest_ns(fill, group_size), suppress->unit);
}

bool rsti_fill_suppress_is_due(rsti_fill_suppress_t *suppress, const rsti_fill_t *fill, bool is_due,
    double group_size, double unit)
{
    suppress->alike = alike_of(group_size);
    if (!fill->is_reporting) {
        suppress->is_waiting = false;
        return false;
    }
    if (!suppress->is_waiting) {
        if (!is_due) {
            return false;
        }
        suppress->is_waiting = true;
        suppress->began_ns = fill->now_ns;
        suppress->unit = unit;
        suppress->due_ns = end_of_wait(suppress, fill, group_size);
    } else if (group_size <= FOLLOWED_MOST) {
        suppress->due_ns = rsti_min_i64(suppress->due_ns, end_of_wait(suppress, fill, group_size));
    }
    if (fill->now_ns < suppress->due_ns) {
        return false;
    }
    suppress->is_waiting = false;
    return true;
}

void rsti_fill_suppress_on_heard(rsti_fill_suppress_t *suppress, rsti_fill_t *fill, double allowed)
{
    if (!fill->is_reporting || fill->allowed < suppress->alike * allowed) {
        return;
    }
    suppress->silenced_count += suppress->is_waiting;
    suppress->is_waiting = false;
    rsti_fill_on_heard(fill);
}

int64_t rsti_fill_suppress_due_ns(const rsti_fill_suppress_t *suppress)
{
    return suppress->is_waiting ? suppress->due_ns : RSTI_NO_DEADLINE;
}
