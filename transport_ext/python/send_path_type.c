/* send_path_type.c: SendPath, the base of publishers: the short way of send and offer. It encodes,
 * offers once and counts, in one call from Python. Whatever else may happen (an argument more, a
 * rival thread, no room, no reader, a message in parts, an object that cannot be encoded, one of a
 * class that the codec has to look at) is left to Python: the methods of a long_way_t, and
 * _on_unencodable. */
#include "send_state.h"
#include "types.h"

typedef struct send_path_t {
    PyObject_HEAD
    rsti_py_send_state_t *state; /* NULL: not opened yet: no short way */
} send_path_t;

static int send_path_traverse(PyObject *object, visitproc visit, void *arg)
{
    send_path_t *self = (send_path_t *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->state);
    return 0;
}

static int send_path_clear(PyObject *object)
{
    send_path_t *self = (send_path_t *)object;

    Py_CLEAR(self->state);
    return 0;
}

static void send_path_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    (void)send_path_clear(object);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

/* ---- the long way ---- */

/* Names of the Python methods that do what the short way of one method does not. */
typedef struct long_way_t {
    const char *whole; /* takes the arguments */
    const char *encoded; /* takes the message, and the reason if it was refused; else 0 */
} long_way_t;

static PyObject *call_whole(PyObject *self, const long_way_t *way, PyObject *const *args,
    Py_ssize_t count, PyObject *names)
{
    PyObject *method = PyObject_GetAttrString(self, way->whole);
    PyObject *plain = method == NULL ? NULL : PyTuple_New(count);
    PyObject *named = plain == NULL ? NULL : PyDict_New();
    PyObject *result = NULL;
    bool is_complete = named != NULL;

    for (Py_ssize_t i = 0; is_complete && i < count; i++) {
        Py_INCREF(args[i]);
        is_complete = PyTuple_SetItem(plain, i, args[i]) == 0;
    }
    for (Py_ssize_t i = 0; is_complete && names != NULL && i < PyTuple_Size(names); i++) {
        is_complete = PyDict_SetItem(named, PyTuple_GetItem(names, i), args[count + i]) == 0;
    }
    if (is_complete) {
        result = PyObject_Call(method, plain, named);
    }
    Py_XDECREF(named);
    Py_XDECREF(plain);
    Py_XDECREF(method);
    return result;
}

/* ---- the short way ---- */

/* The message as a new reference; NULL with an exception. */
static PyObject *encoded(const rsti_py_send_state_t *state, PyObject *item)
{
    PyObject *encode = state->quick_encode;
    PyObject *data;

    if (encode == NULL || encode == Py_None) {
        Py_INCREF(item);
        return item;
    }
    Py_INCREF(encode);
    data = PyObject_CallFunctionObjArgs(encode, item, NULL);
    Py_DECREF(encode);
    return data;
}

/* The encoder raised: _on_unencodable returns the message all the same, or raises. */
static PyObject *encoded_after_error(PyObject *self, PyObject *item)
{
    PyObject *type;
    PyObject *error;
    PyObject *traceback;
    PyObject *result;

    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL; /* Ctrl-C and the like */
    }
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        (void)PyException_SetTraceback(error, traceback);
    }
    result = PyObject_CallMethod(self, "_on_unencodable", "OO", item, error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return result;
}

/* The position, or a value below 1: the long way offers the message again. */
static int64_t offered(const rsti_py_send_state_t *state, PyObject *data)
{
    rsti_py_publication_t *publication = state->direct;
    char *bytes;
    Py_ssize_t length;

    if (publication == NULL || publication->handle.is_closed || !PyBytes_CheckExact(data)) {
        return 0;
    }
    (void)PyBytes_AsStringAndSize(data, &bytes, &length);
    return rst_publication_offer(publication->publication, bytes, (size_t)length, state->header);
}

static bool call_and_drop(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

/* False with an exception. */
static bool count_sent(PyObject *self, rsti_py_send_state_t *state, int64_t position)
{
    rsti_py_send_state_count(state, position, 1);
    return (state->was_connected && state->sent < state->look_again)
        || call_and_drop(PyObject_CallMethod(self, "_note_sent", NULL));
}

static bool has_short_way(const rsti_py_send_state_t *state)
{
    return state->lock != NULL && state->direct != NULL && state->reached < state->short_way_end
        && (state->bucket == NULL || state->bucket == Py_None);
}

static bool is_accepted(const rsti_py_send_state_t *state, PyObject *item)
{
    PyObject *accepts = state->accepts;
    int found;

    if (accepts == NULL || accepts == Py_None) {
        return true;
    }
    Py_INCREF(accepts); /* the hash of a class may be Python code */
    found = PySet_Contains(accepts, (PyObject *)Py_TYPE(item));
    Py_DECREF(accepts);
    if (found < 0) {
        PyErr_Clear();
    }
    return found > 0;
}

static PyObject *take_short_way(PyObject *object, const long_way_t *way, PyObject *const *args,
    Py_ssize_t count, PyObject *names)
{
    rsti_py_send_state_t *state = ((send_path_t *)object)->state;
    rsti_py_turn_t *lock;
    PyObject *data;
    PyObject *result = NULL;
    int64_t position = 0;

    if (count != 1 || names != NULL || state == NULL || !is_accepted(state, args[0])) {
        return call_whole(object, way, args, count, names);
    }
    lock = state->lock;
    if (!has_short_way(state) || !rsti_py_turn_try_enter(lock)) {
        return call_whole(object, way, args, count, names);
    }
    Py_INCREF((PyObject *)lock); /* a fork in the encoder gives the child another one */
    data = encoded(state, args[0]);
    if (data != NULL) {
        position = offered(state, data);
        if (position > 0 && count_sent(object, state, position)) {
            result = PyLong_FromLongLong(position);
        }
    }
    rsti_py_turn_leave(lock);
    Py_DECREF((PyObject *)lock);
    if (data == NULL) {
        data = encoded_after_error(object, args[0]);
        if (data == NULL) {
            return NULL;
        }
    }
    if (position <= 0) {
        result = PyObject_CallMethod(object, way->encoded, "OL", data, (long long)position);
    }
    Py_DECREF(data);
    return result;
}

static PyObject *send_path_send(PyObject *object, PyObject *const *args, Py_ssize_t count,
    PyObject *names)
{
    static const long_way_t WAY = {.whole = "_send_slowly", .encoded = "_send_encoded"};

    return take_short_way(object, &WAY, args, count, names);
}

static PyObject *send_path_offer(PyObject *object, PyObject *const *args, Py_ssize_t count,
    PyObject *names)
{
    static const long_way_t WAY = {.whole = "_offer_slowly", .encoded = "_offer_encoded"};

    return take_short_way(object, &WAY, args, count, names);
}

/* ---- the state ---- */

/* Only SendPath itself has a module; the object's class is one that Python code has derived. */
static rsti_py_state_t *state_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    while (PyType_GetModule(type) == NULL) {
        PyErr_Clear();
        type = (PyTypeObject *)PyType_GetSlot(type, Py_tp_base);
    }
    return rsti_py_state_of_type(type);
}

