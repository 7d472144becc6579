/* The identity of sockets, publications and sessions: tags, session ids, start positions, sharing.
 */
#include "driver/conductor/publication_lists.h"
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24400"
#define PUB RSTI_CMD_ADD_PUBLICATION
#define XPUB RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION
#define SUB RSTI_CMD_ADD_SUBSCRIPTION

static void check_refused(harness_t *h, int32_t type, const char *channel, const char *word)
{
    const int64_t id = add(h, type, channel, 10);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    if (error == NULL || error->response.error_code != RSTI_DRIVER_INVALID_CHANNEL
        || strstr(error->text, word) == NULL) {
        CHECK_FAIL("%s: \"%s\", expected \"%s\"", channel, error == NULL ? "" : error->text, word);
    }
}

static const rsti_publication_t *published(harness_t *h, int32_t type, const char *channel)
{
    const int64_t id = add(h, type, channel, 10);
    const int32_t ready = type == PUB ? RSTI_RSP_PUBLICATION_READY
                                      : RSTI_RSP_EXCLUSIVE_PUBLICATION_READY;
    const answer_t *answered = answer(h, ready, id);
    const int64_t registration_id = answered == NULL ? 0 : answered->response.registration_id;
    for (int kind = 0; kind < 2; kind++) {
        const rsti_ptr_array_t *list = rsti_publication_list(h->driver, kind);
        for (size_t i = 0; i < list->count; i++) {
            const rsti_publication_t *publication = list->items[i];
            if (publication->registration_id == registration_id) {
                return publication;
            }
        }
    }
    fprintf(stderr, "%s: %s\n", channel,
        h->answer_count == 0 ? "" : h->answers[h->answer_count - 1].text);
    abort();
}

/* L6, N18: a tag names an existing socket; the channel's other parameters must match it. */
TEST(tags_find_sockets)
{
    harness_t *h = harness_open();
    const rsti_ptr_array_t *senders = &h->driver->conductor->send_endpoints;
    check_refused(h, PUB, "aeron:udp?tags=7", "tags=7");
    (void)published(h, PUB, UDP "|tags=7,8");
    CHECK_EQ(senders->count, 1);
    (void)published(h, XPUB, "aeron:udp?tags=7");
    (void)published(h, XPUB, UDP "|tags=7");
    (void)published(h, XPUB, UDP);
    CHECK_EQ(senders->count, 1);
    check_refused(h, PUB, "aeron:udp?endpoint=127.0.0.1:24401|tags=7", "endpoint differs");
    (void)published(h, XPUB, UDP "|tags=9"); /* the same channel, but the tags conflict */
    CHECK_EQ(senders->count, 2);
    const rsti_ptr_array_t *receivers = &h->driver->conductor->receive_endpoints;
    check_refused(h, SUB, "aeron:udp?tags=17", "tags=17");
    (void)add(h, SUB, "aeron:udp?endpoint=127.0.0.1:0|tags=17", 10);
    (void)add(h, SUB, "aeron:udp?tags=17", 11);
    (void)add(h, SUB, "aeron:udp?endpoint=127.0.0.1:0|tags=17", 12);
    CHECK_EQ(receivers->count, 1);
    check_refused(h, SUB, "aeron:udp?endpoint=127.0.0.1:24499|tags=17", "endpoint differs");
    CHECK_EQ(receivers->count, 1);
    harness_close(h);
}

/* N9: a spy finds its publication by channel tag: before it exists, after, and when it is made
 * anew. */
TEST(spies_find_tags)
{
    harness_t *h = harness_open();
    const int64_t spy = add(h, SUB, "aeron-spy:aeron:udp?tags=7", 10);
    const rsti_publication_t *publication = published(h, XPUB, UDP "|tags=7|linger=0");
    const int64_t first = publication->registration_id;
    CHECK_EQ(answer(h, RSTI_RSP_AVAILABLE_IMAGE, first)->response.registration_id, spy);
    (void)add(h, SUB, "aeron-spy:aeron:udp?tags=6", 10);
    CHECK_EQ(publication->subscribers.count, 1);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, first);
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, first) != NULL);
    publication = published(h, XPUB, UDP "|tags=7");
    CHECK(answer(h, RSTI_RSP_AVAILABLE_IMAGE, publication->registration_id) != NULL);
    harness_close(h);
}

