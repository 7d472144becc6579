/* model.h: the oracle: what every writer published and what every reader received.
 *
 * A writer is one publication handle of one client. Its messages carry the writer's number and
 * their own, so a reader's view is compared message by message: on a reliable stream each image
 * delivers one unbroken run of each writer's messages, from the position where the image joined to
 * the position where it ended. */
#ifndef RSTI_SIM_MODEL_H
#define RSTI_SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_MESSAGE_MAX 8192
/* messages of at least this length carry their identity in their first bytes */
#define SIM_ID_LENGTH 8

typedef struct sim_writer_t sim_writer_t;
typedef struct sim_view_t sim_view_t; /* one image of one subscription */

void sim_model_init(void);

/* ---- writing ---- */

sim_writer_t *sim_writer_begin(int32_t driver_process_id, int32_t session_id, int32_t stream_id,
    int32_t max_payload, bool is_ipc);
int32_t sim_writer_next(const sim_writer_t *writer); /* number of the next message */
/* Identity for the reserved value. */
int64_t sim_writer_identity(const sim_writer_t *writer, int32_t number);
void sim_writer_fill(const sim_writer_t *writer, int32_t number, uint8_t *message, size_t length);
/* Called before the call that may publish messages [next, next + count) and may never return. */
void sim_writer_attempts(sim_writer_t *writer, int32_t count, const int32_t *lengths);
/* The call returned and took some of them; position: behind the last one. */
void sim_writer_took(sim_writer_t *writer, int32_t count, int64_t position);
/* The publication was closed in order; is_revoked: readers may miss the end. */
void sim_writer_end(sim_writer_t *writer, bool is_revoked);
/* The driver or the client died, or one gave the other up. */
void sim_writer_lost(sim_writer_t *writer);

/* ---- reading ---- */

/* is_sure: this reader must see everything to the end (no death or long pause between them). */
sim_view_t *sim_view_begin(int32_t subscriber, int32_t session_id, int32_t stream_id,
    int64_t join_position, bool is_reliable, bool is_sure);
/* The join position became known later. */
void sim_view_joined(sim_view_t *view, int64_t join_position, int64_t image_id);
int64_t sim_view_image_id(const sim_view_t *view); /* 0: not known yet */
void sim_view_got(sim_view_t *view, const uint8_t *message, size_t length, int64_t position,
    int64_t reserved_value);
/* end_position: INT64_MAX when the stream did not end in order. */
void sim_view_end(sim_view_t *view, int64_t position, int64_t end_position);
void sim_view_left(sim_view_t *view); /* the reader closed */
/* A hostile host began the session. The view may stay empty, but what a publisher sends in it must
 * be complete. */
void sim_view_is_forged(sim_view_t *view);

/* ---- judging ---- */

/* is_complete: everything that was sent must have arrived; else ends may be missing. */
void sim_model_check(bool is_complete);
int64_t sim_model_delivered(void);

#endif
