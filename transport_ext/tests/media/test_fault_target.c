/* P: deliberate faults: one range of a term once, many gaps once, by stream, session, port and
 * type. */
#include "media/fault_target.h"
#include "protocol/frame.h"
#include "tests/check.h"
#include "util/netaddr.h"

static uint8_t bytes[1408];
static struct sockaddr_storage peer;

static rsti_fault_view_t data_at(int32_t term_id, int32_t offset, int32_t stream_id)
{
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, 77, stream_id, term_id,
        offset);
    header.frame.frame_length = (int32_t)sizeof bytes;
    memcpy(bytes, &header, sizeof header);
    return (rsti_fault_view_t){bytes, sizeof bytes, &peer, true, true, 0};
}

static rsti_fault_view_t nak(int32_t stream_id)
{
    const rsti_nak_t frame = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = 77,
        .stream_id = stream_id,
    };
    memcpy(bytes, &frame, sizeof frame);
    return (rsti_fault_view_t){bytes, sizeof frame, &peer, false, false, 0};
}

/* P */
TEST(one_range_once)
{
    rsti_fault_gaps_t gaps = {.term_id = 5, .first = 1408, .length = 2816, .count = 1};
    for (int round = 0; round < 2; round++) {
        for (int32_t i = 0; i < 10; i++) {
            const rsti_fault_view_t view = data_at(5, i * 1408, 10);
            CHECK_EQ(rsti_fault_gaps(&gaps, &view), round == 0 && (i == 1 || i == 2));
        }
    }
    const rsti_fault_view_t other = data_at(6, 1408, 10);
    CHECK(!rsti_fault_gaps(&gaps, &other));
    CHECK_EQ(gaps.dropped, 2);
}

/* P */
TEST(many_gaps_once)
{
    rsti_fault_gaps_t gaps = {
        .term_id = 5, .first = 2816, .period = 4 * 1408, .length = 1408, .count = 3};
    int32_t dropped = 0;
    for (int32_t i = 0; i < 40; i++) {
        const rsti_fault_view_t view = data_at(5, i * 1408, 10);
        const bool is_dropped = rsti_fault_gaps(&gaps, &view);
        CHECK_EQ(is_dropped, i == 2 || i == 6 || i == 10);
        CHECK(!is_dropped || !rsti_fault_gaps(&gaps, &view)); /* the retransmission passes */
        dropped += is_dropped;
    }
    CHECK_EQ(dropped, 3);
    rsti_fault_gaps_t none = {.term_id = 5, .length = 1408};
    const rsti_fault_view_t view = data_at(5, 0, 10);
    CHECK(!rsti_fault_gaps(&none, &view));
    const rsti_fault_view_t heartbeat = {bytes, 32, &peer, true, true, 0};
    memset(bytes, 0, 4);
    gaps = (rsti_fault_gaps_t){.term_id = 5, .length = 1408, .count = 1};
    CHECK(!rsti_fault_gaps(&gaps, &heartbeat));
}

/* P: a datagram that only overlaps the range; sessions and sockets are told apart. */
TEST(each_session_loses_its_own_range)
{
    static rsti_fault_gaps_t gaps = {.term_id = 5, .first = 1500, .length = 100, .count = 1};
    for (int64_t socket = 0; socket < 2; socket++) {
        for (int32_t stream = 10; stream < 12; stream++) {
            rsti_fault_view_t view = data_at(5, 1408, stream);
            view.socket_number = socket;
            CHECK(rsti_fault_gaps(&gaps, &view));
            CHECK(!rsti_fault_gaps(&gaps, &view));
            view = data_at(5, 2816, stream);
            view.socket_number = socket;
            CHECK(!rsti_fault_gaps(&gaps, &view));
        }
    }
    CHECK_EQ(gaps.dropped, 4);
    for (int32_t stream = 12; stream < 12 + RSTI_FAULT_STREAMS_MAX; stream++) {
        const rsti_fault_view_t view = data_at(5, 1408, stream);
        (void)rsti_fault_gaps(&gaps, &view);
    }
    CHECK_EQ(gaps.dropped, RSTI_FAULT_STREAMS_MAX);
    CHECK_EQ(gaps.seen_count, RSTI_FAULT_STREAMS_MAX);
}

/* P */
TEST(by_stream_session_port_type_and_direction)
{
    (void)rsti_netaddr_resolve("127.0.0.1:4000", &peer);
    rsti_fault_cut_t cut = {.is_on = true, .filter = {.has_stream = true, .stream_id = 10}};
    rsti_fault_view_t view = data_at(5, 0, 10);
    CHECK(rsti_fault_cut(&cut, &view));
    view = data_at(5, 0, 11);
    CHECK(!rsti_fault_cut(&cut, &view));
    view = nak(10);
    CHECK(rsti_fault_cut(&cut, &view));
    cut.filter.has_session = true;
    cut.filter.session_id = 78;
    CHECK(!rsti_fault_cut(&cut, &view));
    cut.filter = (rsti_fault_filter_t){.has_type = true, .type = RSTI_FRAME_NAK};
    CHECK(rsti_fault_cut(&cut, &view));
    cut.filter.direction = 1;
    CHECK(!rsti_fault_cut(&cut, &view));
    cut.filter.direction = 2;
    CHECK(rsti_fault_cut(&cut, &view));
    cut.filter = (rsti_fault_filter_t){.has_port = true, .port = 4001};
    CHECK(!rsti_fault_cut(&cut, &view));
    cut.filter.port = 4000;
    CHECK(rsti_fault_cut(&cut, &view));
    cut.is_on = false;
    CHECK(!rsti_fault_cut(&cut, &view));
    CHECK_EQ(cut.dropped, 5);
    cut.is_on = true;
    view.length = 7;
    CHECK(!rsti_fault_cut(&cut, &view));
}

CHECK_MAIN(RUN(one_range_once), RUN(many_gaps_once), RUN(each_session_loses_its_own_range),
    RUN(by_stream_session_port_type_and_direction))
