/* Channels with rs-key: where the key comes from, which sockets and publications share what, and
 * who is admitted. The harness stands where media/sealing.h does: it sees plain frames, and a test
 * says who sealed them. */
#include "tests/driver/keys.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define OTHER "aeron:udp?endpoint=127.0.0.1:24501"
#define SENDER "127.0.0.1:30001"
#define STREAM 10
#define SESSION 1234
#define TERM 7

static int64_t publish(harness_t *h, const char *channel, int number)
{
    return add(h, RSTI_CMD_ADD_PUBLICATION, keyed(h, channel, number), STREAM);
}

static int64_t subscribe(harness_t *h, const char *channel, int number)
{
    return add(h, RSTI_CMD_ADD_SUBSCRIPTION, keyed(h, channel, number), STREAM);
}

static const rsti_network_publication_t *publication_at(const harness_t *h, size_t index)
{
    return h->driver->conductor->publications.items[index];
}

static size_t key_count(const harness_t *h)
{
    return h->driver->conductor->group_keys.count;
}

static void check_taken(const harness_t *h, int64_t correlation_id)
{
    CHECK_STR(refusal_text(h, correlation_id), "");
}

/* The text of the error has these words, and no key. */
static void check_refused(const harness_t *h, int64_t correlation_id, const char *words)
{
    const char *text = refusal_text(h, correlation_id);
    if (strstr(text, words) == NULL) {
        CHECK_FAIL("\"%s\" does not say %s", text, words);
    }
    CHECK(strstr(text, KEY_A) == NULL);
}

/* ---- keys that must be ---- */

TEST(a_driver_that_requires_keys_opens_no_plain_socket)
{
    static const char *const required[] = {"key-required", "true", NULL};
    harness_options = required;
    harness_t *h = harness_open();
    harness_options = NULL;
    write_keys(h, 1, KEY_A);
    const int64_t plain[] = {
        add(h, RSTI_CMD_ADD_PUBLICATION, UDP, STREAM),
        add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, UDP, STREAM),
        add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM),
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        check_refused(h, plain[i], "key-required");
        check_refused(h, plain[i], "RSTREAM_KEY_FILE");
    }
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 0);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    check_taken(h, publish(h, UDP, 1));
    check_taken(h, subscribe(h, UDP, 1));
    check_taken(h, add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM));
    check_taken(h, add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM));
    harness_close(h);
}

/* ---- files ---- */

TEST(a_file_that_gives_no_key_is_named)
{
    harness_t *h = harness_open();
    check_refused(h, publish(h, UDP, 1), key_path(h, 1));
    check_refused(h, subscribe(h, UDP, 1), strerror(ENOENT));
    write_keys(h, 1, KEY_A "0\n");
    check_refused(h, subscribe(h, UDP, 1), "no key of 64 hex digits");
    check_refused(h, publish(h, UDP, 1), "rs-key=file:/");
    write_keys(h, 1, KEY_A);
    CHECK_EQ(chmod(key_path(h, 1), 0644), 0);
    check_refused(h, publish(h, UDP, 1), "chmod 600");
    CHECK_EQ(error_count(h, KEY_A), 0);
    CHECK_EQ(key_count(h), 0);
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 0);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    write_keys(h, 1, KEY_A);
    check_taken(h, publish(h, UDP, 1));
    harness_close(h);
}

TEST(a_key_in_the_channel_reaches_no_text)
{
    harness_t *h = harness_open();
    check_refused(h, publish(h, UDP "|rs-key=" KEY_A, 0), "a channel never has the key itself");
    check_refused(h, subscribe(h, UDP "|rs-kye=" KEY_A, 0), "rs-kye");
    CHECK_EQ(error_count(h, KEY_A), 0);
    CHECK_EQ(error_count(h, "rs-key"), 1);
    harness_close(h);
}

TEST(a_key_that_a_client_has_left)
{
    harness_t *h = harness_open();
    char channel[128];
    rsti_keys_t keys;
    CHECK_EQ(rsti_key_text_read(KEY_A, strlen(KEY_A), &keys), 0);
    snprintf(channel, sizeof channel, UDP "|rs-key=id:%08" PRIx32, keys.keys[0].id);
    check_refused(h, publish(h, channel, 0), strerror(ENOENT));
    write_keys(h, 1, KEY_A);
    char path[256];
    CHECK_EQ(rsti_key_file_of_id(path, sizeof path, h->dir, keys.keys[0].id), 0);
    CHECK_EQ(rename(key_path(h, 1), path), 0);
    check_taken(h, publish(h, channel, 0));
    CHECK_EQ(rsti_keyring_id(&publication_at(h, 0)->endpoint->keys->ring), keys.keys[0].id);
    harness_close(h);
}

