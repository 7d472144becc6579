#include "loss/retransmit_handler.h"
#include "protocol/frame.h"
#include "tests/check.h"
#include "tests/vectors/loss.h"
#include "util/clock.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TERM (16 * 1024 * 1024)
#define RESEND_MAX 2097152 /* 16 windows of 131072: the parameters of the vectors */

typedef struct resends_t {
    int32_t term_id;
    int32_t term_offset;
    int32_t length;
    int count;
    int result;
} resends_t;

static int on_resend(void *arg, int32_t term_id, int32_t term_offset, int32_t length)
{
    resends_t *resends = (resends_t *)arg;
    resends->term_id = term_id;
    resends->term_offset = term_offset;
    resends->length = length;
    resends->count++;
    return resends->result;
}

/* H5 */
TEST(events_are_the_vectors)
{
    rsti_retransmit_handler_t handler = {0};
    const char *name = "";
    int32_t invalid = 0, overflow = 0;
    for (size_t i = 0; i < COUNT(vector_retransmit); i++) {
        const vector_retransmit_t *v = &vector_retransmit[i];
        if (strcmp(name, v->name) != 0) {
            rsti_retransmit_fini(&handler);
            CHECK_EQ(rsti_retransmit_init(&handler, v->is_group, v->max_resend, v->delay_ns,
                         v->linger_ns),
                0);
            name = v->name;
            invalid = 0;
            overflow = 0;
        }
        resends_t resends = {0};
        const rsti_nak_t nak = {
            .term_id = v->term_id, .term_offset = v->term_offset, .length = v->length};
        if (!v->is_nak) {
            int64_t due_ns;
            (void)rsti_retransmit_process(&handler, v->now_ns, on_resend, &resends, &due_ns);
        } else if (!rsti_nak_is_valid(&nak, TERM)) {
            invalid++;
        } else {
            const int32_t resend_length = v->length < RESEND_MAX ? v->length : RESEND_MAX;
            overflow += rsti_retransmit_on_nak(&handler, v->term_id, v->term_offset, v->length,
                            resend_length, v->now_ns, on_resend, &resends)
                == -1;
        }
        CHECK_EQ(resends.count, v->is_resent);
        CHECK_EQ(resends.term_offset, v->resent_offset);
        CHECK_EQ(resends.length, v->resent_length);
        CHECK_EQ(handler.active_count, v->active);
        CHECK_EQ(invalid, v->invalid_packets);
        CHECK_EQ(overflow, v->overflow);
    }
    rsti_retransmit_fini(&handler);
}

/* H5 */
TEST(a_delayed_resend_waits_then_lingers)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 16, 1000, 5000), 0);
    CHECK_EQ(rsti_retransmit_process(&handler, 0, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(due_ns, RSTI_NO_DEADLINE);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 64, 128, 128, 0, on_resend, &resends), 1);
    CHECK_EQ(resends.count, 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 64, 128, 128, 10, on_resend, &resends), 0);
    CHECK_EQ(rsti_retransmit_process(&handler, 1000, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(due_ns, 1001);
    CHECK_EQ(rsti_retransmit_process(&handler, 1001, on_resend, &resends, &due_ns), 1);
    CHECK_EQ(due_ns, 6002);
    CHECK_EQ(resends.term_id, 5);
    CHECK_EQ(resends.term_offset, 64);
    CHECK_EQ(resends.length, 128);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 160, 32, 32, 6001, on_resend, &resends), 0);
    CHECK_EQ(rsti_retransmit_process(&handler, 6001, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(handler.active_count, 1);
    CHECK_EQ(rsti_retransmit_process(&handler, 6002, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(handler.active_count, 0);
    CHECK_EQ(due_ns, RSTI_NO_DEADLINE);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 160, 32, 32, 6003, on_resend, &resends), 1);
    rsti_retransmit_fini(&handler);
}

TEST(a_delayed_action_is_replaced_in_unicast)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 16, 1000, 5000), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 128, 128, 0, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 128, 64, 64, 500, on_resend, &resends), 1);
    CHECK_EQ(handler.active_count, 1);
    CHECK_EQ(rsti_retransmit_process(&handler, 1001, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(rsti_retransmit_process(&handler, 1501, on_resend, &resends, &due_ns), 1);
    CHECK_EQ(resends.count, 1);
    CHECK_EQ(resends.term_offset, 128);
    rsti_retransmit_fini(&handler);
}

/* An action whose time has come runs no other one before its time. */
TEST(each_action_has_its_own_time)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, true, 16, 1000, 5000), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 0, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 64, 64, 64, 1, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_process(&handler, 1001, on_resend, &resends, &due_ns), 1);
    CHECK_EQ(due_ns, 1002);
    CHECK_EQ(rsti_retransmit_process(&handler, 1002, on_resend, &resends, &due_ns), 1);
    rsti_retransmit_fini(&handler);
}

