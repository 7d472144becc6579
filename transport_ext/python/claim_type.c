/* claim_type.c: see claim_type.h. */
#include "claim_type.h"

#include "handle_life.h"
#include "types.h"

#include <string.h>

typedef struct rsti_py_claim_t {
    PyObject_HEAD
    rsti_py_publication_t *publication; /* owned reference, pinned */
    rst_claim_t claim;
    PyObject *view; /* the view that __enter__ returned */
    int64_t position;
    int32_t exports; /* views that are alive */
    bool is_open;    /* neither committed nor aborted */
    bool is_pinned;
} rsti_py_claim_t;

PyObject *rsti_py_claim_make(rsti_py_publication_t *publication, const rst_claim_t *claim)
{
    rsti_py_claim_t *self = PyObject_New(rsti_py_claim_t, publication->handle.state->claim_type);

    if (self == NULL) {
        rst_claim_t lost = *claim;
        (void)rst_claim_abort(&lost);
        return NULL;
    }
    Py_INCREF((PyObject *)publication);
    self->publication = publication;
    self->claim = *claim;
    self->position = claim->position;
    self->view = NULL;
    self->exports = 0;
    self->is_open = true;
    self->is_pinned = true;
    publication->handle.pins++;
    return (PyObject *)self;
}

/* Once the claim has ended and no view of it is alive, the C publication may be closed. */
static void unpin(rsti_py_claim_t *self)
{
    if (self->is_pinned && !self->is_open && self->exports == 0) {
        self->is_pinned = false;
        self->publication->handle.pins--;
        rsti_py_handle_finish(&self->publication->handle);
    }
}

static int end_claim(rsti_py_claim_t *self, bool is_commit)
{
    int result = is_commit ? rst_claim_commit(&self->claim) : rst_claim_abort(&self->claim);

    self->is_open = false;
    unpin(self);
    return result;
}

static PyObject *raise_done(const rsti_py_claim_t *self)
{
    return rsti_py_raise_at(&self->publication->handle, RST_ECLOSED,
        "the claim was committed or aborted");
}

static PyObject *raise_exported(const rsti_py_claim_t *self)
{
    return PyErr_Format(PyExc_BufferError,
        "the claim has %d living view(s): release() them before it ends", (int)self->exports);
}

static PyObject *claim_commit(PyObject *object, PyObject *unused)
{
    rsti_py_claim_t *self = (rsti_py_claim_t *)object;
    int result;

    (void)unused;
    if (!self->is_open) {
        return raise_done(self);
    }
    if (self->exports > 0) {
        return raise_exported(self);
    }
    result = end_claim(self, true);
    return result < 0 ? rsti_py_raise_at(&self->publication->handle, result, NULL)
                      : PyLong_FromLongLong(self->position);
}

static PyObject *claim_abort(PyObject *object, PyObject *unused)
{
    rsti_py_claim_t *self = (rsti_py_claim_t *)object;

    (void)unused;
    if (self->is_open) {
        if (self->exports > 0) {
            return raise_exported(self);
        }
        (void)end_claim(self, false);
    }
    Py_RETURN_NONE;
}

static PyObject *claim_enter(PyObject *object, PyObject *unused)
{
    rsti_py_claim_t *self = (rsti_py_claim_t *)object;

    (void)unused;
    if (!self->is_open) {
        return raise_done(self);
    }
    if (self->view == NULL) {
        self->view = PyMemoryView_FromObject(object);
    }
    return self->view == NULL ? NULL : rsti_py_self(self->view, NULL);
}

/* Releases the view that __enter__ returned. A view that the caller made of it and kept is an
 * error: the claim is aborted, so no reader gets a half-written message. */
static PyObject *claim_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_claim_t *self = (rsti_py_claim_t *)object;
    PyObject *view = self->view;
    bool is_commit;
    int result;

    if (!rsti_py_check_count("__exit__", count, 3, 3)) {
        return NULL;
    }
    is_commit = args[0] == Py_None;
    if (view != NULL) {
        PyObject *released = PyObject_CallMethod(view, "release", NULL);
        if (released == NULL) {
            PyErr_Clear();
        }
        Py_XDECREF(released);
        self->view = NULL;
        Py_DECREF(view);
    }
    if (!self->is_open) {
        Py_RETURN_NONE; /* commit() or abort() was called inside */
    }
    if (self->exports > 0) {
        (void)end_claim(self, false);
        return is_commit ? raise_exported(self) : rsti_py_self(Py_None, NULL);
    }
    result = end_claim(self, is_commit);
    if (is_commit && result < 0) {
        return rsti_py_raise_at(&self->publication->handle, result, NULL);
    }
    Py_RETURN_NONE;
}

static int claim_getbuffer(PyObject *object, Py_buffer *view, int flags)
{
    rsti_py_claim_t *self = (rsti_py_claim_t *)object;

    if (!self->is_open) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "the claim was committed or aborted");
        return -1;
    }
    if (PyBuffer_FillInfo(view, object, self->claim.data, (Py_ssize_t)self->claim.length, 0, flags)
        < 0) {
        return -1;
    }
    self->exports++;
    return 0;
}

static void claim_releasebuffer(PyObject *object, Py_buffer *view)
{
    rsti_py_claim_t *self = (rsti_py_claim_t *)object;

    (void)view;
    self->exports--;
    unpin(self);
}

static void claim_dealloc(PyObject *object)
{
    rsti_py_claim_t *self = (rsti_py_claim_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->is_open) {
        (void)end_claim(self, false);
    }
    Py_DECREF((PyObject *)self->publication);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *claim_get_position(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((rsti_py_claim_t *)object)->position);
}

static PyMethodDef claim_methods[] = {
    {"commit", claim_commit, METH_NOARGS, "Publish the message; returns its position."},
    {"abort", claim_abort, METH_NOARGS,
        "Give the reserved part back: readers skip it. Idempotent."},
    {"__enter__", claim_enter, METH_NOARGS, "A writable memoryview, valid inside the block."},
    {"__exit__", RSTI_PY_FASTCALL(claim_exit), METH_FASTCALL,
        "__exit__($self, exc_type, exc, tb, /)\n--\n\nCommit, or abort after an exception."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef claim_getset[] = {
    {"position", claim_get_position, NULL, "Position after the message.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot claim_slots[] = {
    {Py_tp_doc, "A writable part of the log; committed at the end of the with block."},
    {Py_tp_dealloc, claim_dealloc},
    {Py_tp_methods, claim_methods},
    {Py_tp_getset, claim_getset},
    {Py_bf_getbuffer, claim_getbuffer},
    {Py_bf_releasebuffer, claim_releasebuffer},
    {0, NULL},
};

PyType_Spec rsti_py_claim_spec = {
    .name = "rstream._core.Claim",
    .basicsize = sizeof(rsti_py_claim_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = claim_slots,
};
