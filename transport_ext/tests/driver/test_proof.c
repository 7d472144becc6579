/* Proofs: what hosts get from a sender that have not shown that they read what it sends, and what
 * their frames do to others (sender/proven.h, sender/challenge.h). */
#include "driver/sender/challenge.h"
#include "driver/sender/setup.h"
#include "logbuffer/appender.h"
#include "protocol/sm_items.h"
#include "tests/driver/harness.h"

#define START "|init-term-id=5|term-id=5|term-offset=0|term-length=64k"
#define DYNAMIC "aeron:udp?control=127.0.0.1:24401|control-mode=dynamic" START
#define UNICAST "aeron:udp?endpoint=127.0.0.1:24400" START
#define A "127.0.0.1:31001"
#define B "127.0.0.1:31002"
#define STRANGER "10.9.8.7:666"
#define STREAM 10

typedef struct publisher_t {
    harness_t *h;
    int64_t id;
    rsti_network_publication_t *publication;
    rsti_send_endpoint_t *endpoint;
    rsti_appender_t appender;
} publisher_t;

static void publisher_open(publisher_t *p, const char *channel)
{
    p->h = harness_open();
    p->id = add(p->h, RSTI_CMD_ADD_PUBLICATION, channel, STREAM);
    p->publication = p->h->driver->conductor->publications.items[0];
    p->endpoint = p->publication->endpoint;
    rsti_publication_t *base = &p->publication->base;
    rsti_appender_init(&p->appender, &base->file.log, base->pub_lmt, base->session_id, STREAM,
        false);
    forget_frames(p->h);
}

static rsti_sm_t sm_of(const publisher_t *p, int64_t receiver_id, int64_t position)
{
    return (rsti_sm_t){
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = p->publication->base.session_id,
        .stream_id = STREAM,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = 32 * 1024,
        .receiver_id = receiver_id,
    };
}

static void consumed(publisher_t *p, const char *from, int64_t receiver_id, int64_t position)
{
    const rsti_sm_t sm = sm_of(p, receiver_id, position);
    inject(p->h, p->endpoint->socket, from, &sm, sizeof sm);
}

/* A status message with one item. */
static void tell(publisher_t *p, const char *from, int64_t receiver_id, int64_t position,
    uint8_t type, const void *value, uint8_t length)
{
    uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX] = {0};
    rsti_sm_t sm = sm_of(p, receiver_id, position);
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    (void)rsti_sm_items_add(&writer, type, value, length);
    sm.frame.frame_length = RSTI_SM_ITEMS_OFFSET + (int32_t)rsti_sm_items_end(&writer);
    memcpy(frame, &sm, sizeof sm);
    inject(p->h, p->endpoint->socket, from, frame, (size_t)sm.frame.frame_length);
}

static int64_t offer(publisher_t *p, size_t length)
{
    static uint8_t message[2048];
    const rsti_iovec_t part = {message, length};
    const int64_t result = rsti_append(&p->appender, &part, 1, length, 0);
    return result != RST_ADMIN_ACTION /* the end of a term */
        ? result
        : rsti_append(&p->appender, &part, 1, length, 0);
}

/* Offers and sends so many messages of 1 KiB, consumed by A. */
static void stream(publisher_t *p, const char *from, int64_t receiver_id, int count)
{
    for (int i = 0; i < count; i++) {
        CHECK(offer(p, 992) > 0);
        pass(p->h);
        consumed(p, from, receiver_id, *p->publication->snd_pos);
        pass(p->h);
        pass(p->h);
    }
}

static void connect_one(publisher_t *p, const char *from, int64_t receiver_id)
{
    consumed(p, from, receiver_id, 0);
    for (int i = 0; i < 4; i++) {
        pass(p->h);
    }
}

static int64_t bytes_to(const harness_t *h, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    int64_t bytes = 0;
    for (int i = 0; i < h->sent_count; i++) {
        bytes += rsti_netaddr_equal(&h->sent[i].address, &address) ? (int64_t)h->sent[i].length : 0;
    }
    return bytes;
}

