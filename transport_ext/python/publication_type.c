/* publication_type.c: Publication. The offer methods keep the GIL: they copy and never wait. */
#include "claim_type.h"
#include "handle_addresses.h"
#include "handle_life.h"
#include "publication.h"
#include "publication_commands.h"
#include "publication_segments.h"
#include "records.h"
#include "types.h"

#include <string.h>

/* Messages per call of the core. */
#define OFFER_CHUNK 256

static int64_t offer_object(rsti_py_publication_t *self, PyObject *data, int64_t reserved_value)
{
    Py_buffer view;
    int64_t position;

    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) {
        return INT64_MIN;
    }
    /* Getting a buffer may run Python code, which may close the publication. */
    position = self->handle.is_closed
        ? RST_CLOSED
        : rst_publication_offer(self->publication, view.buf, (size_t)view.len, reserved_value);
    PyBuffer_Release(&view);
    return position;
}

static PyObject *publication_offer(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t reserved_value = 0;
    int64_t position;

    if (!rsti_py_check_count("offer", count, 1, 2)
        || (count > 1 && !rsti_py_get_int64(args[1], &reserved_value))) {
        return NULL;
    }
    if (PyBytes_CheckExact(args[0]) && !self->handle.is_closed) {
        char *data;
        Py_ssize_t size;
        (void)PyBytes_AsStringAndSize(args[0], &data, &size);
        position = rst_publication_offer(self->publication, data, (size_t)size, reserved_value);
    } else {
        position = offer_object(self, args[0], reserved_value);
        if (position == INT64_MIN) {
            return NULL;
        }
    }
    return rsti_py_position_result(self, position);
}

static PyObject *offer_views(rsti_py_publication_t *self, PyObject *items, int64_t reserved_value)
{
    Py_ssize_t count = PyTuple_Size(items);
    Py_ssize_t filled = 0;
    Py_buffer *views = PyMem_Calloc((size_t)count + 1, sizeof(*views));
    rst_message_part_t *parts = PyMem_Calloc((size_t)count + 1, sizeof(*parts));
    int64_t position = INT64_MIN;

    if (views == NULL || parts == NULL) {
        (void)PyErr_NoMemory();
    } else {
        while (filled < count
            && PyObject_GetBuffer(PyTuple_GetItem(items, filled), &views[filled], PyBUF_SIMPLE)
                == 0) {
            parts[filled].data = views[filled].buf;
            parts[filled].length = (size_t)views[filled].len;
            filled++;
        }
        if (filled == count) {
            position = self->handle.is_closed ? RST_CLOSED
                                              : rst_publication_offer_parts(self->publication,
                                                    parts, (size_t)count, reserved_value);
        }
    }
    while (filled > 0) {
        PyBuffer_Release(&views[--filled]);
    }
    PyMem_Free(views);
    PyMem_Free(parts);
    return position == INT64_MIN ? NULL : rsti_py_position_result(self, position);
}

static PyObject *publication_offer_parts(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t reserved_value = 0;
    PyObject *items;
    PyObject *result;

    if (!rsti_py_check_count("offer_parts", count, 1, 2)
        || (count > 1 && !rsti_py_get_int64(args[1], &reserved_value))) {
        return NULL;
    }
    items = PySequence_Tuple(args[0]);
    if (items == NULL) {
        return NULL;
    }
    result = offer_views(self, items, reserved_value);
    Py_DECREF(items);
    return result;
}

