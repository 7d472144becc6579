/* counter.h: counters that applications keep in the driver directory, beside the driver's own, and
 * looking at all of them. */
#ifndef RSTREAM_COUNTER_H
#define RSTREAM_COUNTER_H

#include "rstream/rstream.h"

typedef struct rst_user_counter_t rst_user_counter_t;

/* type_id: at least 1000, below is Aeron's. key: at most 112 bytes, may be NULL. label: at most 380
 * bytes. A correlation id to be awaited and taken. */
RST_API int64_t rst_client_add_counter(rst_client_t *client, int32_t type_id, const void *key,
    size_t key_length, const char *label);
/* A counter that belongs to nobody and outlives its maker: the one with this type and registration
 * id when there is one already, else a new one. Refused when it is one that belongs to a client. */
RST_API int64_t rst_client_add_static_counter(rst_client_t *client, int32_t type_id,
    int64_t registration_id, const void *key, size_t key_length, const char *label);
RST_API rst_user_counter_t *rst_client_take_counter(rst_client_t *client, int64_t correlation_id);

RST_API int32_t rst_user_counter_id(const rst_user_counter_t *counter);
RST_API int64_t rst_user_counter_registration_id(const rst_user_counter_t *counter);
/* Any thread; one writer unless all of them add. The value of a closed counter is 0, and what is
 * written into it goes nowhere: its place may be another's already. */
RST_API int64_t rst_user_counter_get(const rst_user_counter_t *counter);
RST_API void rst_user_counter_set(rst_user_counter_t *counter, int64_t value);
RST_API int64_t rst_user_counter_add(rst_user_counter_t *counter, int64_t delta); /* value before */
RST_API bool rst_user_counter_propose_max(rst_user_counter_t *counter, int64_t value);
RST_API bool rst_user_counter_is_closed(const rst_user_counter_t *counter);
/* Frees it in the driver; of a static one only the handle goes. */
RST_API void rst_user_counter_close(rst_user_counter_t *counter);

/* Of any counter of the driver: id, or -1. */
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
/* Counters of all clients that came and went, in order: 1 stored, 0 none. A bounded queue of 256:
 * the oldest goes when it is full. */
RST_API int rst_client_next_counter_event(rst_client_t *client, rst_counter_event_t *event);
RST_API int64_t rst_client_counter_events_lost(const rst_client_t *client);

#endif
