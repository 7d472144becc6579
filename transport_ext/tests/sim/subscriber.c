/* subscriber.c: an application that reads. */
#include "protocol/frame.h"
#include "tests/sim/actors.h"
#include "tests/sim/hostile.h"
#include "tests/sim/keys.h"
#include "tests/sim/polls.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#define RETRY_NS (20 * SIM_MS)
/* without images, after the last publisher: nothing more will come */
#define QUIET_NS (3 * SIM_S)
#define GIVEN_UP_NS (15 * SIM_S)
#define IDLE_NS_MAX (20 * SIM_MS)
#define WAIT_NS (50 * SIM_MS)

static rst_subscription_t *add(sim_subscriber_t *self, rst_client_t *client)
{
    sim_fiber_set_activity(ACTIVITY_COMMAND);
    const int64_t id = rst_client_add_subscription(client, self->channel, self->stream_id);
    sim_fiber_set_activity(ACTIVITY_NONE);
    if (sim_client_await(self->client, id) != 1) {
        sim_event("subscriber %d is refused: %s", self->index, rst_last_error_text());
        if (id >= 0) {
            rst_client_cancel(client, id);
        }
        return NULL;
    }
    return rst_client_take_subscription(client, id);
}

/* ---- images ---- */

static int32_t find_view(const sim_subscriber_t *self, int32_t session_id)
{
    for (int32_t i = 0; i < self->view_count; i++) {
        if (self->view_sessions[i] == session_id) {
            return i;
        }
    }
    return -1;
}

static sim_view_t *open_view(sim_subscriber_t *self, int32_t session_id, int64_t join_position)
{
    if (self->view_count == SIM_VIEWS_OPEN_MAX) {
        sim_fail("subscriber %d has more than %d images", self->index, SIM_VIEWS_OPEN_MAX);
    }
    if (self->only_session != 0 && session_id != self->only_session) {
        sim_fail("subscriber %d wants session %d and gets %d", self->index, self->only_session,
            session_id);
    }
    sim_view_t *view = sim_view_begin(self->index, session_id, self->stream_id, join_position,
        self->is_reliable, self->is_sure);
    self->views[self->view_count] = view;
    self->view_sessions[self->view_count++] = session_id;
    return view;
}

static void close_view(sim_subscriber_t *self, int32_t i)
{
    self->view_count--;
    self->views[i] = self->views[self->view_count];
    self->view_sessions[i] = self->view_sessions[self->view_count];
}

static void image_comes(sim_subscriber_t *self, int32_t view, const rst_image_event_t *event)
{
    sim_count("subscriber: image available");
    sim_view_joined(view >= 0 ? self->views[view] : open_view(self, event->session_id, -1),
        event->position, event->correlation_id);
    if (sim_hostile_is(event->source)) {
        if (sim_has_keys()) {
            sim_fail("the hostile host has no key, and an image");
        }
        sim_count("subscriber: image of the hostile host");
        sim_view_is_forged(self->views[find_view(self, event->session_id)]);
    }
}

static void image_goes(sim_subscriber_t *self, int32_t view, const rst_image_event_t *event)
{
    sim_frames_on_image_gone(self, event->session_id, event->position);
    if (view >= 0) {
        sim_count(event->end_position == INT64_MAX ? "subscriber: image lost"
                                                   : "subscriber: image ended");
        sim_view_end(self->views[view], event->position, event->end_position);
        close_view(self, view);
    }
}

