/* lease.c: see lease.h. */
#include "lease.h"

#include "handle_life.h"
#include "large.h"

#define BATCH_CAPACITY_MIN 256

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
    }
    if (batch != NULL || self->is_taken) {
        self->is_taken = false;
        rst_batch_release(self->batch);
        rsti_py_large_drain(self);
    }
    return true;
}

void rsti_py_subscription_unread(rsti_py_subscription_t *self, int32_t first)
{
    if (!self->is_taken) {
        return;
    }
    rst_batch_unread(self->batch, first);
    if (self->current == NULL || self->current->exports == 0) {
        (void)rsti_py_subscription_release(self);
    } else {
        rsti_py_subscription_keep(self->current);
    }
}

static bool use_spare(rsti_py_subscription_t *self)
{
    if (self->batch == NULL) {
        self->batch = self->spare;
        self->spare = NULL;
    }
    return self->batch != NULL;
}

rst_batch_t *rsti_py_subscription_reserve(rsti_py_subscription_t *self, int32_t limit)
{
    int32_t capacity = self->capacity > 0 ? self->capacity : BATCH_CAPACITY_MIN;
    rst_batch_t *batch = NULL;
    int result;

    if (limit <= self->capacity && use_spare(self)) {
        return self->batch;
    }
    while (capacity < limit) {
        capacity *= 2;
    }
    result = rst_batch_create(&batch, capacity);
    if (result < 0) {
        (void)rsti_py_raise_at(&self->handle, result, NULL);
        return NULL;
    }
    rst_batch_destroy(self->batch);
    rst_batch_destroy(self->spare);
    self->spare = NULL;
    self->batch = batch;
    self->capacity = capacity;
    return batch;
}

void rsti_py_subscription_keep(rsti_py_batch_t *batch)
{
    rsti_py_subscription_t *self = batch->subscription;

    if (batch->is_released) {
        return;
    }
    if (batch->exports == 0) {
        (void)rsti_py_subscription_release(self);
        return;
    }
    batch->kept = self->batch;
    batch->kept_capacity = self->capacity;
    batch->is_released = true;
    batch->messages = NULL;
    self->current = NULL;
    self->is_taken = false;
    self->batch = NULL;
    if (!batch->has_log_views) {
        rst_batch_keep_owned(batch->kept);
        rsti_py_large_drain(self);
        self->handle.pins -= batch->exports; /* nothing of the subscription is held any more */
    }
}

bool rsti_py_subscription_set_aside(rsti_py_batch_t *batch)
{
    rsti_py_subscription_t *self = batch->subscription;
    int result;

    if (batch->is_released) {
        return true;
    }
    if (batch->exports > 0) {
        (void)PyErr_Format(PyExc_BufferError, "the batch has %d living view(s)",
            (int)batch->exports);
        return false;
    }
    result = rst_batch_set_aside(self->batch, &batch->aside);
    if (result < 0) {
        (void)rsti_py_raise_at(&self->handle, result, NULL);
        return false;
    }
    batch->is_released = true;
    batch->messages = NULL;
    self->current = NULL;
    self->is_taken = false;
    return true;
}

void rsti_py_batch_end_aside(rsti_py_batch_t *batch, bool is_given_back)
{
    rst_batch_t *aside = batch->aside;

    batch->aside = NULL;
    if (is_given_back) {
        rst_batch_give_back(aside);
    }
    rst_batch_destroy(aside);
    rsti_py_large_drain(batch->subscription);
}

/* Any thread, at any time at which Python drops an object. */
static void end_kept(rsti_py_batch_t *batch)
{
    rsti_py_subscription_t *self = batch->subscription;
    rst_batch_t *kept = batch->kept;

    batch->kept = NULL;
    rst_batch_release(kept);
    rsti_py_large_drain(self);
    if (!self->handle.is_closed && self->spare == NULL && batch->kept_capacity == self->capacity) {
        self->spare = kept;
    } else {
        rst_batch_destroy(kept);
    }
}

void rsti_py_batch_export(rsti_py_batch_t *self, int32_t change)
{
    rsti_py_handle_t *handle = &self->subscription->handle;

    self->exports += change;
    if (self->kept == NULL || self->has_log_views) {
        handle->pins += change;
    }
    if (self->exports == 0 && self->kept != NULL) {
        end_kept(self);
    }
    if (handle->pins == 0 && handle->is_closed) {
        rsti_py_handle_finish(handle);
    }
}

PyObject *rsti_py_batch_raise_released(const rsti_py_batch_t *self)
{
    return rsti_py_raise_at(&self->subscription->handle, RST_ECLOSED,
        "the batch was released (by release(), the next poll, or close): copy what you keep");
}
