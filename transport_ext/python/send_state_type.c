/* send_state_type.c: SendState: what a send of a publisher changes (send_state.h). */
#include "send_state.h"
#include "types.h"

#include <stddef.h>
#include <structmember.h>

static int send_state_traverse(PyObject *object, visitproc visit, void *arg)
{
    rsti_py_send_state_t *self = (rsti_py_send_state_t *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->lock);
    Py_VISIT((PyObject *)self->direct);
    Py_VISIT(self->quick_encode);
    Py_VISIT(self->accepts);
    Py_VISIT(self->bucket);
    return 0;
}

static int send_state_clear(PyObject *object)
{
    rsti_py_send_state_t *self = (rsti_py_send_state_t *)object;

    Py_CLEAR(self->lock);
    Py_CLEAR(self->direct);
    Py_CLEAR(self->quick_encode);
    Py_CLEAR(self->accepts);
    Py_CLEAR(self->bucket);
    return 0;
}

static void send_state_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    (void)send_state_clear(object);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *send_state_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *lock;
    PyObject *object;

    if (!PyArg_ParseTuple(args, "O!", rsti_py_state_of_type(type)->turn_type, &lock)) {
        return NULL;
    }
    object = PyType_GenericNew(type, args, names);
    if (object != NULL) {
        Py_INCREF(lock);
        ((rsti_py_send_state_t *)object)->lock = (rsti_py_turn_t *)lock;
    }
    return object;
}

void rsti_py_send_state_count(rsti_py_send_state_t *state, int64_t position, int64_t messages)
{
    if (!state->was_connected && state->before < 0) {
        state->before = state->reached; /* what was sent before this reader came ends here */
    }
    state->reached = position;
    state->sent += messages;
}

/* The number of messages taken and the position after them, of what an offer returned: the position
 * or a pair. False with an exception. */
static bool get_taken(PyObject *result, int64_t *messages, int64_t *position)
{
    if (!PyTuple_Check(result)) {
        return rsti_py_get_int64(result, position);
    }
    if (PyTuple_Size(result) != 2) {
        PyErr_SetString(PyExc_TypeError, "an offer returns a position, or a number and a position");
        return false;
    }
    return rsti_py_get_int64(PyTuple_GetItem(result, 0), messages)
        && rsti_py_get_int64(PyTuple_GetItem(result, 1), position);
}

static PyObject *send_state_take(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    int64_t messages;
    int64_t position;
    PyObject *result;

    if (!rsti_py_check_count("take", count, 4, 5) || !rsti_py_get_int64(args[0], &messages)) {
        return NULL;
    }
    result = PyObject_CallFunctionObjArgs(args[1], args[2], args[3], count == 5 ? args[4] : NULL,
        NULL);
    if (result != NULL && !get_taken(result, &messages, &position)) {
        Py_CLEAR(result);
    }
    if (result != NULL && position > 0) {
        rsti_py_send_state_count((rsti_py_send_state_t *)object, position, messages);
    }
    return result;
}

/* ---- fields of which the code above knows the type ---- */

static int set_field(PyObject **field, PyObject *value, const PyTypeObject *type)
{
    PyObject *old = *field;

    if (value != NULL && value != Py_None && Py_TYPE(value) != type) {
        PyErr_SetString(PyExc_TypeError, "this field takes an object of rstream._core, or None");
        return -1;
    }
    if (value == Py_None) {
        value = NULL;
    }
    Py_XINCREF(value);
    *field = value;
    Py_XDECREF(old);
    return 0;
}

static PyObject *get_field(PyObject *field)
{
    PyObject *value = field == NULL ? Py_None : field;

    Py_INCREF(value);
    return value;
}

static PyObject *send_state_get_lock(PyObject *object, void *closure)
{
    (void)closure;
    return get_field((PyObject *)((rsti_py_send_state_t *)object)->lock);
}

static int send_state_set_lock(PyObject *object, PyObject *value, void *closure)
{
    (void)closure;
    return set_field((PyObject **)&((rsti_py_send_state_t *)object)->lock, value,
        rsti_py_state_of_type(Py_TYPE(object))->turn_type);
}

static PyObject *send_state_get_direct(PyObject *object, void *closure)
{
    (void)closure;
    return get_field((PyObject *)((rsti_py_send_state_t *)object)->direct);
}

static int send_state_set_direct(PyObject *object, PyObject *value, void *closure)
{
    (void)closure;
    return set_field((PyObject **)&((rsti_py_send_state_t *)object)->direct, value,
        rsti_py_state_of_type(Py_TYPE(object))->publication_type);
}

static PyMemberDef send_state_members[] = {
    {"quick_encode", T_OBJECT, offsetof(rsti_py_send_state_t, quick_encode), 0, NULL},
    {"accepts", T_OBJECT, offsetof(rsti_py_send_state_t, accepts), 0, NULL},
    {"bucket", T_OBJECT, offsetof(rsti_py_send_state_t, bucket), 0, NULL},
    {"header", T_LONGLONG, offsetof(rsti_py_send_state_t, header), 0, NULL},
    {"reached", T_LONGLONG, offsetof(rsti_py_send_state_t, reached), 0, NULL},
    {"before", T_LONGLONG, offsetof(rsti_py_send_state_t, before), 0, NULL},
    {"short_way_end", T_LONGLONG, offsetof(rsti_py_send_state_t, short_way_end), 0, NULL},
    {"sent", T_LONGLONG, offsetof(rsti_py_send_state_t, sent), 0, NULL},
    {"look_again", T_LONGLONG, offsetof(rsti_py_send_state_t, look_again), 0, NULL},
    {"was_connected", T_BOOL, offsetof(rsti_py_send_state_t, was_connected), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef send_state_getset[] = {
    {"lock", send_state_get_lock, send_state_set_lock, NULL, NULL},
    {"direct", send_state_get_direct, send_state_set_direct, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef send_state_methods[] = {
    {"take", RSTI_PY_FASTCALL(send_state_take), METH_FASTCALL,
        "take($self, messages, offer, data, header, /, *more)\n--\n\n"
        "Call an offer and count what it took: so many messages, or as many as it says."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot send_state_slots[] = {
    {Py_tp_doc, "What a send of a publisher changes, in one step of the interpreter."},
    {Py_tp_new, send_state_new},
    {Py_tp_traverse, send_state_traverse},
    {Py_tp_clear, send_state_clear},
    {Py_tp_dealloc, send_state_dealloc},
    {Py_tp_methods, send_state_methods},
    {Py_tp_members, send_state_members},
    {Py_tp_getset, send_state_getset},
    {0, NULL},
};

PyType_Spec rsti_py_send_state_spec = {
    .name = "rstream._core.SendState",
    .basicsize = sizeof(rsti_py_send_state_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = send_state_slots,
};
