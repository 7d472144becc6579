/* publication.h: a user's handle of a publication.
 *
 * offer.c writes to the log without a lock, in the caller's thread. The conductor creates
 * publications and marks them as closed, under client->lock. */
#ifndef RSTI_CLIENT_PUBLICATION_H
#define RSTI_CLIENT_PUBLICATION_H

#include "client/client_state.h"
#include "client/shared_log.h"
#include "logbuffer/appender.h"
#include "protocol/command.h"

struct rst_publication_t {
    rsti_appender_t appender;
    int32_t is_closed; /* atomic */
    int32_t generation;
    bool is_rstream;
    bool is_ipc;
    int32_t last_reason;          /* atomic: the reason of the last refused offer, for waiters */
    int32_t demand_was_connected; /* atomic: as rst_publication_demand last returned it */
    int64_t demand_seen;          /* atomic: likewise, its `change` */
    int64_t sent_position;        /* atomic: after the last message that was taken; 0: none */
    rsti_log_ext_t *ext;
    rst_client_t *client;
    rsti_shared_log_t *log;
    int32_t max_message_length;
    int32_t refs;                /* atomic */
    int64_t correlation_id;      /* of the command that made this handle */
    int64_t registration_id;     /* of the driver's publication, which handles may share */
    int32_t consumed_counter_id; /* atomic: a cache; negative: not found yet */
    int32_t channel_status_id;
    char *channel;
    /* under client->lock: a ring of RSTI_PUBLICATION_ERRORS_MAX, allocated at the first error */
    rst_publication_error_t *errors;
    uint32_t errors_head, errors_tail;
    int64_t errors_lost;
    struct rsti_segments_t *segments; /* segments.h; NULL: none was needed. One thread at a time */
};

/* Makes the client's side of a publication that the driver has announced; the caller owns the one
 * reference. The caller holds client->lock. NULL with a trail. */
rst_publication_t *rsti_publication_create(rst_client_t *client, const char *channel,
    const rsti_response_t *response);
void rsti_publication_ref(rst_publication_t *publication);
void rsti_publication_unref(rst_publication_t *publication);
/* Marks it as closed: offers are refused from now on. Any thread. */
void rsti_publication_kill(rst_publication_t *publication);

/* The result for a handle that is NULL, forked or closed: RST_ERROR or -RST_EFORKED with a trail,
 * or RST_CLOSED. */
int64_t rsti_publication_refuse(const rst_publication_t *publication);
/* Whether a waiter for room should return: an offer may now be accepted, or the publication was
 * closed or lost its connection. Any thread. */
bool rsti_publication_is_ready(const rst_publication_t *publication);

static inline bool rsti_publication_is_usable(const rst_publication_t *publication)
{
    return publication != NULL && rsti_load_relaxed_i32(&publication->is_closed) == 0
        && !rsti_is_forked(publication->generation);
}

static inline bool rsti_publication_is_log_connected(const rst_publication_t *publication)
{
    return rsti_load_acquire_i32(&publication->log->file.log.metadata->is_connected) != 0;
}

#endif