static PyObject *taken_result(const rsti_py_publication_t *self, int64_t taken, int64_t position)
{
    PyObject *first;
    PyObject *second;
    PyObject *pair;

    if (position < RST_ERROR) {
        return rsti_py_raise_at(&self->handle, (int)position, NULL);
    }
    first = PyLong_FromLongLong(taken);
    second = PyLong_FromLongLong(position);
    pair = first != NULL && second != NULL ? PyTuple_Pack(2, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

/* Fills parts with the bytes objects from `index` on and stops at an object of another type. No
 * Python code runs while it holds borrowed pointers. */
static size_t gather(PyObject *list, Py_ssize_t index, Py_ssize_t size, rst_message_part_t *parts)
{
    size_t filled = 0;

    while (index < size && filled < OFFER_CHUNK) {
        PyObject *item = PyList_GetItem(list, index); /* borrowed */
        char *data;
        Py_ssize_t length;
        if (!PyBytes_CheckExact(item)) {
            break;
        }
        (void)PyBytes_AsStringAndSize(item, &data, &length);
        parts[filled].data = data;
        parts[filled].length = (size_t)length;
        filled++;
        index++;
    }
    return filled;
}

/* An object that is not bytes is offered alone: getting its buffer may run code that changes the
 * list. */
static int64_t offer_item(rsti_py_publication_t *self, PyObject *list, Py_ssize_t index,
    int64_t reserved_value)
{
    PyObject *item = PyList_GetItem(list, index); /* borrowed */
    int64_t position;

    Py_INCREF(item);
    position = offer_object(self, item, reserved_value);
    Py_DECREF(item);
    return position;
}

static PyObject *offer_list(rsti_py_publication_t *self, PyObject *list, Py_ssize_t start,
    int64_t reserved_value)
{
    rst_message_part_t parts[OFFER_CHUNK];
    int64_t position = RST_CLOSED;
    int64_t last_position = 0;
    Py_ssize_t index = start;
    Py_ssize_t size = PyList_Size(list);

    if (index >= size) {
        return taken_result(self, 0,
            self->handle.is_closed ? RST_CLOSED : rst_publication_position(self->publication));
    }
    while (index < size && !self->handle.is_closed) {
        size_t wanted = gather(list, index, size, parts);
        size_t taken = 0;
        if (wanted > 0) {
            position = rst_publication_offer_many(self->publication, parts, wanted, reserved_value,
                &taken);
        } else {
            wanted = 1;
            position = offer_item(self, list, index, reserved_value);
            if (position == INT64_MIN) {
                if (index == start || !PyErr_ExceptionMatches(PyExc_Exception)) {
                    return NULL;
                }
                PyErr_Clear(); /* the caller counts those before it; its next call begins with it */
                break;
            }
            taken = position > 0;
            size = PyList_Size(list);
        }
        index += (Py_ssize_t)taken;
        if (taken > 0) {
            last_position = position;
        }
        if (taken < wanted) {
            break;
        }
    }
    return taken_result(self, index - start, index > start ? last_position : position);
}

static PyObject *publication_offer_many(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t reserved_value = 0;
    int64_t start = 0;
    PyObject *list;
    PyObject *result;

    if (!rsti_py_check_count("offer_many", count, 1, 3)
        || (count > 1 && !rsti_py_get_int64(args[1], &start))
        || (count > 2 && !rsti_py_get_int64(args[2], &reserved_value))) {
        return NULL;
    }
    if (start < 0) {
        PyErr_SetString(PyExc_ValueError, "start must not be negative");
        return NULL;
    }
    if (PyList_CheckExact(args[0])) {
        return offer_list(self, args[0], (Py_ssize_t)start, reserved_value);
    }
    list = PySequence_List(args[0]);
    if (list == NULL) {
        return NULL;
    }
    result = offer_list(self, list, (Py_ssize_t)start, reserved_value);
    Py_DECREF(list);
    return result;
}

static PyObject *publication_offer_block(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t reserved_value = 0;
    int64_t size;
    int64_t start = 0;
    int64_t position = RST_CLOSED;
    size_t taken = 0;
    Py_buffer view;

    if (!rsti_py_check_count("offer_block", count, 2, 4) || !rsti_py_get_int64(args[1], &size)
        || (count > 2 && !rsti_py_get_int64(args[2], &start))
        || (count > 3 && !rsti_py_get_int64(args[3], &reserved_value))
        || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (size < 1 || view.len % size != 0 || start < 0 || start > view.len / size) {
        PyBuffer_Release(&view);
        PyErr_SetString(PyExc_ValueError,
            "the block must hold whole messages of size bytes, and start lie in it");
        return NULL;
    }
    if (!self->handle.is_closed) {
        position = rst_publication_offer_block(self->publication,
            (const uint8_t *)view.buf + start * size, (size_t)size,
            (size_t)(view.len / size - start), reserved_value, &taken);
    }
    PyBuffer_Release(&view);
    return taken_result(self, (int64_t)taken, position);
}

static PyObject *publication_try_claim(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t reserved_value = 0;
    int64_t length;
    int64_t position = RST_CLOSED;
    rst_claim_t claim;

    if (!rsti_py_check_count("try_claim", count, 1, 2) || !rsti_py_get_int64(args[0], &length)
        || (count > 1 && !rsti_py_get_int64(args[1], &reserved_value))) {
        return NULL;
    }
    if (length < 0) {
        PyErr_SetString(PyExc_ValueError, "length must not be negative");
        return NULL;
    }
    if (!self->handle.is_closed) {
        position = rst_publication_try_claim(self->publication, (size_t)length, reserved_value,
            &claim);
    }
    return position > 0 ? rsti_py_claim_make(self, &claim)
                        : rsti_py_position_result(self, position);
}

#define PUBLICATION_INFO(name, convert)                                                            \
    static PyObject *publication_get_##name(PyObject *object, void *closure)                       \
    {                                                                                              \
        (void)closure;                                                                             \
        return convert(((rsti_py_publication_t *)object)->info.name);                              \
    }
PUBLICATION_INFO(session_id, PyLong_FromLong)
PUBLICATION_INFO(term_length, PyLong_FromLong)
PUBLICATION_INFO(mtu, PyLong_FromLong)
PUBLICATION_INFO(max_payload_length, PyLong_FromLong)
PUBLICATION_INFO(max_message_length, PyLong_FromLong)
PUBLICATION_INFO(max_control_length, PyLong_FromLong)
PUBLICATION_INFO(initial_term_id, PyLong_FromLong)
PUBLICATION_INFO(position_bits, PyLong_FromLong)
PUBLICATION_INFO(max_position, PyLong_FromLongLong)
PUBLICATION_INFO(is_exclusive, PyBool_FromLong)
PUBLICATION_INFO(is_ipc, PyBool_FromLong)
PUBLICATION_INFO(channel_status_id, PyLong_FromLong)

#define PUBLICATION_POSITION(name, function)                                                       \
    static PyObject *publication_get_##name(PyObject *object, void *closure)                       \
    {                                                                                              \
        rsti_py_publication_t *self = (rsti_py_publication_t *)object;                             \
        (void)closure;                                                                             \
        return rsti_py_position_result(self,                                                       \
            self->handle.is_closed ? RST_CLOSED : function(self->publication));                    \
    }
PUBLICATION_POSITION(position, rst_publication_position)
PUBLICATION_POSITION(sent_position, rst_publication_sent_position)
PUBLICATION_POSITION(position_limit, rst_publication_position_limit)
PUBLICATION_POSITION(consumed_position, rst_publication_consumed_position)
PUBLICATION_POSITION(available_window, rst_publication_available_window)
PUBLICATION_POSITION(channel_status, rst_publication_channel_status)

static PyObject *publication_get_held_by(PyObject *object, void *closure)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    (void)closure;
    return rsti_py_position_result(self,
        self->handle.is_closed ? RST_CLOSED : rst_publication_held_by(self->publication, NULL));
}

static PyObject *publication_get_left(PyObject *object, void *closure)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    rst_left_t left = {.joined = -1, .sent = -1};
    (void)closure;
    if (!self->handle.is_closed) {
        (void)rst_publication_left(self->publication, &left);
    }
    return RSTI_PY_RECORD(self->handle.state, RSTI_PY_READER_LEFT, PyLong_FromLongLong(left.count),
        PyLong_FromLongLong(left.consumed), PyLong_FromLongLong(left.joined),
        PyLong_FromLongLong(left.sent));
}

static PyObject *publication_get_left_who(PyObject *object, void *closure)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    rst_left_t left = {.joined = -1, .sent = -1};
    (void)closure;
    if (!self->handle.is_closed) {
        (void)rst_publication_left(self->publication, &left);
    }
    return RSTI_PY_RECORD(self->handle.state, RSTI_PY_READER_LEFT_WHO,
        PyLong_FromLongLong(left.count), PyLong_FromLongLong(left.pid),
        PyUnicode_DecodeUTF8(left.name, (Py_ssize_t)strlen(left.name), "ignore"));
}

