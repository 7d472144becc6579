/* waiter.c: see waiter.h. */
#include "waiter.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

PyObject *rsti_py_waiter_make(rsti_py_client_t *client)
{
    rsti_py_waiter_t *self = PyObject_New(rsti_py_waiter_t, client->state->waiter_type);
    int result;

    if (self == NULL) {
        return NULL;
    }
    memset((char *)self + sizeof(PyObject), 0, sizeof(*self) - sizeof(PyObject));
    result = rst_waiter_create(&self->waiter, client->client);
    if (result < 0) {
        self->is_closed = true;
        Py_DECREF((PyObject *)self);
        return rsti_py_raise(client->state, result);
    }
    Py_INCREF((PyObject *)client);
    self->client = client;
    self->next = client->waiters;
    if (client->waiters != NULL) {
        client->waiters->previous = self;
    }
    client->waiters = self;
    return (PyObject *)self;
}

bool rsti_py_waiter_check_open(rsti_py_waiter_t *self)
{
    if (self->is_closed) {
        (void)rsti_py_raise_text(self->client->state, RST_ECLOSED, "the waiter was closed");
        return false;
    }
    return true;
}

/* Ends the waits of all threads and keeps new ones from sleeping until `paused` is lowered. */
static void pause_waits(rsti_py_waiter_t *self)
{
    self->paused++;
    rsti_py_drain(self->client, &self->inside, self->waiter);
}

void rsti_py_waiter_close(rsti_py_waiter_t *self)
{
    if (self->is_closed) {
        return;
    }
    self->is_closed = true;
    pause_waits(self);
    while (self->handle_count > 0) {
        rsti_py_handle_t *handle = self->handles[--self->handle_count];
        handle->ops->detach(handle, self->waiter);
        Py_DECREF((PyObject *)handle);
    }
    rst_waiter_destroy(self->waiter);
    self->waiter = NULL;
    if (self->previous != NULL) {
        self->previous->next = self->next;
    } else {
        self->client->waiters = self->next;
    }
    if (self->next != NULL) {
        self->next->previous = self->previous;
    }
    self->previous = NULL;
    self->next = NULL;
    self->paused--;
    rsti_py_client_finish(self->client); /* if the client was closed meanwhile */
}

/* ---- the handles ---- */

static bool reserve(rsti_py_waiter_t *self)
{
    if (self->handle_count == self->handle_capacity) {
        size_t capacity = self->handle_capacity == 0 ? 8 : self->handle_capacity * 2;
        rsti_py_handle_t **handles = realloc(self->handles, capacity * sizeof(*handles));
        if (handles == NULL) {
            (void)PyErr_NoMemory();
            return false;
        }
        self->handles = handles;
        self->handle_capacity = capacity;
    }
    return true;
}

static bool is_attached(const rsti_py_waiter_t *self, const rsti_py_handle_t *handle)
{
    for (size_t i = 0; i < self->handle_count; i++) {
        if (self->handles[i] == handle) {
            return true;
        }
    }
    return false;
}

PyObject *rsti_py_waiter_attach(rsti_py_waiter_t *self, rsti_py_handle_t *handle, bool is_demand)
{
    int result = 0;

    if (!rsti_py_waiter_check_open(self)) {
        return NULL;
    }
    if (handle->client != self->client) {
        return rsti_py_raise_text(self->client->state, RST_EINVAL,
            "the waiter belongs to another client");
    }
    pause_waits(self);
    if (handle->is_closed || self->is_closed) {
        self->paused--;
        return rsti_py_raise_at(handle, RST_ECLOSED, "attach() after close()");
    }
    if (!reserve(self)) {
        self->paused--;
        return NULL;
    }
    result = handle->ops->attach(handle, self->waiter, is_demand);
    if (result >= 0 && !is_attached(self, handle)) {
        Py_INCREF((PyObject *)handle);
        self->handles[self->handle_count++] = handle;
    }
    self->paused--;
    if (result < 0) {
        return rsti_py_raise_at(handle, result, NULL);
    }
    Py_RETURN_NONE;
}

/* Takes the handle out of the list; the caller owns its reference then. False: it was not in the
 * list. */
static bool take_out(rsti_py_waiter_t *self, const rsti_py_handle_t *handle)
{
    for (size_t i = 0; i < self->handle_count; i++) {
        if (self->handles[i] == handle) {
            self->handles[i] = self->handles[--self->handle_count];
            return true;
        }
    }
    return false;
}

void rsti_py_waiter_forget(rsti_py_waiter_t *self, rsti_py_handle_t *handle)
{
    pause_waits(self);
    if (take_out(self, handle)) {
        if (self->waiter != NULL) {
            handle->ops->detach(handle, self->waiter);
        }
        Py_DECREF((PyObject *)handle);
    }
    self->paused--;
}

static rsti_py_waiter_t *find_attached(const rsti_py_client_t *client,
    const rsti_py_handle_t *handle)
{
    for (rsti_py_waiter_t *waiter = client->waiters; waiter != NULL; waiter = waiter->next) {
        for (size_t i = 0; i < waiter->handle_count; i++) {
            if (waiter->handles[i] == handle) {
                return waiter;
            }
        }
    }
    return NULL;
}

void rsti_py_waiters_forget(rsti_py_handle_t *handle)
{
    rsti_py_waiter_t *waiter;

    while ((waiter = find_attached(handle->client, handle)) != NULL) {
        Py_INCREF((PyObject *)waiter);
        rsti_py_waiter_forget(waiter, handle);
        Py_DECREF((PyObject *)waiter);
    }
}
