/* path_law.c: the states of the law of the path, at the end of a round. See path.h for the law. */
#include "flow/path_law.h"

#include "flow/saturate.h"

#include <math.h>

#define NEVER INT64_MIN
#define PACKET 1500.0 /* of cubic */
#define FAILS 3
#define ABOVE 3
#define CUTS 2
#define CALM 8
#define QUIET 3
#define TEST_ROUNDS 3
#define SHALLOW_LEAST_S 0.3e-3 /* a shorter queue is not told from the noise of the hosts */

static double since_s(const rsti_path_t *path, int64_t then_ns)
{
    return then_ns == NEVER ? INFINITY : (double)(path->track.now_ns - then_ns) / 1e9;
}

static bool is_heavy(const rsti_path_t *path)
{
    const double usual = path->usual * path->judged;
    return path->lost >= 1.9 + usual + 2.0 * sqrt(usual) && path->lost > 0.02 * path->judged;
}

static void set_shallow(rsti_path_t *path, double shallow)
{
    path->shallow = rsti_clamp_double(shallow, 0.0, 1.0);
    path->shallow_ns = path->track.now_ns;
}

/* The queue overflows at this delay: T becomes half of it. */
static void note_shallow(rsti_path_t *path, double queue_s)
{
    path->shallow = 1.0;
    set_shallow(path, 0.5 * queue_s / rsti_path_target_s(path));
}

static void note_congestion(rsti_path_t *path)
{
    path->loss_window = path->window;
    path->loss_ns = path->track.now_ns;
}

static void note_cut(rsti_path_t *path)
{
    path->cut_round = path->round_count;
    path->lost = path->judged = 0;
    path->growth = 0;
    path->calm = 0;
    path->has_emptied = false;
}

/* q becomes what the smaller window leaves. Otherwise r would fall with both of them. */
static void cut(rsti_path_t *path, double share)
{
    path->queue_s = fmax(share * rsti_path_rtt_s(path) - path->least_s, 0.0);
    rsti_path_set_window(path, share * path->window);
    note_cut(path);
}

static void enter_alone(rsti_path_t *path)
{
    path->state = RSTI_PATH_ALONE;
    path->fails = 0;
    note_cut(path);
}

/* Random loss ends a start as well. queue_s is of the greatest sample of a round, so a host that
 * stood still is in it, and a time of sending that was interpolated: the more, the longer the path.
 * So the queue has overflowed at queue_s only if
 *
 *     queue_s > max(0.3 ms, least / 16)
 *
 * By 0.3 ms alone, f became 0.07 on 100 ms with 2 % of random loss. T was less than the noise then,
 * and W stayed small for 100 round trips. A short queue that is missed here shows at the next
 * overflow. On a short path 0.3 ms stays the limit: the shortest queues need f most. */
static void end_start(rsti_path_t *path, double bandwidth, double queue_s)
{
    if (is_heavy(path)) {
        note_congestion(path);
        if (queue_s > fmax(SHALLOW_LEAST_S, path->least_s / 16.0)) {
            note_shallow(path, queue_s);
        }
    }
    if (bandwidth > 0) {
        rsti_path_set_window(path, fmin(path->window, bandwidth * path->least_s));
    }
    enter_alone(path);
}

void rsti_path_watch_start(rsti_path_t *path, int64_t received)
{
    const double queue_s = path->newest_s - path->least_s;
    const double most_s = fmax(rsti_path_target_s(path) / 2.0, path->least_s / 8.0);
    path->above = queue_s > most_s ? path->above + 1 : 0;
    if (path->above >= ABOVE) {
        end_start(path, rsti_path_greatest_bandwidth(path), queue_s);
    } else if (path->round.is_held) {
        rsti_path_set_window(path, path->window + 0.6 * (double)received);
    }
}

static void start(rsti_path_t *path)
{
    const double most_s = fmax(rsti_path_target_s(path) / 2.0, path->least_s / 16.0);
    if (is_heavy(path) || path->queue_s > most_s) {
        end_start(path, 0.97 * path->round.bandwidth, path->round.most_s - path->least_s);
    }
}

static void enter_compete(rsti_path_t *path)
{
    const double recent_s = fmax(1.0, 60.0 * rsti_path_rtt_s(path));
    const double before = since_s(path, path->loss_ns) < recent_s ? 0.7 * path->loss_window
                                                                  : path->before;
    rsti_path_set_window(path, fmax(before, path->window));
    path->state = RSTI_PATH_COMPETE;
    path->most = path->window;
    path->epoch_ns = path->track.now_ns;
    path->has_lost = false;
    path->cuts = 0;
    note_cut(path);
}

/* The queue overflows at the longest q of late, if q is near it. q is of the least sample of a
 * round, so a host that stood still is not in it. But what went out between two marks of the track
 * has an interpolated time of sending, so q is known to this part of a round trip, and is a queue
 * only if
 *
 *     top > max(0.3 ms, least x 4 / RSTI_PATH_MARKS)
 */
