/* publisher.c: an application that publishes. */
#include "tests/sim/actors.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RETRY_NS (20 * SIM_MS)
#define IDLE_NS_MAX (20 * SIM_MS)
#define MANY_MAX 8
#define NOT_CONNECTED_NS_MAX (8 * SIM_S) /* of calm: then there is no reader */
#define NOT_FOUND_NS_MAX (40 * SIM_S)    /* of calm: then a run is stuck */

typedef struct draft_t {
    int32_t count;
    int32_t lengths[MANY_MAX];
    uint8_t bytes[MANY_MAX][SIM_MESSAGE_MAX];
} draft_t;

static draft_t drafts[SIM_ROLES_MAX];

static rst_publication_t *add(sim_publisher_t *self, rst_client_t *client)
{
    char channel[SIM_CHANNEL_MAX + 32];
    sim_fiber_set_activity(ACTIVITY_COMMAND);
    const int64_t id = sim_publisher_channel(self, client, channel, sizeof channel)
        ? rst_client_add_publication(client, channel, self->stream_id, self->is_exclusive)
        : -1;
    sim_fiber_set_activity(ACTIVITY_NONE);
    self->handles += id >= 0; /* the publication may exist although no answer came */
    if (sim_client_await(self->client, id) != 1) {
        self->handles -= id >= 0 && rst_last_error_code() == RST_EREGISTRATION;
        sim_event("publisher %d is refused: %s", self->index, rst_last_error_text());
        if (id >= 0) {
            rst_client_cancel(client, id);
        }
        return NULL;
    }
    return rst_client_take_publication(client, id);
}

static int32_t draw_length(const sim_publisher_t *self)
{
    switch (sim_below(RNG_ACTOR, 8)) {
    case 0:
        return (int32_t)sim_below(RNG_ACTOR, 40);
    case 1:
        return self->length_max;
    default:
        return (int32_t)sim_below(RNG_ACTOR, (uint64_t)self->length_max + 1);
    }
}

static void draft(sim_publisher_t *self, draft_t *d, int32_t count, bool is_equal, bool is_named)
{
    d->count = count;
    for (int32_t i = 0; i < count; i++) {
        d->lengths[i] = i > 0 && is_equal ? d->lengths[0] : draw_length(self);
        if (is_named && d->lengths[i] < SIM_ID_LENGTH) {
            d->lengths[i] = SIM_ID_LENGTH;
        }
        sim_writer_fill(self->writer, sim_writer_next(self->writer) + i, d->bytes[i],
            (size_t)d->lengths[i]);
    }
    sim_writer_attempts(self->writer, count, d->lengths);
}

/* ---- methods: each returns the position or a negative reason ---- */

static int64_t offer(sim_publisher_t *self, draft_t *d, bool in_parts)
{
    draft(self, d, 1, false, false);
    const size_t length = (size_t)d->lengths[0];
    const int64_t identity = sim_writer_identity(self->writer, sim_writer_next(self->writer));
    int64_t position;
    if (in_parts) {
        const size_t cut = sim_below(RNG_ACTOR, length + 1);
        const rst_message_part_t parts[] = {{d->bytes[0], cut}, {d->bytes[0] + cut, length - cut}};
        position = rst_publication_offer_parts(self->publication, parts, 2, identity);
    } else {
        position = rst_publication_offer(self->publication, d->bytes[0], length, identity);
    }
    sim_writer_took(self->writer, position > 0, position);
    return position;
}

static int64_t claim(sim_publisher_t *self, draft_t *d)
{
    rst_claim_t claimed;
    rst_publication_info_t info;
    rst_publication_info(self->publication, &info);
    draft(self, d, 1, false, false);
    if (d->lengths[0] > info.max_payload_length) {
        d->lengths[0] = info.max_payload_length;
        sim_writer_attempts(self->writer, 1, d->lengths);
    }
    const int32_t number = sim_writer_next(self->writer);
    const int64_t position = rst_publication_try_claim(self->publication, (size_t)d->lengths[0],
        sim_writer_identity(self->writer, number), &claimed);
    if (position <= 0) {
        sim_writer_took(self->writer, 0, position);
        return position;
    }
    memcpy(claimed.data, d->bytes[0], (size_t)d->lengths[0]);
    if (sim_chance(RNG_ACTOR, 0.1)) {
        sim_fiber_sleep((int64_t)sim_below(RNG_ACTOR, 2 * SIM_MS));
    }
    if (sim_chance(RNG_ACTOR, self->abort_chance)) {
        sim_count("publisher: claim aborted");
        (void)rst_claim_abort(&claimed);
        sim_writer_took(self->writer, 0, position);
    } else {
        (void)rst_claim_commit(&claimed);
        sim_writer_took(self->writer, 1, position);
    }
    return position;
}

/* It does not wait for room, so it may be refused only where nobody is connected, or behind many of
 * its kind. */
