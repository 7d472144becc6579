/* path.c: what may be sent, and the rounds; path_law.c has what happens at the end of one. */
#include "flow/path.h"

#include "flow/path_law.h"
#include "flow/saturate.h"
#include "util/assert.h"
#include "util/clock.h"

#include <math.h>

#define NEVER INT64_MIN
#define TARGET_S 2e-3 /* T1 at the reference */
#define TARGET_LEAST_S 0.8e-3
#define TARGET_MOST_S 5e-3
#define FLOOR_S 0.4e-3 /* hosts are not more punctual */
#define SILENT_QUEUE_S 0.1 /* a longer queue does not delay the end of a silence */
#define FIRST_SILENCE_S 1.0 /* while no round trip is known */
#define PACE 1.05
#define PACE_START 1.3
#define PACE_BANDWIDTHS 1.25 /* a pace above 1.05 r is at most so many times b */
#define SAMPLES 3
#define FEW_DATAGRAMS 4.0
#define JUDGED 30.0 /* datagrams, before loss is counted anew */

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static int64_t nanoseconds(double time_s)
{
    return rsti_to_ns(time_s * 1e9);
}

double rsti_path_rtt_s(const rsti_path_t *path)
{
    return path->least_s > 0 ? path->least_s + path->queue_s : path->newest_s;
}

double rsti_path_target_s(const rsti_path_t *path)
{
    const double r = path->window / rsti_path_rtt_s(path);
    const double wanted_s = rsti_clamp_double(TARGET_S * pow(RSTI_PATH_REFERENCE / r, 0.25),
        TARGET_LEAST_S, TARGET_MOST_S);
    return fmax(FLOOR_S, path->shallow * wanted_s);
}

void rsti_path_set_window(rsti_path_t *path, double window)
{
    path->window = rsti_clamp_double(window, path->datagram / 2.0, (double)RSTI_PATH_WINDOW_MOST);
}

static void extreme_add(rsti_path_extreme_t *extreme, double value, int64_t now_ns)
{
    if (extreme->ends_ns == NEVER) {
        *extreme = (rsti_path_extreme_t){value, value, now_ns + RSTI_PATH_MEMORY_NS};
    } else if (now_ns >= extreme->ends_ns) {
        *extreme = (rsti_path_extreme_t){value, extreme->younger, now_ns + RSTI_PATH_MEMORY_NS};
    }
    extreme->younger = fmax(extreme->younger, value);
}

double rsti_path_extreme(const rsti_path_extreme_t *extreme)
{
    return fmax(extreme->younger, extreme->older);
}

static void start_round(rsti_path_t *path)
{
    path->was_held = path->round.is_held;
    path->round = (rsti_path_round_t){.end = path->track.sent_bytes, .least_s = INFINITY};
    path->round_count++;
}

static void begin(rsti_path_t *path, double datagram, int64_t rtt_ns)
{
    const rsti_path_track_t track = path->track;
    *path = (rsti_path_t){
        .track = track,
        .datagram = datagram,
        .window = RSTI_PATH_FIRST_DATAGRAMS * datagram,
        .newest_s = seconds(rsti_min_i64(rtt_ns, RSTI_PATH_RTT_MAX_NS)),
        .leasts.ends_ns = NEVER,
        .tops.ends_ns = NEVER,
        .shallow = 1.0,
        .loss_ns = NEVER,
    };
    start_round(path);
}

int rsti_path_init(rsti_path_t *path, const rsti_path_params_t *params)
{
    const int result = rsti_path_track_init(&path->track, params->position, params->now_ns);
    begin(path, (double)rsti_clamp_i64(params->datagram, 64, 65536),
        params->rtt_ns > 0 ? params->rtt_ns : RSTI_PATH_FIRST_RTT_NS);
    return result;
}

void rsti_path_restart(rsti_path_t *path)
{
    begin(path, path->datagram, RSTI_PATH_FIRST_RTT_NS);
}

void rsti_path_fini(rsti_path_t *path)
{
    rsti_path_track_fini(&path->track);
}

static int64_t period_ns(const rsti_path_t *path)
{
    return rsti_path_period_ns(nanoseconds(rsti_path_rtt_s(path)));
}

/* How fast data arrives that no item has told of. A window made for a full queue is much more than
 * the link carries in a round trip, and r too large, once the queue has gone. */
