/* publisher_more.c: optional calls of an exclusive publication: prepared frames, padding; a claim
 * that is held for long; and waiting for room with a waiter. */
#include "protocol/frame.h"
#include "tests/sim/actors.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

#define FRAMES_MAX 3
#define BLOCK_MAX (FRAMES_MAX * 2048)
#define ABANDONED_NS_MAX (15 * SIM_S)
#define UNBLOCK_SLACK_NS (3 * SIM_S) /* for timers and preempted threads */
#define LOOK_NS (20 * SIM_MS)

static uint8_t blocks[SIM_ROLES_MAX][BLOCK_MAX];

/* ---- frames ---- */

/* Fills the frames of the next messages as they will lie in the log; returns their bytes. */
static size_t draft_frames(sim_publisher_t *self, const rst_publication_info_t *info,
    int32_t term_id, int32_t term_offset, int32_t count, int32_t lengths[FRAMES_MAX])
{
    size_t at = 0;
    uint8_t *block = blocks[self->index];
    memset(block, 0, BLOCK_MAX);
    for (int32_t i = 0; i < count; i++) {
        lengths[i] = (int32_t)sim_between(RNG_ACTOR, SIM_ID_LENGTH, info->max_payload_length);
        rsti_data_header_t header = {
            .frame = {.frame_length = lengths[i] + RSTI_DATA_HEADER_LENGTH,
                .flags = RSTI_FLAG_UNFRAGMENTED,
                .type = RSTI_FRAME_DATA},
            .term_offset = term_offset + (int32_t)at,
            .session_id = info->session_id,
            .stream_id = info->stream_id,
            .term_id = term_id,
        };
        memcpy(block + at, &header, sizeof header);
        sim_writer_fill(self->writer, sim_writer_next(self->writer) + i, block + at + sizeof header,
            (size_t)lengths[i]);
        at += (size_t)rsti_frame_span(header.frame.frame_length);
    }
    return at;
}

/* Frames with a wrong position are refused. */
static void offer_misplaced(const sim_publisher_t *self, size_t length)
{
    uint8_t *block = blocks[self->index];
    rsti_data_header_t header;
    memcpy(&header, block, sizeof header);
    rsti_data_header_t wrong = header;
    switch (sim_below(RNG_ACTOR, 3)) {
    case 0:
        wrong.term_offset += RSTI_FRAME_ALIGNMENT;
        break;
    case 1:
        wrong.session_id ^= 1;
        break;
    default:
        wrong.frame.frame_length = (int32_t)length + 1;
        break;
    }
    memcpy(block, &wrong, sizeof wrong);
    const int64_t result = rst_publication_offer_frames(self->publication, block, length);
    memcpy(block, &header, sizeof header);
    if (result > 0) {
        sim_fail("publisher %d: frames with a wrong position are accepted", self->index);
    }
    sim_count(result == RST_ERROR ? "publisher: misplaced frames refused"
                                  : "publisher: misplaced frames not looked at");
}

static int64_t offer_frames(sim_publisher_t *self)
{
    rst_publication_info_t info;
    int32_t term_id, term_offset;
    int32_t lengths[FRAMES_MAX];
    rst_publication_info(self->publication, &info);
    const int64_t next = rst_publication_next_frame(self->publication, &term_id, &term_offset);
    if (next < 0) {
        return next;
    }
    const int32_t count = 1 + (int32_t)sim_below(RNG_ACTOR, FRAMES_MAX);
    const size_t length = draft_frames(self, &info, term_id, term_offset, count, lengths);
    const int32_t rest = info.term_length - term_offset;
    if (length > (size_t)rest) {
        return rst_publication_append_padding(self->publication,
            (size_t)(rest - RSTI_DATA_HEADER_LENGTH));
    }
    if (sim_chance(RNG_ACTOR, 0.2)) {
        offer_misplaced(self, length);
    }
    sim_writer_attempts(self->writer, count, lengths);
    const int64_t position = rst_publication_offer_frames(self->publication, blocks[self->index],
        length);
    sim_writer_took(self->writer, position > 0 ? count : 0, position);
    return position;
}

static int64_t append_padding(const sim_publisher_t *self)
{
    rst_publication_info_t info;
    rst_publication_info(self->publication, &info);
    return rst_publication_append_padding(self->publication,
        sim_below(RNG_ACTOR,
            (uint64_t)(sim_chance(RNG_ACTOR, 0.1) ? info.max_message_length + 1
                                                  : info.max_payload_length)));
}

int64_t sim_publisher_more(sim_publisher_t *publisher)
{
    if (sim_chance(RNG_ACTOR, 0.3)) {
        sim_count("publisher: padding");
        return append_padding(publisher);
    }
    sim_count("publisher: offer of frames");
    return offer_frames(publisher);
}

/* ---- a claim that is never ended ---- */

/* The padding may be gone when we look: readers pass it at once, then its memory is cleaned and
 * used again. */
