/* publication_segments.c: see publication_segments.h. A large message is copied without the GIL:
 * the copy takes milliseconds. Meanwhile the handle is pinned, so that close() does not unmap the
 * segment. */
#include "publication_segments.h"

#include "handle_life.h"

#include <string.h>

typedef struct views_t {
    Py_buffer *items;
    Py_ssize_t count;
    int64_t length; /* bytes of all */
} views_t;

static void release_views(views_t *views)
{
    while (views->count > 0) {
        PyBuffer_Release(&views->items[--views->count]);
    }
    PyMem_Free(views->items);
}

/* False with an exception. */
static bool get_views(views_t *views, PyObject *buffers)
{
    const Py_ssize_t wanted = PyTuple_Size(buffers);

    *views = (views_t){.items = PyMem_Calloc((size_t)wanted + 1, sizeof(Py_buffer))};
    if (views->items == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    while (views->count < wanted) {
        Py_buffer *view = &views->items[views->count];
        if (PyObject_GetBuffer(PyTuple_GetItem(buffers, views->count), view, PyBUF_SIMPLE) < 0) {
            release_views(views);
            return false;
        }
        views->count++;
        views->length += view->len;
    }
    return true;
}

static void copy(const views_t *views, uint8_t *data)
{
    for (Py_ssize_t i = 0; i < views->count; i++) {
        memcpy(data, views->items[i].buf, (size_t)views->items[i].len);
        data += views->items[i].len;
    }
}

static int64_t fill(rsti_py_publication_t *self, const views_t *views)
{
    uint8_t *data = NULL;
    int64_t number = RST_CLOSED;

    if (!self->handle.is_closed) { /* getting a buffer may have run Python code */
        if (self->filled >= 0) { /* a signal handler may have raised before it was offered */
            rst_publication_drop_segment(self->publication, self->filled);
            self->filled = -1;
        }
        number = rst_publication_claim_segment(self->publication, views->length, &data);
    }
    if (number >= 0) {
        self->handle.pins++;
        Py_BEGIN_ALLOW_THREADS copy(views, data);
        Py_END_ALLOW_THREADS self->handle.pins--;
        self->filled = number; /* not before: a cancelled call may still copy into another one */
        if (self->handle.is_closed) {
            rsti_py_handle_finish(&self->handle);
            number = RST_CLOSED;
        }
    }
    return number;
}

PyObject *rsti_py_publication_fill_segment(PyObject *object, PyObject *buffers)
{
    PyObject *tuple = PySequence_Tuple(buffers);
    views_t views;
    int64_t number;

    if (tuple == NULL) {
        return NULL;
    }
    if (!get_views(&views, tuple)) {
        Py_DECREF(tuple);
        return NULL;
    }
    number = fill((rsti_py_publication_t *)object, &views);
    release_views(&views);
    Py_DECREF(tuple);
    return rsti_py_position_result((rsti_py_publication_t *)object, number);
}

PyObject *rsti_py_publication_offer_segment(PyObject *object, PyObject *const *args,
    Py_ssize_t count)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t number;
    int64_t reserved_value;

    if (!rsti_py_check_count("offer_segment", count, 2, 2) || !rsti_py_get_int64(args[0], &number)
        || !rsti_py_get_int64(args[1], &reserved_value)) {
        return NULL;
    }
    return rsti_py_position_result(self,
        self->handle.is_closed
            ? RST_CLOSED
            : rst_publication_offer_segment(self->publication, number, reserved_value));
}

PyObject *rsti_py_publication_drop_segment(PyObject *object, PyObject *number)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t wanted;

    if (!rsti_py_get_int64(number, &wanted)) {
        return NULL;
    }
    if (!self->handle.is_closed) {
        rst_publication_drop_segment(self->publication, wanted);
    }
    Py_RETURN_NONE;
}

PyObject *rsti_py_publication_note_segment_wait(PyObject *object, PyObject *length)
{
    rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    int64_t wanted;

    if (!rsti_py_get_int64(length, &wanted)) {
        return NULL;
    }
    if (!self->handle.is_closed) {
        rst_publication_note_segment_wait(self->publication, wanted);
    }
    Py_RETURN_NONE;
}

PyObject *rsti_py_publication_get_segment_bytes(PyObject *object, void *closure)
{
    const rsti_py_publication_t *self = (const rsti_py_publication_t *)object;

    (void)closure;
    return PyLong_FromLongLong(self->handle.is_closed
            ? 0
            : rst_publication_segment_bytes(self->publication));
}

PyObject *rsti_py_publication_get_unread_bytes(PyObject *object, void *closure)
{
    const rsti_py_publication_t *self = (rsti_py_publication_t *)object;
    const int64_t unread = self->handle.is_closed ? 0
                                                  : rst_publication_unread_bytes(self->publication);

    (void)closure;
    return PyLong_FromLongLong(unread > 0 ? unread : 0);
}
