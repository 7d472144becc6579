#include "util/ptr_array.h"

#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/fault.h"

#define CAPACITY_MIN 8

void rsti_ptr_array_fini(rsti_ptr_array_t *array)
{
    rsti_free(array->items);
    *array = (rsti_ptr_array_t){0};
}

int rsti_ptr_array_add(rsti_ptr_array_t *array, void *item)
{
    if (array->count == array->capacity) {
        size_t capacity = array->capacity == 0 ? CAPACITY_MIN : array->capacity * 2;
        void **items = rsti_realloc(array->items, array->count * sizeof *items,
            capacity * sizeof *items);
        if (items == NULL) {
            return -RST_ENOMEM;
        }
        array->items = items;
        array->capacity = capacity;
    }
    array->items[array->count++] = item;
    return 0;
}

void rsti_ptr_array_remove_at(rsti_ptr_array_t *array, size_t index)
{
    RST_ASSERT(index < array->count);
#if RSTI_FAULT == RSTI_FAULT_REMOVE
    array->count--;
#else
    array->items[index] = array->items[--array->count];
#endif
    array->items[array->count] = NULL;
}

int rsti_ptr_array_remove(rsti_ptr_array_t *array, const void *item)
{
    for (size_t i = 0; i < array->count; i++) {
        if (array->items[i] == item) {
            rsti_ptr_array_remove_at(array, i);
            return 1;
        }
    }
    return 0;
}
