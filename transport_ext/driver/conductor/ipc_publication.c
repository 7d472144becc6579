/* ipc_publication.c: limit, cleaning and life of an IPC publication (docs/reference/aeron/memory.md
 * 5). */
#include "driver/conductor/ipc_publication.h"

#include "concurrent/client_name.h"
#include "driver/base/driver_state.h"
#include "driver/base/reader_left.h"
#include "driver/base/subscribers.h"
#include "driver/conductor/blocked_readers.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/publication.h"
#include "driver/conductor/rate_counters.h"
#include "driver/conductor/reader_messages.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/subscriber_news.h"
#include "driver/conductor/subscription.h"
#include "util/alloc.h"
#include "util/fault.h"

/* A law that follows fill NAKs shows what it does. */
static int allocate_counters(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    const rsti_rate_choice_t *rate, int64_t client_id)
{
    return rsti_rate_law_listens(rate->law)
        ? rsti_rate_counters_allocate(driver, &publication->rate.made, &publication->base,
              client_id)
        : 0;
}

int rsti_ipc_publication_create(rst_driver_t *driver, rsti_ipc_publication_t **publication,
    const rsti_publication_facts_t *facts)
{
    rsti_ipc_publication_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    if (rsti_publication_init(driver, &made->base, facts) < 0) {
        rsti_free(made);
        return -rst_last_error_code();
    }
    const int64_t start = rsti_publication_start_position(&made->base);
    made->trip_limit = start;
    made->window = facts->options->publication_window;
    made->consumer_position = start;
    made->cool_down_ns = INT64_MIN;
    made->looks_again_ns = INT64_MAX;
    rsti_rate_counters_init(&made->rate.made);
    if (allocate_counters(driver, made, facts->rate, facts->client_id) < 0) {
        rsti_ipc_publication_destroy(driver, made);
        return -rst_last_error_code();
    }
    rsti_ipc_rate_init(&made->rate, facts->rate, facts->options->mtu, start,
        driver->conductor->now_ns);
    rsti_store_release_i64(&made->base.file.log.metadata->ext.conductor_position, INT64_MAX);
    *publication = made;
    return 0;
}

void rsti_ipc_publication_destroy(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    rsti_publication_fini(driver, &publication->base);
    rsti_rate_counters_release(driver, &publication->rate.made);
    rsti_free(publication);
}

static void tell_holder(rsti_ipc_publication_t *publication, bool is_rate)
{
    if (is_rate != publication->is_held_by_rate) {
        publication->is_held_by_rate = is_rate;
        rsti_store_release_i32(&publication->base.file.log.metadata->ext.held_by,
            is_rate ? RSTI_HELD_BY_RATE : RSTI_HELD_BY_WINDOW);
    }
}

/* The least subscriber position at which the limit can rise. */
static int64_t rising_position(const rsti_ipc_publication_t *publication)
{
    const rsti_publication_t *base = &publication->base;
    if (!publication->is_held_by_rate) {
        return base->is_limit_short ? base->limit - RSTI_LIMIT_AHEAD / 2
                                    : publication->trip_limit - publication->window + 1;
    }
    /* While the allowance grows, the conductor wakes by time. A full burst is checked when half of
     * it is used, so that a producer slower than the rate never waits. */
    const rsti_allowance_t *allowance = &publication->rate.allowance;
    return rsti_allowance_due_ns(allowance) == INT64_MAX
        ? base->limit - (int64_t)(allowance->bytes.burst / 2) + 1
        : INT64_MAX;
}

/* Stores the least subscriber position at which the conductor has work. */
static void tell_wake_position(rsti_ipc_publication_t *publication, bool has_subscribers)
{
    int64_t position = INT64_MAX;
    if (publication->base.life == RSTI_LIFE_DRAINING) {
        position = publication->base.end_position;
    } else if (has_subscribers) {
        position = rsti_min_i64(rising_position(publication),
            rsti_ipc_rate_wake_position(&publication->rate));
    }
    int64_t *word = &publication->base.file.log.metadata->ext.conductor_position;
    if (rsti_load_relaxed_i64(word) != position) {
        rsti_store_release_i64(word, position);
    }
}

