/* echo.c: a client that sends messages to itself over its own stream. It checks every query of a
 * handle, waits with a waiter or like an event loop, and closes its client before its handles. */
#include "rstream/counter.h"
#include "rstream/image.h"
#include "tests/sim/side_roles.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define STREAM_ID 9100
#define PORT 9100
#define MESSAGES_MAX 6
#define WAIT_NS (5 * SIM_MS)
#define READY_NS (SIM_MS / 2)
#define PATIENCE_NS (20 * SIM_S) /* no link to the own host loses everything for so long */

typedef struct echo_t {
    const sim_side_role_t *self;
    rst_client_t *client; /* its own stream */
    rst_publication_t *publication;
    rst_subscription_t *subscription;
    rst_user_counter_t *counter;
    rst_waiter_t *waiter;
    rst_batch_t *batch;
    char channel[64];
    int32_t stream_id; /* unique for each life and round: old logs may linger */
    bool is_ipc, is_exclusive;
    int64_t sent; /* the position behind the last message sent */
} echo_t;

static bool is_lost(const echo_t *echo)
{
    return rst_client_state(echo->client) != RST_CLIENT_OPEN;
}

/* ---- opening ---- */

static bool await_of(const echo_t *echo, int64_t id)
{
    const int result = id < 0 ? (int)id : rst_client_await(echo->client, id, 2 * SIM_S);
    if (result == 0 || result == -RST_ETIMEDOUT) {
        rst_client_cancel(echo->client, id);
    } else if (result < 0 && !is_lost(echo)) {
        sim_fail("side role %d: %s", echo->self->index, rst_last_error_text());
    }
    return result == 1;
}

static bool open_handles(echo_t *echo)
{
    const int64_t ids[] = {
        rst_client_add_publication(echo->client, echo->channel, echo->stream_id,
            echo->is_exclusive),
        rst_client_add_subscription(echo->client, echo->channel, echo->stream_id),
        rst_client_add_counter(echo->client, 1100, NULL, 0, "echo"),
    };
    if (await_of(echo, ids[0])) {
        echo->publication = rst_client_take_publication(echo->client, ids[0]);
    }
    if (await_of(echo, ids[1])) {
        echo->subscription = rst_client_take_subscription(echo->client, ids[1]);
    }
    if (await_of(echo, ids[2])) {
        echo->counter = rst_client_take_counter(echo->client, ids[2]);
    }
    return echo->publication != NULL && echo->subscription != NULL && echo->counter != NULL
        && rst_waiter_create(&echo->waiter, echo->client) == 0
        && rst_batch_create(&echo->batch, 8) == 0
        && rst_waiter_attach_subscription(echo->waiter, echo->subscription) == 0;
}

/* ---- queries ---- */

static void check_publication(const echo_t *echo)
{
    rst_publication_info_t info;
    int32_t term_id, term_offset;
    char address[64];
    const rst_publication_t *publication = echo->publication;
    rst_publication_info(publication, &info);
    const int64_t position = rst_publication_position(publication);
    const int64_t consumed = rst_publication_consumed_position(publication);
    const int64_t window = rst_publication_available_window(publication);
    const int64_t next = rst_publication_next_frame(publication, &term_id, &term_offset);
    const int64_t status = rst_publication_channel_status(publication);
    const int addresses = rst_publication_local_address(publication, 0, address, sizeof address);
    if (rst_publication_is_closed(publication)) {
        return;
    }
    sim_count("echo: info of a publication");
    if (strcmp(info.channel, echo->channel) != 0 || info.is_ipc != echo->is_ipc
        || info.is_exclusive != echo->is_exclusive || info.max_payload_length != info.mtu - 32
        || info.max_position != (int64_t)info.term_length << 31
        || (info.channel_status_id < 0) != echo->is_ipc) {
        sim_fail("side role %d: the info of %s is wrong", echo->self->index, info.channel);
    }
    if (position < echo->sent || consumed > position || window < 0
        || rst_publication_position_limit(publication) < 0 || next != 0 || term_offset % 32 != 0
        || term_offset < 0 || status != RST_CHANNEL_ACTIVE || (addresses == 1) == echo->is_ipc) {
        sim_fail("side role %d: %s at %" PRId64 ", consumed %" PRId64 ", window %" PRId64
                 ", status %" PRId64 ", address \"%s\"",
            echo->self->index, info.channel, position, consumed, window, status, address);
    }
    const int64_t terms = (uint32_t)term_id - (uint32_t)info.initial_term_id;
    if (echo->is_exclusive && (terms << info.position_bits) + term_offset != position) {
        sim_fail("side role %d: the next frame at term %d offset %d, position %" PRId64,
            echo->self->index, term_id, term_offset, position);
    }
}

