/* Messages that come in parts: put together, skipped and told, bounded, freed. */
#include "client/parts.h"

#include "protocol/part.h"
#include "tests/client/data.h"
#include "util/rng.h"

#define NAME_HASH 0x1234
#define PART_VALUE INT64_C(0x0102000200001234)
#define WHOLE_VALUE INT64_C(0x0100000200001234)
#define MEMORY_MAX 64

static rst_image_event_t event;

/* ---- memory that is counted, each block with a guard behind it ---- */

typedef struct memory_t {
    uint8_t *blocks[MEMORY_MAX];
    size_t lengths[MEMORY_MAX];
    int alive;
    bool is_used_up;
} memory_t;
static memory_t memory;

static void *memory_alloc(void *arg, size_t length, void **owner)
{
    memory_t *self = arg;
    if (self->is_used_up) {
        return NULL;
    }
    for (int i = 0; i < MEMORY_MAX; i++) {
        if (self->blocks[i] == NULL) {
            self->blocks[i] = malloc(length + 1);
            self->blocks[i][length] = 0xA5;
            self->lengths[i] = length;
            self->alive++;
            *owner = &self->blocks[i];
            return self->blocks[i];
        }
    }
    return NULL;
}

static void memory_free(void *arg, void *owner)
{
    memory_t *self = arg;
    uint8_t **block = owner;
    if ((*block)[self->lengths[block - self->blocks]] != 0xA5) {
        fprintf(stderr, "written behind a message\n");
        abort();
    }
    free(*block);
    *block = NULL;
    self->alive--;
}

/* ---- a publisher's frames ---- */

typedef struct writer_t {
    fake_log_t *log;
    int64_t at;
} writer_t;

static uint8_t byte_of(int64_t id, int64_t index)
{
    return (uint8_t)(id * 31 + index * 7 + (index >> 8));
}

/* One part of `length` bytes in frames of at most `frame_max` payload bytes. */
static void put(writer_t *writer, rsti_part_t part, int32_t length, int32_t frame_max)
{
    uint8_t payload[8192];
    const int32_t whole = RSTI_PART_PREFIX_LENGTH + length;
    rsti_part_encode(&part, payload);
    for (int32_t i = 0; i < length; i++) {
        payload[RSTI_PART_PREFIX_LENGTH + i] = byte_of(part.id, part.offset + i);
    }
    for (int32_t from = 0; from < whole; from += frame_max) {
        const int32_t more = rsti_min_i32(frame_max, whole - from);
        const int flags = (from == 0 ? RSTI_FLAG_BEGIN : 0)
            | (from + more == whole ? RSTI_FLAG_END : 0);
        writer->at = fake_frame(writer->log, writer->at, (uint8_t)flags, RSTI_FRAME_DATA,
            payload + from, more, PART_VALUE);
    }
}

static bool begin_parts(const char *name, int32_t length_max)
{
    const rst_parts_params_t params = {.name_hash = NAME_HASH,
        .length_max = length_max,
        .memory = {.alloc = memory_alloc, .free = memory_free, .arg = &memory}};
    memory = (memory_t){0};
    return begin(name) && rst_subscription_take_parts(subscription, &params) == 0;
}

static bool is_right(const rst_message_t *found, int64_t id, int64_t length)
{
    if (found->length != length || found->reserved_value != WHOLE_VALUE || found->owner == NULL) {
        return false;
    }
    for (int64_t i = 0; i < length; i++) {
        if (found->data[i] != byte_of(id, i)) {
            return false;
        }
    }
    return true;
}

static bool next_skip(void)
{
    while (rst_subscription_next_event(subscription, &event) == 1) {
        if (event.kind == RST_IMAGE_SKIPPED) {
            return true;
        }
    }
    return false;
}

static int poll_some(int32_t limit)
{
    return rst_subscription_poll(subscription, limit, 0, batch);
}

static int64_t position_of(const fake_log_t *log)
{
    return rsti_load_acquire_i64(fake_value(log->counter_id));
}

/* ---- tests ---- */

