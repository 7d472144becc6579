/* A14 and more: producers race over many term ends while one thread reads and one cleans and moves
 * the limit, as client and driver do. Each message carries its producer and number, so that a lost,
 * duplicated, torn or reordered one is detected. */
#include "logbuffer/appender.h"
#include "logbuffer/reader.h"
#include "logbuffer/rebuilder.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "util/rng.h"

#include <pthread.h>
#include <sched.h>

#define TERM RSTI_TERM_MIN_LENGTH
#define PRODUCERS_MAX 4
#define LENGTH_MAX 3000

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MESSAGES 10000 /* of each producer */
#else
#define MESSAGES 40000
#endif

typedef struct message_t {
    uint32_t producer;
    uint32_t number;
    uint32_t length;
} message_t;

typedef struct race_t {
    memory_log_t memory;
    int64_t sub_position;
    int32_t is_done;
    int producer_count;
    uint64_t seed;
    uint32_t seen[PRODUCERS_MAX];
    int32_t failed_line; /* of the reader thread */
} race_t;

typedef struct producer_t {
    race_t *race;
    rsti_appender_t appender;
    uint32_t id;
    rsti_rng_t rng;
    uint8_t messages[64][LENGTH_MAX];
    size_t lengths[64];
} producer_t;

static uint8_t pattern_byte(uint32_t producer, uint32_t number, size_t index)
{
    return (uint8_t)(producer * 31 + number * 7 + index);
}

static void make_message(producer_t *producer, size_t slot, uint32_t number, size_t length)
{
    const message_t head = {.producer = producer->id, .number = number, .length = (uint32_t)length};
    uint8_t *bytes = producer->messages[slot];
    memcpy(bytes, &head, sizeof head);
    for (size_t i = sizeof head; i < length; i++) {
        bytes[i] = pattern_byte(producer->id, number, i);
    }
    producer->lengths[slot] = length;
}

static void next_message(void *arg, size_t index, const void **data, size_t *length)
{
    const producer_t *producer = (const producer_t *)arg;
    *data = producer->messages[index];
    *length = producer->lengths[index];
}

static int64_t send_claimed(producer_t *producer)
{
    rsti_data_header_t *frame;
    const int64_t result = rsti_append_claim(&producer->appender, producer->lengths[0], 0, &frame);
    if (result < 0) {
        return result;
    }
    if (rsti_rng_below(&producer->rng, 4) == 0) {
        rsti_append_abort(frame);
        return RST_ADMIN_ACTION; /* as if it had not been sent: sent again */
    }
    memcpy((uint8_t *)frame + 32, producer->messages[0], producer->lengths[0]);
    rsti_append_commit(frame);
    return result;
}

/* Sends a few messages by one of the three calls; returns how many were accepted. */
static size_t send_some(producer_t *producer, uint32_t number, size_t left)
{
    const uint64_t way = rsti_rng_below(&producer->rng, 3);
    size_t count = 1, taken = 0;
    if (way == 0) {
        count = 1 + rsti_rng_below(&producer->rng, left < 64 ? left : 64);
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t span = way == 1 ? LENGTH_MAX : 200;
        make_message(producer, i, number + (uint32_t)i,
            sizeof(message_t) + rsti_rng_below(&producer->rng, span - sizeof(message_t)));
    }
    const rsti_iovec_t part = {producer->messages[0], producer->lengths[0]};
    for (;;) {
        int64_t result;
        if (way == 0) {
            result = rsti_append_many(&producer->appender, count, next_message, producer, 0,
                &taken);
        } else {
            taken = 1;
            result = way == 1 ? rsti_append(&producer->appender, &part, 1, part.length, 0)
                              : send_claimed(producer);
        }
        if (result > 0) {
            return taken;
        }
        if (result != RST_ADMIN_ACTION) {
            sched_yield();
        }
    }
}

static void *produce(void *arg)
{
    producer_t *producer = (producer_t *)arg;
    for (uint32_t sent = 0; sent < MESSAGES;) {
        sent += (uint32_t)send_some(producer, sent, MESSAGES - sent);
    }
    return NULL;
}

/* The driver's part: clean consumed terms, then raise the limit. */
static void *conduct(void *arg)
{
    race_t *race = (race_t *)arg;
    int64_t clean = 0;
    while (rsti_load_acquire_i32(&race->is_done) == 0) {
        const int64_t position = rsti_load_acquire_i64(&race->sub_position);
        while (rsti_log_clean_up_to(&race->memory.log, &clean, position) > 0) {
        }
        rsti_store_release_i64(&race->memory.limit, position + TERM / 2);
        sched_yield();
    }
    return NULL;
}

#define FAIL_UNLESS(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            race->failed_line = __LINE__;                                                          \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

typedef struct assembly_t {
    message_t head;
    size_t done;
    bool is_open;
} assembly_t;

