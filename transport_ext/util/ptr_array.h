/* ptr_array.h: growing array of pointers; removal keeps no order (last moves in). */
#ifndef RSTI_UTIL_PTR_ARRAY_H
#define RSTI_UTIL_PTR_ARRAY_H

#include <stddef.h>

typedef struct rsti_ptr_array_t {
    void **items;
    size_t count;
    size_t capacity;
} rsti_ptr_array_t;

/* Zeroed storage is a valid empty array. */
void rsti_ptr_array_fini(rsti_ptr_array_t *array);
int rsti_ptr_array_add(rsti_ptr_array_t *array, void *item); /* 0 or -RST_ENOMEM */
void rsti_ptr_array_remove_at(rsti_ptr_array_t *array, size_t index);
int rsti_ptr_array_remove(rsti_ptr_array_t *array, const void *item); /* 1 removed, 0 absent */

#endif