static bool subscribers_range(const rsti_ipc_publication_t *publication, int64_t *least,
    int64_t *highest)
{
    const rsti_publication_t *base = &publication->base;
    return rsti_subscribers_range(&base->subscribers, base->clean_position,
        base->options.term_length, least, highest);
}

/* After a cut of the rate; else a whole window is sent before the rate applies. */
static void lower_limit(rst_driver_t *driver, rsti_ipc_publication_t *publication, int64_t limit)
{
    if (limit < publication->base.limit) {
        rsti_publication_lower_limit(driver, &publication->base, limit);
        publication->trip_limit = limit; /* from here the window may raise it again */
    }
}

/* The limit of the rate rises at its due times, the limit of the window in steps of an eighth. */
static void raise_limit(rst_driver_t *driver, rsti_ipc_publication_t *publication, int64_t least)
{
    rsti_publication_t *base = &publication->base;
    const int64_t produced = rsti_log_producer_position(&base->file.log);
    const rsti_ipc_rate_facts_t facts = {
        .now_ns = driver->conductor->now_ns,
        .produced = produced,
        .consumed = rsti_min_i64(rsti_readers_read(&base->subscribers), produced),
        .window = base->options.publication_window,
        .subscribers = &base->subscribers,
        .follows_reader = driver->params.reader_window != 0 && !base->options.is_window_given,
        .may_fill = publication->may_fill,
        .is_blocked = rsti_ipc_rate_may_open(&publication->rate, driver->conductor->now_ns)
            && rsti_readers_are_blocked(driver, &base->subscribers),
    };
    publication->window = rsti_ipc_rate_window(&publication->rate, &facts);
    base->is_refusal_wanted = rsti_ipc_rate_wants_refusal(&publication->rate, facts.window);
    if (rsti_publication_tell_refusal(base)) {
        publication->looks_again_ns = facts.now_ns + RSTI_READER_TURN_NS;
    } else if (facts.now_ns >= publication->looks_again_ns) {
        publication->looks_again_ns = INT64_MAX;
    }
    const int64_t by_window = least + publication->window;
    const int64_t by_rate = rsti_ipc_rate_limit(&publication->rate, &facts);
    if (publication->rate.is_listening) {
        lower_limit(driver, publication,
            publication->rate.is_reader_followed ? rsti_min_i64(by_rate, by_window) : by_rate);
    }
    const bool is_rate = by_rate < by_window;
    const int64_t proposed = is_rate ? by_rate : by_window;
    tell_holder(publication, is_rate);
    const int64_t least_raise = is_rate ? base->limit : publication->trip_limit;
    const int64_t limit = proposed > least_raise ? rsti_publication_near_producer(base, proposed)
                                                 : base->limit;
    if (limit > base->limit) {
#if RSTI_FAULT == RSTI_FAULT_LIMIT
        rsti_publication_clean_up_to(base,
            least + publication->window / 2 - (int64_t)RSTI_PARTITIONS * base->options.term_length);
#else
        rsti_publication_clean_up_to(base, least);
#endif
        if (rsti_publication_raise_limit(driver, base, limit)) {
            publication->trip_limit = base->limit
                + (base->is_limit_short ? 0 : publication->window / 8);
        }
    }
}

static void update_active(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    rsti_publication_t *base = &publication->base;
    int64_t least, highest;
    if (subscribers_range(publication, &least, &highest)) {
        rsti_subscribers_tell_refused(driver, &base->subscribers);
        publication->consumer_position = rsti_max_i64(publication->consumer_position, highest);
        raise_limit(driver, publication, least);
        tell_wake_position(publication, true);
        return;
    }
    tell_holder(publication, false);
    rsti_ipc_rate_on_alone(&publication->rate);
    publication->looks_again_ns = INT64_MAX;
    base->is_refusal_wanted = false;
    (void)rsti_publication_tell_refusal(base);
    if (base->limit > publication->consumer_position) {
        /* After a rejection the former readers may still read the data that they have got. The
         * bytes stay unchanged for the cool-down, as long as those of a removed image. */
        if (publication->cool_down_ns == INT64_MIN) {
            rsti_publication_clean_up_to(base, publication->consumer_position);
        }
        rsti_publication_lower_limit(driver, base, publication->consumer_position);
        publication->trip_limit = publication->consumer_position;
    }
    tell_wake_position(publication, false);
}

