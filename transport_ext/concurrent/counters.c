#include "concurrent/counters.h"

#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"

#include <stdbool.h>

int rsti_counters_init(rsti_counters_t *counters, void *values, size_t values_length,
    void *metadata, size_t metadata_length)
{
    size_t count = values_length / RSTI_COUNTER_VALUE_LENGTH;
    if (count == 0 || count > INT32_MAX || metadata_length / RSTI_COUNTER_METADATA_LENGTH < count) {
        return RST_SET_ERR(RST_EINVAL,
            "counters: %zu bytes of values need %d times as many of metadata, got %zu",
            values_length, RSTI_COUNTER_METADATA_LENGTH / RSTI_COUNTER_VALUE_LENGTH,
            metadata_length);
    }
    if ((((uintptr_t)values | (uintptr_t)metadata) & 7) != 0) {
        return RST_SET_ERR(RST_EINVAL, "counter memory must be aligned to 8 bytes");
    }
    *counters = (rsti_counters_t){
        .values = values,
        .metadata = metadata,
        .max_counter_id = (int32_t)count - 1,
    };
    return 0;
}

static int32_t bounded_label_length(int32_t length)
{
    return length < 0 ? 0 : rsti_min_i32(length, RSTI_COUNTER_LABEL_MAX);
}

/* False: the counter was freed, or freed and taken again, while it was copied. */
static bool copy_counter(const rsti_counters_t *counters, int32_t counter_id,
    rsti_counter_view_t *view)
{
    const rsti_counter_value_t *value = &counters->values[counter_id];
    const rsti_counter_metadata_t *metadata = &counters->metadata[counter_id];
    view->counter_id = counter_id;
    view->type_id = rsti_load_relaxed_i32(&metadata->type_id);
    view->registration_id = rsti_load_acquire_i64(&value->registration_id);
    view->owner_id = rsti_load_relaxed_i64(&value->owner_id);
    view->reference_id = rsti_load_relaxed_i64(&value->reference_id);
    view->value = rsti_load_acquire_i64(&value->value);
    rsti_copy_from_shared(view->key, metadata->key, sizeof view->key);
    int32_t label_length = bounded_label_length(rsti_load_acquire_i32(&metadata->label_length));
    rsti_copy_from_shared(view->label, (const uint8_t *)metadata->label, (size_t)label_length);
    view->label[label_length] = '\0';
    rsti_acquire_fence();
    return rsti_load_acquire_i32(&metadata->state) == RSTI_COUNTER_ALLOCATED
        && rsti_load_relaxed_i64(&value->registration_id) == view->registration_id;
}

void rsti_counters_for_each(const rsti_counters_t *counters,
    _Bool (*on_counter)(void *arg, const rsti_counter_view_t *view), void *arg)
{
    rsti_counter_view_t view;
    for (int32_t id = 0; id <= counters->max_counter_id; id++) {
        int32_t state = rsti_load_acquire_i32(&counters->metadata[id].state);
        if (state == RSTI_COUNTER_UNUSED) {
            return;
        }
        if (state == RSTI_COUNTER_ALLOCATED && copy_counter(counters, id, &view)
            && !on_counter(arg, &view)) {
            return;
        }
    }
}

_Bool rsti_counters_view(const rsti_counters_t *counters, int32_t counter_id,
    rsti_counter_view_t *view)
{
    RST_ASSERT(counter_id >= 0 && counter_id <= counters->max_counter_id);
    return rsti_load_acquire_i32(&counters->metadata[counter_id].state) == RSTI_COUNTER_ALLOCATED
        && copy_counter(counters, counter_id, view);
}

int32_t rsti_counters_find(const rsti_counters_t *counters, int32_t type_id,
    int64_t registration_id)
{
    for (int32_t id = 0; id <= counters->max_counter_id; id++) {
        const rsti_counter_metadata_t *metadata = &counters->metadata[id];
        int32_t state = rsti_load_acquire_i32(&metadata->state);
        if (state == RSTI_COUNTER_UNUSED) {
            break;
        }
        if (state == RSTI_COUNTER_ALLOCATED && rsti_load_relaxed_i32(&metadata->type_id) == type_id
            && rsti_load_acquire_i64(&counters->values[id].registration_id) == registration_id) {
            return id;
        }
    }
    return RSTI_NULL_COUNTER;
}

