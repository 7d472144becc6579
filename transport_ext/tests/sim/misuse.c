/* misuse.c: makes invalid requests: each must be refused with the error that names its fault, and
 * leave nothing behind. */
#include "rstream/counter.h"
#include "tests/sim/side_roles.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#define AWAIT_NS (2 * SIM_S)
#define STREAM_ID 9000
#define MALFORMED 0 /* the client itself refuses it */

static void refused_here(const sim_side_role_t *self, const char *what, int64_t result, int code)
{
    sim_count("misuse: refused by the client");
    if (result != -code && rst_client_state(self->client->client) == RST_CLIENT_OPEN) {
        sim_fail("side role %d: %s: %lld instead of %s", self->index, what, (long long)result,
            rst_error_name(code));
    }
}

static void refused_there(const sim_side_role_t *self, const char *what, int64_t id, int detail)
{
    rst_client_t *client = self->client->client;
    const int result = id < 0 ? (int)id : rst_client_await(client, id, AWAIT_NS);
    if (result == 0 || result == -RST_ETIMEDOUT) {
        rst_client_cancel(client, id);
    } else if (rst_client_state(client) == RST_CLIENT_OPEN
        && (result != -RST_EREGISTRATION || rst_last_error_detail() != detail)) {
        sim_fail("side role %d: %s: %d, the driver's code %d instead of %d (%s)", self->index, what,
            result, rst_last_error_detail(), detail, rst_last_error_text());
    } else {
        sim_count("misuse: refused by the driver");
    }
}

/* ---- commands ---- */

static void ask_for_channels(const sim_side_role_t *self)
{
    static const struct {
        const char *channel;
        int detail;
        bool is_subscription;
    } wrong[] = {
        {"aeron:udp", MALFORMED, false},
        {"aeron:udp?endpoint=127.0.0.1:70000", MALFORMED, true},
        {"aeron:udp?endpoint=127.0.0.1:4000|control-mode=dynamic", MALFORMED, true},
        {"aeron:ipc?session-id=x", MALFORMED, false},
        {"aeron:udp?mtu=1408", MALFORMED, false},
        {"aeron:ipc?term-id=5|term-length=65536", MALFORMED, false},
        {"aeron:ipc?term-length=1000", RSTI_DRIVER_INVALID_CHANNEL, false},
        {"aeron:ipc?mtu=33", RSTI_DRIVER_INVALID_CHANNEL, false},
        {"aeron:udp?tags=1", RSTI_DRIVER_INVALID_CHANNEL, true},
        {"aeron-spy:aeron:udp?endpoint=127.0.0.1:4000", RSTI_DRIVER_INVALID_CHANNEL, false},
    };
    rst_client_t *client = self->client->client;
    const size_t i = sim_below(RNG_ACTOR, sizeof wrong / sizeof wrong[0]);
    const int64_t id = wrong[i].is_subscription
        ? rst_client_add_subscription(client, wrong[i].channel, STREAM_ID)
        : rst_client_add_publication(client, wrong[i].channel, STREAM_ID, true);
    if (wrong[i].detail == MALFORMED) {
        refused_here(self, wrong[i].channel, id, RST_ECHANNEL);
    } else {
        refused_there(self, wrong[i].channel, id, wrong[i].detail);
    }
}

static void ask_for_nonsense(const sim_side_role_t *self)
{
    char label[400];
    rst_counter_t counter;
    int32_t session_id;
    rst_client_t *client = self->client->client;
    memset(label, 'x', sizeof label);
    label[sizeof label - 1] = '\0';
    refused_here(self, "no channel", rst_client_add_publication(client, NULL, STREAM_ID, false),
        RST_ECHANNEL);
    refused_here(self, "no URI", rst_client_add_subscription(client, "udp:nowhere", STREAM_ID),
        RST_ECHANNEL);
    refused_here(self, "a long label", rst_client_add_counter(client, 1000, NULL, 0, label),
        RST_EINVAL);
    refused_here(self, "a long key", rst_client_add_counter(client, 1000, label, 113, ""),
        RST_EINVAL);
    refused_here(self, "no such counter", rst_client_read_counter(client, -1, &counter),
        RST_EINVAL);
    refused_here(self, "an unknown id", rst_client_await(client, INT64_MAX, 0), RST_EINVAL);
    refused_here(self, "an unknown session id",
        rst_client_take_session_id(client, INT64_MAX, &session_id), RST_EINVAL);
    if (rst_client_take_publication(client, INT64_MAX) != NULL
        || rst_client_take_subscription(client, INT64_MAX) != NULL
        || rst_client_take_counter(client, INT64_MAX) != NULL
        || rst_client_find_counter(client, 1000, INT64_MAX) != -1) {
        sim_fail("side role %d takes a resource that was never made", self->index);
    }
}

