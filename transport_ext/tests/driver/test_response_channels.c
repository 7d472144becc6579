/* Response channels: a request's publisher gets answers on a session that only it knows. Two
 * drivers whose sockets are joined in memory. */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#include <inttypes.h>

#define REQUESTS "aeron:udp?endpoint=127.0.0.1:24400"
#define RESPONSES "aeron:udp?control-mode=response|control=127.0.0.1:24500"
#define PUB RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION
#define SUB RSTI_CMD_ADD_SUBSCRIPTION

typedef struct pair_t {
    harness_t *client;
    harness_t *server;
    int response_setups;
    int losses; /* of status messages that request the set-up of a session */
} pair_t;

static bool asks_for_session(const frame_t *frame)
{
    rsti_sm_t sm;
    if (frame_type(frame) != RSTI_FRAME_SM) {
        return false;
    }
    memcpy(&sm, frame->data, sizeof sm);
    return (sm.frame.flags & RSTI_SM_FLAG_SEND_SETUP) != 0 && sm.session_id != 0;
}

/* Delivers the datagrams in sent at the sockets of to with that port; a driver receives its own
 * too. */
static void relay(pair_t *p, harness_t *from, harness_t *to)
{
    for (int i = 0; i < from->sent_count; i++) {
        const frame_t *frame = &from->sent[i];
        p->response_setups += frame_type(frame) == RSTI_FRAME_RSP_SETUP;
        if (p->losses > 0 && asks_for_session(frame)) {
            p->losses--;
            continue;
        }
        for (int k = 0; k < SOCKETS_MAX; k++) {
            rsti_socket_t *socket = &to->sockets[k];
            if (socket->is_open
                && rsti_netaddr_port(&socket->local) == rsti_netaddr_port(&frame->address)) {
                char source[32];
                snprintf(source, sizeof source, "127.0.0.1:%d",
                    rsti_netaddr_port(&frame->socket->local));
                inject(to, socket, source, frame->data, frame->length);
            }
        }
    }
    forget_frames(from);
}

static void run(pair_t *p, int64_t ns)
{
    for (int64_t passed = 0; passed < ns; passed += 10 * MS) {
        p->client->manual.now_ns += 10 * MS;
        p->server->manual.now_ns += 10 * MS;
        keepalive(p->client);
        keepalive(p->server);
        pass(p->client);
        pass(p->server);
        relay(p, p->client, p->server);
        relay(p, p->server, p->client);
    }
}

static void pair_open(pair_t *p)
{
    *p = (pair_t){.client = harness_open(), .server = harness_open()};
    p->server->next_port = 51000;
}

static void pair_close(pair_t *p)
{
    harness_close(p->client);
    harness_close(p->server);
}

static int64_t add_with_id(harness_t *h, int32_t type, const char *channel, int64_t id,
    int32_t stream_id)
{
    char text[160];
    snprintf(text, sizeof text, "%sresponse-correlation-id=%" PRId64, channel, id);
    return add(h, type, text, stream_id);
}

static bool is_refused(harness_t *h, int64_t command_id, const char *word)
{
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, command_id);
    return error != NULL && strstr(error->text, word) != NULL;
}

/* A client sends a request: it adds a subscription for the responses and a publication of requests.
 * Returns the server's image of the requests. */
static int64_t ask(pair_t *p, int64_t *subscription)
{
    *subscription = add(p->client, SUB, RESPONSES, 20);
    (void)add_with_id(p->client, PUB, REQUESTS "|", *subscription, 10);
    p->server->answer_count = 0;
    run(p, 300 * MS);
    const answer_t *image = answer_of_type(p->server, RSTI_RSP_AVAILABLE_IMAGE);
    return image == NULL ? -1 : image->response.correlation_id;
}