TEST(parts_make_one_message_in_the_place_of_the_last)
{
    CHECK(begin_parts("whole", 10000));
    writer_t w = {fake_image(subscription), 0};
    put(&w, (rsti_part_t){1, 5000, 0}, 2000, 512);
    CHECK_EQ(poll_some(64), 0);
    CHECK_EQ(position_of(w.log), w.at); /* it moves on before the message is whole */
    CHECK_EQ(rst_subscription_partial_bytes(subscription), 2000);
    w.at = fake_data(w.log, w.at, "small");
    put(&w, (rsti_part_t){1, 5000, 2000}, 3000, 4096);
    w.at = fake_data(w.log, w.at, "behind");
    CHECK_EQ(poll_some(64), 3);
    CHECK_EQ(message(0)->length, 5);
    CHECK(message(0)->owner == NULL);
    CHECK(is_right(message(1), 1, 5000));
    CHECK_EQ(message(2)->length, 6);
    CHECK(message(1)->position < message(2)->position);
    CHECK_EQ(memory.alive, 1);
    CHECK_EQ(rst_subscription_partial_bytes(subscription), 0);
    rst_batch_release(batch);
    CHECK_EQ(memory.alive, 0);
    CHECK_EQ(position_of(w.log), w.at);
    CHECK(!next_skip());
    end();
}

/* Each limit of a poll ends before the last fragment, and the next poll takes it again. */
TEST(limits_hold_the_last_fragment)
{
    CHECK(begin_parts("limits", 10000));
    writer_t w = {fake_image(subscription), 0};
    w.at = fake_data(w.log, w.at, "one");
    put(&w, (rsti_part_t){1, 3000, 0}, 1000, 300);
    put(&w, (rsti_part_t){1, 3000, 1000}, 2000, 300);
    CHECK_EQ(poll_some(1), 1); /* room for one */
    CHECK_EQ(poll_some(1), 1);
    CHECK(is_right(message(0), 1, 3000));
    w.at = fake_data(w.log, w.at, "two");
    put(&w, (rsti_part_t){2, 3000, 0}, 3000, 8192); /* alone in its frame */
    CHECK_EQ(rst_subscription_poll(subscription, 64, 100, batch), 1); /* bytes */
    CHECK_EQ(rst_subscription_poll(subscription, 64, 100, batch), 1);
    CHECK(is_right(message(0), 2, 3000));
    put(&w, (rsti_part_t){3, 3000, 0}, 1000, 300);
    w.at = fake_data(w.log, w.at, "three");
    put(&w, (rsti_part_t){3, 3000, 1000}, 2000, 300);
    rst_subscription_request(subscription, 1); /* demand: the small one takes it */
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 1);
    CHECK_EQ(message(0)->length, 5);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 0);
    rst_subscription_request(subscription, 5);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 1);
    CHECK(is_right(message(0), 3, 3000));
    CHECK_EQ(rst_subscription_demand(subscription), 4); /* one message, whatever its parts */
    CHECK(!next_skip());
    end();
    CHECK_EQ(memory.alive, 0);
}

TEST(without_demand_no_part_is_read)
{
    CHECK(begin_parts("undemanded", 10000));
    writer_t w = {fake_image(subscription), 0};
    put(&w, (rsti_part_t){1, 3000, 0}, 1000, 300);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 0);
    CHECK_EQ(memory.alive, 0);
    CHECK_EQ(position_of(w.log), 0);
    end();
}

typedef struct bad_t {
    rsti_part_t parts[2];
    int32_t lengths[2];
    int32_t reason;
    int64_t received;
} bad_t;

