/* client_type.c: Client, a connection to the driver of a directory. */
#include "client.h"
#include "counter_type.h"
#include "handle_life.h"
#include "publication.h"
#include "subscription.h"
#include "types.h"
#include "waiter.h"

#include <string.h>
#include <unistd.h>

/* Borrowed; NULL: all handles are closed for users. */
static rsti_py_handle_t *next_open(const rsti_py_client_t *self)
{
    rsti_py_handle_t *handle = self->handles;

    while (handle != NULL && handle->is_closed) {
        handle = handle->next;
    }
    return handle;
}

/* Likewise for waiters. A waiter that another thread is closing is left to that thread, which needs
 * the GIL for it. */
static rsti_py_waiter_t *next_open_waiter(const rsti_py_client_t *self)
{
    rsti_py_waiter_t *waiter = self->waiters;

    while (waiter != NULL && waiter->is_closed) {
        waiter = waiter->next;
    }
    return waiter;
}

static PyObject *client_close(PyObject *object, PyObject *unused)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    rsti_py_handle_t *handle;
    rsti_py_waiter_t *waiter;

    (void)unused;
    if (self->is_closed) {
        Py_RETURN_NONE;
    }
    self->is_closed = true;
    rsti_py_drain(self, &self->inside, NULL);
    if (rsti_py_is_forked(self)) {
        self->inside = 0;
    }
    /* Each close may release the GIL, so every round starts at the head of the list. */
    while ((handle = next_open(self)) != NULL) {
        Py_INCREF((PyObject *)handle);
        rsti_py_handle_close(handle);
        Py_DECREF((PyObject *)handle);
    }
    while ((waiter = next_open_waiter(self)) != NULL) {
        Py_INCREF((PyObject *)waiter);
        rsti_py_waiter_close(waiter);
        Py_DECREF((PyObject *)waiter);
    }
    rsti_py_client_finish(self);
    Py_RETURN_NONE;
}

static void client_dealloc(PyObject *object)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    self->is_closed = true; /* handles and waiters hold references: none is left */
    rsti_py_client_finish(self);
    Py_XDECREF(self->dir);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *client_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    rst_client_params_t params;
    rsti_py_client_t *self;
    const char *dir;
    const char *name;
    long long driver_timeout_ms;
    long long keepalive_interval_ns;
    int result;

    if (keywords != NULL && PyDict_Size(keywords) != 0) {
        PyErr_SetString(PyExc_TypeError, "Client() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "ssLL:Client", &dir, &name, &driver_timeout_ms,
            &keepalive_interval_ns)) {
        return NULL;
    }
    self = PyObject_New(rsti_py_client_t, type);
    if (self == NULL) {
        return NULL;
    }
    memset((char *)self + sizeof(PyObject), 0, sizeof(*self) - sizeof(PyObject));
    self->state = rsti_py_state_of_type(type);
    self->pid = getpid();
    rst_client_params_init(&params);
    params.dir = dir[0] != '\0' ? dir : NULL;
    params.name = name[0] != '\0' ? name : NULL;
    params.driver_timeout_ms = driver_timeout_ms;
    params.keepalive_interval_ns = keepalive_interval_ns;
    Py_BEGIN_ALLOW_THREADS result = rst_client_open(&self->client, &params);
    Py_END_ALLOW_THREADS if (result < 0)
    {
        (void)rsti_py_raise(self->state, result);
        self->client = NULL;
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    self->client_id = rst_client_id(self->client);
    self->is_aeron_driver = rst_client_is_aeron_driver(self->client) > 0;
    self->dir = PyUnicode_FromString(rst_client_dir(self->client));
    if (self->dir == NULL) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

/* What both kinds of add take: channel, stream id, and a timeout as the last argument. */
typedef struct add_request_t {
    const char *channel;
    int32_t stream_id;
    int64_t timeout_ns;
} add_request_t;

static bool get_request(rsti_py_client_t *self, PyObject *const *args, Py_ssize_t count,
    add_request_t *request)
{
    if (!rsti_py_get_int32(args[1], &request->stream_id)
        || !rsti_py_get_timeout_ns(args[count - 1], &request->timeout_ns)
        || !rsti_py_client_check_open(self)) {
        return false;
    }
    request->channel = rsti_py_get_text(self->state, args[0]);
    return request->channel != NULL;
}

static PyObject *client_add_publication(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    rst_publication_t *publication;
    add_request_t request;
    int64_t correlation_id;
    int is_exclusive;

    if (!rsti_py_check_count("add_publication", count, 4, 4)
        || !get_request(self, args, count, &request)) {
        return NULL;
    }
    is_exclusive = PyObject_IsTrue(args[2]);
    if (is_exclusive < 0) {
        return NULL;
    }
    correlation_id = rst_client_add_publication(self->client, request.channel, request.stream_id,
        is_exclusive != 0);
    if (rsti_py_client_await(self, correlation_id, request.timeout_ns) < 0) {
        return NULL;
    }
    publication = rst_client_take_publication(self->client, correlation_id);
    if (publication == NULL) {
        return rsti_py_raise(self->state, rst_last_error_code());
    }
    return rsti_py_publication_make(self, publication);
}

static PyObject *client_add_subscription(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    rst_subscription_t *subscription;
    add_request_t request;
    int64_t correlation_id;
    int is_on_demand;

    if (!rsti_py_check_count("add_subscription", count, 3, 4)
        || !get_request(self, args, count, &request)) {
        return NULL;
    }
    is_on_demand = count > 3 ? PyObject_IsTrue(args[2]) : 0;
    if (is_on_demand < 0) {
        return NULL;
    }
    correlation_id = is_on_demand
        ? rst_client_add_subscription_on_demand(self->client, request.channel, request.stream_id)
        : rst_client_add_subscription(self->client, request.channel, request.stream_id);
    if (rsti_py_client_await(self, correlation_id, request.timeout_ns) < 0) {
        return NULL;
    }
    subscription = rst_client_take_subscription(self->client, correlation_id);
    if (subscription == NULL) {
        return rsti_py_raise(self->state, rst_last_error_code());
    }
    return rsti_py_subscription_make(self, subscription);
}

static PyObject *client_next_session_id(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    int64_t correlation_id;
    int64_t timeout_ns;
    int32_t session_id = 0;
    int32_t stream_id;
    int result;

    if (!rsti_py_check_count("next_session_id", count, 2, 2)
        || !rsti_py_get_int32(args[0], &stream_id) || !rsti_py_get_timeout_ns(args[1], &timeout_ns)
        || !rsti_py_client_check_open(self)) {
        return NULL;
    }
    correlation_id = rst_client_next_session_id(self->client, stream_id);
    if (rsti_py_client_await(self, correlation_id, timeout_ns) < 0) {
        return NULL;
    }
    result = rst_client_take_session_id(self->client, correlation_id, &session_id);
    return result < 0 ? rsti_py_raise(self->state, result) : PyLong_FromLong(session_id);
}

static PyObject *client_waiter(PyObject *object, PyObject *unused)
{
    (void)unused;
    return rsti_py_client_check_open((rsti_py_client_t *)object)
        ? rsti_py_waiter_make((rsti_py_client_t *)object)
        : NULL;
}

static PyObject *client_get_id(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((rsti_py_client_t *)object)->client_id);
}

