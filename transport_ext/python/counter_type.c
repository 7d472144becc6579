/* counter_type.c: see counter_type.h, and Counter, a counter of the application. Only its value is
 * a hot path. */
#include "counter_type.h"

#include "records.h"
#include "types.h"

#include <string.h>

typedef struct rsti_py_counter_t {
    PyObject_HEAD
    rsti_py_client_t *client; /* owned reference */
    rst_user_counter_t *counter;            /* NULL after close */
    int64_t registration_id;
    int32_t counter_id;
} rsti_py_counter_t;

/* Steals the C handle. */
static PyObject *counter_make(rsti_py_client_t *client, rst_user_counter_t *counter)
{
    rsti_py_counter_t *self = PyObject_New(rsti_py_counter_t, client->state->counter_type);

    if (self == NULL) {
        rst_user_counter_close(counter);
        return NULL;
    }
    Py_INCREF((PyObject *)client);
    self->client = client;
    self->counter = counter;
    self->counter_id = rst_user_counter_id(counter);
    self->registration_id = rst_user_counter_registration_id(counter);
    return (PyObject *)self;
}

/* ---- methods of the client ---- */

typedef struct counter_request_t {
    int32_t type_id;
    int64_t registration_id;
    Py_buffer key;
    const char *label;
    int64_t timeout_ns;
} counter_request_t;

static PyObject *take(rsti_py_client_t *client, int64_t id, int64_t timeout_ns)
{
    rst_user_counter_t *counter;

    if (rsti_py_client_await(client, id, timeout_ns) < 0) {
        return NULL;
    }
    counter = rst_client_take_counter(client->client, id);
    return counter == NULL ? rsti_py_raise(client->state, rst_last_error_code())
                           : counter_make(client, counter);
}

/* args: key, label, timeout. True: the caller releases the key. */
static bool get_request(rsti_py_client_t *client, PyObject *const *args, counter_request_t *request)
{
    if (!rsti_py_get_timeout_ns(args[2], &request->timeout_ns)) {
        return false;
    }
    request->label = rsti_py_get_text(client->state, args[1]);
    return request->label != NULL && PyObject_GetBuffer(args[0], &request->key, PyBUF_SIMPLE) == 0;
}

PyObject *rsti_py_client_add_counter(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    counter_request_t request;
    int64_t id;

    if (!rsti_py_check_count("add_counter", count, 4, 4)
        || !rsti_py_get_int32(args[0], &request.type_id)
        || !get_request(self, args + 1, &request)) {
        return NULL;
    }
    /* Getting the key's buffer may run Python code, which may close the client. */
    id = self->is_closed ? -RST_ECLOSED
                         : rst_client_add_counter(self->client, request.type_id, request.key.buf,
                               (size_t)request.key.len, request.label);
    PyBuffer_Release(&request.key);
    return rsti_py_client_check_open(self) ? take(self, id, request.timeout_ns) : NULL;
}

PyObject *rsti_py_client_add_static_counter(PyObject *object, PyObject *const *args,
    Py_ssize_t count)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    counter_request_t request;
    int64_t id;

    if (!rsti_py_check_count("add_static_counter", count, 5, 5)
        || !rsti_py_get_int32(args[0], &request.type_id)
        || !rsti_py_get_int64(args[1], &request.registration_id)
        || !get_request(self, args + 2, &request)) {
        return NULL;
    }
    id = self->is_closed
        ? -RST_ECLOSED
        : rst_client_add_static_counter(self->client, request.type_id, request.registration_id,
              request.key.buf, (size_t)request.key.len, request.label);
    PyBuffer_Release(&request.key);
    return rsti_py_client_check_open(self) ? take(self, id, request.timeout_ns) : NULL;
}

PyObject *rsti_py_client_find_counter(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    int64_t registration_id;
    int32_t type_id;
    int32_t id;

    if (!rsti_py_check_count("find_counter", count, 2, 2) || !rsti_py_get_int32(args[0], &type_id)
        || !rsti_py_get_int64(args[1], &registration_id) || !rsti_py_client_check_open(self)) {
        return NULL;
    }
    id = rst_client_find_counter(self->client, type_id, registration_id);
    return id < 0 ? rsti_py_self(Py_None, NULL) : PyLong_FromLong(id);
}

PyObject *rsti_py_client_read_counter(PyObject *object, PyObject *counter_id)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    rst_counter_t counter;
    int32_t id;
    int result;

    if (!rsti_py_get_int32(counter_id, &id) || !rsti_py_client_check_open(self)) {
        return NULL;
    }
    result = rst_client_read_counter(self->client, id, &counter);
    if (result < 0) {
        return rsti_py_raise(self->state, result);
    }
    if (result == 0) {
        Py_RETURN_NONE;
    }
    return rsti_py_counter_facts(self->state, &counter);
}