/* L6, F5, N6: session-id=tag:n takes session, mtu and term length of the publication n. */
TEST(session_by_tag)
{
    harness_t *h = harness_open();
    check_refused(h, PUB, UDP "|session-id=tag:8", "tag:8");
    const rsti_publication_t *model = published(h, XPUB,
        UDP "|tags=7,8|session-id=55|mtu=1024|term-length=128k");
    CHECK_EQ(model->file.log.metadata->entity_tag, 8);
    const char *other = "aeron:udp?endpoint=127.0.0.1:24401|session-id=tag:8";
    const rsti_publication_t *made = published(h, XPUB, other);
    CHECK_EQ(made->session_id, 55);
    CHECK_EQ(made->options.mtu, 1024);
    CHECK_EQ(made->options.term_length, 128 * 1024);
    CHECK_EQ(made->file.log.metadata->entity_tag, -1);
    check_refused(h, XPUB, "aeron:udp?endpoint=127.0.0.1:24402|session-id=tag:8|mtu=1408",
        "mtu=1408");
    check_refused(h, XPUB, "aeron:udp?endpoint=127.0.0.1:24402|session-id=tag:8|term-length=64k",
        "term-length=65536");
    check_refused(h, SUB, UDP "|session-id=tag:8", "tag:8");
    check_refused(h, XPUB, "aeron:ipc?session-id=tag:8", "tag:8"); /* of its own kind only */
    const rsti_publication_t *ipc = published(h, XPUB, "aeron:ipc?tags=1,8|session-id=66");
    CHECK_EQ(ipc->session_id, 66);
    harness_close(h);
}

static int compare_ids(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Ids are random: who has seen one does not know the next one. */
TEST(session_ids_are_random)
{
    enum {
        COUNT = 60
    };
    static const char *const options[] = {"publication-reserved-session-id-low", "-1",
        "publication-reserved-session-id-high", "2000000000", NULL};
    harness_options = options;
    harness_t *h = harness_open();
    harness_options = NULL;
    int32_t ids[COUNT];
    int near_count = 0;
    for (int i = 0; i < COUNT; i++) {
        ids[i] = published(h, XPUB, "aeron:ipc?term-length=64k")->session_id;
        CHECK(ids[i] < -1 || ids[i] > 2000000000);
        const int64_t step = i == 0 ? INT32_MAX : (int64_t)ids[i] - ids[i - 1];
        near_count += step > -1000000 && step < 1000000;
        h->answer_count = 0;
    }
    CHECK(near_count <= 1);
    qsort(ids, COUNT, sizeof ids[0], compare_ids);
    for (int i = 1; i < COUNT; i++) {
        CHECK(ids[i] != ids[i - 1]);
    }
    rsti_command_t c = {.type = RSTI_CMD_NEXT_SESSION_ID, .stream_id = 10};
    const int64_t next = command(h, &c);
    const int32_t id = answer(h, RSTI_RSP_NEXT_SESSION_ID, next)->response.session_id;
    CHECK(id < -1 || id > 2000000000);
    harness_close(h);
}

/* L1, N6: lesson 8: a lingering publication has released its session id; a live one has not. */
TEST(explicit_session_clashes_with_the_living)
{
    harness_t *h = harness_open();
    const rsti_publication_t *first = published(h, PUB, UDP "|session-id=9");
    CHECK_EQ(published(h, PUB, UDP "|session-id=9"), first);
    int64_t id = add(h, XPUB, UDP "|session-id=9", 10);
    CHECK_EQ(answer(h, RSTI_RSP_ON_ERROR, id)->response.error_code, RSTI_DRIVER_GENERIC_ERROR);
    id = add(h, XPUB, UDP "|session-id=9", 11); /* N6: another stream */
    CHECK(answer(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, id) != NULL);
    const rsti_publication_t *other = published(h, XPUB, UDP "|session-id=10");
    CHECK(other != first && other->session_id == 10);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, other->registration_id);
    pass(h); /* it may be freed now */
    CHECK_EQ(published(h, XPUB, UDP "|session-id=10")->session_id, 10);
    harness_close(h);
}

/* L1, N18: a shared publication is joined only with equal parameters. */
TEST(shared_parameters_must_agree)
{
    static const char *const kinds[] = {UDP "|", "aeron:ipc?"};
    for (int kind = 0; kind < 2; kind++) {
        harness_t *h = harness_open();
        char channel[256];
        snprintf(channel, sizeof channel,
            "%smtu=1024|term-length=64k|init-term-id=3|term-id=4|term-offset=64", kinds[kind]);
        const rsti_publication_t *first = published(h, PUB, channel);
        CHECK_EQ(published(h, PUB, channel), first);
        const char *const different[][2] = {
            {"mtu=1408", "mtu=1408"},
            {"term-length=128k", "term-length=131072"},
            {"init-term-id=2|term-id=4|term-offset=64", "init-term-id=2"},
            {"init-term-id=3|term-id=5|term-offset=64", "term-id=5"},
            {"init-term-id=3|term-id=4|term-offset=96", "term-offset=96"},
            {"ssc=true", "ssc=true"},
            {"session-id=-7", "session-id=-7"},
        };
        for (size_t i = 0; i < sizeof different / sizeof different[0]; i++) {
            snprintf(channel, sizeof channel, "%s%s", kinds[kind], different[i][0]);
            check_refused(h, PUB, channel, different[i][1]);
            h->answer_count = 0;
        }
        CHECK_EQ(first->ref_count, 2);
        harness_close(h);
    }
}

