/* Peers with another key: the counter and the line of the log that name them
 * (driver/base/key_refusals.h, driver/conductor/peer_notes.h). */
#include "driver/base/key_refusals.h"
#include "driver/conductor/peer_notes.h"
#include "seal/refusal.h"
#include "tests/driver/keys.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define PEER "127.0.0.1:30001"
#define STREAM 10
#define PEER_ID 0x0A0B0C0DU

typedef struct side_t {
    harness_t *h;
    rsti_socket_t *socket;
    int32_t channel_status_id;
} side_t;

/* number: of the key file; 0: plain. */
static side_t side_open(bool is_sender, int number)
{
    side_t s = {.h = keyed_open()};
    (void)add(s.h, is_sender ? RSTI_CMD_ADD_PUBLICATION : RSTI_CMD_ADD_SUBSCRIPTION,
        keyed(s.h, UDP, number), STREAM);
    const rsti_conductor_t *conductor = s.h->driver->conductor;
    if (is_sender) {
        const rsti_send_endpoint_t *endpoint = conductor->send_endpoints.items[0];
        s.socket = endpoint->socket;
        s.channel_status_id = endpoint->channel_status_id;
    } else {
        const rsti_receive_endpoint_t *endpoint = conductor->receive_endpoints.items[0];
        s.socket = endpoint->owned[0]->socket;
        s.channel_status_id = endpoint->channel_status_id;
    }
    return s;
}

/* With KEY_A. */
static side_t reader_open(void)
{
    return side_open(false, 1);
}

static void refuse(const side_t *s, const char *from, rsti_refused_t why, uint32_t key_id)
{
    inject(s->h, s->socket, from, "", 0);
    s->h->incoming[s->h->incoming_count - 1].refusal = (rsti_refusal_t){why, key_id};
    settle(s->h);
}

static bool is_note(const harness_t *h, int32_t id)
{
    const rsti_counter_metadata_t *metadata = &h->driver->counters.counters.metadata[id];
    return metadata->state == RSTI_COUNTER_ALLOCATED
        && metadata->type_id == RSTI_COUNTER_KEY_REFUSED;
}

/* How many peers its counters name. */
static int note_count(const side_t *s)
{
    int count = 0;
    for (int32_t id = 0; id <= s->h->driver->counters.counters.max_counter_id; id++) {
        count += is_note(s->h, id);
    }
    return count;
}

/* The last of these counters; -1: there is none. */
static int32_t last_note(const side_t *s)
{
    int32_t id = s->h->driver->counters.counters.max_counter_id;
    while (id >= 0 && !is_note(s->h, id)) {
        id--;
    }
    return id;
}

static const char *label_of(const harness_t *h, int32_t id)
{
    static char text[512];
    const rsti_counter_metadata_t *metadata = &h->driver->counters.counters.metadata[id];
    snprintf(text, sizeof text, "%.*s", metadata->label_length, (const char *)metadata->label);
    return text;
}

TEST(each_reason_has_its_words)
{
    char own[64];
    snprintf(own, sizeof own, "this channel has key %08" PRIx32 ": UDP-", id_of(KEY_A));
    const struct {
        rsti_refused_t why;
        uint32_t key_id;
        int number;
        const char *words;
    } rows[] = {
        {RSTI_REFUSED_PLAIN, 0, 1, PEER " sends plain datagrams; "},
        {RSTI_REFUSED_KEY, PEER_ID, 1, PEER " seals with key 0a0b0c0d; "},
        {RSTI_REFUSED_FORGED, 0, 1, PEER " sends datagrams that are altered or forged; "},
        {RSTI_REFUSED_BY_PEER, PEER_ID, 1, PEER " asks for key 0a0b0c0d; "},
        {RSTI_REFUSED_BY_PEER, 0, 1, PEER " takes plain datagrams only; "},
        {RSTI_REFUSED_SEALED, PEER_ID, 0, PEER " seals with key 0a0b0c0d; "},
        {RSTI_REFUSED_BY_PEER, PEER_ID, 0, PEER " asks for key 0a0b0c0d; "},
    };
    for (int is_sender = 0; is_sender <= 1; is_sender++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            side_t s = side_open(is_sender != 0, rows[i].number);
            char words[128];
            snprintf(words, sizeof words, "%s%s", rows[i].words,
                rows[i].number == 1 ? own : "this channel has no key: UDP-");
            refuse(&s, PEER, rows[i].why, rows[i].key_id);
            CHECK_EQ(note_count(&s), 1);
            const int32_t id = last_note(&s);
            if (strstr(label_of(s.h, id), words) == NULL) {
                CHECK_FAIL("\"%s\" does not say \"%s\"", label_of(s.h, id), words);
            }
            CHECK(strstr(label_of(s.h, id), "rs-key-refused") != NULL);
            CHECK_EQ(counter(s.h, id), rows[i].key_id);
            CHECK_EQ(s.h->driver->counters.counters.values[id].registration_id,
                s.channel_status_id);
            CHECK_EQ(error_count(s.h, words), 1);
            harness_close(s.h);
        }
    }
}

