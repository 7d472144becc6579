/* counter.h: counters of applications in the driver directory, and reading all counters there. */
#ifndef RSTREAM_COUNTER_H
#define RSTREAM_COUNTER_H

#include "rstream/rstream.h"

typedef struct rst_user_counter_t rst_user_counter_t;

/* type_id: at least 1000; Aeron uses the lower ones. key: at most 112 bytes, may be NULL. label: at
 * most 380 bytes. Returns a correlation id for await and take. */
RST_API int64_t rst_client_add_counter(rst_client_t *client, int32_t type_id, const void *key,
    size_t key_length, const char *label);
/* A counter that no client owns and that outlives its maker. If one with this type and registration
 * id exists, the result is that one, otherwise a new one. Refused if a client owns that counter. */
RST_API int64_t rst_client_add_static_counter(rst_client_t *client, int32_t type_id,
    int64_t registration_id, const void *key, size_t key_length, const char *label);
RST_API rst_user_counter_t *rst_client_take_counter(rst_client_t *client, int64_t correlation_id);

RST_API int32_t rst_user_counter_id(const rst_user_counter_t *counter);
RST_API int64_t rst_user_counter_registration_id(const rst_user_counter_t *counter);
/* Any thread. One thread writes, unless all threads only add. A closed counter reads as 0 and
 * ignores writes: another counter may have its place. */
RST_API int64_t rst_user_counter_get(const rst_user_counter_t *counter);
RST_API void rst_user_counter_set(rst_user_counter_t *counter, int64_t value);
RST_API int64_t rst_user_counter_add(rst_user_counter_t *counter, int64_t delta); /* value before */
RST_API bool rst_user_counter_propose_max(rst_user_counter_t *counter, int64_t value);
RST_API bool rst_user_counter_is_closed(const rst_user_counter_t *counter);
/* Frees the counter in the driver. Of a static counter only the handle is freed. */
RST_API void rst_user_counter_close(rst_user_counter_t *counter);

/* The id of any counter of the driver, or -1. */
RST_API int32_t rst_client_find_counter(const rst_client_t *client, int32_t type_id,
    int64_t registration_id);
RST_API int rst_client_read_counter(const rst_client_t *client, int32_t counter_id,
    rst_counter_t *counter); /* 1 stored, 0 not allocated, -RST_EINVAL no such id */

typedef enum rst_counter_event_kind_t {
    RST_COUNTER_AVAILABLE = 1,
    RST_COUNTER_UNAVAILABLE = 2
} rst_counter_event_kind_t;
typedef struct rst_counter_event_t {
    int kind;
    int32_t counter_id;
    int64_t registration_id;
} rst_counter_event_t;
/* Counters of all clients that came and went, in order. 1: stored; 0: none. The queue holds 256
 * events; a full queue drops its oldest. */
RST_API int rst_client_next_counter_event(rst_client_t *client, rst_counter_event_t *event);
RST_API int64_t rst_client_counter_events_lost(const rst_client_t *client);

#endif