static PyObject *publication_get_storage(PyObject *object, void *closure)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    rst_storage_t storage = {0};
    (void)closure;
    if (!self->handle.is_closed) {
        (void)rst_publication_held_by(self->publication, &storage);
    }
    return Py_BuildValue("LL", (long long)storage.needed, (long long)storage.usable);
}

#define PUBLICATION_STATE(name, expression)                                                        \
    static PyObject *publication_get_##name(PyObject *object, void *closure)                       \
    {                                                                                              \
        rsti_py_publication_t *self = (rsti_py_publication_t *)object;                             \
        (void)closure;                                                                             \
        return PyBool_FromLong(expression);                                                        \
    }
PUBLICATION_STATE(is_connected,
    !self->handle.is_closed && rst_publication_is_connected(self->publication))
PUBLICATION_STATE(is_closed, self->handle.is_closed || rst_publication_is_closed(self->publication))

static void publication_dealloc(PyObject *object)
{
    rsti_py_handle_dealloc((rsti_py_handle_t *)object);
}

static PyMethodDef publication_methods[] = {
    {"offer", RSTI_PY_FASTCALL(publication_offer), METH_FASTCALL,
        "offer($self, data, reserved_value=0, /)\n--\n\n"
        "Append one message: its position, or a negative reason. Never waits."},
    {"offer_parts", RSTI_PY_FASTCALL(publication_offer_parts), METH_FASTCALL,
        "offer_parts($self, parts, reserved_value=0, /)\n--\n\n"
        "Append one message from several buffers."},
    {"offer_many", RSTI_PY_FASTCALL(publication_offer_many), METH_FASTCALL,
        "offer_many($self, messages, start=0, reserved_value=0, /)\n--\n\n"
        "Append messages[start:] until one is refused: (taken, position or reason)."},
    {"offer_block", RSTI_PY_FASTCALL(publication_offer_block), METH_FASTCALL,
        "offer_block($self, data, size, start=0, reserved_value=0, /)\n--\n\n"
        "Append messages of size bytes from one buffer: (taken, position or reason)."},
    {"try_claim", RSTI_PY_FASTCALL(publication_try_claim), METH_FASTCALL,
        "try_claim($self, length, reserved_value=0, /)\n--\n\n"
        "Reserve a part of the log for writing, or return a negative reason."},
    {"offer_frames", rsti_py_publication_offer_frames, METH_O,
        "offer_frames($self, frames, /)\n--\n\n"
        "Append complete frames unchanged (exclusive publications)."},
    {"offer_control", RSTI_PY_FASTCALL(rsti_py_publication_offer_control), METH_FASTCALL,
        "offer_control($self, data, reserved_value, /)\n--\n\n"
        "Append one short message that need not wait for the readers (exclusive publications)."},
    {"fill_segment", rsti_py_publication_fill_segment, METH_O,
        "fill_segment($self, buffers, /)\n--\n\n"
        "Copy a message into a shared segment: its number, or a negative reason."},
    {"offer_segment", RSTI_PY_FASTCALL(rsti_py_publication_offer_segment), METH_FASTCALL,
        "offer_segment($self, number, reserved_value, /)\n--\n\n"
        "Append the message that was copied into a segment."},
    {"drop_segment", rsti_py_publication_drop_segment, METH_O,
        "drop_segment($self, number, /)\n--\n\nGive up a segment that was not offered."},
    {"note_segment_wait", rsti_py_publication_note_segment_wait, METH_O,
        "note_segment_wait($self, length, /)\n--\n\nTell tools that a message waits; 0: none."},
    {"append_padding", rsti_py_publication_append_padding, METH_O,
        "append_padding($self, length, /)\n--\n\n"
        "Append a padding frame, which readers skip (exclusive publications)."},
    {"add_destination", RSTI_PY_FASTCALL(rsti_py_handle_add_destination), METH_FASTCALL,
        "add_destination($self, uri, timeout_s, /)\n--\n\n"
        "Ask the driver to send there too, and wait. Returns the id of the destination."},
    {"remove_destination", RSTI_PY_FASTCALL(rsti_py_handle_remove_destination), METH_FASTCALL,
        "remove_destination($self, destination, timeout_s, /)\n--\n\n"
        "Remove a destination, by URI or id."},
    {"set_rate", RSTI_PY_FASTCALL(rsti_py_publication_set_rate), METH_FASTCALL,
        "set_rate($self, rate, timeout_s, /)\n--\n\n"
        "Ask the driver for another rate, written as in rs-rate, and wait."},
    {"revoke", rsti_py_publication_revoke, METH_NOARGS,
        "Close, and end the stream at once. Idempotent."},
    {"next_error", rsti_py_publication_next_error, METH_NOARGS,
        "(code, session_id, receiver_id, group_tag or None, destination_id or None, source, text), "
        "or None."},
    {"wait", rsti_py_handle_wait, METH_O,
        "wait($self, timeout_s, /)\n--\n\nWait for room or a change of connection."},
    {"close", rsti_py_handle_close_method, METH_NOARGS, "Close. Idempotent."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef publication_getset[] = {
    {"channel", rsti_py_handle_get_channel, NULL, "The channel as given.", NULL},
    {"stream_id", rsti_py_handle_get_stream_id, NULL, "The stream.", NULL},
    {"registration_id", rsti_py_handle_get_registration_id, NULL, "The driver's number.", NULL},
    {"initial_term_id", publication_get_initial_term_id, NULL, "Of the stream's first term.", NULL},
    {"position_bits", publication_get_position_bits, NULL,
        "position >> position_bits is the number of terms since the first.", NULL},
    {"max_position", publication_get_max_position, NULL, "No message ends at or behind it.", NULL},
    {"available_window", publication_get_available_window, NULL, "Bytes that may be offered now.",
        NULL},
    {"demand", rsti_py_publication_get_demand, NULL,
        "(position, messages wanted behind it, readers that report, is_connected); "
        "None after the end.",
        NULL},
    {"has_new_demand", rsti_py_publication_get_has_new_demand, NULL,
        "Whether demand has changed since it was read last.", NULL},
    {"held_by", publication_get_held_by, NULL,
        "The reason of the limit: HELD_BY_WINDOW, HELD_BY_RATE, HELD_BY_BUDGET, "
        "HELD_BY_PATH or HELD_BY_STORAGE.",
        NULL},
    {"left_who", publication_get_left_who, NULL,
        "(how often the reader left, the last one's pid or 0, name or ip:port or empty).", NULL},
    {"left", publication_get_left, NULL, "Where the last reader stopped.", NULL},
    {"storage", publication_get_storage, NULL,
        "(bytes that the log's next term needs, bytes usable); (0, 0): none are missing.", NULL},
    {"channel_status", publication_get_channel_status, NULL,
        "-1 errored, 0 initialising, 1 active, 2 closing.", NULL},
    {"channel_status_id", publication_get_channel_status_id, NULL,
        "Counter of the state of its socket; -1: shared memory.", NULL},
    {"segment_bytes", rsti_py_publication_get_segment_bytes, NULL,
        "Bytes of memory of its shared segments.", NULL},
    {"unread_bytes", rsti_py_publication_get_unread_bytes, NULL,
        "Bytes sent and not consumed by the slowest reader, in the log and in shared segments.",
        NULL},
    {"local_addresses", rsti_py_handle_get_local_addresses, NULL, "Bound UDP addresses.", NULL},
    {"next_frame", rsti_py_publication_get_next_frame, NULL,
        "(term id, term offset) of the next frame; None after the end.", NULL},
    {"errors_lost", rsti_py_publication_get_errors_lost, NULL,
        "Errors dropped from the full queue.", NULL},
    {"session_id", publication_get_session_id, NULL, "This publisher instance.", NULL},
    {"term_length", publication_get_term_length, NULL, "Bytes of a term.", NULL},
    {"mtu", publication_get_mtu, NULL, "Largest datagram in bytes.", NULL},
    {"max_payload_length", publication_get_max_payload_length, NULL, "Of one frame.", NULL},
    {"max_message_length", publication_get_max_message_length, NULL, "Of one message.", NULL},
    {"max_control_length", publication_get_max_control_length, NULL,
        "Of one message of offer_control.", NULL},
    {"is_exclusive", publication_get_is_exclusive, NULL, "Belongs to one thread.", NULL},
    {"is_ipc", publication_get_is_ipc, NULL, "Shared memory.", NULL},
    {"position", publication_get_position, NULL, "Position after the last message.", NULL},
    {"sent_position", publication_get_sent_position, NULL,
        "Position after the last message that was taken.", NULL},
    {"position_limit", publication_get_position_limit, NULL, "Offers are accepted up to here.",
        NULL},
    {"consumed_position", publication_get_consumed_position, NULL,
        "All readers have consumed up to here; or NOT_CONNECTED.", NULL},
    {"is_connected", publication_get_is_connected, NULL, "There is a subscriber.", NULL},
    {"is_closed", publication_get_is_closed, NULL, "Closed here or with the client.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot publication_slots[] = {
    {Py_tp_doc, "The sending side of a stream."},
    {Py_tp_dealloc, publication_dealloc},
    {Py_tp_methods, publication_methods},
    {Py_tp_getset, publication_getset},
    {0, NULL},
};

PyType_Spec rsti_py_publication_spec = {
    .name = "rstream._core.Publication",
    .basicsize = sizeof(rsti_py_publication_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = publication_slots,
};
