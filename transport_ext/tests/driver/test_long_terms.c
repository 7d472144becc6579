/* Long terms take storage ahead of the writer, not a term at once: a log that is hardly used is
 * small, and the window is as long as ever. */
#include "driver/conductor/publication.h"
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define MIB INT64_C(1048576)
#define TERM "term-length=16m"
#define UDP "aeron:udp?endpoint=127.0.0.1:24400|init-term-id=5|term-id=5|term-offset=0|" TERM
#define READER "127.0.0.1:24400"

typedef struct writer_t {
    harness_t *h;
    rsti_publication_t *base;
    rsti_network_publication_t *network; /* NULL: IPC */
    rsti_appender_t appender;
} writer_t;

static void writer_open(writer_t *w, const char *channel)
{
    w->h = harness_open();
    (void)add(w->h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, 10);
    const rsti_conductor_t *conductor = w->h->driver->conductor;
    w->network = conductor->publications.count > 0 ? conductor->publications.items[0] : NULL;
    w->base = w->network != NULL ? &w->network->base : conductor->ipc_publications.items[0];
    rsti_appender_init(&w->appender, &w->base->file.log, w->base->pub_lmt, w->base->session_id, 10,
        true);
}

static int64_t stored(const writer_t *w)
{
    struct stat status;
    return stat(w->base->file.path, &status) == 0 ? (int64_t)status.st_blocks * 512 : INT64_MAX;
}

/* Writes up to the limit, and passes until it does not rise any more. */
static int64_t fill(writer_t *w)
{
    static uint8_t message[32 * 1024];
    const rsti_iovec_t part = {message, sizeof message};
    int64_t reached = 0;
    for (int refused = 0; refused < 3;) {
        const int64_t result = rsti_append(&w->appender, &part, 1, sizeof message, 0);
        reached = rsti_log_producer_position(&w->base->file.log);
        if (result > 0 || result == RST_ADMIN_ACTION) {
            refused = 0;
        } else {
            refused++;
            pass(w->h);
            forget_frames(w->h);
        }
    }
    return reached;
}

/* N27: nobody reads: one step. A reader: what the writer may write soon. A reader that stands
 * still: the whole window, as the writer gets there. */
TEST(storage_follows_the_writer)
{
    writer_t w;
    writer_open(&w, "aeron:ipc?" TERM);
    CHECK_EQ(stored(&w), MIB + 4096);
    (void)add(w.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    CHECK_EQ(*w.base->pub_lmt, RSTI_LIMIT_AHEAD);
    CHECK_EQ(w.base->file.log.metadata->ext.is_limit_short, 1);
    CHECK(stored(&w) <= 4 * MIB + 4096); /* ahead, and the longest message of 2 MiB */
    const int64_t end = fill(&w);
    CHECK_EQ(*w.base->pub_lmt, 8 * MIB);
    CHECK(end >= 8 * MIB && end < 8 * MIB + 64 * 1024);
    CHECK_EQ(w.base->file.log.metadata->ext.is_limit_short, 0);
    CHECK(stored(&w) <= 11 * MIB + 4096);
    harness_close(w.h);
}

/* A stream that goes on reserves all three terms in the end, and its limit is the window's then. */
TEST(a_used_log_is_reserved_as_a_whole)
{
    writer_t w;
    writer_open(&w, "aeron:ipc?" TERM);
    (void)add(w.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    for (int i = 0; i < 12; i++) {
        *w.base->subscribers.items[0].position = fill(&w);
        pass(w.h);
    }
    CHECK_EQ(w.base->file.reserved_position, INT64_MAX);
    CHECK_EQ(stored(&w), 48 * MIB + 4096);
    CHECK_EQ(*w.base->pub_lmt, *w.base->subscribers.items[0].position + 8 * MIB);
    CHECK_EQ(w.base->file.log.metadata->ext.is_limit_short, 0);
    harness_close(w.h);
}

TEST(storage_follows_the_writer_of_a_network_stream)
{
    writer_t w;
    writer_open(&w, UDP);
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = w.base->session_id,
        .stream_id = 10,
        .consumption_term_id = 5,
        .receiver_window = 128 * 1024,
        .receiver_id = 99,
    };
    inject(w.h, w.network->endpoint->socket, READER, &sm, sizeof sm);
    pass(w.h);
    CHECK_EQ(*w.base->pub_lmt, RSTI_LIMIT_AHEAD);
    CHECK(stored(&w) <= 4 * MIB + 4096);
    (void)fill(&w);
    CHECK_EQ(*w.base->pub_lmt, *w.network->snd_pos + 8 * MIB);
    CHECK(stored(&w) <= 12 * MIB + 4096);
    harness_close(w.h);
}

CHECK_MAIN(RUN(storage_follows_the_writer), RUN(a_used_log_is_reserved_as_a_whole),
    RUN(storage_follows_the_writer_of_a_network_stream))