/* What was lost twice is sent twice. */
TEST(each_repetition_has_one_more_copy)
{
    static const int copies[] = {1, 2, RSTI_RETRANSMIT_COPIES_MAX, RSTI_RETRANSMIT_COPIES_MAX};
    rsti_retransmit_handler_t handler;
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 16, 0, 5000), 0);
    rsti_retransmit_set_rtt(&handler, 4000000);
    for (size_t i = 0; i < COUNT(copies); i++) {
        const int64_t now_ns = (int64_t)i * 4000000;
        resends_t resends = {0};
        (void)rsti_retransmit_process(&handler, now_ns, on_resend, &resends, &due_ns);
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, now_ns, on_resend, &resends), 1);
        CHECK_EQ(resends.count, copies[i]);
    }
    rsti_retransmit_fini(&handler);
}

/* H5 */
TEST(pools_have_limits)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    CHECK_EQ(rsti_retransmit_init(&handler, true, 100000, 0, 1), 0);
    CHECK_EQ(handler.pool_size, RSTI_RETRANSMIT_POOL_MAX);
    rsti_retransmit_fini(&handler);
    CHECK_EQ(rsti_retransmit_init(&handler, true, 0, 0, 1), 0);
    CHECK_EQ(handler.pool_size, 1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 32, 32, 0, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 32, 32, 32, 0, on_resend, &resends), -1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 32, 0, 0, 0, on_resend, &resends), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 32, 32, 0, 0, on_resend, &resends), 0);
    CHECK_EQ(resends.count, 1);
    rsti_retransmit_fini(&handler);
    rsti_retransmit_fini(&handler); /* harmless */
}

/* H5: towards rstream receivers. */
TEST(many_at_once_and_a_round_trip_of_linger)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 16, 0, 10000000), 0);
    rsti_retransmit_set_rtt(&handler, 4000000);
    for (int32_t i = 0; i < 2; i++) { /* the second round is ignored */
        for (int32_t at = 0; at < 8; at++) {
            (void)rsti_retransmit_on_nak(&handler, 5, at * 4096, 1408, 1408, i * 3499999, on_resend,
                &resends);
        }
        CHECK_EQ(resends.count, 8);
    }
    CHECK_EQ(handler.active_count, 8);
    CHECK_EQ(rsti_retransmit_process(&handler, 3500000, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(handler.active_count, 8);
    CHECK_EQ(due_ns, 3500001);
    (void)rsti_retransmit_process(&handler, 3500001, on_resend, &resends, &due_ns);
    CHECK_EQ(handler.active_count, 0);
    CHECK_EQ(due_ns, RSTI_NO_DEADLINE);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 3500002, on_resend, &resends), 1);
    /* On a short path a lost retransmission does not cost Aeron's 10 ms. */
    rsti_retransmit_set_rtt(&handler, 20000);
    CHECK_EQ(handler.linger_ns, 50000);
    /* An Aeron receiver appeared: Aeron's delays again. */
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 4096, 64, 64, 3500002, on_resend, &resends), 1);
    rsti_retransmit_set_rtt(&handler, 0);
    CHECK_EQ(handler.pool_size, 1);
    CHECK_EQ(handler.linger_ns, 10000000);
    CHECK_EQ(handler.active_count, 2);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 8192, 64, 64, 3500003, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 8192, 64, 64, 3500004, on_resend, &resends), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 9216, 64, 64, 3500004, on_resend, &resends), 1);
    rsti_retransmit_fini(&handler);
    /* Groups keep Aeron's delays. */
    CHECK_EQ(rsti_retransmit_init(&handler, true, 16, 0, 10000000), 0);
    rsti_retransmit_set_rtt(&handler, 4000000);
    CHECK_EQ(handler.pool_size, 16);
    CHECK_EQ(handler.linger_ns, 10000000);
    rsti_retransmit_fini(&handler);
}