static double arriving(const rsti_path_t *path)
{
    const double r = path->window / rsti_path_rtt_s(path);
    const double bandwidth = rsti_path_greatest_bandwidth(path);
    return path->state == RSTI_PATH_START || bandwidth <= 0 ? r : fmin(r, bandwidth);
}

int64_t rsti_path_limit(const rsti_path_t *path, int64_t now_ns)
{
    const int64_t age_ns = rsti_clamp_i64(now_ns - path->track.heard_ns, 0, period_ns(path));
    return (int64_t)rsti_clamp_double(path->window + arriving(path) * seconds(age_ns),
        path->datagram, 2.0 * (double)RSTI_PATH_WINDOW_MOST);
}

int64_t rsti_path_room(const rsti_path_t *path, int64_t now_ns)
{
    return rsti_max_i64(rsti_path_limit(path, now_ns) - rsti_path_under_way(&path->track), 0);
}

int64_t rsti_path_room_ns(const rsti_path_t *path, int64_t bytes, int64_t now_ns)
{
    if (rsti_path_room(path, now_ns) >= bytes) {
        return now_ns;
    }
    const double lacking = (double)(rsti_path_under_way(&path->track) + bytes) - path->window;
    const int64_t age_ns = 1 + nanoseconds(lacking / arriving(path));
    return age_ns <= period_ns(path) ? path->track.heard_ns + age_ns : RSTI_NO_DEADLINE;
}

/* By the newest round trip too, because q is that of a round ago: after a cut the queue is gone
 * before the round ends. But not far faster than the link: after a host that stood still the queue
 * has gone as well, and W is still made for a full one. */
static double pace(const rsti_path_t *path)
{
    const double usual = PACE * path->window / rsti_path_rtt_s(path);
    const double newest = fmax(usual, PACE * path->window / path->newest_s);
    const double bandwidth = rsti_path_greatest_bandwidth(path);
    return bandwidth > 0 ? fmin(newest, fmax(usual, PACE_BANDWIDTHS * bandwidth)) : newest;
}

int64_t rsti_path_pace(const rsti_path_t *path)
{
    const double wanted = path->state == RSTI_PATH_START
        ? PACE_START * path->window / (path->least_s > 0 ? path->least_s : path->newest_s)
        : pace(path);
    return (int64_t)rsti_clamp_double(wanted, 1.0, (double)RSTI_PATH_BANDWIDTH_MAX);
}

/* Of several streams on a slow link each run is a part of the queue that all of them see. */
int64_t rsti_path_run(const rsti_path_t *path)
{
    const double pace = (double)rsti_path_pace(path);
    const double two = RSTI_PATH_RUN_DATAGRAMS * path->datagram;
    const double least = two <= pace * seconds(RSTI_PATH_PAIR_NS) ? two : path->datagram;
    const double run = fmin(pace * seconds(RSTI_PATH_RUN_NS),
        path->window / RSTI_PATH_RUNS_IN_WINDOW);
    return (int64_t)fmax(least, fmin(run, RSTI_PATH_RUN_MOST));
}

void rsti_path_on_sent(rsti_path_t *path, int64_t position, int64_t bytes, int64_t now_ns)
{
    const rsti_path_sent_t sent = {
        .position = position,
        .bytes = bytes,
        .most = rsti_path_limit(path, now_ns),
        .least_ns = nanoseconds(path->least_s),
    };
    rsti_path_track_on_sent(&path->track, &sent, now_ns);
    path->round.is_held = path->round.is_held
        || (double)rsti_path_under_way(&path->track) + path->datagram >= path->window;
}

double rsti_path_greatest_bandwidth(const rsti_path_t *path)
{
    double most = path->round.bandwidth;
    for (int32_t i = 0; i < RSTI_PATH_ROUNDS; i++) {
        const double bandwidth = path->bandwidths[i];
        most = bandwidth > most ? bandwidth : most; /* fmax is a call, and each datagram asks */
    }
    return most;
}

static void end_round(rsti_path_t *path)
{
    path->queue_s = fmax(path->round.least_s - path->least_s, 0.0);
    extreme_add(&path->tops, path->queue_s, path->track.now_ns);
    path->bandwidths[path->round_count % RSTI_PATH_ROUNDS] = path->round.bandwidth;
    rsti_path_step(path);
    if (path->judged >= JUDGED) {
        if (path->queue_s < rsti_path_target_s(path) / 2.0) {
            path->usual = fmin(path->usual + (path->lost / path->judged - path->usual) / 8.0,
                RSTI_PATH_USUAL_MOST);
        }
        path->lost = path->judged = 0;
    }
    start_round(path);
}

