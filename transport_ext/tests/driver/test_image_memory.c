/* The memory of images. Must hold: a SETUP takes no more than the window needs, an address has a
 * quota, also when it has proved itself, and a publisher at another address is served meanwhile. */
#include "driver/conductor/image_limits.h"
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define ONE "10.0.0.1:30001"
#define ONE_AGAIN "10.0.0.1:30002" /* the port makes no other address */
#define TWO "10.0.0.2:30001"
#define STREAM 10
#define MIB (1024 * 1024)
#define TERM (16 * MIB)

typedef struct ear_t {
    harness_t *h;
    rsti_socket_t *socket;
} ear_t;

static void ear_open(ear_t *e, const char *const *options)
{
    harness_options = options;
    e->h = harness_open();
    harness_options = NULL;
    (void)add(e->h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    rsti_receive_endpoint_t *endpoint = e->h->driver->conductor->receive_endpoints.items[0];
    e->socket = endpoint->owned[0]->socket;
}

static void setup(const ear_t *e, const char *from, int32_t session_id)
{
    const rsti_setup_t frame = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = session_id,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = TERM,
        .mtu = 1408,
    };
    inject(e->h, e->socket, from, &frame, sizeof frame);
    pass(e->h);
    pass(e->h);
    forget_frames(e->h);
}

static void data(const ear_t *e, const char *from, int32_t session_id, int64_t position)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, session_id, STREAM,
        7 + (int32_t)(position / TERM), (int32_t)(position % TERM));
    header.frame.frame_length = sizeof datagram;
    memcpy(datagram, &header, sizeof header);
    inject(e->h, e->socket, from, datagram, sizeof datagram);
}

static void heartbeat(const ear_t *e, const char *from, int32_t session_id, int64_t position,
    uint8_t flags)
{
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED | flags, RSTI_FRAME_DATA, session_id,
        STREAM, 7, (int32_t)position);
    header.frame.frame_length = 0;
    inject(e->h, e->socket, from, &header, sizeof header);
}

static size_t image_count(const ear_t *e)
{
    return e->h->driver->conductor->images.count;
}

static rsti_image_t *image_of(const ear_t *e, int32_t session_id)
{
    for (size_t i = 0; i < image_count(e); i++) {
        rsti_image_t *image = e->h->driver->conductor->images.items[i];
        if (image->session_id == session_id) {
            return image;
        }
    }
    return NULL;
}

static int64_t taken(const ear_t *e)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < image_count(e); i++) {
        const rsti_image_t *image = e->h->driver->conductor->images.items[i];
        bytes += image->file.reserved_bytes;
    }
    return bytes;
}

/* Reads what came, as a reader does at once. */
static void stream(const ear_t *e, const char *from, int32_t session_id, int64_t begin, int64_t end)
{
    rsti_image_t *image = image_of(e, session_id);
    for (int64_t position = begin; position < end; position += 1024) {
        data(e, from, session_id, position);
        pass(e->h);
        rsti_store_release_i64(image->subscribers.items[0].position, image->received);
        pass(e->h);
        forget_frames(e->h);
    }
}

TEST(a_setup_takes_one_step)
{
    ear_t e;
    ear_open(&e, NULL);
    setup(&e, ONE, 1);
    CHECK_EQ(image_count(&e), 1);
    CHECK(rsti_load_acquire_i32(&image_of(&e, 1)->is_proven) != 0);
    CHECK_EQ(taken(&e), MIB);
    harness_close(e.h);
}

