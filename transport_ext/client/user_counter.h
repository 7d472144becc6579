/* user_counter.h: a counter that an application allocated through this client. Values are read and
 * written by any thread without a lock. */
#ifndef RSTI_CLIENT_USER_COUNTER_H
#define RSTI_CLIENT_USER_COUNTER_H

#include "client/client_state.h"

struct rst_user_counter_t {
    int32_t refs;      /* atomic */
    int32_t is_closed; /* atomic */
    int32_t generation;
    bool is_static; /* the driver keeps it when this client goes */
    rst_client_t *client;
    int64_t correlation_id;
    int64_t registration_id;
    int32_t counter_id;
    rsti_counter_value_t *value;
};

typedef struct rsti_user_counter_params_t {
    int64_t correlation_id;
    int64_t registration_id;
    int32_t counter_id;
    bool is_static;
} rsti_user_counter_params_t;

/* Makes the client's side of a counter that the driver has announced; the caller owns the one
 * reference. The caller holds client->lock. NULL with a trail. */
rst_user_counter_t *rsti_user_counter_create(rst_client_t *client,
    const rsti_user_counter_params_t *params);
void rsti_user_counter_unref(rst_user_counter_t *counter);
/* Marks it as closed. Any thread. */
void rsti_user_counter_kill(rst_user_counter_t *counter);

#endif