static PyObject *client_get_dir(PyObject *object, void *closure)
{
    (void)closure;
    return rsti_py_self(((rsti_py_client_t *)object)->dir, NULL);
}

static PyObject *client_get_state(PyObject *object, void *closure)
{
    rsti_py_client_t *self = (rsti_py_client_t *)object;
    int result = self->is_closed ? RST_CLIENT_CLOSED : rst_client_state(self->client);

    (void)closure;
    return result < 0 ? rsti_py_raise(self->state, result) : PyLong_FromLong(result);
}

static PyObject *client_get_is_aeron_driver(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((rsti_py_client_t *)object)->is_aeron_driver);
}

static PyMethodDef client_methods[] = {
    {"add_publication", RSTI_PY_FASTCALL(client_add_publication), METH_FASTCALL,
        "add_publication($self, channel, stream_id, exclusive, timeout_s, /)\n--\n\n"
        "Ask the driver for a publication and wait for it."},
    {"add_subscription", RSTI_PY_FASTCALL(client_add_subscription), METH_FASTCALL,
        "add_subscription($self, channel, stream_id, [on_demand,] timeout_s, /)\n\n"
        "Ask the driver for a subscription and wait for it. on_demand: it delivers nothing before "
        "request()."},
    {"next_session_id", RSTI_PY_FASTCALL(client_next_session_id), METH_FASTCALL,
        "next_session_id($self, stream_id, timeout_s, /)\n--\n\n"
        "A session id that no publication of the stream uses."},
    {"add_counter", RSTI_PY_FASTCALL(rsti_py_client_add_counter), METH_FASTCALL,
        "add_counter($self, type_id, key, label, timeout_s, /)\n--\n\n"
        "Ask the driver for a counter of this client and wait for it."},
    {"add_static_counter", RSTI_PY_FASTCALL(rsti_py_client_add_static_counter), METH_FASTCALL,
        "add_static_counter($self, type_id, registration_id, key, label, timeout_s, /)\n--\n\n"
        "A counter that outlives the client that made it."},
    {"find_counter", RSTI_PY_FASTCALL(rsti_py_client_find_counter), METH_FASTCALL,
        "find_counter($self, type_id, registration_id, /)\n--\n\nThe id of the counter, or None."},
    {"read_counter", rsti_py_client_read_counter, METH_O,
        "read_counter($self, counter_id, /)\n--\n\n"
        "(id, type_id, value, registration_id, owner_id, reference_id, label), or None."},
    {"next_counter_event", rsti_py_client_next_counter_event, METH_NOARGS,
        "(is_available, counter_id, registration_id) of a counter that came or went, or None."},
    {"waiter", client_waiter, METH_NOARGS, "A new Waiter of this client."},
    {"close", client_close, METH_NOARGS,
        "Close everything that the client made, then the client. Idempotent."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef client_getset[] = {
    {"client_id", client_get_id, NULL, "Unique in the driver directory.", NULL},
    {"dir", client_get_dir, NULL, "The driver directory.", NULL},
    {"state", client_get_state, NULL, "0 open, 1 closed, 2 driver lost, 3 timed out.", NULL},
    {"is_aeron_driver", client_get_is_aeron_driver, NULL, "The driver is Aeron's.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot client_slots[] = {
    {Py_tp_doc,
        "Client(dir, name, driver_timeout_ms, keepalive_interval_ns, /)\n--\n\n"
        "Connects to the driver of a directory."},
    {Py_tp_new, client_new},
    {Py_tp_dealloc, client_dealloc},
    {Py_tp_methods, client_methods},
    {Py_tp_getset, client_getset},
    {0, NULL},
};

PyType_Spec rsti_py_client_spec = {
    .name = "rstream._core.Client",
    .basicsize = sizeof(rsti_py_client_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = client_slots,
};
