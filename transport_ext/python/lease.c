/* lease.c: see lease.h. */
#include "lease.h"

#include "handle_life.h"
#include "large.h"

bool rsti_py_subscription_release(rsti_py_subscription_t *self)
{
    rsti_py_batch_t *batch = self->current;

    if (batch != NULL) {
        if (batch->exports > 0) {
            return false;
        }
        batch->is_released = true;
        batch->messages = NULL;
        self->current = NULL;
        rst_batch_release(self->batch);
        rsti_py_large_drain(self);
    }
    return true;
}

void rsti_py_batch_export(rsti_py_batch_t *self, int32_t change)
{
    rsti_py_handle_t *handle = &self->subscription->handle;

    self->exports += change;
    handle->pins += change;
    if (handle->pins == 0 && handle->is_closed) {
        rsti_py_handle_finish(handle);
    }
}

PyObject *rsti_py_batch_raise_released(const rsti_py_batch_t *self)
{
    return rsti_py_raise_at(&self->subscription->handle, RST_ECLOSED,
        "the batch was released (by release(), the next poll, or close): copy what you keep");
}