void rsti_counters_append_label(rsti_counters_t *counters, int32_t counter_id, const char *text)
{
    if (counter_id < 0 || counter_id > counters->max_counter_id) {
        return;
    }
    rsti_counter_metadata_t *metadata = &counters->metadata[counter_id];
    int32_t length = bounded_label_length(rsti_load_relaxed_i32(&metadata->label_length));
    size_t added = strnlen(text, (size_t)(RSTI_COUNTER_LABEL_MAX - length));
    rsti_copy_to_shared((uint8_t *)metadata->label + length, text, added);
    rsti_store_release_i32(&metadata->label_length, length + (int32_t)added);
}

void rsti_counters_set_label(rsti_counters_t *counters, int32_t counter_id, const char *text)
{
    if (counter_id >= 0 && counter_id <= counters->max_counter_id) {
        rsti_store_release_i32(&counters->metadata[counter_id].label_length, 0);
        rsti_counters_append_label(counters, counter_id, text);
    }
}

int rsti_counters_manager_init(rsti_counters_manager_t *manager, void *values, size_t values_length,
    void *metadata, size_t metadata_length, int64_t reuse_timeout_ms)
{
    *manager = (rsti_counters_manager_t){
        .high_water_mark = -1,
        .free_to_reuse_timeout_ms = reuse_timeout_ms,
    };
    if (rsti_counters_init(&manager->counters, values, values_length, metadata, metadata_length)
        < 0) {
        return -rst_last_error_code();
    }
    manager->owners = rsti_alloc(((size_t)manager->counters.max_counter_id + 1)
        * sizeof manager->owners[0]);
    return manager->owners != NULL ? 0 : -RST_ENOMEM;
}

void rsti_counters_manager_fini(rsti_counters_manager_t *manager)
{
    rsti_free(manager->free_ids);
    rsti_free(manager->owners);
    manager->free_ids = NULL;
    manager->owners = NULL;
    manager->free_count = 0;
    manager->free_capacity = 0;
}

/* The first id of the free list that has cooled down, so that a reader that still holds the old
 * counter had time to notice. RSTI_NULL_COUNTER: none has. */
static int32_t take_free_id(rsti_counters_manager_t *manager, int64_t now_ms)
{
    for (size_t i = 0; i < manager->free_count; i++) {
        int32_t id = manager->free_ids[i];
        if (now_ms
            >= rsti_load_relaxed_i64(&manager->counters.metadata[id].free_for_reuse_deadline_ms)) {
            manager->free_count--;
            memmove(&manager->free_ids[i], &manager->free_ids[i + 1],
                (manager->free_count - i) * sizeof manager->free_ids[0]);
            return id;
        }
    }
    return RSTI_NULL_COUNTER;
}

/* Extends the free list here, so that freeing a counter never fails. */
static int32_t take_new_id(rsti_counters_manager_t *manager)
{
    if (manager->high_water_mark >= manager->counters.max_counter_id) {
        return RST_SET_ERR(RST_EFULL,
            "all %d counters are in use or cooling down: make the counters buffer larger",
            manager->counters.max_counter_id + 1);
    }
    size_t needed = (size_t)manager->high_water_mark + 2;
    if (needed > manager->free_capacity) {
        size_t capacity = manager->free_capacity == 0 ? 64 : manager->free_capacity * 2;
        int32_t *ids = rsti_realloc(manager->free_ids, manager->free_count * sizeof *ids,
            capacity * sizeof *ids);
        if (ids == NULL) {
            return -RST_ENOMEM;
        }
        manager->free_ids = ids;
        manager->free_capacity = capacity;
    }
    return ++manager->high_water_mark;
}

static size_t cut_at(size_t length, size_t max)
{
    return length < max ? length : max;
}

