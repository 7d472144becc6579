/* message_type.c: see message_type.h. */
#include "message_type.h"

#include "types.h"

typedef struct rsti_py_message_t {
    PyObject_HEAD
    rsti_py_batch_t *batch; /* owned reference */
    const uint8_t *data;
    int64_t position;
    int64_t reserved_value;
    int32_t length;
    int32_t session_id;
} rsti_py_message_t;

PyObject *rsti_py_message_make(rsti_py_batch_t *batch, const rst_message_t *message)
{
    rsti_py_message_t *self = PyObject_New(rsti_py_message_t,
        batch->subscription->handle.state->message_type);

    if (self != NULL) {
        Py_INCREF((PyObject *)batch);
        self->batch = batch;
        self->data = message->data;
        self->length = message->length;
        self->session_id = message->session_id;
        self->position = message->position;
        self->reserved_value = message->reserved_value;
    }
    return (PyObject *)self;
}

static int message_getbuffer(PyObject *object, Py_buffer *view, int flags)
{
    rsti_py_message_t *self = (rsti_py_message_t *)object;
    static char nothing[1];
    char *data = self->length > 0 ? (char *)(uintptr_t)self->data : nothing;

    if (self->batch->is_released) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError,
            "the batch of this message was released: copy what you keep");
        return -1;
    }
    if (PyBuffer_FillInfo(view, object, data, self->length, 1, flags) < 0) {
        return -1;
    }
    rsti_py_batch_export(self->batch, 1);
    return 0;
}

static void message_releasebuffer(PyObject *object, Py_buffer *view)
{
    (void)view;
    rsti_py_batch_export(((rsti_py_message_t *)object)->batch, -1);
}

static PyObject *message_bytes(PyObject *object, PyObject *unused)
{
    const rsti_py_message_t *self = (rsti_py_message_t *)object;

    (void)unused;
    return self->batch->is_released
        ? rsti_py_batch_raise_released(self->batch)
        : PyBytes_FromStringAndSize((const char *)self->data, self->length);
}

static Py_ssize_t message_length(PyObject *object)
{
    return ((rsti_py_message_t *)object)->length;
}

static PyObject *message_get_session_id(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((rsti_py_message_t *)object)->session_id);
}

static PyObject *message_get_position(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((rsti_py_message_t *)object)->position);
}

static PyObject *message_get_reserved_value(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((rsti_py_message_t *)object)->reserved_value);
}

static void message_dealloc(PyObject *object)
{
    rsti_py_message_t *self = (rsti_py_message_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    Py_DECREF((PyObject *)self->batch);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef message_methods[] = {
    {"__bytes__", message_bytes, METH_NOARGS, "A copy."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef message_getset[] = {
    {"session_id", message_get_session_id, NULL, "The session that sent it.", NULL},
    {"position", message_get_position, NULL, "Position after it.", NULL},
    {"reserved_value", message_get_reserved_value, NULL, "The 64-bit header value.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot message_slots[] = {
    {Py_tp_doc, "A read-only view of one message (buffer protocol)."},
    {Py_tp_dealloc, message_dealloc},
    {Py_sq_length, message_length},
    {Py_tp_methods, message_methods},
    {Py_tp_getset, message_getset},
    {Py_bf_getbuffer, message_getbuffer},
    {Py_bf_releasebuffer, message_releasebuffer},
    {0, NULL},
};

PyType_Spec rsti_py_message_spec = {
    .name = "rstream._core.Message",
    .basicsize = sizeof(rsti_py_message_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = message_slots,
};
