/* The slowest reader of a stream, and since when: the rules one by one, and random readers against
 * a model that keeps every past round. */
#include "flow/slowest.h"
#include "tests/check.h"
#include "util/rng.h"

typedef struct reader_t {
    int64_t id;
    int64_t position;
} reader_t;

static bool look(rsti_slowest_t *slowest, const reader_t *readers, int32_t count, int64_t now_ns)
{
    rsti_slowest_round_t round = {0};
    for (int32_t i = 0; i < count; i++) {
        rsti_slowest_see(slowest, &round, readers[i].id, readers[i].position, i);
    }
    return rsti_slowest_close(slowest, &round, now_ns);
}

TEST(the_least_position_holds_and_equals_do_not_take_turns)
{
    rsti_slowest_t slowest = {0};
    CHECK(!look(&slowest, NULL, 0, 1));
    CHECK(look(&slowest, (reader_t[]){{7, 100}, {8, 90}}, 2, 2));
    CHECK_EQ(slowest.id, 8);
    CHECK(!look(&slowest, (reader_t[]){{7, 100}, {8, 100}}, 2, 3)); /* as far: it stays */
    CHECK_EQ(slowest.id, 8);
    CHECK_EQ(slowest.since_ns, 2);
    CHECK(!look(&slowest, (reader_t[]){{8, 100}, {7, 100}}, 2, 4)); /* in any order */
    CHECK_EQ(slowest.id, 8);
    CHECK(look(&slowest, (reader_t[]){{8, 101}, {7, 100}}, 2, 5));
    CHECK_EQ(slowest.id, 7);
    CHECK_EQ(slowest.since_ns, 5);
    CHECK_EQ(slowest.position, 100);
}

TEST(departed_reader_holds_nothing)
{
    rsti_slowest_t slowest = {0};
    CHECK(look(&slowest, (reader_t[]){{0, 5}}, 1, 1)); /* an id of 0 is one as well */
    CHECK(slowest.is_known);
    CHECK(look(&slowest, NULL, 0, 2));
    CHECK(!slowest.is_known);
    CHECK(!look(&slowest, NULL, 0, 3));
    CHECK(look(&slowest, (reader_t[]){{0, 5}}, 1, 4));
    CHECK_EQ(slowest.since_ns, 4);
}

/* The model looks back from now for as long as its holder was among the slowest of each round. */
TEST(random_readers_agree_with_a_model)
{
    enum {
        READERS = 4,
        ROUNDS = 300,
        RUNS = 200
    };
    static int64_t positions[ROUNDS][READERS];
    rsti_rng_t rng;
    rsti_rng_init(&rng, 77);
    int changes = 0;
    for (int run = 0; run < RUNS; run++) {
        rsti_slowest_t slowest = {0};
        int64_t holder = -1, since_ns = 0;
        for (int i = 0; i < ROUNDS; i++) {
            reader_t readers[READERS];
            int64_t least = INT64_MAX;
            const int32_t first = (int32_t)(rsti_rng_next(&rng) % READERS);
            for (int k = 0; k < READERS; k++) {
                const int64_t before = i == 0 ? 0 : positions[i - 1][k];
                positions[i][k] = before + (int64_t)(rsti_rng_next(&rng) % 2);
                least = positions[i][k] < least ? positions[i][k] : least;
            }
            for (int k = 0; k < READERS; k++) { /* seen in another order each time */
                const int who = (first + k) % READERS;
                readers[k] = (reader_t){100 + who, positions[i][who]};
            }
            if (holder < 0 || positions[i][holder] != least) {
                for (int k = READERS - 1; k >= 0; k--) {
                    holder = positions[i][(first + k) % READERS] == least ? (first + k) % READERS
                                                                          : holder;
                }
                since_ns = i;
                changes++;
            }
            (void)look(&slowest, readers, READERS, i);
            CHECK_EQ(slowest.id, 100 + holder);
            CHECK_EQ(slowest.since_ns, since_ns);
            CHECK_EQ(slowest.position, least);
        }
    }
    CHECK(changes > RUNS);
}

CHECK_MAIN(RUN(the_least_position_holds_and_equals_do_not_take_turns),
    RUN(departed_reader_holds_nothing), RUN(random_readers_agree_with_a_model))
