/* counters.h: counters with labels in shared memory (docs/reference/aeron/memory.md 16). The
 * manager (allocate, free) has one writer: the conductor. Values are written by their owner. */
#ifndef RSTI_CONCURRENT_COUNTERS_H
#define RSTI_CONCURRENT_COUNTERS_H

#include "concurrent/atomics.h"

#include <stddef.h>
#include <stdint.h>

#define RSTI_COUNTER_VALUE_LENGTH 128
#define RSTI_COUNTER_METADATA_LENGTH 512
#define RSTI_COUNTER_KEY_MAX 112
#define RSTI_COUNTER_LABEL_MAX 380
#define RSTI_NULL_COUNTER (-1)

#define RSTI_COUNTER_UNUSED 0
#define RSTI_COUNTER_ALLOCATED 1
#define RSTI_COUNTER_RECLAIMED (-1)

typedef struct rsti_counter_value_t {
    int64_t value;
    int64_t registration_id;
    int64_t owner_id;
    int64_t reference_id;
    uint8_t spare[96]; /* heartbeat counters of rstream clients: see wake.h */
} rsti_counter_value_t;
_Static_assert(sizeof(rsti_counter_value_t) == RSTI_COUNTER_VALUE_LENGTH, "counter value");

typedef struct rsti_counter_metadata_t {
    int32_t state;
    int32_t type_id;
    int64_t free_for_reuse_deadline_ms;
    uint8_t key[RSTI_COUNTER_KEY_MAX];
    int32_t label_length;
    char label[RSTI_COUNTER_LABEL_MAX];
} rsti_counter_metadata_t;
_Static_assert(sizeof(rsti_counter_metadata_t) == RSTI_COUNTER_METADATA_LENGTH, "counter metadata");
_Static_assert(offsetof(rsti_counter_metadata_t, label_length) == 128, "counter metadata");

/* Reader and writer view over the two regions. */
typedef struct rsti_counters_t {
    rsti_counter_value_t *values;
    rsti_counter_metadata_t *metadata;
    int32_t max_counter_id; /* both regions hold ids 0 … max_counter_id */
} rsti_counters_t;

int rsti_counters_init(rsti_counters_t *counters, void *values, size_t values_length,
    void *metadata, size_t metadata_length);

static inline int64_t *rsti_counter_address(const rsti_counters_t *counters, int32_t counter_id)
{
    return &counters->values[counter_id].value;
}

/* One writer: raises the value, never lowers it. */
static inline void rsti_counter_propose_max(int64_t *counter, int64_t value)
{
    if (rsti_load_relaxed_i64(counter) < value) {
        rsti_store_release_i64(counter, value);
    }
}

/* Calls for each allocated counter, from id 0 to the first unused one. on_counter returns false to
 * stop. Keys and labels are copied, bounded and terminated. A counter that was freed while it was
 * copied is left out. */
typedef struct rsti_counter_view_t {
    int32_t counter_id;
    int32_t type_id;
    int64_t value;
    int64_t registration_id;
    int64_t owner_id;
    int64_t reference_id;
    uint8_t key[RSTI_COUNTER_KEY_MAX];
    char label[RSTI_COUNTER_LABEL_MAX + 1];
} rsti_counter_view_t;
void rsti_counters_for_each(const rsti_counters_t *counters,
    _Bool (*on_counter)(void *arg, const rsti_counter_view_t *view), void *arg);
/* One counter. False: it is not allocated, or was freed while it was copied. The id must exist. */
_Bool rsti_counters_view(const rsti_counters_t *counters, int32_t counter_id,
    rsti_counter_view_t *view);
int32_t rsti_counters_find(const rsti_counters_t *counters, int32_t type_id,
    int64_t registration_id); /* id or RSTI_NULL_COUNTER */
/* Appends to a label (client name), truncated at the limit: bytes first, then the length with
 * release. */
void rsti_counters_append_label(rsti_counters_t *counters, int32_t counter_id, const char *text);

/* Replaces a label. A reader meanwhile may see a part of it. */
void rsti_counters_set_label(rsti_counters_t *counters, int32_t counter_id, const char *text);

typedef struct rsti_counters_manager_t {
    rsti_counters_t counters;
    int32_t high_water_mark; /* -1 before the first */
    int32_t *free_ids;
    size_t free_count;
    size_t free_capacity;
    int64_t free_to_reuse_timeout_ms;
    int64_t *owners; /* by id, as set by rsti_counters_set_ids; 0: nobody. In shared memory anybody
                      * could change them */
} rsti_counters_manager_t;

int rsti_counters_manager_init(rsti_counters_manager_t *manager, void *values, size_t values_length,
    void *metadata, size_t metadata_length, int64_t reuse_timeout_ms);
void rsti_counters_manager_fini(rsti_counters_manager_t *manager);
/* key (may be NULL) and label are truncated at their limits. Returns the id, or -RST_EFULL with a
 * trail. */
int32_t rsti_counters_allocate(rsti_counters_manager_t *manager, int32_t type_id, const void *key,
    size_t key_length, const char *label, size_t label_length, int64_t now_ms);
void rsti_counters_set_ids(rsti_counters_manager_t *manager, int32_t counter_id,
    int64_t registration_id, int64_t owner_id, int64_t reference_id);
/* Nobody gets the id for the reuse timeout: a process may still hold it. */
void rsti_counters_free(rsti_counters_manager_t *manager, int32_t counter_id, int64_t now_ms);
/* Nobody holds the id: the next allocation may take it. */
void rsti_counters_free_at_once(rsti_counters_manager_t *manager, int32_t counter_id,
    int64_t now_ms);
typedef struct rsti_counters_shares_t {
    int32_t count; /* of all counters */
    int32_t room; /* of those that may be allocated now */
    int32_t owned; /* of the owner's, also those whose reuse timeout runs */
} rsti_counters_shares_t;
rsti_counters_shares_t rsti_counters_shares(rsti_counters_manager_t *manager, int64_t owner_id,
    int64_t now_ms);

#endif