TEST(a_file_is_read_once_for_all_that_use_it)
{
    harness_t *h = keyed_open();
    const int64_t one = publish(h, UDP, 1);
    (void)subscribe(h, OTHER, 1);
    CHECK_EQ(key_count(h), 1);
    const rsti_receive_endpoint_t *receiving = h->driver->conductor->receive_endpoints.items[0];
    rsti_send_endpoint_t *sending = publication_at(h, 0)->endpoint;
    CHECK(sending->keys != NULL && sending->keys == receiving->keys);
    CHECK_EQ(sending->keys->ref_count, 2);
    CHECK(sending->socket->params.keys == &sending->keys->ring);
    CHECK(receiving->owned[0]->socket->params.keys == &sending->keys->ring);
    CHECK(sending->data_socket->params.keys == &sending->keys->ring);
    (void)publish(h, "aeron:udp?endpoint=127.0.0.1:24509", 0);
    CHECK(publication_at(h, 1)->endpoint->keys == NULL);
    CHECK(publication_at(h, 1)->endpoint->socket->params.keys == NULL);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, one);
    advance_alive(h, 11000 * MS, 100 * MS);
    CHECK_EQ(receiving->keys->ref_count, 1);
    advance(h, 30000 * MS, 100 * MS); /* the client is gone, and all that it had */
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    CHECK_EQ(key_count(h), 0);
    harness_close(h);
}

/* ---- rotation ---- */

TEST(a_changed_file_changes_the_ring)
{
    harness_t *h = keyed_open();
    (void)publish(h, UDP, 1);
    const rsti_keyring_t *ring = &publication_at(h, 0)->endpoint->keys->ring;
    rsti_keys_t keys;
    int64_t seen = 0;
    CHECK(rsti_keyring_take(ring, &seen, &keys));
    CHECK_EQ(keys.count, 1);
    write_keys(h, 1, KEY_A "\n" KEY_B "\n"); /* first all learn the next key */
    CHECK(!rsti_keyring_take(ring, &seen, &keys));
    advance_alive(h, 1100 * MS, 100 * MS);
    CHECK(rsti_keyring_take(ring, &seen, &keys));
    CHECK_EQ(keys.count, 2);
    CHECK_EQ(rsti_keyring_id(ring), id_of(KEY_A));
    CHECK_EQ(error_count(h, "datagrams are sealed with key"), 0);
    write_keys(h, 1, KEY_B "\n" KEY_A "\n"); /* then all seal with it */
    advance_alive(h, 1100 * MS, 100 * MS);
    CHECK_EQ(rsti_keyring_id(ring), id_of(KEY_B));
    CHECK_EQ(error_count(h, "datagrams are sealed with key"), 1);
    write_keys(h, 1, KEY_B "\n"); /* then the old one goes */
    advance_alive(h, 1100 * MS, 100 * MS);
    CHECK(rsti_keyring_take(ring, &seen, &keys));
    CHECK_EQ(keys.count, 1);
    CHECK_EQ(keys.keys[0].id, id_of(KEY_B));
    CHECK_EQ(error_count(h, KEY_B), 0);
    harness_close(h);
}

/* The counters that tell keys must be one with this text, or none (""). */
static void check_told(const harness_t *h, const char *text)
{
    const rsti_counters_t *counters = &h->driver->counters.counters;
    char label[512] = "";
    int count = 0;
    for (int32_t i = 0; i <= counters->max_counter_id; i++) {
        const rsti_counter_metadata_t *one = &counters->metadata[i];
        if (one->state == RSTI_COUNTER_ALLOCATED && one->type_id == RSTI_COUNTER_KEY) {
            (void)snprintf(label, sizeof label, "%.*s", one->label_length,
                (const char *)one->label);
            count++;
        }
    }
    CHECK_EQ(count, text[0] != '\0');
    CHECK_STR(label, text);
}