static void send_nak(publisher_t *p, const char *from, int32_t offset, int32_t length)
{
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = p->publication->base.session_id,
        .stream_id = STREAM,
        .term_id = 5,
        .term_offset = offset,
        .length = length,
    };
    inject(p->h, p->endpoint->socket, from, &nak, sizeof nak);
}

static int proven_count(const publisher_t *p)
{
    int count = 0;
    for (uint32_t i = 0; i < p->endpoint->proven.capacity; i++) {
        count += p->endpoint->proven.hosts[i].address.family != AF_UNSPEC;
    }
    return count;
}

/* ---- the table of proven hosts ---- */

static const uint64_t proven_key[2] = {42, 43};

static struct sockaddr_storage host_of(int number)
{
    char text[32];
    snprintf(text, sizeof text, "10.1.%d.%d:%d", number >> 8 & 0xFF, number & 0xFF,
        1024 + (number >> 16));
    return address_of(text);
}

/* A group of two thousand finds its places; hosts that are gone make room for others. */
TEST(two_thousand_hosts_are_proven)
{
    enum {
        COUNT = RSTI_PROVEN_MANY / 2
    };
    rsti_proven_t proven;
    CHECK_EQ(rsti_proven_init(&proven, RSTI_PROVEN_MANY, proven_key), 0);
    for (int round = 0; round < 4; round++) {
        const int64_t now_ns = round * 2 * RSTI_PROVEN_NS;
        for (int i = 0; i < COUNT; i++) {
            const struct sockaddr_storage host = host_of(round * COUNT + i);
            CHECK(!rsti_proven_has(&proven, &host, now_ns));
            CHECK(rsti_proven_add(&proven, &host, now_ns));
        }
        for (int i = 0; i < COUNT; i++) {
            const struct sockaddr_storage host = host_of(round * COUNT + i);
            CHECK(rsti_proven_has(&proven, &host, now_ns + RSTI_PROVEN_NS));
            CHECK(!rsti_proven_has(&proven, &host, now_ns + RSTI_PROVEN_NS + 1));
            CHECK(!rsti_proven_is_due(&proven, &host, now_ns + RSTI_PROVEN_AGAIN_NS));
            CHECK(rsti_proven_is_due(&proven, &host, now_ns + RSTI_PROVEN_AGAIN_NS + 1));
        }
    }
    rsti_proven_fini(&proven);
}

/* The one too many finds no place, and takes none from a living one. */
TEST(a_full_table_refuses_and_keeps)
{
    rsti_proven_t proven;
    CHECK_EQ(rsti_proven_init(&proven, RSTI_PROVEN_FEW, proven_key), 0);
    for (int i = 0; i < RSTI_PROVEN_FEW; i++) {
        const struct sockaddr_storage host = host_of(i);
        CHECK(rsti_proven_add(&proven, &host, 0));
    }
    const struct sockaddr_storage late = host_of(RSTI_PROVEN_FEW), first = host_of(0);
    CHECK(!rsti_proven_add(&proven, &late, RSTI_PROVEN_NS));
    CHECK(rsti_proven_add(&proven, &first, RSTI_PROVEN_NS));
    CHECK(rsti_proven_add(&proven, &late, RSTI_PROVEN_NS + 1));
    CHECK(rsti_proven_has(&proven, &first, 2 * RSTI_PROVEN_NS));
    rsti_proven_fini(&proven);
}

/* ---- what a stranger gets ---- */

