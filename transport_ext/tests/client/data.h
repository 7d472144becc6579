/* data.h: a client of the fake driver with a subscription and, on begin_ipc, one log that it both
 * writes and reads. */
#ifndef RSTI_TESTS_CLIENT_DATA_H
#define RSTI_TESTS_CLIENT_DATA_H

#include "tests/client/fake_driver.h"

static rst_client_t *client;
static rst_subscription_t *subscription;
static rst_publication_t *publication;
static rst_batch_t *batch;
static int32_t reader_counter; /* registration id of our subscription to the IPC log */

static inline bool begin(const char *name)
{
    subscription = NULL;
    publication = NULL;
    batch = NULL;
    client = fake_open(name) ? fake_client(50) : NULL;
    subscription = client != NULL ? fake_subscribe(client) : NULL;
    return subscription != NULL && rst_batch_create(&batch, 64) == 0;
}

static inline void end(void)
{
    rst_batch_destroy(batch);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    fake_close();
}

/* One IPC log with our publication and our subscription on it. */
static inline fake_log_t *begin_ipc(const char *name, bool is_exclusive, int64_t start)
{
    if (!begin(name)) {
        return NULL;
    }
    fake_log_t *log = fake_log(is_exclusive ? RSTI_LOG_EXCLUSIVE : RSTI_LOG_CONCURRENT, start,
        NULL);
    fake.publication_log = log;
    log->counter_id = fake_counter(RSTI_COUNTER_PUBLISHER_LIMIT, log->id, 0, start);
    publication = fake_publish(client, "aeron:ipc", is_exclusive);
    fake_log_t view = *log; /* the same file is the subscriber's image */
    reader_counter = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, subscription->registration_id,
        log->id, start);
    view.counter_id = reader_counter;
    fake_available(subscription, &view, FAKE_SESSION);
    for (int i = 0; i < 5000 && rst_subscription_image_count(subscription) == 0; i++) {
        usleep(1000);
    }
    rsti_store_release_i32(&log->file.log.metadata->is_connected, 1);
    return publication != NULL ? log : NULL;
}

/* The work of an IPC conductor: clean behind the reader, raise the limit. */
static inline void drive(fake_log_t *log)
{
    const int64_t consumed = rsti_load_acquire_i64(fake_value(reader_counter));
    while (rsti_log_clean_up_to(&log->file.log, &log->clean_position, consumed) > 0) {
    }
    rsti_store_release_i64(fake_value(log->counter_id), consumed + FAKE_TERM / 2);
}

static inline const rst_message_t *message(int32_t index)
{
    return &rst_batch_messages(batch, NULL)[index];
}

#endif