/* Every subscriber that holds the window has consumed everything, or there is none. */
static bool is_drained(const rsti_ipc_publication_t *publication)
{
    int64_t least, highest;
    return !subscribers_range(publication, &least, &highest)
        || least >= publication->base.end_position;
}

/* The stream ends when every subscriber has consumed everything. Aeron clients get time to see its
 * end, see rsti_ipc_publication_on_timer. */
static void update_draining(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns)
{
    rsti_publication_t *base = &publication->base;
    int64_t least, highest;
    if (subscribers_range(publication, &least, &highest)) {
        publication->consumer_position = rsti_max_i64(publication->consumer_position, highest);
    }
    if (!is_drained(publication)) {
        tell_wake_position(publication, true);
        return;
    }
    rsti_publication_set_life(base, RSTI_LIFE_LINGER, now_ns);
    (void)rsti_subscribers_tell_ours_unavailable(driver, &base->subscribers, base->registration_id);
}

void rsti_ipc_publication_update(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns)
{
    rsti_publication_t *base = &publication->base;
    if (base->life == RSTI_LIFE_ACTIVE) {
        const int64_t position = rsti_log_producer_position(&base->file.log);
        if (position != rsti_load_relaxed_i64(base->pub_pos)) {
            rsti_store_release_i64(base->pub_pos, position);
        }
        update_active(driver, publication);
    } else if (base->life == RSTI_LIFE_DRAINING) {
        update_draining(driver, publication, now_ns);
    }
}

int64_t rsti_ipc_publication_due_ns(const rsti_ipc_publication_t *publication)
{
    return publication->base.life == RSTI_LIFE_ACTIVE
        ? rsti_min_i64(publication->looks_again_ns,
              rsti_ipc_rate_due_ns(&publication->rate, publication->is_held_by_rate))
        : INT64_MAX;
}

int rsti_ipc_publication_set_rate(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    const rsti_rate_choice_t *rate, int64_t client_id)
{
    rsti_publication_t *base = &publication->base;
    const int64_t now_ns = driver->conductor->now_ns;
    if (allocate_counters(driver, publication, rate, client_id) < 0) {
        return -rst_last_error_code();
    }
    const int64_t position = rsti_log_producer_position(&base->file.log);
    rsti_ipc_rate_set(&publication->rate, rate, position, now_ns);
    if (base->life == RSTI_LIFE_ACTIVE) {
        lower_limit(driver, publication,
            rsti_allowance_limit(&publication->rate.allowance, position, now_ns));
    }
    rsti_ipc_publication_update(driver, publication, now_ns);
    return 0;
}

void rsti_ipc_publication_check_blocked(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns)
{
    rsti_publication_t *base = &publication->base;
    if (base->life <= RSTI_LIFE_DRAINING && rsti_subscribers_are_working(&base->subscribers)) {
        rsti_publication_check_blocked(driver, base, publication->consumer_position, now_ns);
    }
}

bool rsti_ipc_publication_has_cooled_down(rsti_ipc_publication_t *publication, int64_t now_ns)
{
    if (publication->cool_down_ns == INT64_MIN || now_ns <= publication->cool_down_ns) {
        return false;
    }
    publication->cool_down_ns = INT64_MIN;
    return rsti_ipc_publication_accepts(publication);
}

bool rsti_ipc_publication_on_timer(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns)
{
    rsti_publication_t *base = &publication->base;
    if (base->life != RSTI_LIFE_LINGER || now_ns <= base->life_changed_ns) {
        return false;
    }
    if (!rsti_subscribers_know_unavailable(&base->subscribers)) {
        if (now_ns
            >= base->life_changed_ns + RSTI_DRAIN_SM_TIMEOUTS * driver->params.sm_timeout_ns) {
            rsti_subscribers_tell_unavailable(driver, &base->subscribers, base->registration_id);
        }
        return false; /* freed one tick after they were told */
    }
    return base->ref_count == 0;
}

bool rsti_ipc_publication_has_nobody(const rsti_ipc_publication_t *publication)
{
    const rsti_publication_t *base = &publication->base;
    return base->life == RSTI_LIFE_LINGER && base->ref_count == 0 && base->subscribers.count == 0;
}