/* The log grows with what is read, and the window is there before the sender may use it. */
TEST(an_image_grows_step_by_step)
{
    ear_t e;
    ear_open(&e, NULL);
    setup(&e, ONE, 1);
    const rsti_image_t *image = image_of(&e, 1);
    for (int64_t position = 0; position < 3 * MIB; position += 256 * 1024) {
        stream(&e, ONE, 1, position, position + 256 * 1024);
        CHECK_EQ(image->received, position + 256 * 1024);
        const int64_t limit = image->next_sm_position + image->next_sm_window;
        CHECK(image->file.reserved_position >= limit);
        CHECK(image->file.reserved_position <= limit + MIB);
    }
    CHECK_EQ(counter(e.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 0);
    harness_close(e.h);
}

/* A sender under max goes beyond the window of a reader that it leaves behind. The first of that
 * data is lost, and is asked for like all that is lost; then there is memory for half a term. */
TEST(data_beyond_the_memory_makes_room)
{
    ear_t e;
    ear_open(&e, NULL);
    setup(&e, ONE, 1);
    const rsti_image_t *image = image_of(&e, 1);
    data(&e, ONE, 1, 0);
    data(&e, ONE, 1, 2 * MIB);
    pass(e.h);
    CHECK_EQ(counter(e.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 1);
    CHECK_EQ(rsti_load_acquire_i64(&image->high_water), 1024);
    pass(e.h);
    CHECK(image->file.reserved_position > TERM / 2);
    CHECK(image->file.reserved_position <= TERM / 2 + MIB);
    data(&e, ONE, 1, 2 * MIB);
    pass(e.h);
    CHECK_EQ(rsti_load_acquire_i64(&image->high_water), 2 * MIB + 1024);
    data(&e, ONE, 1, TERM / 2); /* the law of half a term is as it was */
    pass(e.h);
    CHECK_EQ(counter(e.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 2);
    harness_close(e.h);
}

static const char *const quota[] = {"source-images-length", "4m", NULL};

TEST(an_address_has_a_quota)
{
    ear_t e;
    ear_open(&e, quota);
    for (int32_t session = 0; session < 50; session++) {
        setup(&e, session % 2 == 0 ? ONE : ONE_AGAIN, session);
    }
    CHECK_EQ(image_count(&e), 3); /* a log has metadata, too */
    CHECK_EQ(error_count(e.h, "images from 10.0.0.1"), 1);
    CHECK_EQ(error_count(e.h, "source-images-length=4194304"), 1);
    for (int32_t session = 100; session < 150; session++) {
        setup(&e, TWO, session);
    }
    CHECK_EQ(image_count(&e), 6);
    CHECK_EQ(taken(&e), 6 * MIB);
    harness_close(e.h);
}

/* At the quota the window of an image stays where it is. When another one ends, it goes on. */
TEST(the_quota_bounds_growth)
{
    ear_t e;
    ear_open(&e, quota);
    for (int32_t session = 1; session <= 3; session++) {
        setup(&e, ONE, session);
    }
    setup(&e, TWO, 11);
    CHECK_EQ(image_count(&e), 4);
    stream(&e, ONE, 1, 0, 3 * MIB);
    const rsti_image_t *held = image_of(&e, 1);
    CHECK(held->received <= MIB);
    CHECK_EQ(taken(&e), 4 * MIB);
    CHECK_EQ(error_count(e.h, "its window stays"), 1);
    advance_alive(e.h, 30 * MS, MS);
    CHECK_EQ(held->next_sm_position, held->received); /* what was consumed is told */
    CHECK(held->next_sm_position + held->next_sm_window <= held->file.reserved_position);
    stream(&e, TWO, 11, 0, 2 * MIB + 512 * 1024);
    CHECK_EQ(image_of(&e, 11)->received, 2 * MIB + 512 * 1024);
    heartbeat(&e, ONE, 2, 0, RSTI_FLAG_EOS);
    heartbeat(&e, ONE, 3, 0, RSTI_FLAG_EOS);
    for (int i = 0; i < 30; i++) {
        heartbeat(&e, ONE, 1, held->received, 0);
        heartbeat(&e, TWO, 11, image_of(&e, 11)->received, 0);
        advance_alive(e.h, 500 * MS, 100 * MS);
        forget_frames(e.h);
    }
    CHECK_EQ(image_count(&e), 2);
    stream(&e, ONE, 1, held->received, 2 * MIB);
    CHECK_EQ(held->received, 2 * MIB);
    harness_close(e.h);
}

CHECK_MAIN(RUN(a_setup_takes_one_step), RUN(an_image_grows_step_by_step),
    RUN(data_beyond_the_memory_makes_room), RUN(an_address_has_a_quota),
    RUN(the_quota_bounds_growth))