/* At most 80 bytes for 36, whatever it asks, and no place anywhere. */
TEST(a_stranger_gets_setups_alone)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    p.h->is_mute = true;
    for (int i = 1; i < 5; i++) {
        (void)add(p.h, RSTI_CMD_ADD_PUBLICATION, DYNAMIC, STREAM + i);
    }
    forget_frames(p.h);
    int64_t received = 0;
    for (int i = 0; i < 100; i++) {
        rsti_sm_t sm = sm_of(&p, i, 0);
        sm.frame.flags = i % 4 == 0 ? 0 : RSTI_SM_FLAG_SEND_SETUP;
        sm.session_id = i % 4 == 1 ? sm.session_id : i;
        sm.stream_id = i % 4 == 2 ? 0 : STREAM;
        inject(p.h, p.endpoint->socket, STRANGER, &sm, sizeof sm);
        forget_frames(p.h);
        advance_alive(p.h, 10 * MS, 5 * MS);
        CHECK_EQ(count_frames(p.h, RSTI_FRAME_SETUP), p.h->sent_count);
        received += bytes_to(p.h, STRANGER);
        CHECK_EQ(bytes_to(p.h, STRANGER), i % 4 == 0 ? 0 : i % 4 == 1 ? 40 : 80);
    }
    CHECK(received <= 3 * 36 * 100);
    CHECK_EQ(p.endpoint->destinations->count, 0);
    CHECK_EQ(proven_count(&p), 0);
    CHECK_EQ(p.publication->receiver_count, 0);
    harness_close(p.h);
}

/* A stranger that asks once a second sees the SETUPs of all publications in turn. */
TEST(a_stranger_sees_all_setups_in_turn)
{
    enum {
        COUNT = 7
    };
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    for (int i = 1; i < COUNT; i++) {
        (void)add(p.h, RSTI_CMD_ADD_PUBLICATION, DYNAMIC, STREAM + i);
    }
    int seen[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        rsti_sm_t sm = {.frame = {RSTI_SM_LENGTH, 0, RSTI_SM_FLAG_SEND_SETUP, RSTI_FRAME_SM}};
        inject(p.h, p.endpoint->socket, STRANGER, &sm, sizeof sm);
        forget_frames(p.h);
        pass(p.h);
        CHECK_EQ(p.h->sent_count, RSTI_STRANGER_SETUPS);
        for (int k = 0; k < p.h->sent_count; k++) {
            seen[((const rsti_setup_t *)(const void *)p.h->sent[k].data)->stream_id - STREAM]++;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(seen[i], RSTI_STRANGER_SETUPS);
    }
    harness_close(p.h);
}

/* Session and initial term id do not prove an address: a host that knows them could name another
 * host's. That host is asked, and does not answer. */
TEST(a_named_address_gets_no_stream)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    connect_one(&p, A, 1);
    CHECK_EQ(p.endpoint->destinations->count, 1);
    p.h->is_mute = true;
    for (int i = 0; i < 20; i++) {
        consumed(&p, STRANGER, 7, 0);
        CHECK(offer(&p, 992) > 0);
        pass(p.h);
        consumed(&p, A, 1, *p.publication->snd_pos);
        pass(p.h);
    }
    CHECK_EQ(p.h->challenge_count, 1 + 20);
    CHECK_EQ(bytes_to(p.h, STRANGER), 0);
    CHECK(bytes_to(p.h, A) >= 20 * 1024);
    CHECK_EQ(p.endpoint->destinations->count, 1);
    CHECK_EQ(p.publication->receiver_count, 1);
    /* A forged answer proves nothing, neither does a true one of another host. */
    rsti_rttm_t answer = {
        .frame = {RSTI_RTTM_LENGTH, 0, 0, RSTI_FRAME_RTTM},
        .session_id = p.publication->base.session_id,
        .stream_id = STREAM,
        .echo_timestamp = 4711,
    };
    inject(p.h, p.endpoint->socket, STRANGER, &answer, sizeof answer);
    pass(p.h);
    CHECK_EQ(proven_count(&p), 1);
    harness_close(p.h);
}

