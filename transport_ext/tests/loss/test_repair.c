/* H3: many gaps at once, between rstream peers. */
#include "loss/repair.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "util/clock.h"
#include "util/rng.h"

#define TERM RSTI_TERM_MIN_LENGTH
#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define ASKS_MAX 1024

typedef struct asks_t {
    int64_t begin[ASKS_MAX], end[ASKS_MAX];
    int32_t count, first_count;
} asks_t;

static void on_ask(void *arg, int64_t begin, int64_t end, bool is_first)
{
    asks_t *asks = arg;
    if (asks->count < ASKS_MAX) {
        asks->begin[asks->count] = begin;
        asks->end[asks->count] = end;
    }
    asks->count++;
    asks->first_count += is_first;
}

static asks_t ask(rsti_repair_t *repair, int64_t now_ns)
{
    asks_t asks = {0};
    rsti_repair_ask(repair, now_ns, on_ask, &asks);
    return asks;
}

static rsti_repair_t repair_at(int64_t position)
{
    rsti_repair_t repair;
    rsti_repair_init(&repair, position, TERM, US);
    return repair;
}

TEST(in_order_nothing_is_asked_for)
{
    rsti_repair_t repair = repair_at(1408);
    for (int64_t at = 1408; at < 4 * TERM; at += 1408) {
        CHECK(!rsti_repair_on_data(&repair, at, at + 1408, at));
    }
    CHECK_EQ(repair.gap_count, 0);
    CHECK_EQ(repair.next_due_ns, RSTI_NO_DEADLINE);
    CHECK_EQ(ask(&repair, INT64_MAX).count, 0);
    CHECK(!rsti_repair_on_data(&repair, 2816, 4224, 0)); /* a duplicate */
    CHECK_EQ(repair.gap_count, 0);
}

TEST(gaps_are_asked_for_at_once_and_again_after_a_round_trip)
{
    rsti_repair_t repair = repair_at(0);
    rsti_repair_on_rtt(&repair, 8 * MS, MS, 7 * MS);
    CHECK_EQ(repair.retry_ns, 14 * MS);
    (void)rsti_repair_on_data(&repair, 128, 256, 0);
    (void)rsti_repair_on_data(&repair, 512, 640, 10);
    CHECK_EQ(repair.gap_count, 2);
    CHECK_EQ(repair.next_due_ns, US);
    CHECK_EQ(ask(&repair, US - 1).count, 0);
    asks_t asks = ask(&repair, US + 10);
    CHECK_EQ(asks.count, 2);
    CHECK_EQ(asks.first_count, 2);
    CHECK(!rsti_repair_on_data(&repair, 128, 256,
        US + 10)); /* a duplicate closes no gap before it */
    CHECK_EQ(asks.begin[0], 0);
    CHECK_EQ(asks.end[0], 128);
    CHECK_EQ(asks.begin[1], 256);
    CHECK_EQ(asks.end[1], 512);
    CHECK_EQ(repair.next_due_ns, US + 10 + 14 * MS);
    CHECK_EQ(ask(&repair, US + 14 * MS).count, 0);
    CHECK(rsti_repair_on_data(&repair, 0, 128, 9 * MS)); /* its retransmission */
    asks = ask(&repair, US + 10 + 14 * MS);
    CHECK_EQ(asks.count, 1);
    CHECK_EQ(asks.first_count, 0);
    CHECK_EQ(asks.begin[0], 256);
    CHECK_EQ(repair.next_due_ns, US + 10 + (14 + 14) * MS);
    CHECK(rsti_repair_on_data(&repair, 256, 384, 20 * MS));
    CHECK(rsti_repair_on_data(&repair, 384, 512, 20 * MS));
    CHECK_EQ(repair.gap_count, 0);
    CHECK_EQ(repair.next_due_ns, RSTI_NO_DEADLINE);
}

TEST(a_gap_never_crosses_a_term)
{
    rsti_repair_t repair = repair_at(TERM - 64);
    (void)rsti_repair_on_data(&repair, 2 * TERM + 96, 2 * TERM + 96, 0); /* a heartbeat */
    const asks_t asks = ask(&repair, MS);
    CHECK_EQ(asks.count, 3);
    CHECK_EQ(asks.begin[0], TERM - 64);
    CHECK_EQ(asks.end[0], TERM);
    CHECK_EQ(asks.end[1], 2 * TERM);
    CHECK_EQ(asks.begin[2], 2 * TERM);
    CHECK_EQ(asks.end[2], 2 * TERM + 96);
}