PyObject *rsti_py_client_next_counter_event(PyObject *object, PyObject *unused)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    rst_counter_event_t event;
    int result;

    (void)unused;
    if (!rsti_py_client_check_open(self)) {
        return NULL;
    }
    result = rst_client_next_counter_event(self->client, &event);
    if (result < 0) {
        return rsti_py_raise(self->state, result);
    }
    if (result == 0) {
        Py_RETURN_NONE;
    }
    return RSTI_PY_RECORD(self->state, RSTI_PY_COUNTER_EVENT,
        PyBool_FromLong(event.kind == RST_COUNTER_AVAILABLE), PyLong_FromLong(event.counter_id),
        PyLong_FromLongLong(event.registration_id));
}

/* ---- the type ---- */

static void close_counter(rsti_py_counter_t *self)
{
    rst_user_counter_t *counter = self->counter;

    self->counter = NULL;
    rst_user_counter_close(counter);
}

static PyObject *counter_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    close_counter((rsti_py_counter_t *)object);
    Py_RETURN_NONE;
}

static void counter_dealloc(PyObject *object)
{
    rsti_py_counter_t *self = (rsti_py_counter_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    close_counter(self);
    Py_DECREF((PyObject *)self->client);
    PyObject_Free(self);
    Py_DECREF(type);
}

static bool is_closed(const rsti_py_counter_t *self)
{
    return self->client->is_closed || self->counter == NULL
        || rst_user_counter_is_closed(self->counter);
}

/* Writing to a closed counter is a mistake: raise. */
static bool check_open(const rsti_py_counter_t *self)
{
    if (rsti_py_is_forked(self->client)) {
        (void)rsti_py_raise_text(self->client->state, RST_EFORKED,
            "this counter was made before fork: open a new client here");
        return false;
    }
    if (is_closed(self)) {
        (void)rsti_py_raise_text(self->client->state, RST_ECLOSED, "the counter is closed");
        return false;
    }
    return true;
}

static PyObject *counter_get_value(PyObject *object, void *closure)
{
    rsti_py_counter_t *self = (rsti_py_counter_t *)object;

    (void)closure;
    return check_open(self) ? PyLong_FromLongLong(rst_user_counter_get(self->counter)) : NULL;
}

static int counter_set_value(PyObject *object, PyObject *value, void *closure)
{
    rsti_py_counter_t *self = (rsti_py_counter_t *)object;
    int64_t number;

    (void)closure;
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "value cannot be deleted");
        return -1;
    }
    if (!rsti_py_get_int64(value, &number) || !check_open(self)) {
        return -1;
    }
    rst_user_counter_set(self->counter, number);
    return 0;
}

static PyObject *counter_add(PyObject *object, PyObject *delta)
{
    rsti_py_counter_t *self = (rsti_py_counter_t *)object;
    int64_t number;

    if (!rsti_py_get_int64(delta, &number) || !check_open(self)) {
        return NULL;
    }
    return PyLong_FromLongLong(rst_user_counter_add(self->counter, number));
}

static PyObject *counter_propose_max(PyObject *object, PyObject *value)
{
    rsti_py_counter_t *self = (rsti_py_counter_t *)object;
    int64_t number;

    if (!rsti_py_get_int64(value, &number) || !check_open(self)) {
        return NULL;
    }
    return PyBool_FromLong(rst_user_counter_propose_max(self->counter, number));
}

static PyObject *counter_get_counter_id(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((rsti_py_counter_t *)object)->counter_id);
}

static PyObject *counter_get_registration_id(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((rsti_py_counter_t *)object)->registration_id);
}

static PyObject *counter_get_is_closed(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(is_closed((rsti_py_counter_t *)object));
}

static PyMethodDef counter_methods[] = {
    {"add", counter_add, METH_O,
        "add($self, delta, /)\n--\n\nAdd atomically: the value before. Wraps at 64 bits."},
    {"propose_max", counter_propose_max, METH_O,
        "propose_max($self, value, /)\n--\n\nRaise the value, never lower it: whether it rose."},
    {"close", counter_close, METH_NOARGS,
        "Free it in the driver (a static one stays). Idempotent."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef counter_getset[] = {
    {"value", counter_get_value, counter_set_value, "64 bits with sign.", NULL},
    {"counter_id", counter_get_counter_id, NULL, "Its place in the driver's counters.", NULL},
    {"registration_id", counter_get_registration_id, NULL, "The driver's number of it.", NULL},
    {"is_closed", counter_get_is_closed, NULL, "Closed here, with the client, or by the driver.",
        NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot counter_slots[] = {
    {Py_tp_doc, "A counter of the application's own in the driver directory."},
    {Py_tp_dealloc, counter_dealloc},
    {Py_tp_methods, counter_methods},
    {Py_tp_getset, counter_getset},
    {0, NULL},
};

PyType_Spec rsti_py_counter_spec = {
    .name = "rstream._core.Counter",
    .basicsize = sizeof(rsti_py_counter_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = counter_slots,
};