/* The stamp belongs to one address and one or two periods. */
TEST(a_stamp_is_good_for_its_address_and_time)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    p.h->is_mute = true;
    const struct sockaddr_storage a = address_of(A), b = address_of(B);
    rsti_sender_t *sender = p.h->driver->sender;
    rsti_sender_t other = *sender;
    other.secret[1] ^= 1;
    /* The harness does not record questions: the answer comes from the same hash. */
    rsti_rttm_t answer = {.session_id = p.publication->base.session_id, .stream_id = STREAM};
    const int64_t now_ns = 100 * RSTI_CHALLENGE_PERIOD_NS + 7;
    answer.echo_timestamp = rsti_challenge_stamp(sender, &a, &answer, now_ns);
    CHECK(rsti_challenge_is_answered(sender, &answer, &a, now_ns));
    CHECK(rsti_challenge_is_answered(sender, &answer, &a, now_ns + RSTI_CHALLENGE_PERIOD_NS));
    CHECK(!rsti_challenge_is_answered(sender, &answer, &a, now_ns + 2 * RSTI_CHALLENGE_PERIOD_NS));
    CHECK(!rsti_challenge_is_answered(sender, &answer, &b, now_ns));
    CHECK(!rsti_challenge_is_answered(&other, &answer, &a, now_ns));
    answer.session_id++;
    CHECK(!rsti_challenge_is_answered(sender, &answer, &a, now_ns));
    harness_close(p.h);
}

/* A destination is asked again while it lives; one that does not answer goes after 5 s, although
 * somebody sends status messages in its name. */
TEST(a_destination_proves_itself_again)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    connect_one(&p, A, 1);
    for (int i = 0; i < 100; i++) {
        consumed(&p, A, 1, 0);
        advance_alive(p.h, 200 * MS, 50 * MS);
        forget_frames(p.h);
    }
    CHECK_EQ(p.endpoint->destinations->count, 1);
    CHECK(p.h->challenge_count >= 8 && p.h->challenge_count <= 12);
    p.h->is_mute = true;
    for (int i = 0; i < 60; i++) {
        consumed(&p, A, 1, 0);
        advance_alive(p.h, 200 * MS, 50 * MS);
        forget_frames(p.h);
    }
    CHECK_EQ(p.endpoint->destinations->count, 0);
    forget_frames(p.h);
    advance_alive(p.h, 500 * MS, 50 * MS);
    CHECK_EQ(bytes_to(p.h, A), 0);
    harness_close(p.h);
}

/* ---- what frames of strangers do to others ---- */

TEST(naks_of_strangers_are_not_answered)
{
    static const char *const channels[] = {DYNAMIC, UNICAST};
    for (size_t c = 0; c < 2; c++) {
        publisher_t p;
        publisher_open(&p, channels[c]);
        connect_one(&p, A, 1);
        stream(&p, A, 1, 8);
        forget_frames(p.h);
        for (int i = 0; i < 50; i++) {
            send_nak(&p, STRANGER, 0, 8 * 1024);
            advance_alive(p.h, 10 * MS, 5 * MS);
        }
        CHECK_EQ(counter(p.h, RSTI_SYSTEM_RETRANSMITS_SENT), 0);
        send_nak(&p, A, 0, 1024); /* a receiver's is answered */
        advance_alive(p.h, 20 * MS, MS);
        CHECK_EQ(counter(p.h, RSTI_SYSTEM_RETRANSMITS_SENT), 1);
        harness_close(p.h);
    }
}

/* With several destinations one RTTM request is answered once, to the host that asked. */
TEST(round_trips_are_answered_to_the_asker)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    connect_one(&p, A, 1);
    connect_one(&p, B, 2);
    CHECK_EQ(p.endpoint->destinations->count, 2);
    const rsti_rttm_t ask = {
        .frame = {RSTI_RTTM_LENGTH, 0, RSTI_RTTM_FLAG_REPLY, RSTI_FRAME_RTTM},
        .session_id = p.publication->base.session_id,
        .stream_id = STREAM,
        .echo_timestamp = 99,
        .receiver_id = 5,
    };
    static const char *const hosts[] = {A, STRANGER};
    for (int i = 0; i < 2; i++) {
        forget_frames(p.h);
        inject(p.h, p.endpoint->socket, hosts[i], &ask, sizeof ask);
        pass(p.h);
        CHECK_EQ(p.h->sent_count, 1);
        CHECK_EQ(bytes_to(p.h, hosts[i]), RSTI_RTTM_LENGTH);
    }
    harness_close(p.h);
}

