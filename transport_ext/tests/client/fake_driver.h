/* fake_driver.h: the test plays the driver: the CnC file and logs are real, and the test chooses
 * the answers. Stepped by hand: fake_pump() reads commands and answers them. */
#ifndef RSTI_TESTS_CLIENT_FAKE_DRIVER_H
#define RSTI_TESTS_CLIENT_FAKE_DRIVER_H

#include "client/batch.h"
#include "client/conductor.h"
#include "client/image.h"
#include "client/publication.h"
#include "client/publication_errors.h"
#include "client/subscription.h"
#include "client/subscription_images.h"
#include "client/waiter.h"
#include "cnc/cnc_file.h"
#include "cnc/driver_dir.h"
#include "logbuffer/rebuilder.h"
#include "tests/check.h"
#include "util/error.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAKE_TERM (64 * 1024)
#define FAKE_LIVENESS_NS (10 * RSTI_NS_PER_S)
#define FAKE_MTU 1408
#define FAKE_SESSION 4711
#define FAKE_LOGS_MAX 320
#define FAKE_NAME "fake"
#define FAKE_TEXT_MAX 4160

typedef struct fake_log_t {
    rsti_log_file_t file;
    int64_t id;
    int32_t counter_id; /* limit, or position of the one subscriber */
    int64_t clean_position;
} fake_log_t;

typedef struct fake_driver_t {
    char dir[128];
    int lock_fd;
    rsti_cnc_t cnc;
    rsti_mpsc_rb_t ring;
    rsti_broadcast_tx_t tx;
    rsti_counters_manager_t counters;
    rsti_waker_t *waker;
    fake_log_t logs[FAKE_LOGS_MAX];
    int log_count;
    bool is_silent;         /* reads no commands */
    int32_t refuse_code;    /* answers the next command with ON_ERROR */
    const char *refuse_text; /* its text; NULL: "no such thing" */
    int32_t limit_counter;  /* answers with this one when >= 0 */
    int32_t gone_counter;   /* announced as unavailable when a counter is removed */
    int64_t last_client_id;
    int64_t heartbeat_counter;
    int64_t last_removed;   /* registration id of the last REMOVE_… */
    int last_removed_type;
    int commands;
    bool was_client_closed;
    rsti_command_t last; /* the last command; its texts are not kept, except: */
    char last_text[FAKE_TEXT_MAX];
    fake_log_t *publication_log; /* of the next ADD_PUBLICATION */
} fake_driver_t;

static fake_driver_t fake;

static inline int64_t fake_now_ms(void)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_clock_epoch_ms(&clock);
}

static inline bool fake_open(const char *name)
{
    memset(&fake, 0, sizeof fake);
    fake.limit_counter = -1;
    fake.heartbeat_counter = -1;
    snprintf(fake.dir, sizeof fake.dir, "/dev/shm/rstream-test-%d-%s", (int)getpid(), name);
    const rsti_cnc_params_t params = {
        .to_driver_length = 64 * 1024 + RSTI_RB_TRAILER_LENGTH,
        .to_clients_length = 64 * 1024 + RSTI_BROADCAST_TRAILER_LENGTH,
        .counter_values_length = 128 * 1024,
        .error_log_length = 16 * 1024,
        .client_liveness_timeout_ns = FAKE_LIVENESS_NS,
        .start_timestamp_ms = fake_now_ms(),
        .file_page_size = 4096,
    };
    if (rsti_driver_dir_acquire(fake.dir, 1000, fake_now_ms(), &fake.lock_fd) < 0
        || rsti_cnc_create(&fake.cnc, fake.dir, &params) < 0
        || rsti_rb_init(&fake.ring.rb, fake.cnc.to_driver, fake.cnc.to_driver_length) < 0
        || rsti_broadcast_tx_init(&fake.tx, fake.cnc.to_clients, fake.cnc.to_clients_length) < 0
        || rsti_counters_manager_init(&fake.counters, fake.cnc.counter_values,
               fake.cnc.counter_values_length, fake.cnc.counter_metadata,
               fake.cnc.counter_metadata_length, 0)
            < 0
        || rsti_waker_create(&fake.waker, fake.dir) < 0) {
        fprintf(stderr, "fake driver: %s\n", rst_last_error_text());
        return false;
    }
    fake.cnc.ext->magic = RSTI_EXT_MAGIC;
    fake.cnc.ext->version = RSTI_EXT_VERSION;
    (void)rsti_mpsc_rb_next_correlation_id(&fake.ring);
    rsti_mpsc_rb_set_heartbeat(&fake.ring, fake_now_ms());
    rsti_cnc_publish(&fake.cnc);
    return true;
}