static rsti_network_publication_t *network_of(harness_t *h, int64_t registration_id)
{
    const rsti_ptr_array_t *publications = &h->driver->conductor->publications;
    for (size_t i = 0; i < publications->count; i++) {
        rsti_network_publication_t *publication = publications->items[i];
        if (publication->base.registration_id == registration_id) {
            return publication;
        }
    }
    abort();
}

static rsti_image_t *image_of(harness_t *h, int64_t session_id)
{
    const rsti_ptr_array_t *images = &h->driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        if (image->session_id == session_id) {
            return image;
        }
    }
    abort();
}

static void offer(rsti_network_publication_t *publication, size_t length)
{
    rsti_publication_t *base = &publication->base;
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 20, true);
    static const uint8_t message[1024];
    const rsti_iovec_t part = {message, length};
    CHECK(rsti_append(&appender, &part, 1, length, 0) > 0);
}

/* N14, lesson 5: every client receives its own responses, and the set-up takes only a few passes.
 */
TEST(clients_get_their_own_responses)
{
    pair_t p;
    pair_open(&p);
    (void)add(p.server, SUB, REQUESTS, 10);
    rsti_network_publication_t *responses[2];
    for (int i = 0; i < 2; i++) {
        int64_t subscription;
        const int64_t image_id = ask(&p, &subscription);
        p.client->answer_count = 0;
        p.response_setups = 0;
        const int64_t id = add_with_id(p.server, PUB, RESPONSES "|", image_id, 20);
        CHECK(answer(p.server, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, id) != NULL);
        responses[i] = network_of(p.server, id);
        CHECK_EQ(responses[i]->base.file.log.metadata->is_response, 1);
        CHECK_EQ(responses[i]->base.file.log.metadata->response_correlation_id, image_id);
        run(&p, 100 * MS);
        const answer_t *image = answer_of_type(p.client, RSTI_RSP_AVAILABLE_IMAGE);
        CHECK(image != NULL);
        CHECK_EQ(image->response.registration_id, subscription);
        CHECK_EQ(image->response.session_id, responses[i]->base.session_id);
        CHECK_EQ(responses[i]->base.file.log.metadata->is_connected, 1);
        CHECK_EQ(p.response_setups, 1);
        run(&p, 1000 * MS);
        CHECK_EQ(p.response_setups, 1); /* connected: no set-up message is needed */
        p.server->answer_count = 0;
    }
    CHECK_EQ(p.client->driver->conductor->receive_endpoints.count, 1);
    CHECK_EQ(p.server->driver->conductor->send_endpoints.count, 1);
    offer(responses[0], 480);
    offer(responses[1], 992);
    run(&p, 100 * MS);
    CHECK_EQ(*image_of(p.client, responses[0]->base.session_id)->rcv_pos, 512);
    CHECK_EQ(*image_of(p.client, responses[1]->base.session_id)->rcv_pos, 1024);
    pair_close(&p);
}

/* N14: responses over several terms, while requests go on. */
TEST(responses_over_several_terms)
{
    pair_t p;
    pair_open(&p);
    (void)add(p.server, SUB, REQUESTS, 10);
    int64_t subscription;
    const int64_t image_id = ask(&p, &subscription);
    const int64_t id = add_with_id(p.server, PUB, RESPONSES "|", image_id, 20);
    rsti_network_publication_t *responses = network_of(p.server, id);
    run(&p, 100 * MS);
    const rsti_image_t *image = image_of(p.client, responses->base.session_id);
    const int64_t term = responses->base.options.term_length;
    rsti_publication_t *base = &responses->base;
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 20, true);
    static const uint8_t message[992];
    const rsti_iovec_t part = {message, sizeof message};
    for (int i = 0; i < 1000 && *image->rcv_pos <= 4 * term; i++) {
        for (int k = 0; k < 16; k++) {
            (void)rsti_append(&appender, &part, 1, part.length, 0);
        }
        run(&p, 10 * MS);
        *image->subscribers.items[0].position = *image->rcv_pos;
    }
    CHECK(*image->rcv_pos > 4 * term);
    run(&p, 100 * MS);
    CHECK_EQ(*image->rcv_pos, *responses->snd_pos);
    CHECK_EQ(counter(p.client, RSTI_SYSTEM_INVALID_PACKETS), 0);
    pair_close(&p);
}

