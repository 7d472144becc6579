/* send_path.c: see send_path.h. */
#include "driver/sender/send_path.h"

#include "concurrent/atomics.h"
#include "util/int_math.h"

int rsti_send_path_init(rsti_send_path_t *send_path, int64_t position, int32_t mtu, int64_t now_ns)
{
    const rsti_path_params_t params = {.position = position, .datagram = mtu, .now_ns = now_ns};
    send_path->is_wanted = true;
    send_path->least_since_ns = RSTI_NO_DEADLINE;
    send_path->ahead_bytes = INT64_MAX;
    send_path->edge = INT64_MAX;
    rsti_bucket_init(&send_path->pace, now_ns);
    return rsti_path_init(&send_path->path, &params);
}

void rsti_send_path_fini(rsti_send_path_t *send_path)
{
    if (send_path->is_wanted) {
        rsti_path_fini(&send_path->path);
    }
}

int64_t rsti_send_path_ahead(const rsti_send_path_t *send_path, int64_t position, int64_t window)
{
    if (!send_path->is_wanted) {
        return window;
    }
    const int64_t edge = rsti_load_acquire_i64(&send_path->edge);
    return rsti_min_i64(rsti_max_i64(edge - position, 0),
        rsti_min_i64(window, rsti_load_acquire_i64(&send_path->ahead_bytes)));
}

bool rsti_send_path_on_window(rsti_send_path_t *send_path, int64_t window, int64_t end)
{
    const int64_t least = (int64_t)send_path->path.datagram * RSTI_PATH_AHEAD_DATAGRAMS;
    const int64_t edge = rsti_send_path_holds(send_path) && window < least ? end : INT64_MAX;
    if (!send_path->is_wanted || edge == rsti_load_relaxed_i64(&send_path->edge)) {
        return false;
    }
    rsti_store_release_i64(&send_path->edge, edge);
    return true;
}

int64_t rsti_send_path_limit(const rsti_send_path_t *send_path, int64_t limit, int64_t consumed,
    int64_t window)
{
    if (!send_path->is_wanted || send_path->receiver == RSTI_PATH_RECEIVER_SILENT) {
        return limit;
    }
    return rsti_min_i64(limit,
        consumed
            + (send_path->receiver == RSTI_PATH_RECEIVER_TELLS
                    ? window
                    : rsti_max_i64(window / 2, RSTI_PATH_UNKNOWN_BYTES)));
}

/* Small changes are not told. */
static void tell_ahead(rsti_send_path_t *send_path)
{
    const double pace = (double)rsti_path_pace(&send_path->path);
    const int64_t ahead = rsti_max_i64((int64_t)(pace * (double)RSTI_PATH_AHEAD_NS / 1e9),
        (int64_t)send_path->path.datagram * RSTI_PATH_AHEAD_DATAGRAMS);
    const int64_t told = rsti_load_relaxed_i64(&send_path->ahead_bytes);
    if (ahead > told || ahead < told - told / 8) {
        rsti_store_release_i64(&send_path->ahead_bytes, ahead);
    }
}

static void tell(const rsti_send_path_t *send_path)
{
    const rsti_path_t *path = &send_path->path;
    const int64_t values[RSTI_PATH_TOLD_COUNT] = {
        [RSTI_PATH_TOLD_BANDWIDTH] = rsti_path_bandwidth(path),
        [RSTI_PATH_TOLD_RTT] = rsti_path_least_ns(path),
        [RSTI_PATH_TOLD_LOSS] = (int64_t)(rsti_path_lost_share(path) * 1e6),
        [RSTI_PATH_TOLD_UNDER_WAY] = rsti_path_under_way(&path->track),
    };
    for (int32_t i = 0; i < RSTI_PATH_TOLD_COUNT; i++) {
        rsti_store_changed_i64(send_path->told[i], values[i]);
    }
}

int64_t rsti_send_path_on_cycle(rsti_send_path_t *send_path, int64_t last_sm_ns, int64_t now_ns)
{
    rsti_path_t *path = &send_path->path;
    if (send_path->receiver == RSTI_PATH_RECEIVER_UNKNOWN
        && last_sm_ns > send_path->joined_ns + RSTI_PATH_UNKNOWN_NS) {
        send_path->receiver = RSTI_PATH_RECEIVER_SILENT;
    }
    if (!rsti_send_path_holds(send_path)) {
        return RSTI_NO_DEADLINE;
    }
    if (now_ns >= rsti_path_due_ns(path)) {
        rsti_path_on_silence(path, now_ns);
        tell_ahead(send_path);
        tell(send_path);
    }
    return rsti_path_due_ns(path);
}

void rsti_send_path_on_joined(rsti_send_path_t *send_path, int64_t now_ns)
{
    if (send_path->is_wanted) {
        send_path->receiver = RSTI_PATH_RECEIVER_UNKNOWN;
        send_path->joined_ns = now_ns;
        rsti_store_release_i64(&send_path->ahead_bytes, INT64_MAX);
        rsti_store_release_i64(&send_path->edge, INT64_MAX);
        rsti_path_restart(&send_path->path);
        tell(send_path);
    }
}

/* What the pace has earned up to now. */
static int64_t earned(rsti_send_path_t *send_path, int64_t now_ns)
{
    const double run = (double)rsti_path_run(&send_path->path);
    rsti_bucket_fill(&send_path->pace, now_ns);
    rsti_bucket_set(&send_path->pace, (double)rsti_path_pace(&send_path->path), run,
        RSTI_BUCKET_NO_LIMIT);
    return rsti_bucket_room(&send_path->pace);
}

/* Half of a run is waited for: a thread that wakes a little late must not lose what it has earned,
 * and one that wakes for each datagram costs more. */
int64_t rsti_send_path_room(rsti_send_path_t *send_path, int64_t now_ns, int64_t *due_ns)
{
    if (!rsti_send_path_holds(send_path)) {
        return INT64_MAX;
    }
    const rsti_path_t *path = &send_path->path;
    const int64_t datagram = (int64_t)path->datagram;
    const int64_t room = rsti_min_i64(rsti_path_room(path, now_ns), earned(send_path, now_ns));
    if (room >= datagram) {
        return room;
    }
    const int64_t wanted = rsti_max_i64(datagram, rsti_path_run(path) / 2);
    const int64_t earned_ns = now_ns + 1
        + (int64_t)rsti_bucket_wait_ns(&send_path->pace, (double)wanted);
    *due_ns = rsti_max_i64(rsti_path_room_ns(path, datagram, now_ns), earned_ns);
    return 0;
}

void rsti_send_path_on_sent(rsti_send_path_t *send_path, int64_t position, int64_t bytes,
    int64_t now_ns)
{
    if (send_path->is_wanted) {
        rsti_path_on_sent(&send_path->path, position, bytes, now_ns);
        rsti_bucket_spend(&send_path->pace, (double)bytes);
    }
}

void rsti_send_path_on_item(rsti_send_path_t *send_path, const rsti_path_item_t *item,
    int64_t now_ns)
{
    if (!send_path->is_wanted) {
        return;
    }
    const bool is_first = send_path->receiver != RSTI_PATH_RECEIVER_TELLS;
    send_path->receiver = RSTI_PATH_RECEIVER_TELLS;
    /* Nothing has arrived: it says only that it will tell. */
    const bool is_news = item->received > 0 && rsti_path_on_item(&send_path->path, item, now_ns);
    if (is_news || is_first) {
        tell_ahead(send_path);
        tell(send_path);
    }
}