/* Like kill -9: the files stay, the lock is released. */
static inline void fake_die(void)
{
    rsti_fd_close(fake.lock_fd);
    fake.lock_fd = -1;
}

static inline void fake_close(void)
{
    for (int i = 0; i < fake.log_count; i++) {
        rsti_log_file_close(&fake.logs[i].file, true);
    }
    rsti_waker_destroy(fake.waker);
    rsti_counters_manager_fini(&fake.counters);
    rsti_cnc_close(&fake.cnc);
    if (fake.lock_fd < 0) {
        (void)rsti_driver_dir_acquire(fake.dir, 1, fake_now_ms() + 60000, &fake.lock_fd);
    }
    rsti_driver_dir_release(fake.dir, fake.lock_fd, true);
}

static inline int32_t fake_counter(int32_t type_id, int64_t registration_id, int64_t reference_id,
    int64_t value)
{
    const int32_t id = rsti_counters_allocate(&fake.counters, type_id, &registration_id,
        sizeof registration_id, "test", 4, fake_now_ms());
    rsti_counters_set_ids(&fake.counters, id, registration_id, fake.last_client_id, reference_id);
    rsti_store_release_i64(rsti_counter_address(&fake.counters.counters, id), value);
    return id;
}

static inline int64_t *fake_value(int32_t counter_id)
{
    return rsti_counter_address(&fake.counters.counters, counter_id);
}

static inline void fake_wake_client(void)
{
    if (fake.heartbeat_counter >= 0) {
        rsti_heartbeat_ext_t *ext = (rsti_heartbeat_ext_t *)(void *)fake.counters.counters
                                        .values[fake.heartbeat_counter]
                                        .spare;
        if (rsti_wake_take_word(&ext->conductor_armed)) {
            rsti_waker_wake(fake.waker, fake.last_client_id, 0);
        }
    }
}

static inline void fake_respond(const rsti_response_t *response)
{
    uint8_t buffer[2048];
    const int64_t length = rsti_response_encode(response, buffer, sizeof buffer);
    if (length < 0
        || rsti_broadcast_transmit(&fake.tx, response->type, buffer, (size_t)length) < 0) {
        fprintf(stderr, "fake driver: cannot respond\n");
        abort();
    }
    fake_wake_client();
}

static inline rsti_text_t fake_text(const char *text)
{
    return (rsti_text_t){.text = text, .length = (int32_t)strlen(text)};
}

/* A log file as the driver makes it; type: RSTI_LOG_…; start: position of its first frame. */
static inline fake_log_t *fake_log(uint8_t type, int64_t start, const char *name)
{
    fake_log_t *log = &fake.logs[fake.log_count++];
    log->id = rsti_mpsc_rb_next_correlation_id(&fake.ring);
    const rsti_log_params_t params = {
        .correlation_id = log->id,
        .session_id = FAKE_SESSION,
        .stream_id = 7,
        .initial_term_id = 100,
        .term_id = 100 + (int32_t)(start / FAKE_TERM),
        .term_offset = (int32_t)(start % FAKE_TERM),
        .term_length = FAKE_TERM,
        .mtu = FAKE_MTU,
        .page_size = 4096,
        .publication_window = FAKE_TERM / 2,
        .receiver_window = FAKE_TERM / 2,
        .type = type,
        .name = name,
    };
    const char *kind = type == RSTI_LOG_IMAGE ? "images" : "publications";
    if (rsti_log_file_create(&log->file, fake.dir, kind, log->id, &params) < 0) {
        fprintf(stderr, "fake driver: %s\n", rst_last_error_text());
        abort();
    }
    log->file.log.metadata->ext.conductor_position = INT64_MAX;
    log->counter_id = -1;
    log->clean_position = start;
    return log;
}