static void check_subscription(const echo_t *echo)
{
    rst_subscription_info_t info;
    int64_t fill, window;
    char address[64];
    const rst_subscription_t *subscription = echo->subscription;
    rst_subscription_info(subscription, &info);
    rst_subscription_fill(subscription, &fill, &window);
    const int64_t status = rst_subscription_channel_status(subscription);
    const int addresses = rst_subscription_local_address(subscription, address, sizeof address);
    if (rst_subscription_is_closed(subscription) || is_lost(echo)) {
        return;
    }
    sim_count("echo: info of a subscription");
    if (strcmp(info.channel, echo->channel) != 0 || info.stream_id != echo->stream_id || fill < 0
        || window < 0 || status != RST_CHANNEL_ACTIVE || (addresses == 1) == echo->is_ipc
        || (!echo->is_ipc && strstr(echo->channel, address) == NULL)) {
        sim_fail("side role %d: %s, status %" PRId64 ", address \"%s\", fill %" PRId64
                 " of %" PRId64,
            echo->self->index, info.channel, status, address, fill, window);
    }
}

/* ---- waiting ---- */

/* The attached waiter may wake for another event than the awaited one, or the client may be lost.
 */
static void wait_for_more(const echo_t *echo)
{
    const int64_t begin_ns = world.now_ns;
    if (sim_chance(RNG_ACTOR, 0.5)) {
        const int result = rst_waiter_wait(echo->waiter, WAIT_NS, 0);
        if (result == 0 && world.now_ns - begin_ns < WAIT_NS) {
            sim_fail("side role %d: a wait ended early", echo->self->index);
        }
        if (result != 0) {
            sim_fiber_sleep(READY_NS);
        }
        return;
    }
    sim_count("echo: waited as an event loop");
    const int armed = rst_waiter_arm(echo->waiter);
    if (armed == 0) {
        struct pollfd fd = {.fd = rst_waiter_fd(echo->waiter), .events = POLLIN};
        (void)poll(&fd, 1, WAIT_NS / SIM_MS);
        rst_waiter_disarm(echo->waiter);
    } else {
        sim_fiber_sleep(READY_NS);
    }
}

static void check_wake(const echo_t *echo)
{
    const int64_t begin_ns = world.now_ns;
    rst_waiter_wake(echo->waiter);
    const int result = rst_waiter_wait(echo->waiter, PATIENCE_NS, 0);
    if (result == 0 || world.now_ns - begin_ns > PATIENCE_NS / 2) {
        sim_fail("side role %d: it slept on after a wake-up", echo->self->index);
    }
}

/* ---- round trips ---- */

/* One message there and back. False: it ends here, the client is lost or there is no reader. */
static bool say(echo_t *echo, int64_t number)
{
    const int64_t begin_ns = world.now_ns;
    int64_t position;
    while ((position = rst_publication_offer(echo->publication, &number, sizeof number, number))
        <= 0) {
        if (position == RST_CLOSED || is_lost(echo) || world.now_ns - begin_ns > PATIENCE_NS) {
            return false;
        }
        wait_for_more(echo);
    }
    if (position <= echo->sent) {
        sim_fail("side role %d: position %" PRId64 " after %" PRId64, echo->self->index, position,
            echo->sent);
    }
    echo->sent = position;
    return true;
}

static bool hear(echo_t *echo, int64_t number)
{
    int32_t count;
    const int64_t begin_ns = world.now_ns;
    int result;
    while ((result = rst_subscription_poll(echo->subscription, 8, 0, echo->batch)) == 0) {
        if (is_lost(echo) || world.now_ns - begin_ns > PATIENCE_NS) {
            return false;
        }
        wait_for_more(echo);
    }
    if (result < 0) {
        return false;
    }
    const rst_message_t *messages = rst_batch_messages(echo->batch, &count);
    if (count != 1 || messages[0].length != sizeof number
        || memcmp(messages[0].data, &number, sizeof number) != 0
        || messages[0].reserved_value != number || messages[0].position != echo->sent) {
        sim_fail("side role %d sent %" PRId64 " and received %d messages", echo->self->index,
            number, count);
    }
    rst_batch_release(echo->batch);
    sim_count("echo: sent and received");
    return true;
}