static bool take_fragment(race_t *race, assembly_t *assembly, const rsti_fragment_t *fragment)
{
    const size_t length = (size_t)fragment->payload_length;
    size_t from = 0;
    if ((fragment->flags & RSTI_FLAG_BEGIN) != 0) {
        FAIL_UNLESS(!assembly->is_open);
        FAIL_UNLESS(length >= sizeof assembly->head);
        memcpy(&assembly->head, fragment->payload, sizeof assembly->head);
        FAIL_UNLESS(assembly->head.producer < (uint32_t)race->producer_count);
        FAIL_UNLESS(assembly->head.number == race->seen[assembly->head.producer]);
        from = sizeof assembly->head;
        assembly->done = 0;
    } else {
        FAIL_UNLESS(assembly->is_open);
    }
    for (size_t i = from; i < length; i++) {
        FAIL_UNLESS(fragment->payload[i]
            == pattern_byte(assembly->head.producer, assembly->head.number, assembly->done + i));
    }
    assembly->done += length;
    assembly->is_open = (fragment->flags & RSTI_FLAG_END) == 0;
    if (!assembly->is_open) {
        FAIL_UNLESS(assembly->done == assembly->head.length);
        race->seen[assembly->head.producer]++;
    }
    return true;
}

static bool read_all(race_t *race)
{
    rsti_log_t *log = &race->memory.log;
    assembly_t assembly = {0};
    rsti_fragment_t fragments[32];
    uint64_t missing = (uint64_t)race->producer_count * MESSAGES;
    int64_t position = 0;
    while (missing > 0) {
        const int32_t offset = rsti_position_offset(position, TERM);
        int32_t next;
        bool is_corrupt;
        const int32_t count =
            rsti_term_read(log->terms[rsti_position_index(position, log->position_bits)], TERM,
                offset, fragments, 32, &next, &is_corrupt);
        FAIL_UNLESS(!is_corrupt);
        for (int32_t i = 0; i < count; i++) {
            FAIL_UNLESS(fragments[i].header->term_id
                == rsti_position_term_id(position, log->position_bits, log->initial_term_id));
            FAIL_UNLESS(take_fragment(race, &assembly, &fragments[i]));
            missing -= assembly.is_open ? 0 : 1;
        }
        position += next - offset;
        rsti_store_release_i64(&race->sub_position, position);
        if (next == offset) {
            sched_yield();
        }
    }
    return true;
}

static void *read_thread(void *arg)
{
    race_t *race = (race_t *)arg;
    if (!read_all(race)) {
        fprintf(stderr, "%s:%d: reader failed (RSTREAM_SEED=%" PRIu64 ")\n", __FILE__,
            race->failed_line, race->seed);
        exit(1); /* otherwise the producers would wait for ever */
    }
    return NULL;
}

static void run_race(int producer_count, bool is_exclusive)
{
    static race_t race;
    static producer_t producers[PRODUCERS_MAX];
    memset(&race, 0, sizeof race);
    memory_log_init(&race.memory, INT32_MAX - 1, TERM);
    race.memory.limit = TERM / 2;
    race.producer_count = producer_count;
    race.seed = check_seed();
    pthread_t threads[PRODUCERS_MAX], conductor, reader;
    CHECK_EQ(pthread_create(&conductor, NULL, conduct, &race), 0);
    CHECK_EQ(pthread_create(&reader, NULL, read_thread, &race), 0);
    for (int i = 0; i < producer_count; i++) {
        producers[i].race = &race;
        producers[i].id = (uint32_t)i;
        rsti_rng_init(&producers[i].rng, race.seed + (uint64_t)i);
        rsti_appender_init(&producers[i].appender, &race.memory.log, &race.memory.limit,
            MEMORY_LOG_SESSION_ID, MEMORY_LOG_STREAM_ID, is_exclusive);
        CHECK_EQ(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (int i = 0; i < producer_count; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    CHECK_EQ(pthread_join(reader, NULL), 0);
    rsti_store_release_i32(&race.is_done, 1);
    CHECK_EQ(pthread_join(conductor, NULL), 0);
    for (int i = 0; i < producer_count; i++) {
        CHECK_EQ(race.seen[i], MESSAGES);
    }
    CHECK_EQ(rsti_log_producer_position(&race.memory.log), race.sub_position);
    CHECK(race.memory.log.metadata->active_term_count >= 10);
    /* Each term end turned the log exactly once. */
    CHECK_EQ(race.memory.log.metadata->active_term_count,
        (race.sub_position - 1) >> race.memory.log.position_bits);
    memory_log_fini(&race.memory);
}

/* A14, A15, N21 */
TEST(four_producers_race_over_term_ends)
{
    run_race(4, false);
}

/* A11, N21 */
TEST(one_exclusive_producer_against_its_reader)
{
    run_race(1, true);
}

CHECK_MAIN(RUN(four_producers_race_over_term_ends), RUN(one_exclusive_producer_against_its_reader))