/* N14: the responder is asked for a set-up until it arrives. */
TEST(lost_questions_for_a_set_up_are_repeated)
{
    pair_t p;
    pair_open(&p);
    (void)add(p.server, SUB, REQUESTS, 10);
    int64_t subscription;
    const int64_t image_id = ask(&p, &subscription);
    p.losses = 2;
    const int64_t id = add_with_id(p.server, PUB, RESPONSES "|", image_id, 20);
    const rsti_network_publication_t *responses = network_of(p.server, id);
    run(&p, 1000 * MS);
    CHECK_EQ(p.losses, 0);
    CHECK_EQ(responses->base.file.log.metadata->is_connected, 1);
    CHECK_EQ(image_of(p.client, responses->base.session_id)->session_id,
        responses->base.session_id);
    pair_close(&p);
}

/* N14: without a reader the session is announced again every status message timeout, until the
 * publication goes. */
TEST(session_is_announced_until_a_reader_listens)
{
    pair_t p;
    pair_open(&p);
    (void)add(p.server, SUB, REQUESTS, 10);
    int64_t subscription;
    const int64_t image_id = ask(&p, &subscription);
    (void)take_away(p.client, RSTI_CMD_REMOVE_SUBSCRIPTION, subscription);
    const int64_t id = add_with_id(p.server, PUB, RESPONSES "|", image_id, 20);
    p.response_setups = 0;
    run(&p, 1000 * MS);
    CHECK(p.response_setups >= 4 && p.response_setups <= 6);
    CHECK_EQ(network_of(p.server, id)->base.file.log.metadata->is_connected, 0);
    (void)take_away(p.server, RSTI_CMD_REMOVE_PUBLICATION, id);
    run(&p, 50 * MS);
    p.response_setups = 0;
    run(&p, 1000 * MS);
    CHECK_EQ(p.response_setups, 0);
    pair_close(&p);
}

/* N14, F5: the ids must name resources that exist and are of the right kind. */
TEST(wrong_correlation_ids_are_refused)
{
    pair_t p;
    pair_open(&p);
    harness_t *h = p.client;
    const int64_t plain = add(h, SUB, "aeron:udp?endpoint=127.0.0.1:24401", 20);
    CHECK(is_refused(h, add_with_id(h, PUB, REQUESTS "|", 4711, 10), "4711"));
    CHECK(is_refused(h, add_with_id(h, PUB, REQUESTS "|", plain, 10), "no subscription"));
    CHECK(is_refused(h, add(h, PUB, RESPONSES, 20), "no response-correlation-id set"));
    CHECK(is_refused(h, add_with_id(h, PUB, RESPONSES "|", 4711, 20), "no image"));
    h->answer_count = 0;
    (void)add(p.server, SUB, REQUESTS, 10);
    (void)add(h, PUB, REQUESTS, 10); /* does not wait for responses */
    run(&p, 300 * MS);
    const int64_t image_id = answer_of_type(p.server, RSTI_RSP_AVAILABLE_IMAGE)
                                 ->response.correlation_id;
    CHECK(is_refused(p.server, add_with_id(p.server, PUB, RESPONSES "|", image_id, 20),
        "did not request a response channel"));
    pair_close(&p);
}

/* N14: a prototype keeps the socket open for later publications, and is announced to no receiver.
 */
