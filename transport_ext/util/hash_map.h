/* hash_map.h: int64 key to pointer, open addressing, doubles at 2/3 full. Not thread-safe.
 * Values are never NULL. */
#ifndef RSTI_UTIL_HASH_MAP_H
#define RSTI_UTIL_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct rsti_hash_map_t {
    int64_t *keys;
    void **values;
    size_t capacity; /* power of two, 0 before the first put */
    size_t count;
} rsti_hash_map_t;

/* Zeroed storage is a valid empty map. */
void rsti_hash_map_fini(rsti_hash_map_t *map);
int rsti_hash_map_put(rsti_hash_map_t *map, int64_t key, void *value); /* 0 or -RST_ENOMEM */
void *rsti_hash_map_get(const rsti_hash_map_t *map, int64_t key);      /* NULL when absent */
void *rsti_hash_map_remove(rsti_hash_map_t *map, int64_t key);         /* NULL when absent */
void rsti_hash_map_for_each(const rsti_hash_map_t *map,
    void (*on_entry)(void *arg, int64_t key, void *value), void *arg);

#endif
