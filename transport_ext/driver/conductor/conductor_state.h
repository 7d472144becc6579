/* conductor_state.h: what the conductor keeps between its passes. Written by: conductor. */
#ifndef RSTI_DRIVER_CONDUCTOR_CONDUCTOR_STATE_H
#define RSTI_DRIVER_CONDUCTOR_CONDUCTOR_STATE_H

#include "channel/channel.h"
#include "driver/base/driver_state.h"
#include "driver/base/port_manager.h"
#include "util/ptr_array.h"
#include "util/rng.h"

#define RSTI_RESPONSE_MAX 8192
/* So many status message time-outs pass between the end of a stream and the going of its image. */
#define RSTI_DRAIN_SM_TIMEOUTS 5

/* A name whose address went silent and is looked up again. */
typedef struct rsti_reresolution_t {
    void *endpoint;
    int64_t registration_id; /* of a manual destination; -1: the endpoint's own */
} rsti_reresolution_t;
/* At once; more are asked for again in a second. */
#define RSTI_RERESOLUTIONS_MAX 64

struct rsti_conductor_t {
    rsti_rng_t rng;
    rsti_ptr_array_t clients, subscriptions, ipc_publications, publications, images;
    rsti_ptr_array_t send_endpoints, receive_endpoints;
    rsti_ptr_array_t budget_connections; /* rsti_budget_connection_t */
    rsti_ptr_array_t freed_logs; /* rsti_log_file_t of things that are gone */
    int64_t free_retry_ns;
    int64_t now_ns;
    int64_t timer_due_ns;
    int64_t evictions_due_ns; /* INT64_MAX: no subscription asks for it */
    int64_t image_error_due_ns; /* until then failures to make images are not logged again */
    int64_t clients_check_due_ns;
    int64_t clientless_since_ns;
    int64_t ring_head;
    int64_t ring_moved_ns;
    int32_t next_session_id;
    int64_t next_receiver_id;
    int32_t wildcard_count;
    rsti_port_manager_t sender_ports, receiver_ports;
    int32_t closing_count; /* endpoints that wait for their agent's release */
    bool has_responses;
    bool is_looking_up; /* a name, in another thread: that is no work to stay awake for */
    rsti_reresolution_t reresolutions[RSTI_RERESOLUTIONS_MAX];
    int32_t reresolution_count;
    bool is_retry; /* a command was left in the ring */
    rsti_channel_t channel;
    uint8_t response[RSTI_RESPONSE_MAX];
};

#endif