/* NAKs for one gap in t: at most RSTI_REPAIR_PATIENT + 2 + log2(1 + t / 2L). */
/* A window may end inside a frame, and so may the gap up to there. */
TEST(a_gap_grows_with_the_window)
{
    rsti_repair_t repair = repair_at(1408);
    (void)rsti_repair_on_data(&repair, 2080, 2080, 0);
    const asks_t first = ask(&repair, MS);
    CHECK_EQ(first.count, 1);
    CHECK_EQ(first.end[0], 2080);
    (void)rsti_repair_on_data(&repair, 4224, 5632, MS);
    CHECK_EQ(repair.gap_count, 1);
    const asks_t second = ask(&repair, 2 * MS);
    CHECK_EQ(second.count, 1);
    CHECK_EQ(second.begin[0], 1408);
    CHECK_EQ(second.end[0], 4224);
    (void)rsti_repair_on_data(&repair, TERM - 64, TERM - 64, 2 * MS);
    (void)rsti_repair_on_data(&repair, TERM + 64, TERM + 64, 2 * MS);
    CHECK_EQ(repair.gap_count, 3); /* up to the end of the term, and behind it */
    CHECK_EQ(repair.gaps[1].begin, 5632);
    CHECK_EQ(repair.gaps[1].end, TERM);
    CHECK_EQ(repair.gaps[2].begin, TERM);
    CHECK(rsti_repair_on_data(&repair, 1408, 4224, 2 * MS));
    CHECK_EQ(repair.gap_count, 2);
}

TEST(retries_back_off)
{
    rsti_repair_t repair = repair_at(0);
    rsti_repair_on_rtt(&repair, 100 * US, 0, 100 * US);
    (void)rsti_repair_on_data(&repair, 128, 256, 0);
    int32_t count = 0;
    for (int64_t now_ns = 0; now_ns < RSTI_REPAIR_RETRY_MAX_NS; now_ns += 50 * US) {
        count += ask(&repair, now_ns).count;
        int32_t most = RSTI_REPAIR_PATIENT + 2;
        for (int64_t t = 200 * US; t <= now_ns; t *= 2) {
            most++;
        }
        CHECK(count <= most);
    }
    CHECK(count >= 12);
    for (int64_t s = 2; s < 100; s++) { /* and so on for ever */
        CHECK(ask(&repair, s * RSTI_REPAIR_RETRY_MAX_NS).count >= 1 || s < 3);
    }
}

/* No more data come: no later data show that the retransmission is lost. */
TEST(silence_is_loss)
{
    rsti_repair_t repair = repair_at(0);
    rsti_repair_on_rtt(&repair, 20 * MS, 20 * MS, 2 * MS); /* long queues, until now */
    CHECK_EQ(repair.retry_ns, 60 * MS);
    (void)rsti_repair_on_data(&repair, 128, 256, 0);
    CHECK_EQ(ask(&repair, US).count, 1);
    (void)rsti_repair_on_data(&repair, 256, 384, 3 * MS); /* the retransmission is still queued */
    CHECK_EQ(ask(&repair, 6 * MS).count, 0);
    CHECK_EQ(repair.next_due_ns, 7 * MS);
    CHECK_EQ(ask(&repair, 7 * MS).count, 1);
    CHECK_EQ(ask(&repair, 11 * MS).count, 1);
    CHECK_EQ(ask(&repair, 18 * MS).count, 0); /* and it backs off */
    CHECK_EQ(ask(&repair, 19 * MS).count, 1);
}

TEST(late_data_are_waited_for)
{
    rsti_repair_t repair = repair_at(0);
    rsti_repair_on_rtt(&repair, MS, 0, MS);
    int64_t now_ns = 0, position = 0;
    int32_t asked = 0;
    for (int i = 0; i < 100; i++) { /* every second one comes 20 us behind its successor */
        (void)rsti_repair_on_data(&repair, position + 128, position + 256, now_ns);
        asked += ask(&repair, now_ns + 10 * US).count;
        now_ns += 20 * US;
        CHECK(rsti_repair_on_data(&repair, position, position + 128, now_ns));
        position += 256;
    }
    CHECK_EQ(asked, 1);
    CHECK_EQ(repair.reorder_ns, 25 * US);
    for (int i = 0; i < 200; i++) { /* true losses make it impatient again */
        (void)rsti_repair_on_data(&repair, position + 128, position + 256, now_ns);
        CHECK_EQ(ask(&repair, now_ns + 30 * US).count, 1);
        now_ns += 2 * MS;
        CHECK(rsti_repair_on_data(&repair, position, position + 128, now_ns));
        position += 256;
    }
    CHECK(repair.reorder_ns < US);
    /* However late it is: never longer than half a round trip. */
    (void)rsti_repair_on_data(&repair, position + 128, position + 256, now_ns);
    (void)rsti_repair_on_data(&repair, position, position + 128, now_ns + 900 * MS);
    CHECK_EQ(repair.reorder_ns, MS / 2);
}

