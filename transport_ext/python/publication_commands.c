/* publication_commands.c: see publication_commands.h. */
#include "publication_commands.h"

#include "handle_life.h"
#include "records.h"

#include <string.h>

PyObject *rsti_py_publication_revoke(PyObject *object, PyObject *unused)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;

    (void)unused;
    if (!self->handle.is_closed) {
        self->is_revoking = true;
        rsti_py_handle_close(&self->handle);
    }
    Py_RETURN_NONE;
}

PyObject *rsti_py_publication_offer_frames(PyObject *object, PyObject *frames)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t position = RST_CLOSED;
    Py_buffer view;

    if (PyObject_GetBuffer(frames, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (!self->handle.is_closed) {
        position = rst_publication_offer_frames(self->publication, view.buf, (size_t)view.len);
    }
    PyBuffer_Release(&view);
    return rsti_py_position_result(self, position);
}

PyObject *rsti_py_publication_offer_control(PyObject *object, PyObject *const *args,
    Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t position = RST_CLOSED;
    int64_t reserved_value;
    Py_buffer view;

    if (!rsti_py_check_count("offer_control", count, 2, 2)
        || !rsti_py_get_int64(args[1], &reserved_value)
        || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (!self->handle.is_closed) {
        position = rst_publication_offer_control(self->publication, view.buf, (size_t)view.len,
            reserved_value);
    }
    PyBuffer_Release(&view);
    return rsti_py_position_result(self, position);
}

PyObject *rsti_py_publication_append_padding(PyObject *object, PyObject *length)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t bytes;

    if (!rsti_py_get_int64(length, &bytes)) {
        return NULL;
    }
    if (bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "length must not be negative");
        return NULL;
    }
    return rsti_py_position_result(self,
        self->handle.is_closed ? RST_CLOSED
                               : rst_publication_append_padding(self->publication, (size_t)bytes));
}

PyObject *rsti_py_publication_set_rate(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t timeout_ns;
    const char *rate;

    if (!rsti_py_check_count("set_rate", count, 2, 2)
        || !rsti_py_get_timeout_ns(args[1], &timeout_ns)
        || !rsti_py_handle_check_open(&self->handle, "set_rate() after close()")) {
        return NULL;
    }
    rate = rsti_py_get_text(self->handle.state, args[0]);
    if (rate == NULL
        || rsti_py_client_await(self->handle.client,
               rst_publication_set_rate(self->publication, rate), timeout_ns)
            < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *id_or_none(int64_t id)
{
    return id == -1 ? rsti_py_self(Py_None, NULL) : PyLong_FromLongLong(id);
}

static PyObject *text_of(const char *text, size_t size)
{
    return rsti_py_foreign_text(text, strnlen(text, size), true);
}

PyObject *rsti_py_publication_next_error(PyObject *object, PyObject *unused)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    rst_publication_error_t error;
    int result;

    (void)unused;
    result = self->handle.is_closed ? 0 : rst_publication_next_error(self->publication, &error);
    if (result < 0) {
        return rsti_py_raise_at(&self->handle, result, NULL);
    }
    if (result == 0) {
        Py_RETURN_NONE;
    }
    return RSTI_PY_RECORD(self->handle.state, RSTI_PY_RECEIVER_ERROR, PyLong_FromLong(error.code),
        PyLong_FromLong(error.session_id), PyLong_FromLongLong(error.receiver_id),
        id_or_none(error.group_tag), id_or_none(error.destination_id),
        text_of(error.source, sizeof(error.source)), text_of(error.text, sizeof(error.text)));
}

PyObject *rsti_py_publication_get_next_frame(PyObject *object, void *closure)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int32_t term_id = 0;
    int32_t term_offset = 0;

    (void)closure;
    if (self->handle.is_closed
        || rst_publication_next_frame(self->publication, &term_id, &term_offset) < 0) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(ii)", (int)term_id, (int)term_offset);
}

PyObject *rsti_py_publication_get_has_new_demand(PyObject *object, void *closure)
{
    const rsti_py_publication_t *self = (const rsti_py_publication_t *)object;

    (void)closure;
    return PyBool_FromLong(self->handle.is_closed
        || rst_publication_has_new_demand(self->publication));
}

PyObject *rsti_py_publication_get_demand(PyObject *object, void *closure)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    rst_demand_t demand;

    (void)closure;
    if (self->handle.is_closed || rst_publication_demand(self->publication, &demand) < 0) {
        Py_RETURN_NONE;
    }
    return RSTI_PY_RECORD(self->handle.state, RSTI_PY_READER_DEMAND,
        PyLong_FromLongLong(demand.position), PyLong_FromLongLong(demand.messages),
        PyLong_FromLong(demand.reader_count), PyBool_FromLong(demand.is_connected));
}

PyObject *rsti_py_publication_get_errors_lost(PyObject *object, void *closure)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;

    (void)closure;
    return PyLong_FromLongLong(self->handle.is_closed
            ? 0
            : rst_publication_errors_lost(self->publication));
}