/* N18: socket buffers of a channel: what it leaves out is the driver's, and the lengths that must
 * fit are checked when it is added. */
TEST(socket_buffers_of_channels)
{
    harness_t *h = harness_open();
    h->driver->params.so_sndbuf = 128 * 1024;
    (void)published(h, XPUB, UDP);
    (void)published(h, XPUB, UDP "|so-sndbuf=128k|so-rcvbuf=128k"); /* as the driver's */
    check_refused(h, XPUB, UDP "|so-sndbuf=64k", "so-sndbuf=65536");
    (void)published(h, XPUB, "aeron:udp?endpoint=127.0.0.1:24402|so-sndbuf=1k|mtu=1024");
    check_refused(h, XPUB, "aeron:udp?endpoint=127.0.0.1:24402|mtu=1056", "mtu=1056");
    check_refused(h, XPUB, "aeron:udp?endpoint=127.0.0.1:24403|so-sndbuf=1k|mtu=1056",
        "mtu=1056 is greater than so-sndbuf=1024");
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 2);
    int64_t id = add(h, SUB, UDP, 10);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, id) != NULL);
    id = add(h, SUB, UDP "|so-rcvbuf=128k|so-sndbuf=128k", 11);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, id) != NULL);
    check_refused(h, SUB, UDP "|rcv-wnd=131104", "rcv-wnd=131104 is greater than so-rcvbuf=131072");
    check_refused(h, SUB, "aeron:udp?endpoint=127.0.0.1:24404|so-rcvbuf=64k",
        "rcv-wnd=131072 is greater than so-rcvbuf=65536");
    id = add(h, SUB, UDP "|rs-name=ours|rcv-wnd=1m", 12); /* bounded: test_window.c */
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, id) != NULL);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 1);
    harness_close(h);
}

/* The system's own buffers count where neither channel nor driver names one. */
TEST(socket_buffers_of_the_system)
{
    harness_t *h = harness_open();
    h->driver->params.so_rcvbuf = 0;
    h->driver->probe = (rsti_socket_probe_t){.rcvbuf = 8192, .sndbuf = 4096};
    check_refused(h, XPUB, UDP "|mtu=4128", "so-sndbuf=4096 of this system");
    (void)published(h, XPUB, UDP "|mtu=4096");
    check_refused(h, SUB, UDP "|rcv-wnd=8224", "so-rcvbuf=8192 of this system");
    const int64_t id = add(h, SUB, UDP "|rcv-wnd=8k", 11);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, id) != NULL);
    harness_close(h);
}

/* N20, docs/reference/aeron/memory.md 18: a given start position appears in log and counters, also
 * at a term's end. */
TEST(start_position_is_everywhere)
{
    static const char *const kinds[] = {UDP "|", "aeron:ipc?"};
    for (int kind = 0; kind < 2; kind++) {
        harness_t *h = harness_open();
        char channel[256];
        snprintf(channel, sizeof channel,
            "%sterm-length=64k|init-term-id=-3|term-id=5|term-offset=65536", kinds[kind]);
        const rsti_publication_t *publication = published(h, XPUB, channel);
        const int64_t start = 9 * 65536;
        CHECK_EQ(rsti_log_producer_position(&publication->file.log), start);
        CHECK_EQ(*publication->pub_pos, start);
        CHECK_EQ(*publication->pub_lmt, start);
        if (publication->is_network) {
            const rsti_network_publication_t *network = (const void *)publication;
            CHECK_EQ(*network->snd_pos, start);
            CHECK_EQ(*network->snd_lmt, start);
        }
        const rsti_log_metadata_t *metadata = publication->file.log.metadata;
        CHECK_EQ(metadata->active_term_count, 8);
        CHECK_EQ(metadata->initial_term_id, -3);
        (void)add(h, SUB, kind == 0 ? "aeron-spy:" UDP : "aeron:ipc", 10);
        CHECK_EQ(*publication->subscribers.items[0].position, start);
        if (kind == 1) {
            CHECK_EQ(*publication->pub_lmt, start + 32 * 1024);
            rsti_log_t log = publication->file.log;
            rsti_appender_t appender;
            rsti_appender_init(&appender, &log, publication->pub_lmt, publication->session_id, 10,
                true);
            const rsti_iovec_t part = {"hello", 5};
            CHECK_EQ(rsti_append(&appender, &part, 1, 5, 0), RST_ADMIN_ACTION);
            CHECK_EQ(rsti_append(&appender, &part, 1, 5, 0), start + 64);
        }
        harness_close(h);
    }
}

CHECK_MAIN(RUN(tags_find_sockets), RUN(spies_find_tags), RUN(session_by_tag),
    RUN(socket_buffers_of_channels), RUN(socket_buffers_of_the_system), RUN(session_ids_are_random),
    RUN(explicit_session_clashes_with_the_living), RUN(shared_parameters_must_agree),
    RUN(start_position_is_everywhere))
