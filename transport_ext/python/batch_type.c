/* batch_type.c: see batch_type.h. */
#include "batch_type.h"

#include "large.h"
#include "message_type.h"
#include "protocol/frame.h"
#include "types.h"
#include "util/alloc.h"
#include "util/bits.h"

#include <string.h>

/* Bytes. */
#define COPIED_WITHOUT_GIL (256 * 1024)

PyObject *rsti_py_batch_make(rsti_py_subscription_t *subscription)
{
    rsti_py_batch_t *self = PyObject_New(rsti_py_batch_t, subscription->handle.state->batch_type);

    if (self == NULL) {
        rst_batch_release(subscription->batch);
        return NULL;
    }
    self->messages = rst_batch_messages(subscription->batch, &self->count);
    self->exports = 0;
    self->is_released = false;
    self->has_log_views = false;
    self->kept = NULL;
    self->kept_capacity = 0;
    self->aside = NULL;
    Py_INCREF((PyObject *)subscription);
    self->subscription = subscription;
    subscription->current = self;
    return (PyObject *)self;
}

/* A long message in a shared segment is copied without the GIL. The batch counts as exported
 * meanwhile, so that no other thread can release it. */
static PyObject *copied(rsti_py_batch_t *self, const rst_message_t *message)
{
    PyObject *bytes;
    char *to;

    if (message->length < COPIED_WITHOUT_GIL) {
        return PyBytes_FromStringAndSize((const char *)message->data, message->length);
    }
    bytes = PyBytes_FromStringAndSize(NULL, message->length);
    if (bytes == NULL) {
        return NULL;
    }
    to = PyBytes_AsString(bytes);
    rsti_py_batch_export(self, 1);
    Py_BEGIN_ALLOW_THREADS rsti_prefer_large_pages(to, (size_t)message->length);
    memcpy(to, message->data, (size_t)message->length);
    Py_END_ALLOW_THREADS rsti_py_batch_export(self, -1);
    return bytes;
}

static PyObject *batch_to_list(PyObject *object, PyObject *unused)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    PyObject *list;

    (void)unused;
    if (self->is_released) {
        return rsti_py_batch_raise_released(self);
    }
    list = PyList_New(self->count);
    if (list == NULL) {
        return NULL;
    }
    for (int32_t i = 0; i < self->count; i++) {
        const rst_message_t *message = &self->messages[i];
        PyObject *data = message->owner != NULL ? rsti_py_large_bytes(message)
                                                : copied(self, message);
        if (data == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        (void)PyList_SetItem(list, i, data); /* steals; cannot fail within the size */
    }
    return list;
}

static PyObject *batch_iter(PyObject *object)
{
    PyObject *list = batch_to_list(object, NULL);
    PyObject *iterator;

    if (list == NULL) {
        return NULL;
    }
    iterator = PyObject_GetIter(list);
    Py_DECREF(list);
    return iterator;
}

static PyObject *make_message(rsti_py_batch_t *self, int32_t index)
{
    const rst_message_t *message = &self->messages[index];

    self->has_log_views |= (message->flags & RST_MESSAGE_OWNED) == 0;
    return rsti_py_message_make(self, message);
}

static PyObject *make_header(rsti_py_batch_t *self, int32_t index)
{
    return PyLong_FromLongLong(self->messages[index].reserved_value);
}

static PyObject *make_position(rsti_py_batch_t *self, int32_t index)
{
    return PyLong_FromLongLong(self->messages[index].position);
}

static PyObject *make_session_id(rsti_py_batch_t *self, int32_t index)
{
    return PyLong_FromLong(self->messages[index].session_id);
}

static inline PyObject *map_messages(PyObject *object,
    PyObject *(*make)(rsti_py_batch_t *self, int32_t index))
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    PyObject *list;

    if (self->is_released) {
        return rsti_py_batch_raise_released(self);
    }
    list = PyList_New(self->count);
    if (list == NULL) {
        return NULL;
    }
    for (int32_t i = 0; i < self->count; i++) {
        PyObject *item = make(self, i);
        if (item == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        (void)PyList_SetItem(list, i, item);
    }
    return list;
}

static PyObject *batch_messages(PyObject *object, PyObject *unused)
{
    (void)unused;
    return map_messages(object, make_message);
}

static PyObject *batch_views(PyObject *object, PyObject *copied_below)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    int64_t length_min;
    PyObject *list;

    if (!rsti_py_get_int64(copied_below, &length_min)) {
        return NULL;
    }
    if (self->is_released) {
        return rsti_py_batch_raise_released(self);
    }
    list = PyList_New(self->count);
    for (int32_t i = 0; list != NULL && i < self->count; i++) {
        const rst_message_t *message = &self->messages[i];
        PyObject *item = message->owner != NULL ? rsti_py_large_bytes(message)
            : message->length < length_min
            ? PyBytes_FromStringAndSize((const char *)message->data, message->length)
            : make_message(self, i);
        if (item == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        (void)PyList_SetItem(list, i, item);
    }
    return list;
}