static int64_t offer_control(sim_publisher_t *self, draft_t *d)
{
    rst_publication_info_t info;
    rst_publication_info(self->publication, &info);
    draft(self, d, 1, false, false);
    if (d->lengths[0] > info.max_control_length) {
        d->lengths[0] = info.max_control_length;
        sim_writer_attempts(self->writer, 1, d->lengths);
    }
    const bool is_full = rst_publication_available_window(self->publication) == 0;
    const int64_t identity = sim_writer_identity(self->writer, sim_writer_next(self->writer));
    const int64_t position = rst_publication_offer_control(self->publication, d->bytes[0],
        (size_t)d->lengths[0], identity);
    if (is_full && position > 0) {
        sim_count("publisher: control message behind the limit");
    }
    sim_writer_took(self->writer, position > 0, position);
    return position;
}

static int64_t offer_many(sim_publisher_t *self, draft_t *d)
{
    rst_message_part_t messages[MANY_MAX];
    size_t taken = 0;
    draft(self, d, 1 + (int32_t)sim_below(RNG_ACTOR, MANY_MAX), false, true);
    for (int32_t i = 0; i < d->count; i++) {
        messages[i] = (rst_message_part_t){d->bytes[i], (size_t)d->lengths[i]};
    }
    const int64_t position = rst_publication_offer_many(self->publication, messages,
        (size_t)d->count, 0, &taken);
    sim_writer_took(self->writer, (int32_t)taken, position);
    return position;
}

static int64_t offer_block(sim_publisher_t *self, draft_t *d)
{
    size_t taken = 0;
    draft(self, d, 1 + (int32_t)sim_below(RNG_ACTOR, MANY_MAX), true, true);
    uint8_t *block = d->bytes[0];
    for (int32_t i = 1; i < d->count; i++) { /* back to back */
        memmove(block + i * d->lengths[0], d->bytes[i], (size_t)d->lengths[0]);
    }
    const int64_t position = rst_publication_offer_block(self->publication, block,
        (size_t)d->lengths[0], (size_t)d->count, 0, &taken);
    sim_writer_took(self->writer, (int32_t)taken, position);
    return position;
}

static int64_t publish_some(sim_publisher_t *self)
{
    draft_t *d = &drafts[self->index];
    sim_method_t method;
    if (self->has_more_methods && sim_chance(RNG_ACTOR, 0.2)) {
        if (sim_chance(RNG_ACTOR, 0.2)) {
            sim_count("publisher: control message");
            return offer_control(self, d);
        }
        return sim_publisher_more(self);
    }
    if (self->abandons_claim && sim_chance(RNG_ACTOR, 0.1)) {
        return sim_publisher_abandon(self);
    }
    do {
        method = (sim_method_t)sim_below(RNG_ACTOR, METHOD_COUNT);
    } while ((self->methods & 1u << method) == 0);
    switch (method) {
    case METHOD_PARTS:
        sim_count("publisher: offer of parts");
        return offer(self, d, true);
    case METHOD_CLAIM:
        sim_count("publisher: claim");
        return claim(self, d);
    case METHOD_MANY:
        sim_count("publisher: offer of many");
        return offer_many(self, d);
    case METHOD_BLOCK:
        sim_count("publisher: offer of a block");
        return offer_block(self, d);
    default:
        sim_count("publisher: offer");
        return offer(self, d, false);
    }
}

/* ---- life ---- */

static const char *reason_name(int64_t reason)
{
    switch (reason) {
    case RST_NOT_CONNECTED:
        return "publisher: not connected";
    case RST_BACK_PRESSURED:
        return "publisher: back pressure";
    case RST_ADMIN_ACTION:
        return "publisher: admin action";
    default:
        return "publisher: closed";
    }
}

static bool is_worth_waiting(const sim_publisher_t *self, int64_t reason, int64_t refused_since_ns)
{
    if (reason == RST_NOT_CONNECTED) {
        const bool must_send_all = self->must_send_all && actors.is_gentle;
        const int64_t longest_ns = must_send_all ? NOT_FOUND_NS_MAX : NOT_CONNECTED_NS_MAX;
        const bool is_waiting = !world.is_calm || world.now_ns - refused_since_ns < longest_ns;
        if (!is_waiting && must_send_all) {
            sim_fail("publisher %d finds no receiver on %s", self->index, self->channel);
        }
        return is_waiting;
    }
    return reason == RST_BACK_PRESSURED || reason == RST_ADMIN_ACTION;
}

/* The limit and the demand that receivers report are never below the current position. On the
 * network forged status messages may report anything. */
static void check_demand(const sim_publisher_t *self)
{
    rst_demand_t demand;
    if (self->sent % 4 != 0 || rst_publication_demand(self->publication, &demand) < 0) {
        return;
    }
    const int64_t position = rst_publication_position(self->publication);
    if (demand.messages < 0
        || (self->is_ipc && demand.reader_count > 0 && position >= 0
            && demand.position > position)) {
        sim_fail("publisher %d: %d readers want %" PRId64 " messages behind %" PRId64
                 ", the end is %" PRId64,
            self->index, demand.reader_count, demand.messages, demand.position, position);
    }
    if (rst_publication_held_by(self->publication, NULL) == RST_HELD_BY_BUDGET) {
        sim_count("publisher: held by a budget");
    }
    if (demand.reader_count > 0 && demand.messages != INT64_MAX) {
        sim_count(self->is_ipc ? "demand: bounded, ipc" : "demand: bounded, network");
    }
}