static void cut_heavy(rsti_path_t *path, double keep)
{
    const double through = 0.97 * path->round.bandwidth * path->least_s / path->window;
    const double share = fmax(fmin(0.85, keep), fmin(1.0, through));
    const double top_s = rsti_path_extreme(&path->tops);
    const double noise_s = fmax(SHALLOW_LEAST_S, path->least_s * 4.0 / RSTI_PATH_MARKS);
    const bool is_severe = path->lost > 0.1 * path->judged;
    note_congestion(path);
    if (path->queue_s > top_s / 2.0 && top_s > noise_s) {
        note_shallow(path, top_s);
    }
    cut(path, is_severe ? 0.7 * share : share);
}

/* The queue is as long as it may be. If it was never short since the last cut, that cut failed. A
 * tiny window makes a queue of whole datagrams: it fails only where the queue is clearly longer. */
static void cut_queue(rsti_path_t *path, double keep, double target_s)
{
    if (!path->has_emptied) {
        path->before = path->fails == 0 ? path->window : path->before;
        const bool is_tiny = path->before < 4.0 * path->datagram;
        path->fails += !is_tiny || path->queue_s > 1.5 * target_s;
    }
    if (path->fails >= FAILS) {
        enter_compete(path);
    } else {
        cut(path, 0.97 * keep);
    }
}

static void grow(rsti_path_t *path, double target_s)
{
    const double r = path->window / rsti_path_rtt_s(path);
    const double quarter = path->datagram / 4.0;
    if (path->growth > 0 || path->calm >= CALM) {
        path->growth = path->calm > 0 ? fmax(path->growth, 1.0) * 1.5 : 0.0;
    }
    const double wanted = target_s / 8.0 * pow(RSTI_PATH_REFERENCE, 0.75) * pow(r, 0.25);
    const double most = fmax(r * target_s / 2.0, path->window / 8.0);
    const double step = fmax(fmin(wanted, most), quarter) * fmax(path->growth, 1.0);
    rsti_path_set_window(path, path->window + fmin(step, fmax(path->window / 2.0, quarter)));
}

static void alone(rsti_path_t *path)
{
    const double target_s = rsti_path_target_s(path);
    const double left_s = path->least_s + fmin(0.2e-3, target_s / 4.0);
    const double keep = fmin(1.0, left_s / rsti_path_rtt_s(path));
    const int64_t since = path->round_count - path->cut_round;
    if (path->queue_s < target_s / 2.0) {
        path->has_emptied = true;
        path->fails = 0;
    }
    path->calm = path->queue_s < target_s / 4.0 && path->round.is_held ? path->calm + 1 : 0;
    if (since >= 2 && is_heavy(path)) {
        cut_heavy(path, keep);
    } else if (since >= 3 && path->queue_s >= target_s) {
        cut_queue(path, keep, target_s);
    } else if (since >= 3 && path->round.is_held) {
        grow(path, target_s);
    }
    if (path->shallow < 1.0 && since_s(path, path->shallow_ns) >= 30.0 * rsti_path_rtt_s(path)) {
        set_shallow(path, 2.0 * path->shallow);
    }
}

/* The window of cubic, with beta 0.75, and never below that of Reno with the same beta. */
static double cubic(const rsti_path_t *path)
{
    const double most = path->most / PACKET;
    const double t = since_s(path, path->epoch_ns);
    const double distance = t - cbrt(0.625 * most);
    const double reno = 0.75 * most + 0.43 * t / rsti_path_rtt_s(path);
    return PACKET * fmax(0.4 * distance * distance * distance + most, reno);
}

static void cut_cubic(rsti_path_t *path)
{
    note_congestion(path);
    path->most = path->window < path->most ? 0.9 * path->window : path->window;
    path->epoch_ns = path->track.now_ns;
    path->has_lost = true;
    path->kept = path->window;
    note_cut(path);
    path->cuts++;
    double share = 0.75;
    if (path->cuts >= CUTS) {
        path->cuts = 0;
        path->state = RSTI_PATH_TEST;
        share = fmin(share, 0.95 * path->least_s / rsti_path_rtt_s(path));
    }
    rsti_path_set_window(path, share * path->window);
}

static void compete(rsti_path_t *path)
{
    const bool is_full = path->round.has_loss
        && path->queue_s > rsti_path_extreme(&path->tops) / 2.0;
    const bool is_over = path->round_count - path->cut_round >= 2;
    path->calm = path->queue_s < rsti_path_target_s(path) / 2.0 ? path->calm + 1 : 0;
    if (path->calm >= QUIET) {
        enter_alone(path);
    } else if (is_over && (is_full || is_heavy(path))) {
        cut_cubic(path);
    } else if (path->round.is_held) {
        const double old_s = fmax(5.0, 100.0 * rsti_path_rtt_s(path));
        const bool is_new = !path->has_lost && since_s(path, path->loss_ns) > old_s;
        const double wanted = is_new ? 1.1 * path->window : cubic(path);
        rsti_path_set_window(path, fmax(path->window, fmin(wanted, 1.5 * path->window)));
    }
}

static void test(rsti_path_t *path)
{
    if (path->queue_s < rsti_path_target_s(path) / 2.0) {
        enter_alone(path);
    } else if (path->round_count - path->cut_round >= TEST_ROUNDS) {
        path->state = RSTI_PATH_COMPETE;
        rsti_path_set_window(path, 0.75 * path->kept);
        note_cut(path);
    }
}

void rsti_path_step(rsti_path_t *path)
{
    static void (*const by_state[])(rsti_path_t *) = {start, alone, compete, test};
    by_state[path->state](path);
}