static inline void fake_publication_ready(const rsti_command_t *command)
{
    fake_log_t *log = fake.publication_log != NULL ? fake.publication_log
                                                   : fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    if (log->counter_id < 0) {
        log->counter_id = fake_counter(RSTI_COUNTER_PUBLISHER_LIMIT, log->id, 0, 0);
    }
    fake.publication_log = log;
    const bool is_udp = command->channel.length > 9
        && memcmp(command->channel.text, "aeron:udp", 9) == 0;
    const rsti_response_t response = {
        .type = command->type == RSTI_CMD_ADD_PUBLICATION ? RSTI_RSP_PUBLICATION_READY
                                                          : RSTI_RSP_EXCLUSIVE_PUBLICATION_READY,
        .correlation_id = command->correlation_id,
        .registration_id = log->id,
        .session_id = FAKE_SESSION,
        .stream_id = command->stream_id,
        .counter_id = fake.limit_counter >= 0 ? fake.limit_counter : log->counter_id,
        .channel_status_id = is_udp ? 5 : -1,
        .log_file = fake_text(log->file.path),
    };
    fake_respond(&response);
}

static inline void fake_add_counter(const rsti_command_t *command)
{
    const bool is_static = command->type == RSTI_CMD_ADD_STATIC_COUNTER;
    const int32_t id = rsti_counters_allocate(&fake.counters, command->counter_type_id,
        command->key.text, (size_t)command->key.length, command->label.text,
        (size_t)command->label.length, fake_now_ms());
    rsti_counters_set_ids(&fake.counters, id,
        is_static ? command->registration_id : command->correlation_id,
        is_static ? -1 : command->client_id, 0);
    const rsti_response_t response = {
        .type = is_static ? RSTI_RSP_STATIC_COUNTER : RSTI_RSP_COUNTER_READY,
        .correlation_id = command->correlation_id,
        .counter_id = fake.limit_counter >= 0 ? fake.limit_counter : id};
    fake_respond(&response);
}

static inline void fake_remove_counter(const rsti_command_t *command)
{
    const rsti_response_t success = {
        .type = RSTI_RSP_OPERATION_SUCCESS, .correlation_id = command->correlation_id};
    const rsti_response_t gone = {.type = RSTI_RSP_UNAVAILABLE_COUNTER,
        .registration_id = command->registration_id,
        .counter_id = fake.gone_counter};
    fake.last_removed = command->registration_id;
    fake.last_removed_type = command->type;
    fake_respond(&success);
    fake_respond(&gone);
}