static PyObject *batch_headers(PyObject *object, PyObject *unused)
{
    (void)unused;
    return map_messages(object, make_header);
}

static PyObject *batch_positions(PyObject *object, PyObject *unused)
{
    (void)unused;
    return map_messages(object, make_position);
}

static PyObject *batch_session_ids(PyObject *object, PyObject *unused)
{
    (void)unused;
    return map_messages(object, make_session_id);
}

static PyObject *batch_get_common_header(PyObject *object, void *closure)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;

    (void)closure;
    if (self->is_released) {
        return rsti_py_batch_raise_released(self);
    }
    for (int32_t i = 1; i < self->count; i++) {
        if (self->messages[i].reserved_value != self->messages[0].reserved_value) {
            Py_RETURN_NONE;
        }
    }
    if (self->count == 0) {
        Py_RETURN_NONE;
    }
    return make_header(self, 0);
}

static PyObject *batch_get_end_position(PyObject *object, void *closure)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;

    (void)closure;
    if (self->is_released) {
        return rsti_py_batch_raise_released(self);
    }
    if (self->count == 0) {
        Py_RETURN_NONE;
    }
    return make_position(self, self->count - 1);
}

static PyObject *batch_get_length_bytes(PyObject *object, void *closure)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    int64_t bytes = 0;

    (void)closure;
    if (self->is_released) {
        return rsti_py_batch_raise_released(self);
    }
    for (int32_t i = 0; i < self->count; i++) {
        bytes += rsti_align_i64((int64_t)self->messages[i].length + RSTI_DATA_HEADER_LENGTH,
            RSTI_FRAME_ALIGNMENT);
    }
    return PyLong_FromLongLong(bytes);
}

static PyObject *batch_get_is_intact(PyObject *object, void *closure)
{
    const rsti_py_batch_t *self = (rsti_py_batch_t *)object;

    (void)closure;
    if (self->is_released) {
        return rsti_py_batch_raise_released(self);
    }
    return PyBool_FromLong(self->count == 0 || rst_batch_is_intact(self->subscription->batch));
}

static PyObject *raise_exported(const rsti_py_batch_t *self)
{
    return PyErr_Format(PyExc_BufferError,
        "the batch has %d living view(s): release() them first (or copy with bytes)",
        (int)self->exports);
}

static PyObject *batch_release(PyObject *object, PyObject *unused)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;

    (void)unused;
    if (self->aside != NULL) {
        rsti_py_batch_end_aside(self, false);
    } else if (!self->is_released && !rsti_py_subscription_release(self->subscription)) {
        return raise_exported(self);
    }
    Py_RETURN_NONE;
}

static PyObject *batch_keep(PyObject *object, PyObject *unused)
{
    (void)unused;
    rsti_py_subscription_keep((rsti_py_batch_t *)object);
    Py_RETURN_NONE;
}

static PyObject *batch_set_aside(PyObject *object, PyObject *unused)
{
    (void)unused;
    if (!rsti_py_subscription_set_aside((rsti_py_batch_t *)object)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *batch_consume(PyObject *object, PyObject *count)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    rst_batch_t *batch = self->aside;
    int64_t wanted;

    if (!rsti_py_get_int64(count, &wanted)) {
        return NULL;
    }
    if (!self->is_released) {
        if (self->exports > 0) {
            return raise_exported(self);
        }
        batch = self->subscription->batch;
    }
    if (batch != NULL) {
        rst_batch_consume(batch,
            (int32_t)(wanted < 0           ? 0
                    : wanted > self->count ? self->count
                                           : wanted));
    }
    Py_RETURN_NONE;
}

static PyObject *batch_give_back(PyObject *object, PyObject *unused)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;

    (void)unused;
    if (self->aside != NULL) {
        rsti_py_batch_end_aside(self, true);
    } else if (!self->is_released) {
        if (self->exports > 0) {
            return raise_exported(self);
        }
        rst_batch_give_back(self->subscription->batch);
        (void)rsti_py_subscription_release(self->subscription);
    }
    Py_RETURN_NONE;
}

static PyObject *batch_unread(PyObject *object, PyObject *first)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    int32_t from;

    if (!rsti_py_get_int32(first, &from)) {
        return NULL;
    }
    if (!self->is_released) {
        self->subscription->is_taken = true;
        rsti_py_subscription_unread(self->subscription, from);
    }
    Py_RETURN_NONE;
}