static void take_events(sim_subscriber_t *self, rst_subscription_t *subscription)
{
    rst_image_event_t event;
    while (rst_subscription_next_event(subscription, &event) == 1) {
        const int32_t view = find_view(self, event.session_id);
        const bool comes = event.kind == RST_IMAGE_AVAILABLE;
        if (event.kind == RST_IMAGE_GAP) {
            sim_count("subscriber: gap of an unreliable stream");
            continue;
        }
        self->last_news_ns = world.now_ns;
        if (event.evicted_ms != 0) {
            sim_count("subscriber: evicted");
            self->leave_ns = world.now_ns; /* nothing more will come */
        }
        if (event.goes_on_at != 0) {
            sim_count("subscriber: overrun");
            if (comes || event.goes_on_at <= event.position) {
                sim_fail("subscriber %d: overrun at %lld goes on at %lld", self->index,
                    (long long)event.position, (long long)event.goes_on_at);
            }
        }
        (comes ? image_comes : image_goes)(self, view, &event);
        sim_event("subscriber %d: image of session %d %s at %lld", self->index, event.session_id,
            comes ? "comes" : "goes", (long long)event.position);
    }
    if (rst_subscription_events_lost(subscription) > 0) {
        sim_fail("subscriber %d lost events", self->index);
    }
}

/* ---- messages ---- */

static int poll_some(sim_subscriber_t *self, rst_subscription_t *subscription, rst_batch_t *batch)
{
    if (!self->uses_demand) {
        return rst_subscription_poll(subscription, self->batch,
            sim_chance(RNG_ACTOR, 0.2) ? 2000 : 0, batch);
    }
    if (rst_subscription_demand(subscription) == 0) {
        rst_subscription_request(subscription, 1 + (int64_t)sim_below(RNG_ACTOR, 64));
    }
    const int64_t demand = rst_subscription_demand(subscription);
    const int count = rst_subscription_poll_demanded(subscription, self->batch, 0, batch);
    if (count > demand) {
        sim_fail("subscriber %d asked for %lld and got %d", self->index, (long long)demand, count);
    }
    return count;
}

void sim_subscriber_got(sim_subscriber_t *reader, const rst_message_t *message)
{
    const int32_t v = find_view(reader, message->session_id);
    sim_view_t *view = v >= 0 ? reader->views[v] : open_view(reader, message->session_id, -1);
    sim_view_got(view, message->data, (size_t)message->length, message->position,
        message->reserved_value);
}

static void take_messages(sim_subscriber_t *self, rst_batch_t *batch)
{
    int32_t count;
    const rst_message_t *messages = rst_batch_messages(batch, &count);
    for (int32_t i = 0; i < count; i++) {
        if (self->reading == READING_RAW) {
            sim_frames_take_block(self, messages[i].data, (size_t)messages[i].length,
                messages[i].session_id, messages[i].position - messages[i].length);
        } else if (self->reading == READING_WHOLE) {
            sim_frames_got(self, &messages[i]);
        } else {
            sim_subscriber_got(self, &messages[i]);
        }
    }
    sim_count_many("subscriber: messages", count);
}

/* A batch that the application holds. */
typedef struct held_t {
    rst_batch_t *batch;
    uint64_t sum;
    int64_t taken_ns;
    bool is_full;
} held_t;

/* Padding is a message of its own, and only its header: the datagrams of an abandoned gap may still
 * arrive. */
static int32_t told_length(const sim_subscriber_t *self, const rst_message_t *message)
{
    rsti_frame_header_t header;
    if (self->reading != READING_RAW) {
        return message->length;
    }
    memcpy(&header, message->data, sizeof header);
    return header.type == RSTI_FRAME_PAD ? RSTI_DATA_HEADER_LENGTH : message->length;
}

static uint64_t sum_of(const sim_subscriber_t *self, const rst_batch_t *batch)
{
    int32_t count;
    uint64_t sum = 0;
    const rst_message_t *messages = rst_batch_messages(batch, &count);
    for (int32_t i = 0; i < count; i++) {
        const int32_t length = told_length(self, &messages[i]);
        for (int32_t at = 0; at < length; at++) {
            sum = sum * 31 + messages[i].data[at];
        }
    }
    return sum;
}

/* A batch stays intact until it is released; for an untethered reader, until the reader is dropped
 * and the linger is over. */