static inline void fake_answer(const rsti_command_t *command)
{
    if (fake.refuse_code != 0) {
        const rsti_response_t response = {.type = RSTI_RSP_ON_ERROR,
            .correlation_id = command->correlation_id,
            .error_code = fake.refuse_code,
            .log_file = fake_text(fake.refuse_text == NULL ? "no such thing" : fake.refuse_text)};
        fake.refuse_code = 0;
        fake_respond(&response);
        return;
    }
    switch (command->type) {
    case RSTI_CMD_ADD_PUBLICATION:
    case RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION:
        fake_publication_ready(command);
        break;
    case RSTI_CMD_ADD_SUBSCRIPTION: {
        const rsti_response_t response = {.type = RSTI_RSP_SUBSCRIPTION_READY,
            .correlation_id = command->correlation_id,
            .channel_status_id = 5};
        fake_respond(&response);
        break;
    }
    case RSTI_CMD_REMOVE_PUBLICATION:
    case RSTI_CMD_REMOVE_SUBSCRIPTION:
        fake.last_removed = command->registration_id;
        fake.last_removed_type = command->type;
        break;
    case RSTI_CMD_CLIENT_CLOSE:
        fake.was_client_closed = true;
        break;
    case RSTI_CMD_SET_RATE:
    case RSTI_CMD_ADD_DESTINATION:
    case RSTI_CMD_REMOVE_DESTINATION:
    case RSTI_CMD_REMOVE_DESTINATION_BY_ID:
    case RSTI_CMD_ADD_RCV_DESTINATION:
    case RSTI_CMD_REMOVE_RCV_DESTINATION:
    case RSTI_CMD_REJECT_IMAGE: {
        const rsti_response_t response = {
            .type = RSTI_RSP_OPERATION_SUCCESS, .correlation_id = command->correlation_id};
        fake_respond(&response);
        break;
    }
    case RSTI_CMD_ADD_COUNTER:
    case RSTI_CMD_ADD_STATIC_COUNTER:
        fake_add_counter(command);
        break;
    case RSTI_CMD_REMOVE_COUNTER:
        fake_remove_counter(command);
        break;
    case RSTI_CMD_NEXT_SESSION_ID: {
        const rsti_response_t response = {.type = RSTI_RSP_NEXT_SESSION_ID,
            .correlation_id = command->correlation_id,
            .session_id = FAKE_SESSION + 1};
        fake_respond(&response);
        break;
    }
    default:
        break;
    }
}

static inline rsti_rb_action_t fake_on_record(void *arg, int32_t type, const void *record,
    size_t length)
{
    rsti_command_t command;
    (void)arg;
    if (rsti_command_decode(type, record, length, &command) == 0) {
        if (fake.last_client_id != command.client_id) {
            fake.last_client_id = command.client_id;
            fake.heartbeat_counter = fake_counter(RSTI_COUNTER_CLIENT_HEARTBEAT, command.client_id,
                0, fake_now_ms());
        }
        fake.commands++;
        fake.last = command;
        snprintf(fake.last_text, sizeof fake.last_text, "%.*s", (int)command.channel.length,
            command.channel.text != NULL ? command.channel.text : "");
        fake_answer(&command);
    }
    return RSTI_RB_CONTINUE;
}

static inline void fake_pump(void)
{
    if (!fake.is_silent) {
        (void)rsti_rb_read(&fake.ring.rb, 100, fake_on_record, NULL);
    }
    rsti_mpsc_rb_set_heartbeat(&fake.ring, fake_now_ms());
}

/* ---- images ---- */

static inline void fake_available(rst_subscription_t *subscription, fake_log_t *log,
    int32_t session_id)
{
    const rsti_response_t response = {
        .type = RSTI_RSP_AVAILABLE_IMAGE,
        .correlation_id = log->id,
        .registration_id = subscription->registration_id,
        .session_id = session_id,
        .stream_id = 7,
        .counter_id = log->counter_id,
        .log_file = fake_text(log->file.path),
        .source_identity = fake_text("127.0.0.1:9"),
    };
    fake_respond(&response);
}

static inline void fake_gone(rst_subscription_t *subscription, const fake_log_t *log,
    const char *channel)
{
    const rsti_response_t response = {
        .type = RSTI_RSP_UNAVAILABLE_IMAGE,
        .correlation_id = log->id,
        .registration_id = subscription->registration_id,
        .stream_id = 7,
        .log_file = fake_text(channel),
    };
    fake_respond(&response);
}

static inline void fake_unavailable(rst_subscription_t *subscription, const fake_log_t *log)
{
    fake_gone(subscription, log, "aeron:ipc");
}