TEST(a_full_pool_gives_its_oldest_up)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    CHECK_EQ(rsti_retransmit_init(&handler, false, 16, 0, 10000000), 0);
    rsti_retransmit_set_rtt(&handler, 4000000);
    for (int32_t i = 0; i <= RSTI_RETRANSMIT_POOL_REPAIR; i++) {
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, i * 64, 64, 64, i, on_resend, &resends), 1);
    }
    CHECK_EQ(handler.active_count, RSTI_RETRANSMIT_POOL_REPAIR);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 64, 64, 64, 999, on_resend, &resends), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 999, on_resend, &resends), 1);
    rsti_retransmit_fini(&handler);
}

/* When no repairing receiver is left, a lingering retransmission is still not sent again before its
 * time; later NAKs share one place. */
TEST(lingering_retransmission_outlives_its_pool)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 16, 0, 10000000), 0);
    rsti_retransmit_set_rtt(&handler, 4000000);
    for (int32_t at = 0; at < 8; at++) {
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, at * 64, 64, 64, 0, on_resend, &resends), 1);
    }
    rsti_retransmit_set_rtt(&handler, 0);
    CHECK_EQ(handler.active_count, 8);
    for (int32_t at = 0; at < 8; at++) {
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, at * 64, 64, 64, 1, on_resend, &resends), 0);
    }
    CHECK_EQ(resends.count, 8);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 4096, 64, 64, 2, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 8192, 64, 64, 3, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 4096, 64, 64, 4, on_resend, &resends), 1);
    (void)rsti_retransmit_process(&handler, 3500001, on_resend, &resends, &due_ns);
    CHECK_EQ(handler.active_count, 1);
    CHECK_EQ(due_ns, 10000005);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 64, 64, 64, 3500002, on_resend, &resends), 1);
    rsti_retransmit_fini(&handler);
}

/* A socket that accepts nothing is no reason to forget a NAK: the receiver would have to ask again,
 * behind newer data. Each pass tries again, and none is needed before 50 us. */
TEST(refused_datagrams_wait_for_the_next_pass)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {.result = RSTI_RESEND_BLOCKED};
    int64_t due_ns;
    for (int is_group = 0; is_group < 2; is_group++) {
        resends = (resends_t){.result = RSTI_RESEND_BLOCKED};
        CHECK_EQ(rsti_retransmit_init(&handler, is_group != 0, 4, 0, 5000), 0);
        rsti_retransmit_set_rtt(&handler, 4000000);
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 10, on_resend, &resends), 1);
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 64, 64, 64, 10, on_resend, &resends), 1);
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 11, on_resend, &resends), 0);
        CHECK_EQ(handler.active_count, 2);
        CHECK_EQ(rsti_retransmit_process(&handler, 11, on_resend, &resends, &due_ns), 0);
        CHECK_EQ(due_ns, 50011);
        CHECK_EQ(resends.count, 3); /* two on the NAK, one in the pass: the other waits behind it */
        resends.result = 0;
        CHECK_EQ(rsti_retransmit_process(&handler, 12, on_resend, &resends, &due_ns), 2);
        CHECK_EQ(resends.count, 5);
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 13, on_resend, &resends), 0);
        rsti_retransmit_fini(&handler);
    }
}

/* What the path has no room for waits, and nothing of it is sent twice. */
TEST(a_part_is_sent_and_the_rest_waits)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {.result = 64};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 4, 0, 5000), 0);
    rsti_retransmit_set_rtt(&handler, 4000000);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 32, 256, 256, 10, on_resend, &resends), 1);
    CHECK_EQ(resends.length, 256);
    CHECK_EQ(rsti_retransmit_process(&handler, 11, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(resends.term_offset, 96);
    CHECK_EQ(resends.length, 192);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 32, 256, 256, 11, on_resend, &resends), 0);
    resends.result = RSTI_RESEND_BLOCKED;
    CHECK_EQ(rsti_retransmit_process(&handler, 12, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(resends.term_offset, 160);
    resends.result = 0;
    CHECK_EQ(rsti_retransmit_process(&handler, 13, on_resend, &resends, &due_ns), 1);
    CHECK_EQ(resends.term_offset, 160);
    CHECK_EQ(resends.length, 128);
    CHECK_EQ(resends.count, 4);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 32, 256, 256, 13, on_resend, &resends), 0);
    rsti_retransmit_fini(&handler);
}

