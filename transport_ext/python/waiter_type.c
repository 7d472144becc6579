/* waiter_type.c: Waiter, one file descriptor for many subscriptions and publications. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

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

static int attach(rsti_py_waiter_t *self, rsti_py_handle_t *handle, bool is_demand)
{
    rst_publication_t *publication;

    if (handle->is_subscription) {
        return rst_waiter_attach_subscription(self->waiter,
            ((rsti_py_subscription_t *)handle)->subscription);
    }
    publication = ((rsti_py_publication_t *)handle)->publication;
    return is_demand ? rst_waiter_attach_demand(self->waiter, publication)
                     : rst_waiter_attach_publication(self->waiter, publication);
}

static void detach(rsti_py_waiter_t *self, rsti_py_handle_t *handle)
{
    if (handle->is_subscription) {
        rst_waiter_detach_subscription(self->waiter,
            ((rsti_py_subscription_t *)handle)->subscription);
    } else {
        rst_publication_t *publication = ((rsti_py_publication_t *)handle)->publication;
        rst_waiter_detach_publication(self->waiter, publication);
        rst_waiter_detach_demand(self->waiter, publication);
    }
}

/* The list of attached handles changes only while nobody waits on it. */
static void pause_waits(rsti_py_waiter_t *self)
{
    self->paused++;
    rsti_py_drain(self->client, &self->inside, self->waiter);
}

/* Takes the handle out of the list; false when it was not in it. The reference goes to the caller.
 */
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
            detach(self, handle);
        }
        Py_DECREF((PyObject *)handle);
    }
    self->paused--;
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
        detach(self, handle);
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
    rsti_py_client_finish(self->client); /* if it was closed meanwhile */
}

static void waiter_dealloc(PyObject *object)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->client != NULL) {
        rsti_py_waiter_close(self);
    }
    free(self->handles);
    Py_XDECREF((PyObject *)self->client);
    PyObject_Free(self);
    Py_DECREF(type);
}

static bool check_open(rsti_py_waiter_t *self)
{
    if (self->is_closed) {
        (void)rsti_py_raise_text(self->client->state, RST_ECLOSED, "the waiter was closed");
        return false;
    }
    return true;
}

/* Borrowed; NULL with an exception. */
static rsti_py_handle_t *get_handle(rsti_py_waiter_t *self, PyObject *object)
{
    const rsti_py_state_t *state = self->client->state;

    if (!Py_IS_TYPE(object, state->subscription_type)
        && !Py_IS_TYPE(object, state->publication_type)) {
        PyErr_SetString(PyExc_TypeError,
            "a Subscription or Publication of rstream._core is needed");
        return NULL;
    }
    return (rsti_py_handle_t *)object;
}

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

static PyObject *attach_handle(rsti_py_waiter_t *self, PyObject *argument, bool is_demand)
{
    rsti_py_handle_t *handle = get_handle(self, argument);
    int result = 0;

    if (handle == NULL || !check_open(self)) {
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
    result = attach(self, handle, is_demand);
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

static PyObject *waiter_attach(PyObject *object, PyObject *argument)
{
    return attach_handle((rsti_py_waiter_t *)object, argument, false);
}

static PyObject *waiter_attach_demand(PyObject *object, PyObject *argument)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;

    if (!Py_IS_TYPE(argument, self->client->state->publication_type)) {
        PyErr_SetString(PyExc_TypeError, "a Publication of rstream._core is needed");
        return NULL;
    }
    return attach_handle(self, argument, true);
}

static PyObject *waiter_detach(PyObject *object, PyObject *argument)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;
    rsti_py_handle_t *handle = get_handle(self, argument);

    if (handle == NULL) {
        return NULL;
    }
    if (!self->is_closed) {
        rsti_py_waiter_forget(self, handle);
    }
    Py_RETURN_NONE;
}

static PyObject *waiter_wait(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;
    int64_t timeout_ns;
    int64_t spin_ns = 0;
    int result;

    if (!rsti_py_check_count("wait", count, 1, 2) || !rsti_py_get_timeout_ns(args[0], &timeout_ns)
        || (count > 1 && !rsti_py_get_timeout_ns(args[1], &spin_ns)) || !check_open(self)) {
        return NULL;
    }
    {
        const rsti_py_waiting_t waiting = {.waiter = self->waiter,
            .inside = &self->inside,
            .is_closed = &self->is_closed,
            .paused = &self->paused};
        result = rsti_py_wait(self->client, &waiting, timeout_ns, spin_ns);
    }
    return result < 0 ? NULL : PyBool_FromLong(result);
}

static PyObject *waiter_fileno(PyObject *object, PyObject *unused)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;

    (void)unused;
    return check_open(self) ? PyLong_FromLong(rst_waiter_fd(self->waiter)) : NULL;
}

static PyObject *waiter_arm(PyObject *object, PyObject *unused)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;
    int result;

    (void)unused;
    if (!check_open(self)) {
        return NULL;
    }
    result = rst_waiter_arm(self->waiter);
    return result < 0 ? rsti_py_raise(self->client->state, result) : PyBool_FromLong(result);
}

static PyObject *waiter_disarm(PyObject *object, PyObject *unused)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;

    (void)unused;
    if (!self->is_closed) {
        rst_waiter_disarm(self->waiter);
    }
    Py_RETURN_NONE;
}

static PyObject *waiter_wake(PyObject *object, PyObject *unused)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;

    (void)unused;
    if (!self->is_closed) {
        rst_waiter_wake(self->waiter);
    }
    Py_RETURN_NONE;
}

static PyObject *waiter_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    rsti_py_waiter_close((rsti_py_waiter_t *)object);
    Py_RETURN_NONE;
}

static PyMethodDef waiter_methods[] = {
    {"attach", waiter_attach, METH_O, "Watch a subscription or publication."},
    {"attach_demand", waiter_attach_demand, METH_O,
        "Watch what the readers of a publication ask for, not its room."},
    {"detach", waiter_detach, METH_O, "Watch it no more."},
    {"wait", RSTI_PY_FASTCALL(waiter_wait), METH_FASTCALL,
        "wait($self, timeout_s, spin_s=0.0, /)\n--\n\n"
        "Wait until something may be ready; False after timeout_s."},
    {"fileno", waiter_fileno, METH_NOARGS, "The file descriptor, for event loops."},
    {"arm", waiter_arm, METH_NOARGS, "True: something is ready now, do not sleep."},
    {"disarm", waiter_disarm, METH_NOARGS, "No more wake-ups until the next arm()."},
    {"wake", waiter_wake, METH_NOARGS, "End a wait of another thread."},
    {"close", waiter_close, METH_NOARGS, "Detach all and close. Idempotent."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot waiter_slots[] = {
    {Py_tp_doc, "Sleeps on one file descriptor for many subscriptions and publications."},
    {Py_tp_dealloc, waiter_dealloc},
    {Py_tp_methods, waiter_methods},
    {0, NULL},
};

PyType_Spec rsti_py_waiter_spec = {
    .name = "rstream._core.Waiter",
    .basicsize = sizeof(rsti_py_waiter_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = waiter_slots,
};