TEST(the_ids_are_told)
{
    harness_t *h = harness_open();
    char text[512];
    check_told(h, "");
    write_keys(h, 1, KEY_A "\n" KEY_B "\n");
    (void)publish(h, UDP, 1);
    (void)subscribe(h, OTHER, 1);
    (void)snprintf(text, sizeof text, "rs-key: seals %08" PRIx32 ", opens %08" PRIx32 ": file:%s",
        id_of(KEY_A), id_of(KEY_B), key_path(h, 1));
    check_told(h, text);
    write_keys(h, 1, KEY_B "\n");
    advance_alive(h, 1100 * MS, 100 * MS);
    (void)snprintf(text, sizeof text, "rs-key: seals %08" PRIx32 ": file:%s", id_of(KEY_B),
        key_path(h, 1));
    check_told(h, text);
    write_keys(h, 1, "nonsense");
    advance_alive(h, 1100 * MS, 100 * MS);
    check_told(h, text);
    advance(h, 50000 * MS, 100 * MS); /* the client is gone, and all that it had */
    check_told(h, "");
    harness_close(h);
}

TEST(what_cannot_be_used_changes_nothing)
{
    harness_t *h = keyed_open();
    (void)publish(h, UDP, 1);
    const rsti_keyring_t *ring = &publication_at(h, 0)->endpoint->keys->ring;
    const int64_t version = ring->version;
    write_keys(h, 1, "not yet written\n");
    advance_alive(h, 3100 * MS, 100 * MS);
    CHECK_EQ(error_count(h, "keys stay as they are"), 1);
    CHECK_EQ(error_count(h, key_path(h, 1)), 1);
    CHECK_EQ(unlink(key_path(h, 1)), 0);
    advance_alive(h, 3100 * MS, 100 * MS);
    CHECK_EQ(error_count(h, "keys stay as they are"), 2);
    CHECK_EQ(error_count(h, strerror(ENOENT)), 1);
    CHECK_EQ(ring->version, version);
    write_keys(h, 1, KEY_A); /* the same key again */
    advance_alive(h, 1100 * MS, 100 * MS);
    CHECK_EQ(ring->version, version);
    write_keys(h, 1, KEY_B);
    advance_alive(h, 1100 * MS, 100 * MS);
    CHECK_EQ(rsti_keyring_id(ring), id_of(KEY_B));
    harness_close(h);
}

/* ---- lengths ---- */

/* 48 bytes are the seal's, and a frame is a multiple of 32. */
TEST(the_mtu_is_that_of_the_datagram)
{
    static const struct {
        int32_t mtu, frame;
    } rows[] = {{1408, 1344}, {128, 64}, {160, 96}, {65504, 65440}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_t *h = keyed_open();
        char channel[128];
        snprintf(channel, sizeof channel, UDP "|mtu=%d|term-length=1m", rows[i].mtu);
        check_taken(h, publish(h, channel, 1));
        CHECK_EQ(publication_at(h, 0)->base.options.mtu, rows[i].frame);
        CHECK_EQ(publication_at(h, 0)->base.file.log.metadata->mtu_length, rows[i].frame);
        CHECK_EQ(rows[i].frame, (rows[i].mtu - RSTI_SEALED_OVERHEAD) & ~31);
        harness_close(h);
    }
    harness_t *h = keyed_open();
    check_refused(h, publish(h, UDP "|mtu=96", 1),
        "mtu=96: with rs-key at least 128, since 48 bytes");
    check_refused(h, publish(h, UDP "|mtu=100", 1), "mtu=100: must be a multiple of 32");
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 0);
    CHECK_EQ(key_count(h), 0);
    check_taken(h, publish(h, UDP "|mtu=96", 0));
    harness_close(h);
}

/* Channels name the mtu of the datagrams, also where a publication exists. */
TEST(a_shared_publication_has_one_mtu)
{
    harness_t *h = keyed_open();
    check_taken(h, publish(h, UDP "|mtu=1024|tags=5,6", 1));
    check_taken(h, publish(h, UDP, 1));
    check_taken(h, publish(h, UDP "|mtu=1024", 1));
    check_refused(h, publish(h, UDP "|mtu=960", 1), "mtu=960 differs from the 1024");
    CHECK_EQ(h->driver->conductor->publications.count, 1);
    check_taken(h, publish(h, OTHER "|session-id=tag:6", 1));
    check_taken(h, publish(h, "aeron:udp?endpoint=127.0.0.1:24502|session-id=tag:6|mtu=1024", 1));
    CHECK_EQ(h->driver->conductor->publications.count, 3);
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(publication_at(h, i)->base.options.mtu, 960);
    }
    check_refused(h, publish(h, "aeron:udp?endpoint=127.0.0.1:24503|session-id=tag:6|mtu=960", 1),
        "mtu=960 differs from the 1024");
    harness_close(h);
}

