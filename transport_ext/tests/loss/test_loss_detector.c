#include "loss/loss_detector.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "tests/vectors/loss.h"
#include "util/clock.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TERM RSTI_TERM_MIN_LENGTH
#define TERM_ID VECTOR_LOSS_INITIAL_TERM_ID

#define GAPS_MAX 8

typedef struct naks_t {
    rsti_gap_t gaps[GAPS_MAX];
    int32_t count;
} naks_t;

static void on_gap(void *arg, const rsti_gap_t *gap)
{
    naks_t *naks = (naks_t *)arg;
    if (naks->count < GAPS_MAX) {
        naks->gaps[naks->count++] = *gap;
    }
}

typedef struct rig_t {
    memory_log_t memory;
    rsti_loss_detector_t detector;
    rsti_rng_t rng;
    naks_t naks;
    bool is_loss;
    int64_t due_ns;
} rig_t;

static void rig_init(rig_t *rig, int64_t delay_ns, int64_t ratio)
{
    rsti_feedback_delay_t delay;
    rsti_feedback_delay_unicast(&delay, delay_ns, ratio);
    memory_log_init(&rig->memory, TERM_ID, TERM);
    rsti_loss_detector_init(&rig->detector, &delay);
    rsti_rng_init(&rig->rng, 1);
}

static void arrive(rig_t *rig, int64_t position)
{
    put_frame(rig->memory.log.terms[rsti_position_index(position, 16)], RSTI_FRAME_DATA, 128,
        rsti_position_offset(position, TERM), rsti_position_term_id(position, 16, TERM_ID));
}

static int64_t scan(rig_t *rig, int64_t from, int64_t hwm, int64_t now_ns)
{
    rig->naks.count = 0;
    return rsti_loss_detector_scan(&rig->detector, &rig->memory.log, from, hwm, now_ns, &rig->rng,
        on_gap, &rig->naks, &rig->is_loss, &rig->due_ns);
}

/* H1, H2 */
TEST(the_timeline_is_the_vectors)
{
    rig_t rig;
    rig_init(&rig, VECTOR_LOSS_DELAY_NS, VECTOR_LOSS_RETRY_NS / VECTOR_LOSS_DELAY_NS);
    arrive(&rig, 0);
    arrive(&rig, 256);
    for (size_t i = 0; i < COUNT(vector_loss_timeline); i++) {
        const vector_loss_timeline_t *v = &vector_loss_timeline[i];
        if (v->frame_arrived_at >= 0) {
            arrive(&rig, v->frame_arrived_at);
        }
        CHECK_EQ(scan(&rig, v->rebuild_position, v->hwm_position, v->now_ns),
            v->new_rebuild_offset);
        CHECK_EQ(rig.is_loss, v->loss_found);
        CHECK_EQ(rig.naks.count, v->has_nak);
        if (v->has_nak) {
            CHECK_EQ(rig.naks.gaps[0].term_id, v->nak_term_id);
            CHECK_EQ(rig.naks.gaps[0].term_offset, v->nak_term_offset);
            CHECK_EQ(rig.naks.gaps[0].length, v->nak_length);
        }
    }
    memory_log_fini(&rig.memory);
}

/* H1 */
TEST(an_empty_or_whole_log_asks_for_nothing)
{
    rig_t rig;
    rig_init(&rig, 0, 0);
    CHECK_EQ(scan(&rig, 0, 0, 0), 0);
    CHECK_EQ(rig.naks.count, 0);
    CHECK_EQ(rig.due_ns, RSTI_NO_DEADLINE);
    for (int32_t at = 0; at < TERM; at += 128) {
        arrive(&rig, at);
    }
    CHECK_EQ(scan(&rig, 0, TERM, 0), TERM);
    CHECK_EQ(rig.naks.count, 0);
    CHECK(!rig.is_loss);
    CHECK_EQ(scan(&rig, 512, 256, 0), 512); /* a high-water mark behind the reader */
    CHECK_EQ(scan(&rig, -64, 256, 0), -64);
    memory_log_fini(&rig.memory);
}

/* H1, H3 */
TEST(without_delay_the_first_scan_asks)
{
    rig_t rig;
    rig_init(&rig, 0, 100);
    arrive(&rig, 128);
    CHECK_EQ(scan(&rig, 0, 256, 77), 0);
    CHECK(rig.is_loss);
    CHECK_EQ(rig.naks.count, 1);
    CHECK_EQ(rig.naks.gaps[0].term_offset, 0);
    CHECK_EQ(rig.naks.gaps[0].length, 128);
    memory_log_fini(&rig.memory);
}

/* H2 */
TEST(timers_tell_when_they_are_due)
{
    rig_t rig;
    rig_init(&rig, 1000, 100);
    arrive(&rig, 128);
    (void)scan(&rig, 0, 256, 50);
    CHECK_EQ(rig.due_ns, 1050);
    (void)scan(&rig, 0, 256, 1049);
    CHECK_EQ(rig.naks.count, 0);
    (void)scan(&rig, 0, 256, 1060);
    CHECK_EQ(rig.naks.count, 1);
    CHECK_EQ(rig.due_ns, 101060);
    arrive(&rig, 0);
    CHECK_EQ(scan(&rig, 0, 256, 1061), 256);
    CHECK_EQ(rig.due_ns, RSTI_NO_DEADLINE);
    CHECK(!rig.detector.has_gap);
    memory_log_fini(&rig.memory);
}