static PyObject *send_path_get_state(PyObject *object, void *closure)
{
    PyObject *state = (PyObject *)((send_path_t *)object)->state;

    (void)closure;
    if (state == NULL) {
        state = Py_None;
    }
    Py_INCREF(state);
    return state;
}

static int send_path_set_state(PyObject *object, PyObject *value, void *closure)
{
    send_path_t *self = (send_path_t *)object;

    (void)closure;
    if (value == NULL || Py_TYPE(value) != state_of(object)->send_state_type) {
        PyErr_SetString(PyExc_TypeError, "_state takes a rstream._core.SendState");
        return -1;
    }
    if (self->state != NULL) {
        PyErr_SetString(PyExc_AttributeError, "_state is set once: a send may be using it");
        return -1;
    }
    Py_INCREF(value);
    self->state = (rsti_py_send_state_t *)value;
    return 0;
}

static PyGetSetDef send_path_getset[] = {
    {"_state", send_path_get_state, send_path_set_state, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(send_doc,
    "_send($self, obj, *, timeout_s=None)\n"
    "--\n"
    "\n"
    "Send one object; wait for room, and for a first subscriber.\n"
    "\n"
    "Args:\n"
    "    obj: what the codec takes.\n"
    "    timeout_s: most seconds to wait for room; None: as long as readers are there. Of a\n"
    "        message in parts, for each part.\n"
    "Returns:\n"
    "    The position after it, in bytes of the stream.\n"
    "Raises:\n"
    "    CodecError: ``obj`` cannot be encoded.\n"
    "    MessageTooLarge: longer than :attr:`max_message_length`.\n"
    "    NotConnected: no subscriber for ``connect_timeout_s`` (a notice is logged after 2 s).\n"
    "    RemoteError: the last reader left with an error.\n"
    "    BackPressured: no room within ``timeout_s``.\n"
    "    StorageError: the driver directory has had no room for two seconds, or for\n"
    "        ``timeout_s``; the text says how much is missing.\n"
    "    ClosedError: closed here. A message in parts is then lost to its readers, which are\n"
    "        told so; likewise after any other error or Ctrl-C.\n"
    "    ConcurrentUseError: a signal handler interrupted a message in parts of its own thread,\n"
    "        and sends another one.\n");

PyDoc_STRVAR(offer_doc,
    "_offer($self, obj)\n"
    "--\n"
    "\n"
    "Try to send one object at once.\n"
    "\n"
    "A message in parts is begun only if there is room now and no other one is under way. Once\n"
    "begun it is sent to its end, as :meth:`send` does: that waits as long as readers are there.\n"
    "\n"
    "Args:\n"
    "    obj: what the codec takes.\n"
    "Returns:\n"
    "    The position after it, or below 0 when it was not taken: Aeron's reason\n"
    "    (:data:`rstream.NOT_CONNECTED` -1, BACK_PRESSURED -2: the readers have no room,\n"
    "    ADMIN_ACTION -3), or RATE_LIMITED -7: it is held back by its own rate.\n"
    "Raises:\n"
    "    CodecError, MessageTooLarge, ClosedError: as for :meth:`send`.\n");

static PyMethodDef send_path_methods[] = {
    {"_send", RSTI_PY_FASTCALL(send_path_send), METH_FASTCALL | METH_KEYWORDS, send_doc},
    {"_offer", RSTI_PY_FASTCALL(send_path_offer), METH_FASTCALL | METH_KEYWORDS, offer_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot send_path_slots[] = {
    {Py_tp_doc, "The base of publishers: the short way of send and offer."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_traverse, send_path_traverse},
    {Py_tp_clear, send_path_clear},
    {Py_tp_dealloc, send_path_dealloc},
    {Py_tp_methods, send_path_methods},
    {Py_tp_getset, send_path_getset},
    {0, NULL},
};

PyType_Spec rsti_py_send_path_spec = {
    .name = "rstream._core.SendPath",
    .basicsize = sizeof(send_path_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = send_path_slots,
};
