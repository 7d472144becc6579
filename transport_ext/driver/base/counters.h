/* counters.h: the driver's counters: allocation with labels and keys
 * (docs/reference/aeron/memory.md 16-18), and release. Allocation and release are called by the
 * conductor; any agent stores values. */
#ifndef RSTI_DRIVER_BASE_COUNTERS_H
#define RSTI_DRIVER_BASE_COUNTERS_H

#include "driver/base/driver_state.h"

/* Allocates the system counters. Called before any other allocation, because their ids are fixed.
 */
int rsti_system_counters_init(rst_driver_t *driver);
/* Allocates rstream's two counters of UDP datagrams, which the sockets update. */
int rsti_datagram_counters_init(rst_driver_t *driver);

typedef struct rsti_stream_counter_t {
    int32_t type_id;
    const char *name;
    int64_t registration_id;
    int64_t client_id;
    int64_t reference_id;
    int32_t session_id;
    int32_t stream_id;
    const char *uri;
    bool has_join_position;
    int64_t value;
} rsti_stream_counter_t;
/* Returns the id, or negative with a trail. *address: the counter's value. */
int32_t rsti_stream_counter_allocate(rst_driver_t *driver, const rsti_stream_counter_t *facts,
    int64_t **address);

/* Values of the counters of channels and of their addresses. */
typedef enum rsti_channel_status_t {
    RSTI_CHANNEL_ERRORED = -1, /* its socket failed to open; visible until the id is reused */
    RSTI_CHANNEL_INITIALISING = 0,
    RSTI_CHANNEL_ACTIVE = 1,
    RSTI_CHANNEL_CLOSING = 2
} rsti_channel_status_t;
/* Returns the id, or negative with a trail. The value is 0, which means initialising. */
int32_t rsti_channel_counter_allocate(rst_driver_t *driver, int32_t type_id, const char *name,
    const char *uri, int64_t registration_id, int64_t client_id);
/* Sets a channel to active, and appends the address of its only socket to the label. */
void rsti_channel_status_bound(rst_driver_t *driver, int32_t channel_status_id,
    rsti_socket_t *socket);
/* Allocates the counter of a bound address. Returns the id, or negative with a trail. */
int32_t rsti_sockaddr_counter_allocate(rst_driver_t *driver, const char *name,
    int32_t channel_status_id, const char *bound_address, int64_t registration_id,
    int64_t client_id);
/* Allocates a counter of the driver itself, with a key of one number or none (NULL). Returns the
 * id, or negative with a trail. */
int32_t rsti_driver_counter_allocate(rst_driver_t *driver, int32_t type_id, const int32_t *key,
    const char *label);
/* Frees a counter and sets *counter_id to -1. */
void rsti_counter_release(rst_driver_t *driver, int32_t *counter_id);
/* Stores a value. Any agent. */
void rsti_counter_store(rst_driver_t *driver, int32_t counter_id, int64_t value);

#endif
