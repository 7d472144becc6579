/* readings.h: the other ways to read (readings.c): polls that call back, of fragments or whole
 * messages, of all images or one; bounded polls; blocks of raw frames. */
#ifndef RSTI_SIM_READINGS_H
#define RSTI_SIM_READINGS_H

#include "rstream/image.h"
#include "tests/sim/cast.h"

typedef struct sim_poll_t {
    sim_subscriber_t *reader;
    rst_subscription_t *subscription;
    rst_batch_t *batch;
    bool is_in_batch; /* what was read lies in the batch; else it is told already */
} sim_poll_t;

void sim_reading_begin(const sim_subscriber_t *reader);
/* As rst_subscription_poll, in one of the reader's ways. */
int sim_reading_poll(sim_poll_t *poll);
/* A message of a batch that one of those polls filled. */
void sim_reading_take_message(sim_subscriber_t *reader, const rst_message_t *message);
/* One entry of a batch that a block poll filled. */
void sim_reading_take_block(sim_subscriber_t *reader, const rst_message_t *block);
/* An image came or went. */
void sim_reading_on_event(const sim_subscriber_t *reader, int32_t session_id);
/* The subscription is closed; handles of images may be there still. */
void sim_reading_end(const sim_subscriber_t *reader);

/* subscriber.c: a whole message came. */
void sim_subscriber_got(sim_subscriber_t *reader, const rst_message_t *message);

#endif
