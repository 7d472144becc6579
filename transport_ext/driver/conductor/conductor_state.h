/* conductor_state.h: the state of the conductor between its passes. Written by: conductor.
 *
 * Convention for all headers in driver/conductor: only the conductor's thread calls the functions.
 * They do not block, and void functions cannot fail, unless their comment says otherwise. "With a
 * trail" means that the error trail of the thread holds the error text. */
#ifndef RSTI_DRIVER_CONDUCTOR_CONDUCTOR_STATE_H
#define RSTI_DRIVER_CONDUCTOR_CONDUCTOR_STATE_H

#include "channel/channel.h"
#include "cnc/death_watch.h"
#include "driver/base/driver_state.h"
#include "driver/base/port_manager.h"
#include "util/ptr_array.h"
#include "util/rng.h"
#include "util/secret.h"

#define RSTI_RESPONSE_MAX 8192
/* An image stays for this many status message timeouts after the end of its stream. */
#define RSTI_DRAIN_SM_TIMEOUTS 5
/* An image whose last subscriber has left stays for this many: its sender is told three times, and
 * the port is free again soon. */
#define RSTI_LEFT_SM_TIMEOUTS 2

/* A name that must be resolved again because its address no longer answers. */
typedef struct rsti_reresolution_t {
    void *endpoint;
    int64_t registration_id; /* of a manual destination; -1: the endpoint's own name */
} rsti_reresolution_t;
/* Most look-ups at one time. The sender asks again within a second for the names beyond it. */
#define RSTI_RERESOLUTIONS_MAX 64

struct rsti_conductor_t {
    rsti_ids_t ids;    /* of sessions, terms and receivers: strangers see them */
    rsti_rng_t delays; /* of NAKs and of what members of a group tell */
    rsti_ptr_array_t clients, subscriptions, ipc_publications, publications, images;
    rsti_ptr_array_t send_endpoints, receive_endpoints;
    rsti_ptr_array_t budget_connections; /* rsti_budget_connection_t */
    rsti_ptr_array_t peer_notes; /* peer_notes.c */
    rsti_ptr_array_t group_keys; /* group_keys.c */
    int32_t refusals_logged;
    rsti_ptr_array_t freed_logs; /* rsti_log_file_t of freed publications and images */
    int64_t free_retry_ns;
    int64_t now_ns;
    int64_t timer_due_ns;
    int64_t evictions_due_ns; /* INT64_MAX: no subscription uses rs-evict */
    int64_t image_error_due_ns; /* no failure to make an image is logged before */
    int64_t rejection_due_ns;   /* no rejection of an image is logged before */
    int64_t clients_check_due_ns;
    int64_t clientless_since_ns;
    rsti_death_watch_t deaths;
    bool has_deaths; /* written by the poller of the conductor's thread */
    int32_t dead_count; /* dead clients that are not removed yet */
    int64_t dead_since_ns; /* the first of them */
    int64_t deaths_due_ns; /* no look before, unless has_deaths */
    int64_t ring_head;
    int64_t ring_moved_ns;
    int32_t wildcard_count;
    rsti_port_manager_t sender_ports, receiver_ports;
    int64_t files_damaged; /* rsti_map_guard_damaged() of the last pass */
    int32_t closing_count; /* endpoints that their agent has not released yet */
    int64_t moved_limits; /* publication limits and windows that moved in this pass */
    bool has_responses;
    /* a name look-up runs in its thread; it does not keep the conductor awake */
    bool is_looking_up;
    rsti_reresolution_t reresolutions[RSTI_RERESOLUTIONS_MAX];
    int32_t reresolution_count;
    rsti_ptr_array_t waiting; /* commands that cannot be carried out yet; waiting.h */
    rsti_channel_t channel;
    uint8_t response[RSTI_RESPONSE_MAX];
};

#endif