TEST(error_frames_of_strangers_drop_nobody)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    const rsti_err_t err = {
        .frame = {RSTI_ERR_LENGTH, 0, 0, RSTI_FRAME_ERR},
        .session_id = p.publication->base.session_id,
        .stream_id = STREAM,
        .receiver_id = 1,
        .error_code = 13,
    };
    inject(p.h, p.endpoint->socket, STRANGER, &err, sizeof err);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(p.publication->receiver_count, 1);
    CHECK(answer_of_type(p.h, RSTI_RSP_PUBLICATION_ERROR) == NULL);
    inject(p.h, p.endpoint->socket, A, &err, sizeof err);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(p.publication->receiver_count, 0);
    CHECK(answer_of_type(p.h, RSTI_RSP_PUBLICATION_ERROR) != NULL);
    harness_close(p.h);
}

/* The end of a receiver in a group is believed from its own address. */
TEST(another_hosts_end_removes_nobody)
{
    static const char *const channels[] = {
        "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1" START, DYNAMIC, UNICAST};
    for (size_t c = 0; c < 3; c++) {
        publisher_t p;
        publisher_open(&p, channels[c]);
        connect_one(&p, A, 1);
        CHECK_EQ(p.publication->receiver_count, 1);
        rsti_sm_t sm = sm_of(&p, 1, 0);
        sm.frame.flags = RSTI_SM_FLAG_EOS;
        inject(p.h, p.endpoint->socket, STRANGER, &sm, sizeof sm);
        pass(p.h);
        pass(p.h);
        pass(p.h);
        CHECK_EQ(p.publication->receiver_count, 1);
        inject(p.h, p.endpoint->socket, A, &sm, sizeof sm);
        pass(p.h);
        CHECK_EQ(p.publication->receiver_count, 0);
        harness_close(p.h);
    }
}

/* ---- the receiver of a unicast publication ---- */

/* A second receiver changes nothing while the first one lives: neither demand nor limit. */
TEST(a_second_receiver_changes_nothing)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    const rsti_sm_demand_t bounded = {0, 5};
    tell(&p, A, 1, 0, RSTI_SM_ITEM_DEMAND, &bounded, sizeof bounded);
    pass(p.h);
    const rsti_log_ext_t *ext = &p.publication->base.file.log.metadata->ext;
    CHECK_EQ(ext->demand.value.messages, 5);
    const int64_t limit = *p.publication->snd_lmt;
    for (int i = 0; i < 20; i++) {
        const rsti_sm_demand_t all = {0, INT64_MAX};
        tell(&p, STRANGER, 2, 0, RSTI_SM_ITEM_DEMAND, &all, sizeof all);
        tell(&p, STRANGER, 1, 0, RSTI_SM_ITEM_DEMAND, &all, sizeof all); /* in its name */
        consumed(&p, A, 1, 0);
        advance_alive(p.h, 200 * MS, 50 * MS);
        CHECK_EQ(ext->demand.value.messages, 5);
        CHECK_EQ(p.publication->receivers[0].receiver_id, 1);
    }
    CHECK_EQ(*p.publication->snd_lmt, limit);
    CHECK(counter(p.h, RSTI_SYSTEM_SM_REJECTED) >= 40);
    /* One second after the first one's last word, another may take its place. */
    advance_alive(p.h, 1050 * MS, 50 * MS);
    consumed(&p, B, 3, 0);
    pass(p.h);
    CHECK_EQ(p.publication->receiver_count, 1);
    CHECK_EQ(p.publication->receivers[0].receiver_id, 3);
    CHECK_EQ(ext->demand.value.messages, -1); /* not told yet */
    /* A receiver that was started again at the same address takes it at once. */
    consumed(&p, B, 4, 0);
    pass(p.h);
    CHECK_EQ(p.publication->receivers[0].receiver_id, 4);
    harness_close(p.h);
}