/* H2 */
TEST(a_gap_of_another_length_is_a_new_one)
{
    rig_t rig;
    rig_init(&rig, 1000, 100);
    arrive(&rig, 0);
    (void)scan(&rig, 0, 256, 0);
    (void)scan(&rig, 0, 512, 900);
    CHECK(rig.is_loss);
    (void)scan(&rig, 0, 512, 1000);
    CHECK_EQ(rig.naks.count, 0);
    (void)scan(&rig, 0, 512, 1900);
    CHECK_EQ(rig.naks.count, 1);
    CHECK_EQ(rig.naks.gaps[0].length, 384);
    memory_log_fini(&rig.memory);
}

/* H3: the mark lies in a later term: the gap ends with its own term. */
TEST(a_gap_ends_with_its_term)
{
    rig_t rig;
    rig_init(&rig, 0, 100);
    const int64_t from = 2 * TERM - 256;
    arrive(&rig, from);
    CHECK_EQ(scan(&rig, from, 2 * TERM + 512, 0), from + 128);
    CHECK_EQ(rig.naks.count, 1);
    CHECK_EQ(rig.naks.gaps[0].term_id, TERM_ID + 1);
    CHECK_EQ(rig.naks.gaps[0].term_offset, TERM - 128);
    CHECK_EQ(rig.naks.gaps[0].length, 128);
    arrive(&rig, from + 128);
    CHECK_EQ(scan(&rig, from, 2 * TERM + 512, 1), 2 * TERM);
    CHECK_EQ(rig.naks.count, 0);
    CHECK_EQ(scan(&rig, 2 * TERM, 2 * TERM + 512, 2), 2 * TERM);
    CHECK_EQ(rig.naks.gaps[0].term_id, TERM_ID + 2);
    CHECK_EQ(rig.naks.gaps[0].length, 512);
    memory_log_fini(&rig.memory);
}

/* H3 */
TEST(gaps_are_repaired_one_after_the_other)
{
    rig_t rig;
    rig_init(&rig, 0, 100);
    int64_t position = 0;
    for (int32_t at = 0; at < 1024; at += 256) {
        arrive(&rig, at);
    }
    for (int32_t gap = 0; gap < 3; gap++) {
        position = scan(&rig, position, 896, gap);
        CHECK_EQ(position, gap * 256 + 128);
        CHECK(rig.is_loss);
        CHECK_EQ(rig.naks.count, 1);
        arrive(&rig, position);
    }
    CHECK_EQ(scan(&rig, position, 896, 9), 896);
    memory_log_fini(&rig.memory);
}

TEST(unicast_delays_are_constant)
{
    rsti_feedback_delay_t delay;
    rsti_feedback_delay_unicast(&delay, 1000, 100);
    CHECK_EQ(rsti_feedback_delay_next(&delay, false, NULL), 1000);
    CHECK_EQ(rsti_feedback_delay_next(&delay, true, NULL), 100000);
    rsti_feedback_delay_unicast(&delay, INT64_MAX / 2, 100);
    CHECK_EQ(rsti_feedback_delay_next(&delay, true, NULL), INT64_MAX);
}

/* H4 */
TEST(group_delays_follow_the_formula)
{
    rsti_feedback_delay_t delay;
    rsti_feedback_delay_group(&delay, (int64_t)VECTOR_GROUP_MAX_BACKOFF_NS,
        VECTOR_GROUP_GROUP_SIZE);
    CHECK_EQ(rsti_feedback_delay_at(&delay, 0.0), 0);
    int64_t before = 0;
    for (int i = 0; i < 1000; i++) {
        const double u = i / 1000.0;
        const double x = u * VECTOR_GROUP_RAND_MAX + VECTOR_GROUP_BASE_X;
        const double expected = VECTOR_GROUP_CONSTANT_T * log(x * VECTOR_GROUP_FACTOR_T);
        const int64_t delay_ns = rsti_feedback_delay_at(&delay, u);
        CHECK(fabs((double)delay_ns - expected) <= 1.5);
        CHECK(delay_ns >= before);
        before = delay_ns;
    }
    const int64_t last = rsti_feedback_delay_at(&delay, 1.0 - 0x1.0p-53);
    CHECK(last <= (int64_t)VECTOR_GROUP_MAX_BACKOFF_NS);
    CHECK(last >= (int64_t)VECTOR_GROUP_MAX_BACKOFF_NS - 2);
}

/* H4 */
TEST(group_delays_are_drawn_again)
{
    rsti_feedback_delay_t delay;
    rsti_feedback_delay_group(&delay, 10000000, 10);
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < 10000; i++) {
        const int64_t delay_ns = rsti_feedback_delay_next(&delay, i % 2 == 1, &rng);
        CHECK(delay_ns >= 0);
        CHECK(delay_ns <= 10000000);
        least = delay_ns < least ? delay_ns : least;
        most = delay_ns > most ? delay_ns : most;
    }
    CHECK(least < 2000000);
    CHECK(most > 9500000);
}

CHECK_MAIN(RUN(the_timeline_is_the_vectors), RUN(an_empty_or_whole_log_asks_for_nothing),
    RUN(without_delay_the_first_scan_asks), RUN(timers_tell_when_they_are_due),
    RUN(a_gap_of_another_length_is_a_new_one), RUN(a_gap_ends_with_its_term),
    RUN(gaps_are_repaired_one_after_the_other), RUN(unicast_delays_are_constant),
    RUN(group_delays_follow_the_formula), RUN(group_delays_are_drawn_again))