TEST(parts_that_do_not_fit_are_told_once)
{
    static const bad_t cases[] = {
        {{{1, 10001, 0}, {1, 10001, 1000}}, {1000, 500}, RST_SKIP_TOO_LONG, 0},
        {{{1, INT64_MAX, 0}, {1, INT64_MAX, 1000}}, {1000, 500}, RST_SKIP_TOO_LONG, 0},
        {{{1, 3000, 0}, {1, 3000, 1001}}, {1000, 500}, RST_SKIP_PART_LOST, 1000},
        {{{1, 3000, 0}, {1, 3001, 1000}}, {1000, 500}, RST_SKIP_INVALID, 1000},
        {{{1, 3000, 0}, {1, 3000, 1000}}, {1000, 2001}, RST_SKIP_INVALID, 1000},
        {{{1, 3000, 0}, {1, 3000, RSTI_PART_ABANDONED}}, {1000, 0}, RST_SKIP_ABANDONED, 1000},
        {{{1, 3000, 0}, {2, 3000, 1000}}, {1000, 500}, RST_SKIP_PART_LOST, 1000},
        {{{1, 3000, 0}, {0, 3000, 1000}}, {1000, 500}, RST_SKIP_INVALID, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bad_t *bad = &cases[i];
        CHECK(begin_parts("bad", 10000));
        writer_t w = {fake_image(subscription), 0};
        put(&w, bad->parts[0], bad->lengths[0], 700);
        const int64_t second = w.at;
        put(&w, bad->parts[1], bad->lengths[1], 8192);
        put(&w, (rsti_part_t){1, 3000, 1500}, 300, 8192); /* the rest is no news */
        CHECK_EQ(poll_some(64), 0);
        CHECK(next_skip());
        CHECK_EQ(event.skip_reason, bad->reason);
        CHECK_EQ(event.position, 0);
        CHECK_EQ(event.end_position, bad->reason == RST_SKIP_TOO_LONG ? 0 : second);
        CHECK_EQ(event.received_position, bad->received);
        CHECK_EQ(event.message_length, bad->parts[0].total);
        CHECK_EQ(memory.alive, 0);
        CHECK_EQ(rst_subscription_partial_bytes(subscription), 0);
        while (next_skip()) {
            CHECK(event.skip_reason == RST_SKIP_PART_LOST); /* of the second message */
        }
        put(&w, (rsti_part_t){9, 2500, 0}, 2500, 700); /* the next message is read */
        CHECK_EQ(poll_some(64), 1);
        CHECK(is_right(message(0), 9, 2500));
        rst_batch_release(batch);
        CHECK_EQ(position_of(w.log), w.at);
        end();
    }
}

/* Nothing is lost on a reliable stream: then its publisher gave the message up. */
TEST(the_next_message_begins_before_the_end)
{
    CHECK(begin_parts("next", 10000));
    writer_t w = {fake_image(subscription), 0};
    ((rst_image_t *)subscription->images.items[0])->gaps.is_watched = false;
    put(&w, (rsti_part_t){1, 3000, 0}, 1000, 700);
    put(&w, (rsti_part_t){2, 3000, 0}, 3000, 700);
    CHECK_EQ(poll_some(64), 1);
    CHECK(is_right(message(0), 2, 3000));
    CHECK(next_skip());
    CHECK_EQ(event.skip_reason, RST_SKIP_ABANDONED);
    CHECK(!next_skip());
    end();
}

TEST(a_part_may_come_again)
{
    CHECK(begin_parts("again", 10000));
    writer_t w = {fake_image(subscription), 0};
    put(&w, (rsti_part_t){1, 3000, 0}, 1000, 700);
    put(&w, (rsti_part_t){1, 3000, 500}, 1000, 700);
    put(&w, (rsti_part_t){1, 3000, 1500}, 1500, 700);
    put(&w, (rsti_part_t){1, 3000, 1500}, 1500, 700);
    CHECK_EQ(poll_some(64), 1);
    CHECK(is_right(message(0), 1, 3000));
    CHECK(!next_skip());
    end();
    CHECK_EQ(memory.alive, 0);
}

/* The message had begun before this reader came: it is none of its own. */
TEST(a_reader_that_joins_in_the_middle)
{
    CHECK(begin_parts("middle", 10000));
    writer_t w = {fake_image(subscription), 0};
    put(&w, (rsti_part_t){5, 3000, 2000}, 1000, 700);
    put(&w, (rsti_part_t){6, 3000, 0}, 3000, 700);
    CHECK_EQ(poll_some(64), 1);
    CHECK(is_right(message(0), 6, 3000));
    CHECK(!next_skip());
    end();
}

TEST(a_fragment_is_missing)
{
    CHECK(begin_parts("fragment", 10000));
    writer_t w = {fake_image(subscription), 0};
    put(&w, (rsti_part_t){1, 5000, 0}, 1000, 700);
    const rsti_part_t lost = {1, 5000, 1000};
    uint8_t prefix[RSTI_PART_PREFIX_LENGTH];
    rsti_part_encode(&lost, prefix);
    w.at = fake_frame(w.log, w.at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, prefix, sizeof prefix,
        PART_VALUE);
    w.at = fake_frame(w.log, w.at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL, 64, 0);
    w.at = fake_frame(w.log, w.at, RSTI_FLAG_END, RSTI_FRAME_DATA, prefix, 24, PART_VALUE);
    put(&w, (rsti_part_t){1, 5000, 2000}, 3000, 700);
    CHECK_EQ(poll_some(64), 0);
    CHECK(next_skip());
    CHECK_EQ(event.skip_reason, RST_SKIP_PART_LOST);
    CHECK(!next_skip());
    CHECK_EQ(memory.alive, 0);
    end();
}

TEST(the_image_ends_before_the_last_part)
{
    CHECK(begin_parts("ends", 10000));
    writer_t w = {fake_image(subscription), 0};
    writer_t other = {fake_image(subscription), 0};
    put(&w, (rsti_part_t){1, 5000, 0}, 1000, 700);
    put(&other, (rsti_part_t){1, 4000, 0}, 2000, 700); /* two publishers, the same id */
    CHECK_EQ(poll_some(64), 0);
    CHECK_EQ(memory.alive, 2);
    fake_unavailable(subscription, w.log);
    FAKE_UNTIL(poll_some(64) == 0 && rst_subscription_image_count(subscription) == 1);
    CHECK(next_skip());
    CHECK_EQ(event.skip_reason, RST_SKIP_ENDED);
    CHECK_EQ(event.received_position, 1000);
    CHECK_EQ(event.end_position, w.at);
    CHECK_EQ(memory.alive, 1);
    put(&other, (rsti_part_t){1, 4000, 2000}, 2000, 700);
    CHECK_EQ(poll_some(64), 1);
    CHECK(is_right(message(0), 1, 4000));
    put(&other, (rsti_part_t){2, 4000, 0}, 2000, 700);
    CHECK_EQ(poll_some(64), 0);
    end(); /* closing frees what is partial */
    CHECK_EQ(memory.alive, 0);
}

TEST(no_memory_skips_and_goes_on)
{
    CHECK(begin_parts("memory", 10000));
    writer_t w = {fake_image(subscription), 0};
    memory.is_used_up = true;
    put(&w, (rsti_part_t){1, 5000, 0}, 1000, 700);
    w.at = fake_data(w.log, w.at, "small");
    CHECK_EQ(poll_some(64), 1);
    CHECK(next_skip());
    CHECK_EQ(event.skip_reason, RST_SKIP_NO_MEMORY);
    end();
}

TEST(a_message_in_parts_is_given_back_as_skipped)
{
    CHECK(begin_parts("given", 10000));
    writer_t w = {fake_image(subscription), 0};
    put(&w, (rsti_part_t){1, 3000, 0}, 1000, 700);
    CHECK_EQ(poll_some(64), 0);
    put(&w, (rsti_part_t){1, 3000, 1000}, 2000, 700);
    w.at = fake_data(w.log, w.at, "small");
    CHECK_EQ(poll_some(64), 2);
    rst_batch_give_back(batch);
    CHECK_EQ(memory.alive, 0);
    CHECK(next_skip());
    CHECK_EQ(event.skip_reason, RST_SKIP_GIVEN_BACK);
    CHECK_EQ(event.message_length, 3000);
    CHECK_EQ(poll_some(64), 1);
    CHECK_EQ(message(0)->length, 5);
    CHECK(!next_skip());
    end();
}

TEST(parts_of_other_names_stay_messages)
{
    CHECK(begin_parts("names", 10000));
    writer_t w = {fake_image(subscription), 0};
    const rsti_part_t part = {1, 3000, 0};
    uint8_t prefix[RSTI_PART_PREFIX_LENGTH];
    rsti_part_encode(&part, prefix);
    for (int64_t hash = 0; hash <= NAME_HASH + 1; hash += NAME_HASH + 1) {
        w.at = fake_frame(w.log, w.at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, prefix,
            sizeof prefix, (PART_VALUE & ~INT64_C(0xFFFF)) | hash);
    }
    CHECK_EQ(poll_some(64), 2);
    CHECK_EQ(memory.alive, 0);
    end();
}

/* Random parts, many of them wrong, beside a model that knows only offsets. */
TEST(random_parts)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    CHECK(begin_parts("random", 3000));
    writer_t w = {fake_image(subscription), 0};
    int64_t id = 0;
    int64_t received = -1; /* of the current message; -1: it must not come any more */
    for (int i = 0; i < 3000; i++) {
        const bool is_new = rsti_rng_below(&rng, 4) == 0;
        id += is_new || id == 0;
        received = is_new || i == 0 ? 0 : received;
        rsti_part_t part = {id, 2500, received > 0 && received < 2500 ? received : 0};
        const int32_t length = (int32_t)rsti_rng_below(&rng, 1500);
        if (rsti_rng_below(&rng, 10) == 0) {
            part.offset += 1 + (int64_t)rsti_rng_below(&rng, 100);
        }
        if (w.at % FAKE_TERM + 4096 > FAKE_TERM) {
            break; /* one term of the log is enough */
        }
        put(&w, part, length, 400);
        if (received >= 0) {
            received = part.offset > received || part.offset + length > 2500
                ? -1
                : rsti_max_i64(received, part.offset + length);
        }
        const bool is_whole = received == 2500;
        CHECK_EQ(poll_some(64), is_whole ? 1 : 0);
        CHECK(!is_whole || is_right(message(0), id, 2500));
        received = is_whole ? -1 : received;
        rst_batch_release(batch);
        CHECK(memory.alive <= 1);
    }
    end();
    CHECK_EQ(memory.alive, 0);
}