/* True when everything is sent. */
static bool publish(sim_publisher_t *self)
{
    const sim_channel_t channel = {self->client->client, self->publication, NULL};
    int64_t refused_since_ns = world.now_ns;
    sim_destinations_add(&self->destinations, &channel);
    while (self->sent < self->total) {
        sim_destinations_churn(&self->destinations, &channel);
        sim_publisher_change_rate(self);
        check_demand(self);
        const int32_t before = sim_writer_next(self->writer);
        sim_fiber_set_activity(ACTIVITY_PUBLISH);
        const int64_t position = publish_some(self);
        sim_fiber_set_activity(ACTIVITY_NONE);
        self->sent += sim_writer_next(self->writer) - before;
        if (position > 0) {
            refused_since_ns = world.now_ns;
            if (self->pause_ns_max > 0) {
                sim_fiber_sleep((int64_t)sim_below(RNG_ACTOR, (uint64_t)self->pause_ns_max));
            }
            continue;
        }
        sim_count(reason_name(position));
        if (position == RST_ERROR) {
            sim_fail("publisher %d: %s", self->index, rst_last_error_text());
        }
        if (!is_worth_waiting(self, position, refused_since_ns)) {
            return position == RST_NOT_CONNECTED;
        }
        const int64_t idle_ns = (world.now_ns - refused_since_ns) / 4;
        if (self->uses_waiter) {
            sim_publisher_wait(self, IDLE_NS_MAX);
        }
        sim_fiber_sleep(1000
            + (int64_t)sim_below(RNG_ACTOR,
                (uint64_t)(idle_ns < IDLE_NS_MAX ? idle_ns + 1 : IDLE_NS_MAX)));
    }
    return true;
}

/* Errors of receivers that rejected the image of this publication. */
static void take_errors(sim_publisher_t *self)
{
    rst_publication_error_t error;
    while (rst_publication_next_error(self->publication, &error) == 1) {
        sim_count("publisher: told of a rejected image");
        sim_event("publisher %d: session %d is rejected: %s", self->index, error.session_id,
            error.text);
    }
}

static void begin_writer(sim_publisher_t *self)
{
    rst_publication_info_t info;
    rst_publication_info(self->publication, &info);
    self->writer = sim_writer_begin(self->client->driver->process->id, info.session_id,
        info.stream_id, info.max_payload_length, info.is_ipc);
    if (self->length_max > info.max_message_length) {
        self->length_max = info.max_message_length;
    }
    if (self->follows != NULL && self->channel[0] != '\0') {
        char address[64];
        if (rst_publication_local_address(self->publication, 0, address, sizeof address) == 1) {
            sim_ports_check(self->client->driver, address, true);
        }
    }
    sim_event("publisher %d is writer of session %d on stream %d, %s", self->index, info.session_id,
        info.stream_id, self->channel);
}

static void run(sim_publisher_t *self)
{
    rst_client_t *client = self->client->client;
    sim_fiber_sleep_until(self->start_ns);
    while (self->publication == NULL) {
        self->publication = add(self, client);
        if (self->publication == NULL) {
            if (rst_client_state(client) != RST_CLIENT_OPEN) {
                return;
            }
            sim_fiber_sleep(RETRY_NS);
        }
    }
    begin_writer(self);
    self->is_done = publish(self);
    sim_fiber_sleep((int64_t)sim_below(RNG_ACTOR, 2 * SIM_MS));
    if (rst_client_state(client) != RST_CLIENT_OPEN) {
        sim_writer_lost(self->writer);
    }
    take_errors(self);
    sim_publisher_end_waits(self);
    rst_publication_t *closed = self->publication;
    self->publication = NULL;
    sim_event("publisher %d closes after %d messages", self->index, self->sent);
    sim_writer_end(self->writer, self->revokes);
    sim_fiber_set_activity(ACTIVITY_COMMAND);
    if (self->revokes) {
        sim_count("publisher: revoked");
        rst_publication_revoke(closed);
    } else {
        rst_publication_close(closed);
    }
    self->writer = NULL;
}

static void *publisher_main(void *arg)
{
    sim_publisher_t *self = arg;
    run(self);
    self->is_running = false;
    sim_fibers_count_up(&self->client->roles_ended);
    return NULL;
}

void sim_publisher_start(sim_publisher_t *publisher)
{
    char name[24];
    snprintf(name, sizeof name, "publisher%d", publisher->index);
    publisher->is_running = true;
    sim_destinations_forget(&publisher->destinations);
    sim_fiber_start(publisher->client->process, name, publisher_main, publisher)
        ->nervous_in = publisher->client->dies_in;
}

void sim_publisher_on_death(sim_publisher_t *publisher)
{
    if (publisher->writer != NULL) {
        sim_writer_lost(publisher->writer);
    }
    publisher->writer = NULL;
    publisher->publication = NULL;
    publisher->waiter = NULL;
    publisher->is_running = false;
}