static void note_sample(rsti_path_t *path, const rsti_path_sample_t *sample)
{
    rsti_path_round_t *round = &path->round;
    const double lost = (double)sample->missing / path->datagram;
    const double all = lost + (double)sample->received / path->datagram;
    path->lost += lost;
    path->judged += all;
    if (all > 0) {
        path->lost_share += (lost - all * path->lost_share) / (all + RSTI_PATH_SHARE_DATAGRAMS);
    }
    round->has_loss = round->has_loss || sample->missing > 0;
    round->bandwidth = fmax(round->bandwidth, (double)sample->bandwidth);
    if (sample->rtt_ns > 0) {
        path->newest_s = sample->is_resend && path->least_s > 0
            ? rsti_clamp_double(seconds(sample->rtt_ns), path->least_s, path->newest_s)
            : seconds(sample->rtt_ns);
        extreme_add(&path->leasts, -path->newest_s, path->track.now_ns);
        path->least_s = -rsti_path_extreme(&path->leasts);
        round->least_s = fmin(round->least_s, path->newest_s);
        round->most_s = fmax(round->most_s, path->newest_s);
        round->samples++;
    }
}

bool rsti_path_on_item(rsti_path_t *path, const rsti_path_item_t *item, int64_t now_ns)
{
    rsti_path_sample_t sample;
    if (!rsti_path_track_on_item(&path->track, item, now_ns, &sample)) {
        return false;
    }
    note_sample(path, &sample);
    if (path->state == RSTI_PATH_START && path->least_s > 0) {
        rsti_path_watch_start(path, sample.received);
    }
    const int32_t needed = path->window < FEW_DATAGRAMS * path->datagram ? 1 : SAMPLES;
    const int64_t settled = path->track.sent_bytes - rsti_path_under_way(&path->track);
    if (settled >= path->round.end && path->round.samples >= needed) {
        end_round(path);
    }
    rsti_path_check(path);
    return true;
}

int64_t rsti_path_due_ns(const rsti_path_t *path)
{
    const double rtt_s = path->least_s > 0
        ? fmin(rsti_path_rtt_s(path), path->least_s + SILENT_QUEUE_S)
        : FIRST_SILENCE_S / 3.0;
    return rsti_path_silence_ns(&path->track, nanoseconds(rtt_s));
}

void rsti_path_on_silence(rsti_path_t *path, int64_t now_ns)
{
    if (path->track.silence_count > 0) {
        rsti_path_set_window(path, path->window / 2.0);
    }
    if (path->least_s > 0) { /* what was under way has gone, and its queue with it */
        path->queue_s = 0;
        path->newest_s = path->least_s;
    }
    rsti_path_track_on_silence(&path->track, now_ns);
    rsti_path_check(path);
}

int64_t rsti_path_bandwidth(const rsti_path_t *path)
{
    return (int64_t)rsti_path_greatest_bandwidth(path);
}

int64_t rsti_path_least_ns(const rsti_path_t *path)
{
    return nanoseconds(path->least_s);
}

double rsti_path_loss(const rsti_path_t *path)
{
    return path->usual;
}

double rsti_path_lost_share(const rsti_path_t *path)
{
    return path->lost_share;
}

const char *rsti_path_state_name(rsti_path_state_t state)
{
    static const char *const names[] = {"start", "alone", "compete", "test"};
    return names[state];
}

void rsti_path_check(const rsti_path_t *path)
{
    rsti_path_track_check(&path->track);
    RST_ASSERT(path->window >= path->datagram / 2.0);
    RST_ASSERT(path->window <= (double)RSTI_PATH_WINDOW_MOST);
    RST_ASSERT(path->newest_s > 0);
    RST_ASSERT(path->least_s >= 0);
    RST_ASSERT(path->queue_s >= 0);
    RST_ASSERT(path->usual >= 0 && path->usual <= RSTI_PATH_USUAL_MOST);
    RST_ASSERT(path->lost_share >= 0 && path->lost_share <= 1.0);
    RST_ASSERT(path->shallow >= 0 && path->shallow <= 1.0);
    RST_ASSERT(path->fails >= 0 && path->fails <= 3);
    RST_ASSERT(path->cuts >= 0 && path->cuts <= 1);
    RST_ASSERT(rsti_path_limit(path, path->track.now_ns) >= (int64_t)path->datagram);
    (void)path;
}
