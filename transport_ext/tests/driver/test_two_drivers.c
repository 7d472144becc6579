/* Two drivers on a link in virtual time: everything that one sends the other receives, and losses
 * are repaired by the rules. */
#include "media/fault_target.h"
#include "tests/driver/link.h"

/* The datagrams sent from side 0 to side 1, and how many were dropped. */
typedef struct way_t {
    rsti_fault_gaps_t gaps;
    int64_t bytes[2]; /* by the sending side */
    int64_t dropped_bytes;
} way_t;

static bool drop(void *arg, int side, const uint8_t *data, size_t length)
{
    way_t *way = arg;
    const rsti_fault_view_t view = {data, length, NULL, true, true, 0};
    way->bytes[side] += (int64_t)length;
    const bool is_dropped = side == 0 && rsti_fault_gaps(&way->gaps, &view);
    way->dropped_bytes += is_dropped ? (int64_t)length : 0;
    return is_dropped;
}

/* Stops the offers and runs until no datagram is in transit. */
static void become_quiet(link_t *l)
{
    l->offer_gap_ns = 1000 * RSTI_NS_PER_S;
    l->offer_due_ns = INT64_MAX / 2;
    link_run(l, 300 * MS);
    while (l->ways[0].count + l->ways[1].count > 0) {
        link_step(l, INT64_MAX);
    }
}

static link_t *begin(way_t *way, bool is_aeron, const char *publisher)
{
    link_t *l = link_open(&(link_params_t){.is_aeron = is_aeron, .seed = 1});
    l->drop = drop;
    l->drop_arg = way;
    if (!link_stream(l, "rcv-wnd=128k", publisher)) {
        fprintf(stderr, "no stream: %s\n", rst_last_error_text());
        abort();
    }
    return l;
}

/* N28: bytes sent here are bytes received there, in both directions, over many terms. */
TEST(bytes_sent_are_bytes_received)
{
    way_t way = {0};
    link_t *l = begin(&way, false, "term-length=256k");
    link_run(l, 50 * MS);
    become_quiet(l);
    CHECK(l->bytes_read > 10 * 256 * 1024);
    for (int side = 0; side < 2; side++) {
        const int64_t sent = link_counter(l, side, RSTI_SYSTEM_BYTES_SENT);
        CHECK(sent > 0);
        CHECK_EQ(sent, way.bytes[side]);
        CHECK_EQ(link_counter(l, 1 - side, RSTI_SYSTEM_BYTES_RECEIVED), sent);
        CHECK_EQ(link_counter(l, side, RSTI_SYSTEM_INVALID_PACKETS), 0);
    }
    CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_RETRANSMITTED_BYTES), 0);
    link_close(l);
}

/* H6: retransmissions count both as sent and as retransmitted. */
TEST(retransmissions_count_as_sent)
{
    way_t way = {.gaps = {.first = 14080, .length = 1408, .count = 1}};
    link_t *l = begin(&way, true, "term-length=256k|init-term-id=0|term-id=0|term-offset=0");
    link_run(l, 20 * MS);
    become_quiet(l);
    CHECK_EQ(way.gaps.dropped, 1);
    CHECK_EQ(way.dropped_bytes, 1408);
    CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_RETRANSMITS_SENT), 1);
    CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_RETRANSMITTED_BYTES), 1408);
    CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_BYTES_SENT), way.bytes[0]);
    CHECK_EQ(link_counter(l, 1, RSTI_SYSTEM_BYTES_RECEIVED), way.bytes[0] - 1408);
    link_close(l);
}

/* H6: one NAK, however long the gap; its retransmission fills it. */
TEST(one_nak_repairs_a_long_gap)
{
    way_t way = {.gaps = {.first = 14080, .length = 40 * 1408, .count = 1}};
    link_t *l = begin(&way, true, "term-length=256k|init-term-id=0|term-id=0|term-offset=0");
    link_run(l, 20 * MS);
    become_quiet(l);
    CHECK_EQ(way.gaps.dropped, 40);
    CHECK_EQ(link_counter(l, 1, RSTI_SYSTEM_NAKS_SENT), 1);
    CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_NAKS_RECEIVED), 1);
    CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_RETRANSMITTED_BYTES), 40 * 1408);
    CHECK_EQ(l->bytes_read, l->image->received);
    CHECK(l->bytes_read > 256 * 1024);
    link_close(l);
}

/* H6: a pattern of gaps is repaired whichever side sends, each byte once. */
TEST(a_pattern_of_gaps_is_repaired)
{
    for (int is_aeron = 0; is_aeron < 2; is_aeron++) {
        way_t way = {.gaps = {.first = 14080, .period = 4 * 1408, .length = 1408, .count = 20}};
        link_t *l = begin(&way, is_aeron != 0,
            "term-length=256k|init-term-id=0|term-id=0|term-offset=0");
        link_run(l, 20 * MS);
        become_quiet(l);
        CHECK_EQ(way.gaps.dropped, 20);
        CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_RETRANSMITTED_BYTES), 20 * 1408);
        CHECK_EQ(l->bytes_read, *l->publication->snd_pos);
        CHECK(l->bytes_read > 256 * 1024);
        link_close(l);
    }
}

/* H6: a tenth of all datagrams is lost in both directions, at random; the stream is complete. */
TEST(a_tenth_of_everything_is_lost)
{
    for (int is_aeron = 0; is_aeron < 2; is_aeron++) {
        link_t *l = link_open(&(link_params_t){.is_aeron = is_aeron != 0,
            .loss = 0.1,
            .control_loss = 0.1,
            .delay_ns = MS / 10,
            .seed = check_seed()});
        CHECK(link_stream(l, "rcv-wnd=128k", "term-length=256k"));
        link_run(l, 2 * RSTI_NS_PER_S);
        become_quiet(l);
        CHECK(l->bytes_read > 4 * 256 * 1024);
        CHECK_EQ(l->bytes_read, *l->publication->snd_pos);
        CHECK(l->ways[0].lost > 50);
        CHECK(link_counter(l, 0, RSTI_SYSTEM_RETRANSMITS_SENT) > 50);
        link_close(l);
    }
}

CHECK_MAIN(RUN(bytes_sent_are_bytes_received), RUN(retransmissions_count_as_sent),
    RUN(one_nak_repairs_a_long_gap), RUN(a_pattern_of_gaps_is_repaired),
    RUN(a_tenth_of_everything_is_lost))