/* A NAK takes no place from an action that waits for room. What has left of that action would leave
 * once more otherwise (simulator, seed 6340006126). */
TEST(what_waits_for_room_keeps_its_place)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {.result = 352};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 4, 0, 5000), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 5920, 576, 576, 10, on_resend, &resends), 1);
    resends.result = RSTI_RESEND_BLOCKED;
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 5216, 192, 192, 11, on_resend, &resends), 0);
    resends.result = 0;
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 5920, 576, 576, 12, on_resend, &resends), 0);
    CHECK_EQ(resends.count, 1);
    CHECK_EQ(rsti_retransmit_process(&handler, 13, on_resend, &resends, &due_ns), 1);
    CHECK_EQ(resends.term_offset, 6272);
    CHECK_EQ(resends.length, 224);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 5216, 192, 192, 14, on_resend, &resends), 1);
    CHECK_EQ(resends.count, 3);
    rsti_retransmit_fini(&handler);
}

TEST(what_got_lost_again_is_sent_twice)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {0};
    int64_t due_ns;
    CHECK_EQ(rsti_retransmit_init(&handler, false, 4, 0, 5000), 0);
    rsti_retransmit_set_rtt(&handler, 4000000);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 10, on_resend, &resends), 1);
    CHECK_EQ(resends.count, 1);
    CHECK_EQ(rsti_retransmit_process(&handler, 4000000, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 4000000, on_resend, &resends), 1);
    CHECK_EQ(resends.count, 3);
    rsti_retransmit_fini(&handler);
}

/* H5: a retransmission that could not be sent holds no place, and is sent on the next NAK. */
TEST(nothing_sent_takes_no_place)
{
    rsti_retransmit_handler_t handler;
    resends_t resends = {.result = -1};
    int64_t due_ns;
    for (int is_group = 0; is_group < 2; is_group++) {
        CHECK_EQ(rsti_retransmit_init(&handler, is_group != 0, 1, 0, 5000), 0);
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 0, on_resend, &resends), 0);
        CHECK_EQ(handler.active_count, 0);
        resends.result = 0;
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 1, on_resend, &resends), 1);
        resends.result = -1;
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 64, 64, 64, 2, on_resend, &resends),
            is_group != 0 ? -1 : 0);
        CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 3, on_resend, &resends), 0);
        CHECK_EQ(resends.term_offset, is_group != 0 ? 0 : 64);
        CHECK_EQ(handler.active_count, 1);
        rsti_retransmit_fini(&handler);
    }
    CHECK_EQ(rsti_retransmit_init(&handler, true, 1, 1000, 5000), 0);
    CHECK_EQ(rsti_retransmit_on_nak(&handler, 5, 0, 64, 64, 0, on_resend, &resends), 1);
    CHECK_EQ(rsti_retransmit_process(&handler, 1001, on_resend, &resends, &due_ns), 0);
    CHECK_EQ(handler.active_count, 0);
    CHECK_EQ(due_ns, RSTI_NO_DEADLINE);
    rsti_retransmit_fini(&handler);
}

CHECK_MAIN(RUN(events_are_the_vectors), RUN(a_delayed_resend_waits_then_lingers),
    RUN(a_delayed_action_is_replaced_in_unicast), RUN(each_action_has_its_own_time),
    RUN(each_repetition_has_one_more_copy), RUN(pools_have_limits),
    RUN(many_at_once_and_a_round_trip_of_linger), RUN(a_full_pool_gives_its_oldest_up),
    RUN(lingering_retransmission_outlives_its_pool), RUN(refused_datagrams_wait_for_the_next_pass),
    RUN(a_part_is_sent_and_the_rest_waits), RUN(what_waits_for_room_keeps_its_place),
    RUN(what_got_lost_again_is_sent_twice), RUN(nothing_sent_takes_no_place))