/* The later of two NAKs is answered: the earlier one, or its retransmission, was lost. */
TEST(an_overtaken_nak_is_repeated_at_once)
{
    rsti_repair_t repair = repair_at(0);
    rsti_repair_on_rtt(&repair, 16 * MS, 8 * MS, 16 * MS);
    (void)rsti_repair_on_data(&repair, 128, 256, 0);
    CHECK_EQ(ask(&repair, US).count, 1);
    (void)rsti_repair_on_data(&repair, 384, 512, MS); /* by least / 16: too close to decide */
    CHECK_EQ(ask(&repair, MS + US).count, 1);
    (void)rsti_repair_on_data(&repair, 640, 768, 2 * MS);
    CHECK_EQ(ask(&repair, 2 * MS + US).count, 1);
    CHECK(rsti_repair_on_data(&repair, 256, 384, 17 * MS));
    CHECK_EQ(ask(&repair, 17 * MS).count, 0);
    CHECK(rsti_repair_on_data(&repair, 512, 640, 18 * MS + US));
    const asks_t asks = ask(&repair, 18 * MS + US);
    CHECK_EQ(asks.count, 1);
    CHECK_EQ(asks.begin[0], 0);
    CHECK_EQ(ask(&repair, 18 * MS + 2 * US).count, 0); /* once */
}

/* Against a list of booleans: the gaps are the missing frames, in order, complete, within terms. */
static void run_model(rsti_rng_t *rng, int32_t units, double loss, memory_log_t *memory)
{
    static bool has[8192];
    const rsti_log_t *log = &memory->log;
    rsti_repair_t repair = repair_at(0);
    memset(has, 0, sizeof has);
    int32_t known = 0, missing = 0;
    for (int32_t at = 0; at < units;) {
        const bool is_retry = missing > 0 && rsti_rng_unit(rng) < 0.5;
        int32_t unit = is_retry ? (int32_t)(rsti_rng_unit(rng) * known) : at++;
        if (is_retry ? has[unit] : rsti_rng_unit(rng) < loss) {
            continue;
        }
        has[unit] = true;
        put_frame(log->terms[rsti_position_index(unit * 32, 16)], RSTI_FRAME_DATA, 32,
            rsti_position_offset(unit * 32, TERM),
            rsti_position_term_id(unit * 32, 16, log->initial_term_id));
        (void)rsti_repair_on_data(&repair, unit * 32, unit * 32 + 32, at);
        rsti_repair_scan(&repair, log, at);
        known = unit + 1 > known ? unit + 1 : known;
        missing = 0;
        int32_t gap = 0;
        for (int32_t u = 0; u < known && u * 32 < repair.unscanned; u++) {
            if (has[u]) {
                continue;
            }
            missing++;
            while (gap < repair.gap_count && repair.gaps[gap].end <= u * 32) {
                gap++;
            }
            CHECK(gap < repair.gap_count);
            CHECK(repair.gaps[gap].begin <= u * 32);
        }
        int64_t before = 0, listed = 0;
        for (int32_t i = 0; i < repair.gap_count; i++) {
            const rsti_repair_gap_t *g = &repair.gaps[i];
            CHECK(g->begin >= before && g->end > g->begin);
            CHECK_EQ(g->begin / TERM, (g->end - 1) / TERM);
            before = g->end;
            listed += (g->end - g->begin) / 32;
        }
        CHECK_EQ(listed, missing);
        CHECK_EQ(repair.known, known * 32);
    }
    memory_log_fini(memory);
}

TEST(the_list_is_the_missing_frames)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int run = 0; run < 20; run++) {
        memory_log_t memory;
        memory_log_init(&memory, 7, TERM);
        run_model(&rng, 2500, 0.02 * run, &memory);
    }
}

TEST(a_full_list_is_filled_from_the_log)
{
    memory_log_t memory;
    memory_log_init(&memory, 7, TERM);
    rsti_repair_t repair = repair_at(0);
    const int32_t total = 2 * RSTI_REPAIR_GAPS_MAX + 9;
    for (int32_t i = 0; i < total; i++) {
        put_frame(memory.log.terms[0], RSTI_FRAME_DATA, 32, i * 64 + 32, 7);
        (void)rsti_repair_on_data(&repair, i * 64 + 32, i * 64 + 64, i);
    }
    CHECK_EQ(repair.gap_count, RSTI_REPAIR_GAPS_MAX);
    CHECK_EQ(repair.unscanned, RSTI_REPAIR_GAPS_MAX * 64);
    int32_t asked = 0;
    for (int32_t i = 0; i < total; i++) {
        asked += ask(&repair, MS + i * 10 * US).first_count;
        rsti_repair_scan(&repair, &memory.log, MS + i * 10 * US);
        CHECK(rsti_repair_on_data(&repair, i * 64, i * 64 + 32, MS + i * 10 * US));
    }
    CHECK(asked >= total - 1);
    CHECK_EQ(repair.gap_count, 0);
    CHECK_EQ(repair.unscanned, INT64_MAX);
    memory_log_fini(&memory);
}

CHECK_MAIN(RUN(in_order_nothing_is_asked_for),
    RUN(gaps_are_asked_for_at_once_and_again_after_a_round_trip), RUN(a_gap_never_crosses_a_term),
    RUN(a_gap_grows_with_the_window), RUN(retries_back_off), RUN(silence_is_loss),
    RUN(late_data_are_waited_for), RUN(an_overtaken_nak_is_repeated_at_once),
    RUN(the_list_is_the_missing_frames), RUN(a_full_list_is_filled_from_the_log))