/* Writes a frame as a receiver would; returns the position behind it. */
static inline int64_t fake_frame(fake_log_t *log, int64_t position, uint8_t flags, int16_t type,
    const void *payload, int32_t length, int64_t reserved_value)
{
    uint8_t datagram[FAKE_TERM];
    const rsti_log_t *view = &log->file.log;
    const int32_t offset = rsti_position_offset(position, FAKE_TERM);
    const int32_t aligned = rsti_align_i32(length + RSTI_DATA_HEADER_LENGTH, RSTI_FRAME_ALIGNMENT);
    memset(datagram, 0, (size_t)aligned);
    rsti_data_header_t *header = (rsti_data_header_t *)(void *)datagram;
    rsti_data_header_fill(header, flags, type, FAKE_SESSION, 7,
        rsti_position_term_id(position, view->position_bits, view->initial_term_id), offset);
    header->frame.frame_length = length + RSTI_DATA_HEADER_LENGTH;
    header->reserved_value = reserved_value;
    if (payload != NULL) {
        memcpy(datagram + RSTI_DATA_HEADER_LENGTH, payload, (size_t)length);
    }
    (void)rsti_term_insert(view->terms[rsti_position_index(position, view->position_bits)], offset,
        datagram, (size_t)aligned);
    return position + aligned;
}

static inline int64_t fake_data(fake_log_t *log, int64_t position, const char *text)
{
    return fake_frame(log, position, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, text,
        (int32_t)strlen(text), 0);
}

/* ---- the client's side ---- */

static inline rst_client_t *fake_client(int64_t keepalive_ms)
{
    rst_client_t *client = NULL;
    rst_client_params_t params;
    rst_client_params_init(&params);
    params.dir = fake.dir;
    params.name = FAKE_NAME;
    params.driver_timeout_ms = 60000; /* death is shown by fake_die or a heartbeat of -1 */
    params.keepalive_interval_ns = keepalive_ms * RSTI_NS_PER_MS;
    if (rst_client_open(&client, &params) < 0) {
        fprintf(stderr, "client: %s\n", rst_last_error_text());
        return NULL;
    }
    fake_pump(); /* the heartbeat counter appears */
    return client;
}

static inline int fake_await(rst_client_t *client, int64_t id)
{
    for (int i = 0; i < 10000 && id >= 0; i++) {
        fake_pump();
        const int result = rst_client_await(client, id, RSTI_NS_PER_MS);
        if (result != 0) {
            return result;
        }
    }
    return id < 0 ? (int)id : 0;
}

static inline rst_subscription_t *fake_subscribe(rst_client_t *client)
{
    const int64_t id = rst_client_add_subscription(client, "aeron:ipc", 7);
    return fake_await(client, id) == 1 ? rst_client_take_subscription(client, id) : NULL;
}

static inline rst_publication_t *fake_publish(rst_client_t *client, const char *channel,
    bool is_exclusive)
{
    const int64_t id = rst_client_add_publication(client, channel, 7, is_exclusive);
    return fake_await(client, id) == 1 ? rst_client_take_publication(client, id) : NULL;
}

/* Waits for a condition that the client's conductor brings about. */
#define FAKE_UNTIL(condition)                                                                      \
    do {                                                                                           \
        int fake_tries = 0;                                                                        \
        while (!(condition) && fake_tries++ < 5000) {                                              \
            usleep(1000);                                                                          \
        }                                                                                          \
        CHECK(condition);                                                                          \
    } while (0)

/* An image of a fresh log, announced and known to the client. */
static inline fake_log_t *fake_image_named(rst_subscription_t *subscription, int64_t start,
    const char *name)
{
    fake_log_t *log = fake_log(RSTI_LOG_IMAGE, start, name);
    const int before = rst_subscription_image_count(subscription);
    log->counter_id = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, start);
    fake_available(subscription, log, FAKE_SESSION + fake.log_count);
    for (int i = 0; i < 5000 && rst_subscription_image_count(subscription) == before; i++) {
        usleep(1000);
    }
    return log;
}

static inline fake_log_t *fake_image(rst_subscription_t *subscription)
{
    return fake_image_named(subscription, 0, NULL);
}

#endif
