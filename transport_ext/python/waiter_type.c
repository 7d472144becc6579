/* waiter_type.c: Waiter, one file descriptor for many subscriptions and publications. */
#include "types.h"
#include "waiter.h"

#include <stdlib.h>

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

static PyObject *attach_object(rsti_py_waiter_t *self, PyObject *object, bool is_demand)
{
    rsti_py_handle_t *handle = get_handle(self, object);

    return handle == NULL ? NULL : rsti_py_waiter_attach(self, handle, is_demand);
}

static PyObject *waiter_attach(PyObject *object, PyObject *argument)
{
    return attach_object((rsti_py_waiter_t *)object, argument, false);
}

static PyObject *waiter_attach_demand(PyObject *object, PyObject *argument)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;

    if (!Py_IS_TYPE(argument, self->client->state->publication_type)) {
        PyErr_SetString(PyExc_TypeError, "a Publication of rstream._core is needed");
        return NULL;
    }
    return attach_object(self, argument, true);
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
        || (count > 1 && !rsti_py_get_timeout_ns(args[1], &spin_ns))
        || !rsti_py_waiter_check_open(self)) {
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
    return rsti_py_waiter_check_open(self) ? PyLong_FromLong(rst_waiter_fd(self->waiter)) : NULL;
}

static PyObject *waiter_arm(PyObject *object, PyObject *unused)
{
    rsti_py_waiter_t *self = (rsti_py_waiter_t *)object;
    int result;

    (void)unused;
    if (!rsti_py_waiter_check_open(self)) {
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
        "Watch the demand of a publication's readers instead of its room."},
    {"detach", waiter_detach, METH_O, "Stop watching it."},
    {"wait", RSTI_PY_FASTCALL(waiter_wait), METH_FASTCALL,
        "wait($self, timeout_s, spin_s=0.0, /)\n--\n\n"
        "Wait until something may be ready; False after timeout_s."},
    {"fileno", waiter_fileno, METH_NOARGS, "The file descriptor, for event loops."},
    {"arm", waiter_arm, METH_NOARGS,
        "Prepare to sleep. True: something is ready now, do not sleep."},
    {"disarm", waiter_disarm, METH_NOARGS, "No more wake-ups until the next arm()."},
    {"wake", waiter_wake, METH_NOARGS, "End a wait of another thread."},
    {"close", waiter_close, METH_NOARGS, "Detach all and close. Idempotent."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot waiter_slots[] = {
    {Py_tp_doc, "Waits on one file descriptor for many subscriptions and publications."},
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