/* A cancelled command is undone, whether its answer has arrived or not (run.c counts). */
static void change_its_mind(const sim_side_role_t *self)
{
    rst_client_t *client = self->client->client;
    const int64_t ids[] = {
        rst_client_add_publication(client, "aeron:ipc", STREAM_ID, false),
        rst_client_add_subscription(client, "aeron:ipc", STREAM_ID),
        rst_client_add_counter(client, 1000, NULL, 0, "never mind"),
        rst_client_next_session_id(client, STREAM_ID),
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        sim_side_role_pause(self);
        if (ids[i] > 0) {
            sim_count("misuse: cancelled");
            rst_client_cancel(client, ids[i]);
        }
    }
}

static void find_no_driver(const sim_side_role_t *self)
{
    rst_client_t *client;
    rst_client_params_t params;
    char dir[256];
    rst_client_params_init(&params);
    snprintf(dir, sizeof dir, "%.200s-none", self->client->driver->params.dir);
    params.dir = dir;
    params.driver_timeout_ms = 5;
    const int64_t begin_ns = world.now_ns;
    refused_here(self, "no driver", rst_client_open(&client, &params), RST_ENODRIVER);
    if (world.now_ns - begin_ns > SIM_S) {
        sim_count("misuse: a slow probe for a driver");
    }
}

/* ---- handles ---- */

static void refused_offer(const sim_side_role_t *self, const char *what, int64_t result, int code)
{
    sim_count("misuse: offer refused");
    if (result == RST_CLOSED) {
        return; /* the client is lost */
    }
    if (result != RST_ERROR || rst_last_error_code() != code) {
        sim_fail("side role %d: %s: %lld, %s", self->index, what, (long long)result,
            rst_last_error_text());
    }
}

static void offer_nonsense(const sim_side_role_t *self, rst_publication_t *publication,
    bool is_exclusive)
{
    static const uint8_t bytes[64];
    rst_claim_t claim = {0};
    rst_publication_info_t info;
    rst_publication_info(publication, &info);
    const size_t too_long = (size_t)info.max_message_length + 1;
    const rst_message_part_t part = {NULL, 8};
    const rst_message_part_t long_part = {bytes, too_long};
    refused_offer(self, "too long", rst_publication_offer(publication, bytes, too_long, 0),
        RST_ETOOLARGE);
    refused_offer(self, "no data", rst_publication_offer(publication, NULL, 8, 0), RST_EINVAL);
    refused_offer(self, "no parts", rst_publication_offer_parts(publication, NULL, 2, 0),
        RST_EINVAL);
    refused_offer(self, "no data of a part", rst_publication_offer_parts(publication, &part, 1, 0),
        RST_EINVAL);
    refused_offer(self, "a long part", rst_publication_offer_parts(publication, &long_part, 1, 0),
        RST_ETOOLARGE);
    refused_offer(self, "no data of a message",
        rst_publication_offer_many(publication, &part, 1, 0, NULL), RST_EINVAL);
    refused_offer(self, "a long message",
        rst_publication_offer_many(publication, &long_part, 1, 0, NULL), RST_ETOOLARGE);
    refused_offer(self, "no block", rst_publication_offer_block(publication, NULL, 8, 2, 0, NULL),
        RST_EINVAL);
    refused_offer(self, "a long claim",
        rst_publication_try_claim(publication, (size_t)info.max_payload_length + 1, 0, &claim),
        RST_ETOOLARGE);
    refused_offer(self, "no claim", rst_publication_try_claim(publication, 8, 0, NULL), RST_EINVAL);
    if (!is_exclusive) {
        refused_offer(self, "padding of a shared one",
            rst_publication_append_padding(publication, 8), RST_EINVAL);
        refused_offer(self, "frames of a shared one",
            rst_publication_offer_frames(publication, bytes, 64), RST_EINVAL);
    } else {
        refused_offer(self, "long padding", rst_publication_append_padding(publication, too_long),
            RST_ETOOLARGE);
        refused_offer(self, "no frames", rst_publication_offer_frames(publication, NULL, 64),
            RST_EINVAL);
    }
    if (rst_claim_commit(&claim) != -RST_EINVAL || rst_claim_abort(&claim) != -RST_EINVAL) {
        sim_fail("side role %d ends a claim that it does not have", self->index);
    }
}