TEST(what_was_not_refused_is_not_reported)
{
    side_t s = reader_open();
    refuse(&s, PEER, RSTI_REFUSED_NOT, PEER_ID);
    CHECK_EQ(note_count(&s), 0);
    harness_close(s.h);
}

/* Of one endpoint, whoever the peer is. */
TEST(one_report_a_second)
{
    side_t s = reader_open();
    refuse(&s, PEER, RSTI_REFUSED_KEY, 1);
    refuse(&s, PEER, RSTI_REFUSED_KEY, 2);
    refuse(&s, "127.0.0.1:30002", RSTI_REFUSED_KEY, 3);
    CHECK_EQ(note_count(&s), 1);
    CHECK_EQ(counter(s.h, last_note(&s)), 1);
    s.h->manual.now_ns += RSTI_KEY_REFUSAL_INTERVAL_NS - 1;
    refuse(&s, "127.0.0.1:30002", RSTI_REFUSED_KEY, 3);
    CHECK_EQ(note_count(&s), 1);
    s.h->manual.now_ns += 1;
    refuse(&s, "127.0.0.1:30002", RSTI_REFUSED_KEY, 3);
    CHECK_EQ(note_count(&s), 2);
    s.h->manual.now_ns += RSTI_KEY_REFUSAL_INTERVAL_NS;
    refuse(&s, PEER, RSTI_REFUSED_KEY, 2); /* a known peer: its counter, and no further line */
    CHECK_EQ(note_count(&s), 2);
    CHECK_EQ(error_count(s.h, "seals with key"), 2);
    harness_close(s.h);
}

TEST(a_note_ends_five_seconds_after_the_last_report)
{
    side_t s = reader_open();
    refuse(&s, PEER, RSTI_REFUSED_KEY, PEER_ID);
    advance_alive(s.h, 4000 * MS, 100 * MS);
    refuse(&s, PEER, RSTI_REFUSED_KEY, PEER_ID);
    advance_alive(s.h, 4900 * MS, 100 * MS);
    CHECK_EQ(note_count(&s), 1);
    advance_alive(s.h, 1200 * MS, 100 * MS); /* the timer runs once a second */
    CHECK_EQ(note_count(&s), 0);
    refuse(&s, PEER, RSTI_REFUSED_KEY, PEER_ID);
    CHECK_EQ(note_count(&s), 1);
    harness_close(s.h);
}

TEST(a_note_ends_with_its_endpoint)
{
    side_t s = reader_open();
    refuse(&s, PEER, RSTI_REFUSED_KEY, PEER_ID);
    CHECK_EQ(note_count(&s), 1);
    const rsti_receive_endpoint_t *endpoint = s.h->driver->conductor->receive_endpoints.items[0];
    rsti_peer_notes_forget(s.h->driver, &endpoint->refusal_due_ns); /* another one */
    CHECK_EQ(note_count(&s), 1);
    rsti_peer_notes_forget(s.h->driver, endpoint);
    CHECK_EQ(note_count(&s), 0);
    harness_close(s.h);
}

/* Anybody can send plain datagrams, under any address. */
TEST(strangers_fill_neither_the_counters_nor_the_log)
{
    side_t s = reader_open();
    const int total = RSTI_PEER_NOTES_MAX + 10;
    for (int i = 0; i < total; i++) {
        rsti_agent_command_t command = {
            .endpoint = s.h->driver->conductor->receive_endpoints.items[0],
            .registration_id = s.channel_status_id,
        };
        char peer[32];
        snprintf(peer, sizeof peer, "10.0.%d.%d:1", i / 256, i % 256);
        command.address = address_of(peer);
        snprintf(command.text, sizeof command.text, "%s sends plain datagrams", peer);
        rsti_on_key_refused(s.h->driver, &command);
    }
    CHECK_EQ(note_count(&s), RSTI_PEER_NOTES_MAX);
    CHECK_EQ(error_count(s.h, "sends plain datagrams"), RSTI_REFUSALS_LOGGED_MAX);
    advance_alive(s.h, 6200 * MS, 100 * MS);
    CHECK_EQ(note_count(&s), 0);
    refuse(&s, PEER, RSTI_REFUSED_PLAIN, 0); /* counted only */
    CHECK_EQ(note_count(&s), 1);
    CHECK_EQ(error_count(s.h, "sends plain datagrams"), RSTI_REFUSALS_LOGGED_MAX);
    harness_close(s.h);
}

CHECK_MAIN(RUN(each_reason_has_its_words), RUN(what_was_not_refused_is_not_reported),
    RUN(one_report_a_second), RUN(a_note_ends_five_seconds_after_the_last_report),
    RUN(a_note_ends_with_its_endpoint), RUN(strangers_fill_neither_the_counters_nor_the_log))