TEST(prototype_holds_the_socket)
{
    pair_t p;
    pair_open(&p);
    const int64_t id = add(p.server, PUB,
        RESPONSES "|response-correlation-id=prototype|term-length=1m", 20);
    CHECK(answer(p.server, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, id) != NULL);
    CHECK_EQ(p.server->driver->conductor->send_endpoints.count, 1);
    CHECK_EQ(network_of(p.server, id)->base.options.term_length, 64 * 1024);
    CHECK_EQ(network_of(p.server, id)->base.file.log.metadata->response_correlation_id, -2);
    pass(p.server);
    CHECK_EQ(p.server->sent_count, 0);
    (void)add(p.server, SUB, REQUESTS, 10);
    int64_t subscription;
    const int64_t image_id = ask(&p, &subscription);
    p.client->answer_count = 0;
    const int64_t real = add_with_id(p.server, PUB, RESPONSES "|", image_id, 20);
    run(&p, 100 * MS);
    CHECK_EQ(p.server->driver->conductor->send_endpoints.count, 1);
    CHECK_EQ(answer_of_type(p.client, RSTI_RSP_AVAILABLE_IMAGE)->response.session_id,
        network_of(p.server, real)->base.session_id);
    pair_close(&p);
}

/* N14: over IPC the image of the requests is the publication itself. */
TEST(responses_over_ipc)
{
    harness_t *h = harness_open();
    (void)add(h, SUB, "aeron:ipc", 10);
    const int64_t first = add(h, SUB, "aeron:ipc?control-mode=response", 20);
    const int64_t second = add(h, SUB, "aeron:ipc?control-mode=response", 20);
    (void)add_with_id(h, PUB, "aeron:ipc?", first, 10);
    const int64_t request = add_with_id(h, PUB, "aeron:ipc?", second, 10);
    CHECK(answer(h, RSTI_RSP_AVAILABLE_IMAGE, request) != NULL);
    const int64_t responses = add_with_id(h, PUB, "aeron:ipc?control-mode=response|", request, 20);
    const answer_t *image = answer(h, RSTI_RSP_AVAILABLE_IMAGE, responses);
    CHECK(image != NULL);
    CHECK_EQ(image->response.registration_id, second);
    const rsti_publication_t *publication = h->driver->conductor->ipc_publications.items[2];
    CHECK_EQ(publication->subscribers.count, 1);
    CHECK(is_refused(h, add_with_id(h, PUB, "aeron:ipc?control-mode=response|", first, 20),
        "no image"));
    harness_close(h);
}

/* N14: any host can send response set-ups: a subscription that has its image keeps it. */
TEST(forged_set_ups_change_nothing)
{
    pair_t p;
    pair_open(&p);
    (void)add(p.server, SUB, REQUESTS, 10);
    int64_t subscription;
    const int64_t image_id = ask(&p, &subscription);
    (void)add_with_id(p.server, PUB, RESPONSES "|", image_id, 20);
    run(&p, 100 * MS);
    const rsti_network_publication_t *request = p.client->driver->conductor->publications.items[0];
    const rsti_subscription_t *asker = p.client->driver->conductor->subscriptions.items[0];
    const int32_t session_id = asker->session_id;
    const rsti_rsp_setup_t forged = {
        .frame = {RSTI_RSP_SETUP_LENGTH, 0, 0, RSTI_FRAME_RSP_SETUP},
        .session_id = request->base.session_id,
        .stream_id = 10,
        .response_session_id = session_id + 1,
    };
    inject(p.client, request->endpoint->socket, "127.0.0.1:24400", &forged, sizeof forged);
    run(&p, 100 * MS);
    CHECK_EQ(asker->session_id, session_id);
    pair_close(&p);
}

CHECK_MAIN(RUN(clients_get_their_own_responses), RUN(responses_over_several_terms),
    RUN(lost_questions_for_a_set_up_are_repeated), RUN(session_is_announced_until_a_reader_listens),
    RUN(wrong_correlation_ids_are_refused), RUN(prototype_holds_the_socket),
    RUN(responses_over_ipc), RUN(forged_set_ups_change_nothing))