/* The address of the data comes first: a stranger that spoke earlier keeps nobody out. */
TEST(the_host_at_the_endpoint_takes_its_place_at_once)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, STRANGER, 7);
    CHECK_EQ(p.publication->receivers[0].receiver_id, 7);
    consumed(&p, "127.0.0.1:24400", 1, 0);
    pass(p.h);
    CHECK_EQ(p.publication->receiver_count, 1);
    CHECK_EQ(p.publication->receivers[0].receiver_id, 1);
    consumed(&p, STRANGER, 7, 0);
    pass(p.h);
    CHECK_EQ(p.publication->receivers[0].receiver_id, 1);
    harness_close(p.h);
}

/* Nobody has consumed what was not sent. */
TEST(positions_beyond_what_was_sent_are_clamped)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    stream(&p, A, 1, 4);
    const int64_t sent = *p.publication->snd_pos;
    consumed(&p, A, 1, sent + 16 * 1024);
    pass(p.h);
    CHECK_EQ(*p.publication->snd_consumed, sent);
    CHECK_EQ(*p.publication->snd_lmt, sent + 32 * 1024);
    harness_close(p.h);
}

/* One forged budget of one byte holds the stream for 10 s at most. */
TEST(a_budget_that_is_not_repeated_expires)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    const rsti_sm_budget_t tiny = {.position = 0, .connection_bytes = 1, .stream_bytes = 1};
    tell(&p, A, 1, 0, RSTI_SM_ITEM_BUDGET, &tiny, sizeof tiny);
    pass(p.h);
    const int64_t begin_ns = p.h->manual.now_ns;
    int64_t held_ns = 0;
    while (p.h->manual.now_ns < begin_ns + 15 * RSTI_NS_PER_S) {
        for (int i = 0; i < 4 && offer(&p, 992) > 0; i++) {
        }
        advance_alive(p.h, 10 * MS, 5 * MS);
        forget_frames(p.h);
        if (*p.publication->snd_pos + 1024
            < rsti_log_producer_position(&p.publication->base.file.log)) {
            held_ns = p.h->manual.now_ns - begin_ns;
        }
        consumed(&p, A, 1, *p.publication->snd_pos);
        pass(p.h);
    }
    CHECK(held_ns > 9500 * MS);
    CHECK(held_ns < 10500 * MS);
    harness_close(p.h);
}

/* One forged demand of nothing holds the stream for 10 s at most; one that is repeated, or under
 * which data moves, holds. */
TEST(a_demand_that_is_not_repeated_expires)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    const rsti_log_ext_t *ext = &p.publication->base.file.log.metadata->ext;
    const rsti_sm_demand_t nothing = {0, 0};
    for (int i = 0; i < 150; i++) {
        if (i % 10 == 0) {
            tell(&p, A, 1, *p.publication->snd_pos, RSTI_SM_ITEM_DEMAND, &nothing, sizeof nothing);
        }
        consumed(&p, A, 1, *p.publication->snd_pos);
        advance_alive(p.h, 100 * MS, 50 * MS);
        forget_frames(p.h);
        CHECK_EQ(ext->demand.value.messages, 0);
    }
    for (int i = 0; i < 150; i++) {
        stream(&p, A, 1, 1);
        advance_alive(p.h, 100 * MS, 50 * MS);
        forget_frames(p.h);
        CHECK_EQ(ext->demand.value.messages, 0);
    }
    const int64_t begin_ns = p.h->manual.now_ns;
    while (ext->demand.value.messages == 0 && p.h->manual.now_ns < begin_ns + 15 * RSTI_NS_PER_S) {
        consumed(&p, A, 1, *p.publication->snd_pos);
        advance_alive(p.h, 100 * MS, 50 * MS);
        forget_frames(p.h);
    }
    CHECK_EQ(ext->demand.value.messages, -1);
    CHECK(p.h->manual.now_ns > begin_ns + 9 * RSTI_NS_PER_S);
    CHECK(p.h->manual.now_ns < begin_ns + 11 * RSTI_NS_PER_S);
    harness_close(p.h);
}