int64_t rsti_ipc_publication_join_position(const rsti_ipc_publication_t *publication)
{
    /* What the readers have consumed just now: consumer_position is that of the last pass, and a
     * reader that takes the place of another one must not get messages again. */
    int64_t least, highest;
    if (subscribers_range(publication, &least, &highest)) {
        return rsti_min_i64(least, rsti_log_producer_position(&publication->base.file.log));
    }
    return publication->consumer_position;
}

bool rsti_ipc_publication_accepts(const rsti_ipc_publication_t *publication)
{
    const rsti_life_t life = publication->base.life;
    return publication->cool_down_ns == INT64_MIN
        && (life == RSTI_LIFE_ACTIVE || (life == RSTI_LIFE_DRAINING && !is_drained(publication)));
}

void rsti_ipc_publication_reject(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    const char *reason, int32_t length)
{
    rsti_publication_t *base = &publication->base;
    rsti_response_t response = {
        .registration_id = base->registration_id,
        .session_id = base->session_id,
        .stream_id = base->stream_id,
        .destination_id = -1,
        .receiver_id = -1,
        .group_tag = -1,
        .error_code = RSTI_DRIVER_IMAGE_REJECTED,
        .log_file = {reason, length},
    };
    rsti_ipc_publication_update(driver, publication, driver->conductor->now_ns);
    rsti_subscribers_tell_unavailable(driver, &base->subscribers, base->registration_id);
    rsti_subscribers_clear(driver, &base->subscribers);
    publication->cool_down_ns = driver->conductor->now_ns + driver->params.image_liveness_ns;
    rsti_ipc_publication_on_subscribers_changed(driver, publication);
    /* After is_connected was lowered, as on the network: a publisher that gets the error while it
     * is connected has other readers. */
    rsti_reader_left_why(base, reason, length);
    rsti_respond_publication_error(driver, &response, NULL);
    rsti_driver_wake_log(driver, &base->file.log, RSTI_WAIT_DATA);
}

/* Those that hold the window: when the last of them has left, it is told who it was. */
static void note_readers(rsti_ipc_publication_t *publication)
{
    const rsti_subscribers_t *subscribers = &publication->base.subscribers;
    publication->may_fill = false;
    for (int32_t i = 0; i < subscribers->count; i++) {
        if (rsti_tether_is_working(&subscribers->items[i].tether)) {
            publication->reader_client_id = subscribers->items[i].subscription->client_id;
            publication->may_fill |= !subscribers->items[i].tether.is_tethered
                || publication->reader_client_id == publication->base.client_id;
        }
    }
}

/* Its client may have sent CLIENT_CLOSE or died, but its heartbeat counter is still there. */
static void tell_left(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    rsti_log_left_who_t who = {0};
    const rsti_driver_client_t *client = rsti_client_find(driver, publication->reader_client_id);
    if (client != NULL) {
        const rsti_counters_t *counters = &driver->counters.counters;
        rsti_counter_view_t view;
        if (rsti_counters_view(counters, client->heartbeat_id, &view)) {
            who.pid = rsti_client_pid_of(counters, client->heartbeat_id);
            rsti_client_name_of(view.label, who.name, sizeof who.name);
        }
    }
    rsti_reader_left(&publication->base, publication->consumer_position, -1, driver->epoch.now_ms,
        &who);
}

void rsti_ipc_publication_on_subscribers_changed(rst_driver_t *driver,
    rsti_ipc_publication_t *publication)
{
    rsti_publication_t *base = &publication->base;
    if (base->life != RSTI_LIFE_ACTIVE) {
        return;
    }
    note_readers(publication);
    /* The limit is updated before is_connected. A publisher that sees the flag then finds the
     * right limit. */
    update_active(driver, publication);
    const int32_t is_connected = rsti_subscribers_are_working(&base->subscribers);
    int32_t *word = &base->file.log.metadata->is_connected;
    if (rsti_load_relaxed_i32(word) != is_connected) {
        if (is_connected) {
            rsti_reader_joined(base, publication->consumer_position);
        } else {
            tell_left(driver, publication);
        }
        rsti_store_release_i32(word, is_connected);
        rsti_driver_wake_log(driver, &base->file.log, RSTI_WAIT_LIMIT);
    }
}
