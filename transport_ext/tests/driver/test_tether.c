/* The states of an untethered subscriber: a table, and random transitions against a model that
 * keeps every past moment. */
#include "driver/base/tether.h"
#include "tests/check.h"
#include "util/rng.h"

#define S INT64_C(1000000000)

static rsti_tether_t untethered(bool is_rejoin)
{
    return (rsti_tether_t){
        .is_rejoin = is_rejoin,
        .times = {.window_limit_ns = 5 * S, .linger_ns = 3 * S, .resting_ns = 10 * S},
    };
}

typedef struct step_t {
    int64_t now_s;
    int64_t position;
    rsti_tether_event_t event;
    rsti_tether_state_t state;
} step_t;

static void check_steps(bool is_rejoin, const step_t *steps, size_t count)
{
    rsti_tether_t tether = untethered(is_rejoin);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ(rsti_tether_check(&tether, steps[i].position, 100, steps[i].now_s * S),
            steps[i].event);
        CHECK_EQ(tether.state, steps[i].state);
    }
}

/* L13, N10: the limit itself is too far behind, all times are strict, the cycle of states is
 * closed. */
TEST(goes_its_round)
{
    const step_t steps[] = {
        {5, 100, RSTI_TETHER_NOTHING, RSTI_TETHER_ACTIVE},
        {6, 101, RSTI_TETHER_NOTHING, RSTI_TETHER_ACTIVE}, /* beyond the limit: it starts anew */
        {11, 100, RSTI_TETHER_NOTHING, RSTI_TETHER_ACTIVE},
        {12, 100, RSTI_TETHER_LET_GO, RSTI_TETHER_LINGER},
        {15, 5000, RSTI_TETHER_NOTHING, RSTI_TETHER_LINGER}, /* too late to catch up */
        {16, 5000, RSTI_TETHER_REST, RSTI_TETHER_RESTING},
        {26, 5000, RSTI_TETHER_NOTHING, RSTI_TETHER_RESTING},
        {27, 5000, RSTI_TETHER_REJOIN, RSTI_TETHER_ACTIVE},
        {32, 0, RSTI_TETHER_NOTHING, RSTI_TETHER_ACTIVE},
        {33, 0, RSTI_TETHER_LET_GO, RSTI_TETHER_LINGER},
    };
    check_steps(true, steps, sizeof steps / sizeof steps[0]);
}

/* L13 */
TEST(without_rejoin_it_is_over)
{
    const step_t steps[] = {
        {6, 0, RSTI_TETHER_LET_GO, RSTI_TETHER_LINGER},
        {10, 0, RSTI_TETHER_CLOSE, RSTI_TETHER_CLOSED},
        {1000, 5000, RSTI_TETHER_NOTHING, RSTI_TETHER_CLOSED},
    };
    check_steps(false, steps, sizeof steps / sizeof steps[0]);
}

/* L13 */
TEST(tethered_never_moves)
{
    rsti_tether_t tether = untethered(true);
    tether.is_tethered = true;
    CHECK_EQ(rsti_tether_check(&tether, 0, 100, 1000 * S), RSTI_TETHER_NOTHING);
    CHECK(rsti_tether_is_working(&tether));
    CHECK_EQ(rsti_tether_limit(4096, 1024), 4096 - 1024 + 256);
}

/* L13: at every step the model examines all earlier ones. */
TEST(random_transitions_agree_with_a_model)
{
    enum {
        STEPS = 400,
        ROUNDS = 500
    };
    static bool was_beyond[STEPS];
    static int64_t times[STEPS];
    rsti_rng_t rng;
    rsti_rng_init(&rng, 4711);
    int seen[RSTI_TETHER_REJOIN + 1] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        rsti_tether_t tether = untethered(round % 4 != 0);
        rsti_tether_state_t state = RSTI_TETHER_ACTIVE;
        int entered = -1; /* step; -1 is time 0 */
        int64_t now_ns = 0;
        for (int i = 0; i < STEPS; i++) {
            now_ns += (int64_t)(rsti_rng_next(&rng) % (uint64_t)(2 * S));
            times[i] = now_ns;
            was_beyond[i] = rsti_rng_next(&rng) % 8 == 0;
            const int64_t entered_ns = entered < 0 ? 0 : times[entered];
            int64_t quiet_since_ns = entered_ns;
            for (int k = entered + 1; k <= i; k++) {
                quiet_since_ns = was_beyond[k] ? times[k] : quiet_since_ns;
            }
            rsti_tether_event_t expected = RSTI_TETHER_NOTHING;
            if (state == RSTI_TETHER_ACTIVE && now_ns > quiet_since_ns + 5 * S) {
                expected = RSTI_TETHER_LET_GO, state = RSTI_TETHER_LINGER, entered = i;
            } else if (state == RSTI_TETHER_LINGER && now_ns > entered_ns + 3 * S) {
                expected = tether.is_rejoin ? RSTI_TETHER_REST : RSTI_TETHER_CLOSE;
                state = tether.is_rejoin ? RSTI_TETHER_RESTING : RSTI_TETHER_CLOSED;
                entered = i;
            } else if (state == RSTI_TETHER_RESTING && now_ns > entered_ns + 10 * S) {
                expected = RSTI_TETHER_REJOIN, state = RSTI_TETHER_ACTIVE, entered = i;
            }
            CHECK_EQ(rsti_tether_check(&tether, was_beyond[i] ? 101 : 100, 100, now_ns), expected);
            CHECK_EQ(tether.state, state);
            CHECK_EQ(rsti_tether_is_working(&tether),
                state == RSTI_TETHER_ACTIVE || state == RSTI_TETHER_LINGER);
            seen[expected]++;
        }
    }
    for (int event = 0; event <= RSTI_TETHER_REJOIN; event++) {
        CHECK(seen[event] > 20);
    }
}