static void release(sim_subscriber_t *self, held_t *held)
{
    if (held->is_full) {
        /* before the checks, as under a sequence lock */
        const bool is_same = sum_of(self, held->batch) == held->sum;
        const bool is_promised = self->is_evicting
            ? rst_batch_is_intact(held->batch)
            : world.now_ns - held->taken_ns <= self->held_ns_max;
        if (self->is_evicting && !is_promised) {
            sim_count("subscriber: held what was given up");
        }
        if (is_promised && !is_same) {
            sim_fail("subscriber %d: a batch changed while it was held", self->index);
        }
        rst_batch_release(held->batch);
        held->is_full = false;
    }
}

static void maybe_reject(sim_subscriber_t *self, rst_subscription_t *subscription,
    rst_batch_t *batch)
{
    int32_t count;
    const rst_message_t *messages = rst_batch_messages(batch, &count);
    if (world.is_calm || !sim_chance(RNG_ACTOR, self->reject_chance)) {
        return;
    }
    const int32_t v = find_view(self, messages[0].session_id);
    if (v >= 0 && sim_view_image_id(self->views[v]) != 0) {
        sim_count("subscriber: image rejected");
        sim_event("subscriber %d rejects session %d", self->index, messages[0].session_id);
        sim_view_left(self->views[v]);
        (void)rst_subscription_reject_image(subscription, sim_view_image_id(self->views[v]),
            "enough");
    }
}

static bool is_finished(const sim_subscriber_t *self, const rst_subscription_t *subscription)
{
    if (world.now_ns >= self->leave_ns) {
        return true;
    }
    /* Data that were published and not sent wait for a group that will not be complete again. */
    if (self->is_in_group && !actors.is_gentle && actors.is_publishing_over
        && world.now_ns - self->last_news_ns > GIVEN_UP_NS) {
        return true;
    }
    return actors.is_publishing_over && rst_subscription_image_count(subscription) == 0
        && world.now_ns - self->last_news_ns > QUIET_NS;
}

static void wait_for_more(sim_subscriber_t *self, rst_waiter_t *waiter)
{
    if (waiter != NULL) {
        (void)rst_waiter_wait(waiter, WAIT_NS, 0);
    } else {
        /* The longer nothing comes, the longer it sleeps. */
        const int64_t idle_ns = (world.now_ns - self->last_news_ns) / 4;
        const int64_t longest_ns = self->pause_ns_max
            + (idle_ns < IDLE_NS_MAX ? idle_ns : IDLE_NS_MAX);
        sim_fiber_sleep(1000 + (int64_t)sim_below(RNG_ACTOR, (uint64_t)longest_ns + 1));
    }
}

static void pause_reading(const sim_subscriber_t *self)
{
    if (self->pause_ns_max > 0 && sim_chance(RNG_ACTOR, 0.3)) {
        sim_fiber_sleep((int64_t)sim_below(RNG_ACTOR, (uint64_t)self->pause_ns_max));
    }
}

/* The port of the range that it got, for publishers that send to it. */
static void note_address(sim_subscriber_t *self, const rst_subscription_t *subscription)
{
    if (self->is_any_port && self->address[0] == '\0'
        && rst_subscription_local_address(subscription, self->address, sizeof self->address) == 1) {
        sim_ports_check(self->client->driver, self->address, false);
    }
}

