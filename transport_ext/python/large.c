/* large.c: see large.h. */
#include "large.h"

#include "concurrent/atomics.h"

#include <stdlib.h>

typedef struct large_t {
    PyObject *bytes;
    struct large_t *next; /* in the list of those let go */
} large_t;

static void *large_alloc(void *arg, size_t length, void **owner)
{
    large_t *large = malloc(sizeof(*large));

    (void)arg;
    if (large == NULL) {
        return NULL;
    }
    large->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)length);
    if (large->bytes == NULL) {
        PyErr_Clear(); /* the message is skipped, and an event tells why */
        free(large);
        return NULL;
    }
    *owner = large;
    return PyBytes_AsString(large->bytes);
}

static void large_free(void *arg, void *owner)
{
    int64_t *released = &((rsti_py_subscription_t *)arg)->released;
    large_t *large = owner;
    int64_t head;

    do {
        head = rsti_load_relaxed_i64(released);
        large->next = (large_t *)(intptr_t)head;
    } while (!rsti_cas_i64(released, head, (int64_t)(intptr_t)large));
}

void rsti_py_large_drain(rsti_py_subscription_t *subscription)
{
    large_t *large;

    if (rsti_load_relaxed_i64(&subscription->released) == 0) {
        return;
    }
    large = (large_t *)(intptr_t)rsti_exchange_i64(&subscription->released, 0);
    while (large != NULL) {
        large_t *next = large->next;
        Py_DECREF(large->bytes);
        free(large);
        large = next;
    }
}

PyObject *rsti_py_large_bytes(const rst_message_t *message)
{
    PyObject *bytes = ((const large_t *)message->owner)->bytes;

    Py_INCREF(bytes);
    return bytes;
}

PyObject *rsti_py_subscription_take_parts(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    rst_parts_params_t params = {.memory = {large_alloc, large_free, self}};
    int32_t name_hash;
    int result;

    if (!rsti_py_check_count("take_parts", count, 2, 2) || !rsti_py_get_int32(args[0], &name_hash)
        || !rsti_py_get_int32(args[1], &params.length_max)
        || !rsti_py_handle_check_open(&self->handle, "take_parts() after close()")) {
        return NULL;
    }
    if (name_hash < 0 || name_hash > UINT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "name_hash must be 0 to 65535");
        return NULL;
    }
    params.name_hash = (uint16_t)name_hash;
    result = rst_subscription_take_parts(self->subscription, &params);
    if (result < 0) {
        return rsti_py_raise_at(&self->handle, result, NULL);
    }
    Py_RETURN_NONE;
}
