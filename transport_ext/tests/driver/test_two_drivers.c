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

/* The end of the stream is written behind a full window, and the publisher goes. The reader stands
 * still for longer than every time-out, and still finds the end. */
TEST(the_end_reaches_a_reader_that_stands_still)
{
    way_t way = {0};
    link_t *l = begin(&way, false, "term-length=256k");
    l->read_bytes_per_s = 1;
    link_run(l, RSTI_NS_PER_S);
    rsti_publication_t *base = &l->publication->base;
    CHECK_EQ(rsti_append(&l->appender, &(rsti_iovec_t){"", 0}, 1, 0, 0), RST_BACK_PRESSURED);
    const int64_t before = rsti_log_producer_position(&base->file.log);
    rsti_appender_t last;
    rsti_appender_init(&last, &base->file.log, base->pub_lmt, base->session_id, 10, true);
    const rsti_iovec_t text = {"no more", 7};
    const int64_t end = rsti_append_control(&last, &text, 77);
    CHECK_EQ(end, before + 64);
    l->offer_gap_ns = 1000 * RSTI_NS_PER_S;
    l->offer_due_ns = INT64_MAX / 2;
    (void)take_away(l->sides[0].h, RSTI_CMD_REMOVE_PUBLICATION, base->registration_id);
    const int64_t offered = l->bytes_read;
    link_run(l, 15 * RSTI_NS_PER_S);
    CHECK_EQ(l->sides[1].h->driver->conductor->images.count, 1);
    CHECK(l->bytes_read < offered + 2 * LINK_PACKET_BYTES);
    CHECK(l->image->received < end);
    l->read_bytes_per_s = 0;
    for (int i = 0; i < 10000 && l->image->received < end; i++) {
        link_step(l, INT64_MAX);
    }
    CHECK_EQ(l->image->received, end);
    const rsti_log_t *log = &l->image->file.log;
    const uint8_t *frame = log->terms[rsti_position_index(before, log->position_bits)]
        + rsti_position_offset(before, log->term_length);
    CHECK_EQ(rsti_get_i64(frame + offsetof(rsti_data_header_t, reserved_value)), 77);
    CHECK_MEM(frame + RSTI_DATA_HEADER_LENGTH, "no more", 7);
    /* The side that sends forgets the stream when everything has arrived. */
    l->image = NULL;
    link_run(l, 20 * RSTI_NS_PER_S);
    CHECK_EQ(l->sides[0].h->driver->conductor->publications.count, 0);
    CHECK_EQ(l->sides[1].h->driver->conductor->images.count, 0);
    link_close(l);
}

CHECK_MAIN(RUN(the_end_reaches_a_reader_that_stands_still), RUN(bytes_sent_are_bytes_received),
    RUN(retransmissions_count_as_sent), RUN(one_nak_repairs_a_long_gap),
    RUN(a_pattern_of_gaps_is_repaired), RUN(a_tenth_of_everything_is_lost))