static bool is_unblocked(const sim_publisher_t *self, const rst_claim_t *claim, int64_t begin)
{
    const rsti_data_header_t *header = claim->frame;
    const int32_t length = rsti_load_acquire_i32(&header->frame.frame_length);
    return (length > 0 && header->frame.type == RSTI_FRAME_PAD)
        || (length >= 0 && rst_publication_consumed_position(self->publication) > begin);
}

/* The time since all data before the claim were consumed and the claim alone blocked the readers.
 */
static void await_unblocked(const sim_publisher_t *self, const rst_claim_t *claim, int64_t begin)
{
    const int64_t end_ns = world.now_ns + ABANDONED_NS_MAX;
    const int64_t patience_ns = self->client->driver->params.unblock_timeout_ns + UNBLOCK_SLACK_NS;
    int64_t blocked_since_ns = INT64_MAX;
    while (!is_unblocked(self, claim, begin) && world.now_ns < end_ns
        && !rst_publication_is_closed(self->publication)) {
        const bool is_blocked = world.is_calm && rst_publication_is_connected(self->publication)
            && rst_publication_consumed_position(self->publication) >= begin
            && rst_client_state(self->client->client) == RST_CLIENT_OPEN;
        blocked_since_ns = !is_blocked     ? INT64_MAX
            : blocked_since_ns < INT64_MAX ? blocked_since_ns
                                           : world.now_ns;
        if (is_blocked && world.now_ns - blocked_since_ns > patience_ns) {
            sim_fail("publisher %d: its claim at %" PRId64 " is not unblocked", self->index, begin);
        }
        sim_fiber_sleep(LOOK_NS);
    }
    if (is_unblocked(self, claim, begin)) {
        sim_count("publisher: abandoned claim unblocked");
    }
}

/* The driver does not unblock a claim of a live exclusive publication. */
static void hold(const sim_publisher_t *self, const rst_claim_t *claim, int64_t begin)
{
    sim_fiber_sleep(self->client->driver->params.unblock_timeout_ns + SIM_S);
    if (is_unblocked(self, claim, begin) && !rst_publication_is_closed(self->publication)) {
        sim_fiber_sleep(UNBLOCK_SLACK_NS); /* the client may be lost without knowing it yet */
        if (rst_client_state(self->client->client) == RST_CLIENT_OPEN) {
            sim_fail("publisher %d: the claim of an exclusive publication is unblocked",
                self->index);
        }
    }
}

int64_t sim_publisher_abandon(sim_publisher_t *publisher)
{
    rst_claim_t claim;
    rst_publication_info_t info;
    rst_publication_info(publisher->publication, &info);
    const int32_t length = (int32_t)sim_between(RNG_ACTOR, SIM_ID_LENGTH, info.max_payload_length);
    sim_writer_attempts(publisher->writer, 1, &length);
    const int32_t number = sim_writer_next(publisher->writer);
    const int64_t position = rst_publication_try_claim(publisher->publication, (size_t)length, 0,
        &claim);
    if (position <= 0) {
        sim_writer_took(publisher->writer, 0, position);
        return position;
    }
    const int64_t begin = position - rsti_framed_length(length, info.max_payload_length);
    publisher->abandons_claim = false;
    sim_writer_fill(publisher->writer, number, claim.data, (size_t)length);
    if (info.is_exclusive) {
        sim_count("publisher: claim held for long");
        hold(publisher, &claim, begin);
        (void)rst_claim_commit(&claim);
        sim_writer_took(publisher->writer, 1, position);
        return position;
    }
    sim_count("publisher: claim abandoned");
    await_unblocked(publisher, &claim, begin);
    /* A late abort must change nothing when the driver has unblocked the claim. */
    if (is_unblocked(publisher, &claim, begin) && sim_chance(RNG_ACTOR, 0.5)) {
        (void)rst_claim_commit(&claim);
    } else {
        (void)rst_claim_abort(&claim);
    }
    sim_writer_took(publisher->writer, 0, position);
    return position;
}

/* ---- waiting ---- */

void sim_publisher_wait(sim_publisher_t *publisher, int64_t timeout_ns)
{
    if (publisher->waiter == NULL) {
        if (rst_waiter_create(&publisher->waiter, publisher->client->client) < 0) {
            return; /* the client is lost */
        }
        if (rst_waiter_attach_publication(publisher->waiter, publisher->publication) < 0) {
            sim_fail("publisher %d: %s", publisher->index, rst_last_error_text());
        }
    }
    const int64_t begin_ns = world.now_ns;
    const int result = rst_waiter_wait(publisher->waiter, timeout_ns, 0);
    sim_count(result == 1 ? "publisher: waited for room" : "publisher: waited in vain");
    if (result == 0 && world.now_ns - begin_ns < timeout_ns) {
        sim_fail("publisher %d: a wait ended early", publisher->index);
    }
}

void sim_publisher_end_waits(sim_publisher_t *publisher)
{
    if (publisher->waiter != NULL) {
        rst_waiter_destroy(publisher->waiter);
        publisher->waiter = NULL;
    }
}
