/* transport.h: a driver in this process and the two ends of a stream, for system tests. */
#ifndef RSTI_TESTS_SYSTEM_TRANSPORT_H
#define RSTI_TESTS_SYSTEM_TRANSPORT_H

#include "rstream/driver.h"
#include "rstream/rstream.h"
#include "tests/check.h"

#include <sys/resource.h>
#include <unistd.h>

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A channel that no other test program on this machine uses at the same time. */
static inline const char *udp_channel(const char *parameters)
{
    static char channel[256];
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=127.0.0.1:%d%s",
        10000 + (int)(getpid() % 20000), parameters);
    return channel;
}

/* options: "name=value" pairs, NULL ends. The directory is $tmp/rstream-test-<pid>-<name>. */
static inline rst_driver_t *open_driver(const char *name, const char *const *options)
{
    rst_driver_params_t *params;
    rst_driver_t *driver = NULL;
    char dir[128];
    snprintf(dir, sizeof dir, "/dev/shm/rstream-test-%d-%s", (int)getpid(), name);
    if (rst_driver_params_create(&params) < 0) {
        return NULL;
    }
    int result = rst_driver_params_set(params, "dir", dir);
    for (; result == 0 && *options != NULL; options++) {
        char option[128];
        snprintf(option, sizeof option, "%s", *options);
        char *value = strchr(option, '=');
        *value++ = '\0';
        result = rst_driver_params_set(params, option, value);
    }
    if (result == 0) {
        result = rst_driver_open(&driver, params);
    }
    if (result == 0) {
        result = rst_driver_start(driver);
    }
    if (result < 0) {
        fprintf(stderr, "driver: %s\n", rst_last_error_text());
    }
    rst_driver_params_destroy(params);
    return result < 0 ? NULL : driver;
}

static inline int64_t await(rst_client_t *client, int64_t id)
{
    const int result = id < 0 ? (int)id : rst_client_await(client, id, INT64_C(5000000000));
    if (result != 1) {
        fprintf(stderr, "await %d: %s\n", result, rst_last_error_text());
    }
    return result == 1 ? id : -1;
}

static inline rst_client_t *open_client(const rst_driver_t *driver)
{
    rst_client_params_t params;
    rst_client_t *client = NULL;
    rst_client_params_init(&params);
    params.dir = rst_driver_dir(driver);
    if (rst_client_open(&client, &params) < 0) {
        fprintf(stderr, "client: %s\n", rst_last_error_text());
    }
    return client;
}

static inline rst_publication_t *add_publication(rst_client_t *client, const char *channel,
    bool is_exclusive)
{
    const int64_t id = await(client, rst_client_add_publication(client, channel, 10, is_exclusive));
    return id < 0 ? NULL : rst_client_take_publication(client, id);
}

static inline rst_subscription_t *add_subscription(rst_client_t *client, const char *channel)
{
    const int64_t id = await(client, rst_client_add_subscription(client, channel, 10));
    return id < 0 ? NULL : rst_client_take_subscription(client, id);
}

/* Message number: its length and bytes follow from the number, so that any mix-up is detected. */
static inline size_t message_length(int64_t number, size_t length_max)
{
    const uint64_t mixed = (uint64_t)number * 0x9E3779B97F4A7C15u;
    return 8 + (size_t)(mixed >> 33) % (length_max - 7);
}

static inline void message_fill(uint8_t *message, int64_t number, size_t length)
{
    memcpy(message, &number, sizeof number);
    for (size_t i = 8; i < length; i++) {
        message[i] = (uint8_t)((uint64_t)number * 31 + i);
    }
}

static inline bool message_is(const uint8_t *message, int64_t number, size_t length)
{
    int64_t found;
    memcpy(&found, message, sizeof found);
    if (found != number) {
        fprintf(stderr, "message %" PRId64 ", expected %" PRId64 "\n", found, number);
        return false;
    }
    for (size_t i = 8; i < length; i++) {
        if (message[i] != (uint8_t)((uint64_t)number * 31 + i)) {
            fprintf(stderr, "message %" PRId64 ": byte %zu\n", number, i);
            return false;
        }
    }
    return true;
}

/* Sends count numbered messages of up to length_max bytes and reads them back in order. Returns how
 * long it took in ms, or -1. */
static inline int64_t stream(rst_publication_t *publication, rst_subscription_t *subscription,
    int64_t count, size_t length_max, int64_t timeout_ns)
{
    static uint8_t message[65536];
    int64_t sent = 0, received = 0, result = 0;
    rst_batch_t *batch = NULL;
    const int64_t begin = now_ns();
    if (rst_batch_create(&batch, 256) < 0) {
        return -1;
    }
    while (received < count && result == 0) {
        bool is_busy = false;
        for (int i = 0; i < 64 && sent < count; i++) {
            const size_t length = message_length(sent, length_max);
            message_fill(message, sent, length);
            if (rst_publication_offer(publication, message, length, 0) < 0) {
                break;
            }
            sent++;
            is_busy = true;
        }
        const int taken = rst_subscription_poll(subscription, 256, 0, batch);
        int32_t n = 0;
        const rst_message_t *messages = rst_batch_messages(batch, &n);
        for (int32_t i = 0; i < n && result == 0; i++, received++) {
            const size_t length = message_length(received, length_max);
            if ((size_t)messages[i].length != length
                || !message_is(messages[i].data, received, length)) {
                result = -1;
            }
        }
        rst_batch_release(batch);
        if (taken < 0 || now_ns() - begin > timeout_ns) {
            fprintf(stderr, "poll %d, sent %" PRId64 ", received %" PRId64 "\n", taken, sent,
                received);
            result = -1;
        }
        if (taken == 0 && !is_busy) {
            usleep(20);
        }
    }
    rst_batch_destroy(batch);
    return result < 0 ? result : (now_ns() - begin) / 1000000;
}

#endif