/* A reader that stands still behind the limit is evicted, and rests for ever. */
TEST(stalled_reader_is_evicted_and_stays_away)
{
    rsti_tether_t tether = untethered(true);
    tether.is_evicting = true;
    const step_t steps[] = {
        {4, 90, RSTI_TETHER_NOTHING, RSTI_TETHER_ACTIVE}, /* it moved: the time starts anew */
        {9, 91, RSTI_TETHER_NOTHING, RSTI_TETHER_ACTIVE},
        {14, 91, RSTI_TETHER_NOTHING, RSTI_TETHER_ACTIVE},
        {15, 91, RSTI_TETHER_LET_GO, RSTI_TETHER_LINGER},
        {18, 100, RSTI_TETHER_NOTHING, RSTI_TETHER_LINGER},
        {19, 101, RSTI_TETHER_REST, RSTI_TETHER_RESTING},
        {1000000, 5000, RSTI_TETHER_NOTHING, RSTI_TETHER_RESTING},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        CHECK_EQ(rsti_tether_check(&tether, steps[i].position, 100, steps[i].now_s * S),
            steps[i].event);
        CHECK_EQ(tether.state, steps[i].state);
    }
    tether = untethered(false); /* reported by another of its logs, before its time */
    tether.is_evicting = true;
    rsti_tether_let_go(&tether, 2 * S);
    CHECK_EQ(tether.state, RSTI_TETHER_LINGER);
    rsti_tether_let_go(&tether, 4 * S); /* once is enough: the linger does not restart */
    CHECK_EQ(rsti_tether_check(&tether, 0, 100, 5 * S + 1), RSTI_TETHER_REST);
}

/* The model knows all earlier positions: a reader is evicted when it had the same position for five
 * seconds, always behind the limit. */
TEST(evictions_agree_with_a_model)
{
    enum {
        STEPS = 200,
        ROUNDS = 500
    };
    static int64_t positions[STEPS];
    static bool is_free[STEPS]; /* it moved, or was not behind */
    static int64_t times[STEPS];
    rsti_rng_t rng;
    rsti_rng_init(&rng, 4712);
    int let_go = 0;
    for (int round = 0; round < ROUNDS; round++) {
        rsti_tether_t tether = untethered(round % 2 == 0);
        tether.is_evicting = true;
        int64_t now_ns = 0;
        for (int i = 0; i < STEPS; i++) {
            now_ns += (int64_t)(rsti_rng_next(&rng) % (uint64_t)(2 * S));
            times[i] = now_ns;
            const int64_t before = i == 0 ? 0 : positions[i - 1];
            positions[i] = rsti_rng_next(&rng) % 4 == 0
                ? before + (int64_t)(rsti_rng_next(&rng) % 3)
                : before;
            is_free[i] = rsti_rng_next(&rng) % 16 == 0 || positions[i] != before;
            int64_t since_ns = 0;
            for (int k = 0; k <= i; k++) {
                since_ns = is_free[k] ? times[k] : since_ns;
            }
            const bool is_due = now_ns > since_ns + 5 * S;
            const int64_t limit = is_free[i] && positions[i] == before ? positions[i] - 1 : 1000;
            CHECK_EQ(rsti_tether_check(&tether, positions[i], limit, now_ns),
                is_due ? RSTI_TETHER_LET_GO : RSTI_TETHER_NOTHING);
            if (is_due) {
                let_go++;
                break;
            }
        }
    }
    CHECK(let_go > 100);
}

CHECK_MAIN(RUN(goes_its_round), RUN(without_rejoin_it_is_over), RUN(tethered_never_moves),
    RUN(stalled_reader_is_evicted_and_stays_away), RUN(evictions_agree_with_a_model),
    RUN(random_transitions_agree_with_a_model))