/* A budget that its receiver repeats holds for ever. */
TEST(a_repeated_budget_holds)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    const rsti_sm_budget_t small = {.position = 0, .connection_bytes = 2048, .stream_bytes = 0};
    tell(&p, A, 1, 0, RSTI_SM_ITEM_BUDGET, &small, sizeof small);
    pass(p.h);
    for (int i = 0; i < 16; i++) {
        (void)offer(&p, 992);
    }
    for (int i = 0; i < 300; i++) {
        if (i % 10 == 0) {
            tell(&p, A, 1, 0, RSTI_SM_ITEM_BUDGET, &small, sizeof small);
        }
        consumed(&p, A, 1, 0);
        advance_alive(p.h, 100 * MS, 50 * MS);
        forget_frames(p.h);
        CHECK(*p.publication->snd_pos <= 2048);
    }
    harness_close(p.h);
}

/* A round trip is forgotten when the receiver consumes, but measures no more. */
TEST(a_round_trip_that_is_not_repeated_expires)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    const int64_t rtt_ns = 20 * MS;
    tell(&p, A, 1, 0, RSTI_SM_ITEM_ROUND_TRIP, &rtt_ns, sizeof rtt_ns);
    pass(p.h);
    CHECK_EQ(p.publication->rtt_ns, rtt_ns);
    for (int i = 0; i < 100; i++) { /* no data: it is not measured, and holds */
        consumed(&p, A, 1, 0);
        advance_alive(p.h, 200 * MS, 100 * MS);
        forget_frames(p.h);
    }
    CHECK_EQ(p.publication->rtt_ns, rtt_ns);
    for (int i = 0; i < 105; i++) {
        stream(&p, A, 1, 1);
        advance_alive(p.h, 100 * MS, 50 * MS);
        forget_frames(p.h);
    }
    CHECK_EQ(p.publication->rtt_ns, 0);
    harness_close(p.h);
}

/* ---- floods ---- */

/* Control is read in full: a status message behind hundreds of NAKs counts in the same pass. */
TEST(status_messages_do_not_wait_behind_naks)
{
    publisher_t p;
    publisher_open(&p, UNICAST);
    connect_one(&p, A, 1);
    stream(&p, A, 1, 8);
    const int64_t limit = *p.publication->snd_lmt;
    const int64_t sent = *p.publication->snd_pos;
    CHECK_EQ(limit, sent + 32 * 1024);
    CHECK(offer(&p, 992) > 0);
    pass(p.h);
    for (int i = 0; i < FRAMES_MAX - 2; i++) {
        send_nak(&p, i % 2 == 0 ? STRANGER : A, i % 8 * 1024, 1024);
    }
    consumed(&p, A, 1, *p.publication->snd_pos);
    pass(p.h);
    CHECK_EQ(p.h->incoming_count, 0);
    CHECK_EQ(*p.publication->snd_lmt, limit + 1024);
    harness_close(p.h);
}

CHECK_MAIN(RUN(two_thousand_hosts_are_proven), RUN(a_full_table_refuses_and_keeps),
    RUN(a_stranger_gets_setups_alone), RUN(a_stranger_sees_all_setups_in_turn),
    RUN(a_named_address_gets_no_stream), RUN(a_stamp_is_good_for_its_address_and_time),
    RUN(a_destination_proves_itself_again), RUN(naks_of_strangers_are_not_answered),
    RUN(round_trips_are_answered_to_the_asker), RUN(error_frames_of_strangers_drop_nobody),
    RUN(another_hosts_end_removes_nobody), RUN(a_second_receiver_changes_nothing),
    RUN(the_host_at_the_endpoint_takes_its_place_at_once),
    RUN(positions_beyond_what_was_sent_are_clamped), RUN(a_budget_that_is_not_repeated_expires),
    RUN(a_demand_that_is_not_repeated_expires), RUN(a_repeated_budget_holds),
    RUN(a_round_trip_that_is_not_repeated_expires), RUN(status_messages_do_not_wait_behind_naks))