static PyObject *batch_get_consumed(PyObject *object, void *closure)
{
    const rsti_py_batch_t *self = (rsti_py_batch_t *)object;

    (void)closure;
    return PyBool_FromLong(self->is_released);
}

/* An attribute, because CPython runs no signal handler after it is set: what stands behind it, such
 * as the return of the messages, comes for certain. */
static int batch_set_consumed(PyObject *object, PyObject *value, void *closure)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    int64_t wanted;

    (void)closure;
    if (value == NULL || !rsti_py_get_int64(value, &wanted)) {
        return -1;
    }
    if (wanted < 0) {
        rsti_py_subscription_keep(self);
    } else if (!self->is_released && self->exports == 0) {
        rst_batch_consume(self->subscription->batch,
            (int32_t)(wanted > self->count ? self->count : wanted));
    }
    return 0;
}

static PyObject *batch_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    return rsti_py_check_count("__exit__", count, 3, 3) ? batch_release(object, NULL) : NULL;
}

static Py_ssize_t batch_length(PyObject *object)
{
    return ((rsti_py_batch_t *)object)->count;
}

static void batch_dealloc(PyObject *object)
{
    rsti_py_batch_t *self = (rsti_py_batch_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->aside != NULL) {
        rsti_py_batch_end_aside(self, true);
    } else if (!self->is_released && self->subscription->is_taken) {
        self->subscription->current = NULL; /* take() makes another object of the same lease */
    } else if (!self->is_released) {
        /* every view holds a reference: none is left */
        (void)rsti_py_subscription_release(self->subscription);
    }
    Py_DECREF((PyObject *)self->subscription);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef batch_methods[] = {
    {"to_list", batch_to_list, METH_NOARGS,
        "Each message as bytes: copied, unless it came in parts."},
    {"messages", batch_messages, METH_NOARGS, "Each message as a view, without a copy."},
    {"views", batch_views, METH_O,
        "views($self, copied_below, /)\n--\n\n"
        "Each message as a view; as bytes if it came in parts, or is shorter than this."},
    {"headers", batch_headers, METH_NOARGS, "The reserved value of each message."},
    {"positions", batch_positions, METH_NOARGS, "The position after each message."},
    {"session_ids", batch_session_ids, METH_NOARGS, "The session of each message."},
    {"release", batch_release, METH_NOARGS,
        "Move the subscriber position. BufferError while views are alive. Idempotent."},
    {"keep", batch_keep, METH_NOARGS,
        "As release(), but views that are alive stay valid for as long as they are there."},
    {"set_aside", batch_set_aside, METH_NOARGS,
        "Lend on while the subscription is polled; the messages cannot be read any more."},
    {"consume", batch_consume, METH_O,
        "consume($self, count, /)\n--\n\n"
        "Move the position over the first messages; the rest stays leased."},
    {"give_back", batch_give_back, METH_NOARGS,
        "Release; the next poll reads what consume() has not counted again."},
    {"unread", batch_unread, METH_O,
        "unread($self, first, /)\n--\n\n"
        "End the lease; what is not consumed from this message on is read again."},
    {"__enter__", rsti_py_self, METH_NOARGS, "The batch itself."},
    {"__exit__", RSTI_PY_FASTCALL(batch_exit), METH_FASTCALL,
        "__exit__($self, exc_type, exc, tb, /)\n--\n\nRelease."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef batch_getset[] = {
    {"common_header", batch_get_common_header, NULL,
        "The reserved value that every message carries; None: they differ, or there is none.",
        NULL},
    {"end_position", batch_get_end_position, NULL,
        "The position after the last message; None: there is none.", NULL},
    {"length_bytes", batch_get_length_bytes, NULL,
        "Bytes of all messages as they lie in the log, each as one frame.", NULL},
    {"consumed", batch_get_consumed, batch_set_consumed,
        "Whether the lease has ended. Set it to move the position over so many messages; -1: over "
        "all, which ends the lease.",
        NULL},
    {"is_intact", batch_get_is_intact, NULL,
        "Whether everything copied so far is as it was written. False: evicted.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot batch_slots[] = {
    {Py_tp_doc, "The messages of one poll, leased: memory stays valid until release()."},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_iter, batch_iter},
    {Py_sq_length, batch_length},
    {Py_tp_methods, batch_methods},
    {Py_tp_getset, batch_getset},
    {0, NULL},
};

PyType_Spec rsti_py_batch_spec = {
    .name = "rstream._core.Batch",
    .basicsize = sizeof(rsti_py_batch_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = batch_slots,
};