TEST(a_process_holds_four_gib_at_most)
{
    CHECK(rsti_parts_fit(0, RSTI_PARTIAL_BYTES_MAX));
    CHECK(!rsti_parts_fit(0, RSTI_PARTIAL_BYTES_MAX + 1));
    CHECK(rsti_parts_fit(RSTI_PARTIAL_BYTES_MAX - 1, 1));
    CHECK(!rsti_parts_fit(RSTI_PARTIAL_BYTES_MAX, 1));
}

TEST(wrong_arguments)
{
    CHECK(begin_parts("arguments", 10));
    const rst_parts_params_t params = {.length_max = 10};
    const rst_parts_params_t zero = {.length_max = 0};
    CHECK_EQ(rst_subscription_take_parts(subscription, &params), -RST_EINVAL); /* again */
    CHECK_EQ(rst_subscription_take_parts(NULL, &params), -RST_EINVAL);
    CHECK_EQ(rst_subscription_take_parts(subscription, NULL), -RST_EINVAL);
    CHECK_EQ(rst_subscription_take_parts(subscription, &zero), -RST_EINVAL);
    CHECK_EQ(rst_subscription_partial_bytes(NULL), 0);
    end();
}

CHECK_MAIN(RUN(parts_make_one_message_in_the_place_of_the_last), RUN(limits_hold_the_last_fragment),
    RUN(without_demand_no_part_is_read), RUN(parts_that_do_not_fit_are_told_once),
    RUN(the_next_message_begins_before_the_end), RUN(a_part_may_come_again),
    RUN(a_reader_that_joins_in_the_middle), RUN(a_fragment_is_missing),
    RUN(the_image_ends_before_the_last_part), RUN(no_memory_skips_and_goes_on),
    RUN(a_message_in_parts_is_given_back_as_skipped), RUN(parts_of_other_names_stay_messages),
    RUN(random_parts), RUN(a_process_holds_four_gib_at_most), RUN(wrong_arguments))