/* True when it has seen all it waits for. */
static bool read_all(sim_subscriber_t *self, rst_subscription_t *subscription, held_t held[2],
    rst_waiter_t *waiter)
{
    const sim_channel_t channel = {self->client->client, NULL, subscription};
    sim_destinations_add(&self->destinations, &channel);
    for (int turn = 0; !is_finished(self, subscription);) {
        if (world.now_ns >= self->stop_from_ns && world.now_ns < self->stop_until_ns) {
            sim_count("subscriber: stopped for a while");
            sim_fiber_sleep_until(self->stop_until_ns);
        }
        take_events(self, subscription);
        note_address(self, subscription);
        sim_destinations_churn(&self->destinations, &channel);
        rst_batch_t *batch = held[turn].batch;
        sim_fiber_set_activity(ACTIVITY_POLL);
        sim_poll_t poll = {self, subscription, batch, true};
        const int count = self->reading == READING_BATCHES ? poll_some(self, subscription, batch)
                                                           : sim_reading_poll(&poll);
        sim_fiber_set_activity(ACTIVITY_NONE);
        if (count < 0) {
            sim_event("subscriber %d: %s", self->index, rst_last_error_text());
            take_events(self, subscription);
            return false;
        }
        if (count > 0 && !poll.is_in_batch) {
            self->last_news_ns = world.now_ns;
            pause_reading(self);
        } else if (count > 0) {
            take_messages(self, batch);
            self->last_news_ns = world.now_ns;
            maybe_reject(self, subscription, batch);
            held[turn].is_full = true;
            held[turn].taken_ns = world.now_ns;
            held[turn].sum = self->holds_batches ? sum_of(self, batch) : 0;
            if (self->holds_batches) {
                turn = 1 - turn;
                release(self, &held[turn]);
            } else {
                held[turn].is_full = false;
                rst_batch_release(batch);
            }
            pause_reading(self);
        } else {
            release(self, &held[1 - turn]); /* else its publisher might wait for ever */
            wait_for_more(self, waiter);
        }
    }
    return true;
}

static void run(sim_subscriber_t *self)
{
    rst_client_t *client = self->client->client;
    rst_subscription_t *subscription = NULL;
    rst_waiter_t *waiter = NULL;
    held_t held[2] = {{0}};
    sim_fiber_sleep_until(self->start_ns);
    while (subscription == NULL) {
        subscription = add(self, client);
        if (subscription == NULL) {
            if (rst_client_state(client) != RST_CLIENT_OPEN) {
                return;
            }
            sim_fiber_sleep(RETRY_NS);
        }
    }
    if (rst_batch_create(&held[0].batch, self->batch) < 0
        || rst_batch_create(&held[1].batch, self->batch) < 0) {
        sim_fail("subscriber %d: %s", self->index, rst_last_error_text());
    }
    if (self->uses_waiter && rst_waiter_create(&waiter, client) == 0) {
        (void)rst_waiter_attach_subscription(waiter, subscription);
    }
    self->last_news_ns = world.now_ns;
    self->is_done = read_all(self, subscription, held, waiter);
    sim_event("subscriber %d closes", self->index);
    for (; self->view_count > 0; self->view_count--) {
        sim_view_left(self->views[self->view_count - 1]);
    }
    if (waiter != NULL) {
        rst_waiter_destroy(waiter);
    }
    rst_subscription_close(subscription);
    sim_reading_end(self);
    rst_batch_destroy(held[0].batch);
    rst_batch_destroy(held[1].batch);
}

static void *subscriber_main(void *arg)
{
    sim_subscriber_t *self = arg;
    run(self);
    self->is_running = false;
    sim_fibers_count_up(&self->client->roles_ended);
    return NULL;
}

void sim_subscriber_start(sim_subscriber_t *subscriber)
{
    char name[24];
    snprintf(name, sizeof name, "subscriber%d", subscriber->index);
    subscriber->is_running = true;
    subscriber->view_count = 0;
    sim_reading_begin(subscriber);
    subscriber->address[0] = '\0';
    sim_destinations_forget(&subscriber->destinations);
    sim_fiber_start(subscriber->client->process, name, subscriber_main, subscriber)
        ->nervous_in = subscriber->client->dies_in;
}

void sim_subscriber_on_death(sim_subscriber_t *subscriber)
{
    for (; subscriber->view_count > 0; subscriber->view_count--) {
        sim_view_left(subscriber->views[subscriber->view_count - 1]);
    }
    subscriber->is_running = false;
}
