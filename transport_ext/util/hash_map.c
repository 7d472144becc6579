#include "util/hash_map.h"

#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#define CAPACITY_MIN 8

static size_t slot_of(int64_t key, size_t capacity)
{
    /* Registration ids are dense, and compound keys differ in few bits: mix before masking. */
    uint64_t hash = (uint64_t)key;
    hash = (hash ^ (hash >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    hash = (hash ^ (hash >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(hash ^ (hash >> 32)) & (capacity - 1);
}

/* The slot that holds the key, or the free slot where it would go. */
static size_t find_slot(const rsti_hash_map_t *map, int64_t key)
{
    size_t slot = slot_of(key, map->capacity);
    while (map->values[slot] != NULL && map->keys[slot] != key) {
        slot = (slot + 1) & (map->capacity - 1);
    }
    return slot;
}

void rsti_hash_map_fini(rsti_hash_map_t *map)
{
    rsti_free(map->keys);
    rsti_free(map->values);
    *map = (rsti_hash_map_t){0};
}

static int grow(rsti_hash_map_t *map)
{
    rsti_hash_map_t bigger = {.capacity = map->capacity == 0 ? CAPACITY_MIN : map->capacity * 2};
    bigger.keys = rsti_alloc(bigger.capacity * sizeof *bigger.keys);
    bigger.values = rsti_alloc(bigger.capacity * sizeof *bigger.values);
    if (bigger.keys == NULL || bigger.values == NULL) {
        rsti_hash_map_fini(&bigger);
        return -RST_ENOMEM;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->values[i] != NULL) {
            size_t slot = find_slot(&bigger, map->keys[i]);
            bigger.keys[slot] = map->keys[i];
            bigger.values[slot] = map->values[i];
        }
    }
    bigger.count = map->count;
    rsti_hash_map_fini(map);
    *map = bigger;
    return 0;
}

int rsti_hash_map_put(rsti_hash_map_t *map, int64_t key, void *value)
{
    RST_ASSERT(value != NULL);
    if ((map->count + 1) * 3 > map->capacity * 2) {
        int result = grow(map);
        if (result < 0) {
            return result;
        }
    }
    size_t slot = find_slot(map, key);
    if (map->values[slot] == NULL) {
        map->count++;
    }
    map->keys[slot] = key;
    map->values[slot] = value;
    return 0;
}

void *rsti_hash_map_get(const rsti_hash_map_t *map, int64_t key)
{
    return map->count == 0 ? NULL : map->values[find_slot(map, key)];
}

void *rsti_hash_map_remove(rsti_hash_map_t *map, int64_t key)
{
    if (map->count == 0) {
        return NULL;
    }
    size_t mask = map->capacity - 1;
    size_t hole = find_slot(map, key);
    void *removed = map->values[hole];
    if (removed == NULL) {
        return NULL;
    }
    /* Moves later entries of the probe chain back into the hole: no tombstones to collect. An entry
     * may move when its home slot does not lie behind the hole, seen around the ring. */
    for (size_t next = (hole + 1) & mask; map->values[next] != NULL; next = (next + 1) & mask) {
        size_t home = slot_of(map->keys[next], map->capacity);
        if (((next - home) & mask) >= ((next - hole) & mask)) {
            map->keys[hole] = map->keys[next];
            map->values[hole] = map->values[next];
            hole = next;
        }
    }
    map->values[hole] = NULL;
    map->count--;
    return removed;
}

void rsti_hash_map_for_each(const rsti_hash_map_t *map,
    void (*on_entry)(void *arg, int64_t key, void *value), void *arg)
{
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->values[i] != NULL) {
            on_entry(arg, map->keys[i], map->values[i]);
        }
    }
}
