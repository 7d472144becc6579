/* polls.h: all polls but the plain one (polls.c): polls with callbacks, of fragments or whole
 * messages, of all images or one; bounded polls; blocks of raw frames. */
#ifndef RSTI_SIM_POLLS_H
#define RSTI_SIM_POLLS_H

#include "rstream/image.h"
#include "tests/sim/actors.h"

typedef struct sim_poll_t {
    sim_subscriber_t *reader;
    rst_subscription_t *subscription;
    rst_batch_t *batch;
    bool is_in_batch; /* the messages lie in the batch; else they are already handed to the model */
} sim_poll_t;

void sim_reading_begin(const sim_subscriber_t *reader);
/* Like rst_subscription_poll, by one of the reader's polls. */
int sim_reading_poll(sim_poll_t *poll);
/* The subscription is closed; handles of its images may still be open. */
void sim_reading_end(const sim_subscriber_t *reader);

/* ---- frame_reader.c ---- */

void sim_frames_begin(const sim_subscriber_t *reader);
/* end: the position up to which it was read. */
void sim_frames_on_image_gone(const sim_subscriber_t *reader, int32_t session_id, int64_t end);
/* A whole message of a batch. */
void sim_frames_got(sim_subscriber_t *reader, const rst_message_t *message);
/* A message from a callback; data: all of it. */
void sim_frames_take_whole(sim_subscriber_t *reader, const rst_fragment_t *fragment,
    const uint8_t *data, int32_t length, int64_t reserved_value);
void sim_frames_take(sim_subscriber_t *reader, const rst_fragment_t *fragment);
/* Raw frames of one session; begin: the position where they lie. */
void sim_frames_take_block(sim_subscriber_t *reader, const uint8_t *frames, size_t length,
    int32_t session_id, int64_t begin);
void sim_frames_aborted(const sim_subscriber_t *reader, int32_t session_id, int64_t position);
bool sim_frames_has_aborted(const sim_subscriber_t *reader);
void sim_frames_check_again(const sim_subscriber_t *reader, int32_t session_id, int64_t position);

/* subscriber.c: a whole message came. */
void sim_subscriber_got(sim_subscriber_t *reader, const rst_message_t *message);

#endif