/* ---- sockets ---- */

TEST(a_sending_socket_has_one_key)
{
    harness_t *h = keyed_open();
    write_keys(h, 2, KEY_B);
    check_taken(h, publish(h, UDP "|tags=5", 1));
    check_taken(h, publish(h, UDP, 2));
    check_taken(h, publish(h, UDP, 0));
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 3);
    check_taken(h, publish(h, UDP, 2));
    check_taken(h, publish(h, "aeron:udp?tags=5", 0));
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 3);
    CHECK_EQ(h->driver->conductor->publications.count, 3);
    check_refused(h, publish(h, "aeron:udp?tags=5", 2), "its existing socket has file:/");
    CHECK_EQ(key_count(h), 2);
    harness_close(h);
}

/* Its address is taken. */
TEST(a_receiving_socket_has_one_key)
{
    harness_t *h = keyed_open();
    write_keys(h, 2, KEY_B);
    check_taken(h, subscribe(h, UDP "|tags=5", 1));
    check_taken(h, subscribe(h, UDP, 1));
    check_taken(h, subscribe(h, "aeron:udp?tags=5", 0));
    check_refused(h, subscribe(h, UDP, 2), "its existing socket has file:/");
    check_refused(h, subscribe(h, UDP, 0), "rs-key=(none)");
    check_taken(h, subscribe(h, OTHER, 0));
    check_refused(h, subscribe(h, OTHER, 1), "its existing socket has no key");
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 2);
    CHECK_EQ(key_count(h), 1);
    harness_close(h);
}

/* ---- who is admitted ---- */

typedef struct ear_t {
    harness_t *h;
    rsti_socket_t *socket;
} ear_t;

static ear_t ear_open(int number)
{
    ear_t e = {.h = keyed_open()};
    e.h->is_rude = true;
    (void)subscribe(e.h, UDP, number);
    const rsti_receive_endpoint_t *endpoint = e.h->driver->conductor->receive_endpoints.items[0];
    e.socket = endpoint->owned[0]->socket;
    forget_frames(e.h);
    return e;
}

static rsti_image_t *image_of(const ear_t *e)
{
    const rsti_ptr_array_t *images = &e->h->driver->conductor->images;
    return images->count == 0 ? NULL : images->items[0];
}

static void send_frame(ear_t *e, uint64_t sealer, bool is_overtaken, const void *frame,
    size_t length)
{
    struct sockaddr_storage from = address_of(SENDER);
    rsti_netaddr_set_sealer(&from, sealer);
    rsti_netaddr_set_overtaken(&from, is_overtaken);
    inject_from(e->h, e->socket, &from, frame, length);
    settle(e->h);
}

static void send_setup(ear_t *e, uint64_t sealer, bool is_overtaken, uint8_t flags)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = TERM,
        .active_term_id = TERM,
        .term_length = 65536,
        .mtu = 1344,
    };
    send_frame(e, sealer, is_overtaken, &setup, sizeof setup);
}

static void send_data(ear_t *e, uint64_t sealer, int32_t offset, uint8_t flags)
{
    uint8_t datagram[64] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED | flags, RSTI_FRAME_DATA, SESSION, STREAM,
        TERM, offset);
    header.frame.frame_length = flags == 0 ? 64 : 0;
    memcpy(datagram, &header, sizeof header);
    send_frame(e, sealer, false, datagram, flags == 0 ? 64 : 32);
}

/* The echo of the last challenge. */
static void send_echo(ear_t *e, uint64_t sealer)
{
    rsti_rttm_t rttm;
    const frame_t *asked = last_frame(e->h, RSTI_FRAME_RTTM);
    CHECK(asked != NULL);
    memcpy(&rttm, asked->data, sizeof rttm);
    rttm.frame.flags = 0;
    send_frame(e, sealer, false, &rttm, sizeof rttm);
}