static void ask_of_publication(const sim_side_role_t *self)
{
    rst_client_t *client = self->client->client;
    const bool is_exclusive = sim_chance(RNG_ACTOR, 0.5);
    const bool is_ipc = sim_chance(RNG_ACTOR, 0.5);
    char channel[64] = "aeron:ipc";
    if (!is_ipc) {
        snprintf(channel, sizeof channel, "aeron:udp?endpoint=%s:9000",
            sim_host_address(self->client->driver->host, false));
    }
    const int64_t id = rst_client_add_publication(client, channel, STREAM_ID, is_exclusive);
    if (!sim_side_role_await(self, id, "a publication")) {
        return;
    }
    rst_publication_t *publication = rst_client_take_publication(client, id);
    if (publication == NULL) {
        return;
    }
    offer_nonsense(self, publication, is_exclusive);
    /* A channel without an endpoint gets no destinations, and one with a fixed endpoint no more. */
    const int detail = is_ipc ? RSTI_DRIVER_UNKNOWN_PUBLICATION : RSTI_DRIVER_INVALID_CHANNEL;
    refused_there(self, "a destination",
        rst_publication_add_destination(publication, "aeron:udp?endpoint=127.0.0.1:9001"), detail);
    refused_there(self, "a destination that is not there",
        rst_publication_remove_destination_by_id(publication, INT64_MAX), detail);
    rst_publication_close(publication);
}

static void ask_of_subscription(const sim_side_role_t *self)
{
    rst_client_t *client = self->client->client;
    const int64_t id = rst_client_add_subscription(client, "aeron:ipc", STREAM_ID + 1);
    rst_batch_t *batch;
    if (!sim_side_role_await(self, id, "a subscription")) {
        return;
    }
    rst_subscription_t *subscription = rst_client_take_subscription(client, id);
    if (subscription == NULL) {
        return;
    }
    refused_here(self, "no room in a batch", rst_batch_create(&batch, 0), RST_EINVAL);
    if (rst_batch_create(&batch, 2) == 0) {
        refused_here(self, "a poll of none", rst_subscription_poll(subscription, 0, 0, batch),
            RST_EINVAL);
        refused_here(self, "a small block", rst_subscription_poll_block(subscription, 31, batch),
            RST_EINVAL);
        rst_batch_destroy(batch);
    }
    refused_here(self, "an image that is not there",
        rst_subscription_reject_image(subscription, id + 1, "no"), RST_EINVAL);
    refused_there(self, "a destination of a subscription without an endpoint",
        rst_subscription_add_destination(subscription, "aeron:udp?endpoint=127.0.0.1:9002"),
        RSTI_DRIVER_INVALID_CHANNEL);
    rst_subscription_close(subscription);
}

void sim_misuse_round(sim_side_role_t *self)
{
    static void (*const requests[])(const sim_side_role_t *) = {ask_for_channels, ask_for_nonsense,
        change_its_mind, find_no_driver, ask_of_publication, ask_of_subscription, sim_misuse_flood,
        sim_misuse_terminate};
    for (int i = 0; i < 2; i++) {
        requests[sim_below(RNG_ACTOR, sizeof requests / sizeof requests[0])](self);
        sim_side_role_pause(self);
    }
}