static void talk(echo_t *echo)
{
    const int32_t count = 1 + (int32_t)sim_below(RNG_ACTOR, MESSAGES_MAX);
    for (int64_t number = 1; number <= count; number++) {
        if (!say(echo, number) || !hear(echo, number)) {
            sim_count("echo: no reader");
            return;
        }
        check_publication(echo);
        check_subscription(echo);
        if (echo->is_ipc && !is_lost(echo)
            && rst_publication_consumed_position(echo->publication) != echo->sent
            && !rst_publication_is_closed(echo->publication)
            && rst_subscription_is_connected(echo->subscription)) {
            sim_fail("side role %d: all is consumed up to %" PRId64 ", it hears %" PRId64,
                echo->self->index, echo->sent,
                rst_publication_consumed_position(echo->publication));
        }
        if (sim_chance(RNG_ACTOR, 0.3)) {
            check_wake(echo);
        }
        if (sim_chance(RNG_ACTOR, 0.3)) {
            rst_waiter_detach_publication(echo->waiter, echo->publication);
        } else if (sim_chance(RNG_ACTOR, 0.5)) {
            (void)rst_waiter_attach_publication(echo->waiter, echo->publication);
        }
        sim_side_role_pause(echo->self);
    }
}

/* ---- closing ---- */

/* Handles of a closed client return RST_CLOSED, and exist until they are closed themselves. */
static void check_closed(const echo_t *echo)
{
    int32_t term_id, term_offset;
    char address[16];
    const rst_publication_t *publication = echo->publication;
    sim_count("echo: handles outlive their client");
    if (rst_publication_offer(echo->publication, "x", 1, 0) != RST_CLOSED
        || rst_publication_position(publication) != RST_CLOSED
        || rst_publication_position_limit(publication) != RST_CLOSED
        || rst_publication_available_window(publication) != RST_CLOSED
        || rst_publication_consumed_position(publication) != RST_CLOSED
        || rst_publication_next_frame(publication, &term_id, &term_offset) != RST_CLOSED
        || rst_publication_channel_status(publication) != RST_CLOSED
        || rst_publication_local_address(publication, 0, address, sizeof address) != 0
        || rst_publication_is_connected(publication) || !rst_publication_is_closed(publication)) {
        sim_fail("side role %d: a publication outlives its client", echo->self->index);
    }
    if (rst_subscription_poll(echo->subscription, 1, 0, echo->batch) != -RST_ECLOSED
        || rst_subscription_channel_status(echo->subscription) != RST_CLOSED
        || rst_subscription_image_count(echo->subscription) != 0
        || rst_subscription_images(echo->subscription, NULL, 0) != 0
        || rst_subscription_image_at(echo->subscription, 0) != NULL
        || !rst_subscription_is_closed(echo->subscription)) {
        sim_fail("side role %d: a subscription outlives its client", echo->self->index);
    }
    rst_user_counter_set(echo->counter, 5);
    if (rst_user_counter_get(echo->counter) != 0 || !rst_user_counter_is_closed(echo->counter)
        || rst_user_counter_propose_max(echo->counter, 6)
        || rst_user_counter_add(echo->counter, 1) != 0) {
        sim_fail("side role %d: a counter outlives its client", echo->self->index);
    }
}

static void close_handles(echo_t *echo)
{
    if (echo->waiter != NULL) {
        rst_waiter_destroy(echo->waiter);
    }
    if (echo->batch != NULL) {
        rst_batch_destroy(echo->batch);
    }
    if (sim_chance(RNG_ACTOR, 0.5)) {
        rst_publication_close(echo->publication);
        rst_user_counter_close(echo->counter);
        rst_subscription_close(echo->subscription);
    } else {
        rst_subscription_close(echo->subscription);
        rst_user_counter_close(echo->counter);
        rst_publication_close(echo->publication);
    }
}

void sim_echo_round(sim_side_role_t *self)
{
    static int32_t rounds;
    rst_client_params_t params;
    echo_t echo = {.self = self,
        .stream_id = STREAM_ID + rounds++,
        .is_ipc = sim_chance(RNG_ACTOR, 0.5),
        .is_exclusive = sim_chance(RNG_ACTOR, 0.5),
        .channel = "aeron:ipc"};
    if (!echo.is_ipc) {
        snprintf(echo.channel, sizeof echo.channel, "aeron:udp?endpoint=%s:%d",
            sim_host_address(self->client->driver->host, false), PORT + self->index);
    }
    rst_client_params_init(&params);
    params.dir = self->client->driver->params.dir;
    params.driver_timeout_ms = 1000;
    params.keepalive_interval_ns = 100 * SIM_MS;
    if (rst_client_open(&echo.client, &params) < 0) {
        return; /* its driver is lost */
    }
    const bool is_open = open_handles(&echo);
    if (is_open) {
        talk(&echo);
    }
    const bool is_first = sim_chance(RNG_ACTOR, 0.5);
    if (is_first) {
        rst_client_close(echo.client);
        if (is_open) {
            check_closed(&echo);
        }
    }
    close_handles(&echo);
    if (!is_first) {
        rst_client_close(echo.client);
    }
}