/* The sealer 1. */
static void admit(ear_t *e)
{
    send_setup(e, 1, false, RSTI_SETUP_FLAG_RSTREAM);
    send_echo(e, 1);
    CHECK(image_of(e) != NULL);
}

/* A recorded SETUP comes as often as one likes. */
TEST(with_a_key_nobody_is_admitted_without_a_proof)
{
    for (int number = 0; number <= 1; number++) {
        ear_t e = ear_open(number);
        for (int i = 0; i < 20; i++) {
            send_setup(&e, 1, false, 0);
            send_data(&e, 1, 0, 0);
            advance_alive(e.h, 60 * MS, 20 * MS);
        }
        CHECK_EQ(image_of(&e) != NULL, number == 0); /* plain: as Aeron's publishers are */
        send_setup(&e, 1, false, RSTI_SETUP_FLAG_RSTREAM);
        CHECK_EQ(image_of(&e) != NULL, number == 0);
        if (number == 1) {
            send_echo(&e, 1);
            CHECK(image_of(&e) != NULL && image_of(&e)->connections[0].is_proven);
        }
        harness_close(e.h);
    }
}

/* Who has the address has not the salt: only the sealer that was asked proves itself. */
TEST(a_proof_is_of_the_sealer)
{
    ear_t e = ear_open(1);
    send_setup(&e, 1, false, RSTI_SETUP_FLAG_RSTREAM);
    send_echo(&e, 2);
    CHECK(image_of(&e) == NULL);
    send_setup(&e, 2, false, RSTI_SETUP_FLAG_RSTREAM);
    CHECK(image_of(&e) == NULL);
    send_echo(&e, 1); /* to the challenge of 2 */
    CHECK(image_of(&e) == NULL);
    send_echo(&e, 2);
    CHECK(image_of(&e) != NULL);
    CHECK_EQ(rsti_netaddr_sealer(&image_of(&e)->connections[0].source), 2);
    harness_close(e.h);
}

TEST(data_of_another_sealer_do_not_reach_the_image)
{
    ear_t e = ear_open(1);
    admit(&e);
    rsti_image_t *image = image_of(&e);
    send_data(&e, 1, 0, 0);
    CHECK_EQ(image->received, 64);
    send_data(&e, 2, 64, 0);
    CHECK_EQ(image->received, 64);
    CHECK_EQ(image->high_water, 64);
    send_data(&e, 2, 64, RSTI_FLAG_EOS);
    CHECK(!image->connections[0].is_eos);
    send_setup(&e, 2, false, RSTI_SETUP_FLAG_RSTREAM);
    CHECK_EQ(rsti_netaddr_sealer(&image->connections[0].source), 1);
    send_data(&e, 1, 64, 0);
    CHECK_EQ(image->received, 128);
    harness_close(e.h);
}

/* It may be of before the end of the session. */
TEST(an_overtaken_setup_admits_nobody)
{
    ear_t e = ear_open(1);
    send_setup(&e, 1, true, RSTI_SETUP_FLAG_RSTREAM);
    CHECK_EQ(count_frames(e.h, RSTI_FRAME_RTTM), 0);
    admit(&e);
    send_setup(&e, 1, true, RSTI_SETUP_FLAG_RSTREAM); /* of a source that is bound: as ever */
    send_data(&e, 1, 0, 0);
    CHECK_EQ(image_of(&e)->received, 64);
    harness_close(e.h);
}

CHECK_MAIN(RUN(a_driver_that_requires_keys_opens_no_plain_socket),
    RUN(a_file_that_gives_no_key_is_named), RUN(a_key_in_the_channel_reaches_no_text),
    RUN(a_key_that_a_client_has_left), RUN(a_file_is_read_once_for_all_that_use_it),
    RUN(a_changed_file_changes_the_ring), RUN(the_ids_are_told),
    RUN(what_cannot_be_used_changes_nothing), RUN(the_mtu_is_that_of_the_datagram),
    RUN(a_shared_publication_has_one_mtu), RUN(a_sending_socket_has_one_key),
    RUN(a_receiving_socket_has_one_key), RUN(with_a_key_nobody_is_admitted_without_a_proof),
    RUN(a_proof_is_of_the_sealer), RUN(data_of_another_sealer_do_not_reach_the_image),
    RUN(an_overtaken_setup_admits_nobody))