int32_t rsti_counters_allocate(rsti_counters_manager_t *manager, int32_t type_id, const void *key,
    size_t key_length, const char *label, size_t label_length, int64_t now_ms)
{
    int32_t id = take_free_id(manager, now_ms);
    if (id < 0) {
        id = take_new_id(manager);
    }
    if (id < 0) {
        return id;
    }
    rsti_counter_value_t *value = &manager->counters.values[id];
    rsti_counter_metadata_t *metadata = &manager->counters.metadata[id];
    manager->owners[id] = -1; /* until rsti_counters_set_ids */
    rsti_store_relaxed_i64(&value->owner_id, 0);
    rsti_store_relaxed_i64(&value->reference_id, 0);
    rsti_zero_shared(value->spare, sizeof value->spare);
    rsti_store_release_i64(&value->registration_id, 0);
    rsti_store_release_i64(&value->value, 0);

    size_t kept_key = key == NULL ? 0 : cut_at(key_length, RSTI_COUNTER_KEY_MAX);
    size_t kept_label = cut_at(label_length, RSTI_COUNTER_LABEL_MAX);
    rsti_store_relaxed_i32(&metadata->type_id, type_id);
    rsti_store_relaxed_i64(&metadata->free_for_reuse_deadline_ms, INT64_MAX);
    rsti_copy_to_shared(metadata->key, key, kept_key);
    rsti_zero_shared(metadata->key + kept_key, RSTI_COUNTER_KEY_MAX - kept_key);
    rsti_copy_to_shared((uint8_t *)metadata->label, label, kept_label);
    rsti_store_release_i32(&metadata->label_length, (int32_t)kept_label);
    rsti_store_release_i32(&metadata->state, RSTI_COUNTER_ALLOCATED);
    return id;
}

void rsti_counters_set_ids(rsti_counters_manager_t *manager, int32_t counter_id,
    int64_t registration_id, int64_t owner_id, int64_t reference_id)
{
    RST_ASSERT(counter_id >= 0 && counter_id <= manager->high_water_mark);
    rsti_counter_value_t *value = &manager->counters.values[counter_id];
    manager->owners[counter_id] = owner_id != 0 ? owner_id : -1;
    rsti_store_relaxed_i64(&value->owner_id, owner_id);
    rsti_store_relaxed_i64(&value->reference_id, reference_id);
    rsti_store_release_i64(&value->registration_id, registration_id);
}

/* False: it is not allocated. */
static bool reclaim(rsti_counters_manager_t *manager, int32_t counter_id, int64_t deadline_ms)
{
    if (counter_id < 0 || counter_id > manager->high_water_mark
        || manager->free_count >= manager->free_capacity) {
        return false;
    }
    rsti_counter_metadata_t *metadata = &manager->counters.metadata[counter_id];
    if (rsti_load_relaxed_i32(&metadata->state) != RSTI_COUNTER_ALLOCATED) {
        return false;
    }
    rsti_store_release_i32(&metadata->state, RSTI_COUNTER_RECLAIMED);
    rsti_release_fence();
    rsti_zero_shared(metadata->key, RSTI_COUNTER_KEY_MAX);
    rsti_store_relaxed_i64(&metadata->free_for_reuse_deadline_ms, deadline_ms);
    return true;
}

void rsti_counters_free(rsti_counters_manager_t *manager, int32_t counter_id, int64_t now_ms)
{
    if (reclaim(manager, counter_id,
            rsti_saturating_add_i64(now_ms, manager->free_to_reuse_timeout_ms))) {
        manager->free_ids[manager->free_count++] = counter_id;
    }
}

/* At the front, where take_free_id finds it before those that cool down. */
void rsti_counters_free_at_once(rsti_counters_manager_t *manager, int32_t counter_id,
    int64_t now_ms)
{
    if (reclaim(manager, counter_id, now_ms)) {
        memmove(&manager->free_ids[1], &manager->free_ids[0],
            manager->free_count * sizeof manager->free_ids[0]);
        manager->free_ids[0] = counter_id;
        manager->free_count++;
        manager->owners[counter_id] = 0;
    }
}

static void forget_old_owners(rsti_counters_manager_t *manager, int64_t now_ms)
{
    for (size_t i = 0; i < manager->free_count; i++) {
        const int32_t id = manager->free_ids[i];
        if (now_ms
            >= rsti_load_relaxed_i64(&manager->counters.metadata[id].free_for_reuse_deadline_ms)) {
            manager->owners[id] = 0;
        }
    }
}

rsti_counters_shares_t rsti_counters_shares(rsti_counters_manager_t *manager, int64_t owner_id,
    int64_t now_ms)
{
    rsti_counters_shares_t shares = {
        .count = manager->counters.max_counter_id + 1,
        .room = manager->counters.max_counter_id - manager->high_water_mark,
    };
    forget_old_owners(manager, now_ms);
    for (int32_t id = 0; id <= manager->high_water_mark; id++) {
        shares.room += manager->owners[id] == 0;
        shares.owned += manager->owners[id] == owner_id;
    }
    return shares;
}
