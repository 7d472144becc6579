/* pending.h: commands that wait for the driver's answer, and answers that wait for the user.
 *
 * States: SENT -> READY | FAILED; SENT -> CANCELLED when the user gave up. The answer to a
 * cancelled command is undone. A ready pending owns the object that was made until a take function
 * hands it over. All pendings are in client->pending, under client->lock. */
#ifndef RSTI_CLIENT_PENDING_H
#define RSTI_CLIENT_PENDING_H

#include "client/client_state.h"
#include "protocol/command.h"
#include "rstream/counter.h"

typedef enum rsti_pending_state_t {
    RSTI_PENDING_SENT,
    RSTI_PENDING_READY,
    RSTI_PENDING_FAILED,
    RSTI_PENDING_CANCELLED
} rsti_pending_state_t;

typedef enum rsti_pending_kind_t {
    RSTI_PENDING_PUBLICATION,
    RSTI_PENDING_SUBSCRIPTION,
    RSTI_PENDING_COUNTER,
    RSTI_PENDING_SESSION_ID,
    RSTI_PENDING_OPERATION /* makes no object: it is forgotten once it was awaited */
} rsti_pending_kind_t;

typedef struct rsti_pending_t {
    int64_t correlation_id;
    rsti_pending_state_t state;
    rsti_pending_kind_t kind;
    int32_t stream_id;
    int64_t deadline_ns;
    char *channel; /* or destination, label of a counter, reason: for the text of an error */
    rst_publication_t *publication;
    rst_subscription_t *subscription;
    rst_user_counter_t *counter;
    int64_t counter_registration_id; /* static counters */
    bool is_static;
    bool is_on_demand; /* a subscription that wants nothing before it is asked to */
    int32_t session_id;
    int error_code;
    int error_detail;
    char error_text[512];
} rsti_pending_t;

/* A new one. `text` and stream_id name it in error texts. Any thread. NULL with a trail. */
rsti_pending_t *rsti_pending_create(const rst_client_t *client, rsti_pending_kind_t kind,
    const char *text, size_t text_length, int32_t stream_id);
/* Drops the reference to its object too. */
void rsti_pending_free(rsti_pending_t *pending);

/* Enters the pending into client->pending under a new correlation id and returns that id, which is
 * positive. Negative with a trail: the pending stays the caller's. The caller holds client->lock.
 */
int64_t rsti_pending_register(rst_client_t *client, rsti_pending_t *pending);
/* Sends the command under a new correlation id and returns that id. Owns the pending from now on,
 * also after an error. Negative with a trail. Takes client->lock. */
int64_t rsti_client_ask(rst_client_t *client, rsti_pending_t *pending,
    const rsti_command_t *command);
/* Takes the ready pending of this id and kind out; the caller frees it. NULL with a trail. Takes
 * client->lock. */
rsti_pending_t *rsti_client_take(rst_client_t *client, int64_t correlation_id,
    rsti_pending_kind_t kind);

/* Both end the wait for the answer; the caller holds client->lock. */
void rsti_pending_finish(rst_client_t *client, rsti_pending_t *pending, rsti_pending_state_t state);
void rsti_pending_fail(rst_client_t *client, rsti_pending_t *pending, int code, int detail,
    const char *text, size_t length);

#endif
