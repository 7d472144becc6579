/* send_path_type.c: SendPath, the base of publishers: what a send changes, and the short way of
 * send and offer. The short way encodes, offers once and counts, in one call from Python. Whatever
 * else may happen (an argument more, a rival thread, no room, no reader, a message in parts, an
 * object that cannot be encoded, one of a class that the codec has to look at) is left to Python:
 * the methods of a long_way_t, and _on_unencodable.
 *
 * The GIL guards the fields. The turn is held while the encoder runs, which may be Python code. */
#include "publication.h"
#include "turn.h"
#include "types.h"

#include <stddef.h>
#include <structmember.h>

typedef struct send_path_t {
    PyObject_HEAD
    rsti_py_turn_t *lock;          /* NULL: no short way */
    rsti_py_publication_t *direct; /* NULL: no short way: offers are answered elsewhere */
    PyObject *quick_encode;        /* a callable; NULL or None: the object is the message */
    PyObject *accepts; /* a set of classes; of others no object takes the short way. NULL or None:
                        * of all classes */
    PyObject *bucket; /* not NULL or None: the rate is kept in Python: no short way */
    int64_t header;
    int64_t reached; /* position after the last message */
    int64_t before; /* the same, of what was sent before a reader was seen; -1: nothing was since */
    int64_t short_way_end; /* position from which on there is no short way */
    int64_t sent; /* messages */
    int64_t look_again; /* messages after which _note_sent looks at the readers */
    char was_connected; /* whether a reader was there at the last look */
} send_path_t;

static int send_path_traverse(PyObject *object, visitproc visit, void *arg)
{
    send_path_t *self = (send_path_t *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->lock);
    Py_VISIT((PyObject *)self->direct);
    Py_VISIT(self->quick_encode);
    Py_VISIT(self->accepts);
    Py_VISIT(self->bucket);
    return 0;
}

static int send_path_clear(PyObject *object)
{
    send_path_t *self = (send_path_t *)object;

    Py_CLEAR(self->lock);
    Py_CLEAR(self->direct);
    Py_CLEAR(self->quick_encode);
    Py_CLEAR(self->accepts);
    Py_CLEAR(self->bucket);
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
    const char *encoded; /* takes the message */
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
static PyObject *encoded(const send_path_t *self, PyObject *item)
{
    PyObject *encode = self->quick_encode;
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
static int64_t offered(const send_path_t *self, PyObject *data)
{
    rsti_py_publication_t *publication = self->direct;
    char *bytes;
    Py_ssize_t length;

    if (publication == NULL || publication->handle.is_closed || !PyBytes_CheckExact(data)) {
        return 0;
    }
    (void)PyBytes_AsStringAndSize(data, &bytes, &length);
    return rst_publication_offer(publication->publication, bytes, (size_t)length, self->header);
}

static bool call_and_drop(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

/* Counts what was sent, in the same step: no signal handler comes between. */
static void count_taken(send_path_t *self, int64_t position, int64_t messages)
{
    if (!self->was_connected && self->before < 0) {
        self->before = self->reached; /* what was sent before this reader came ends here */
    }
    self->reached = position;
    self->sent += messages;
}

/* False with an exception. */
static bool count_sent(send_path_t *self, int64_t position)
{
    count_taken(self, position, 1);
    return (self->was_connected && self->sent < self->look_again)
        || call_and_drop(PyObject_CallMethod((PyObject *)self, "_note_sent", NULL));
}

static bool has_short_way(const send_path_t *self)
{
    return self->lock != NULL && self->direct != NULL && self->reached < self->short_way_end
        && (self->bucket == NULL || self->bucket == Py_None);
}

static bool is_accepted(const send_path_t *self, PyObject *item)
{
    PyObject *accepts = self->accepts;
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
    send_path_t *self = (send_path_t *)object;
    rsti_py_turn_t *lock;
    PyObject *data;
    PyObject *result = NULL;
    int64_t position = 0;

    if (count != 1 || names != NULL || !is_accepted(self, args[0])) {
        return call_whole(object, way, args, count, names);
    }
    lock = self->lock;
    if (!has_short_way(self) || !rsti_py_turn_try_enter(lock)) {
        return call_whole(object, way, args, count, names);
    }
    Py_INCREF((PyObject *)lock); /* a fork in the encoder gives the child another one */
    data = encoded(self, args[0]);
    if (data != NULL) {
        position = offered(self, data);
        if (position > 0 && count_sent(self, position)) {
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
        result = PyObject_CallMethod(object, way->encoded, "O", data);
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

/* ---- the long way, too, offers and counts in one step ---- */

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

static PyObject *send_path_take(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    int64_t messages;
    int64_t position;
    PyObject *result;

    if (!rsti_py_check_count("_take", count, 4, 5) || !rsti_py_get_int64(args[0], &messages)) {
        return NULL;
    }
    result = PyObject_CallFunctionObjArgs(args[1], args[2], args[3], count == 5 ? args[4] : NULL,
        NULL);
    if (result != NULL && !get_taken(result, &messages, &position)) {
        Py_CLEAR(result);
    }
    if (result != NULL && position > 0) {
        count_taken((send_path_t *)object, position, messages);
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

static PyObject *send_path_get_lock(PyObject *object, void *closure)
{
    (void)closure;
    return get_field((PyObject *)((send_path_t *)object)->lock);
}

static int send_path_set_lock(PyObject *object, PyObject *value, void *closure)
{
    (void)closure;
    return set_field((PyObject **)&((send_path_t *)object)->lock, value,
        state_of(object)->turn_type);
}

static PyObject *send_path_get_direct(PyObject *object, void *closure)
{
    (void)closure;
    return get_field((PyObject *)((send_path_t *)object)->direct);
}

static int send_path_set_direct(PyObject *object, PyObject *value, void *closure)
{
    (void)closure;
    return set_field((PyObject **)&((send_path_t *)object)->direct, value,
        state_of(object)->publication_type);
}

static PyMemberDef send_path_members[] = {
    {"_quick_encode", T_OBJECT, offsetof(send_path_t, quick_encode), 0, NULL},
    {"_accepts", T_OBJECT, offsetof(send_path_t, accepts), 0, NULL},
    {"_bucket", T_OBJECT, offsetof(send_path_t, bucket), 0, NULL},
    {"_header", T_LONGLONG, offsetof(send_path_t, header), 0, NULL},
    {"_reached", T_LONGLONG, offsetof(send_path_t, reached), 0, NULL},
    {"_before", T_LONGLONG, offsetof(send_path_t, before), 0, NULL},
    {"_short_way_end", T_LONGLONG, offsetof(send_path_t, short_way_end), 0, NULL},
    {"_sent", T_LONGLONG, offsetof(send_path_t, sent), 0, NULL},
    {"_look_again", T_LONGLONG, offsetof(send_path_t, look_again), 0, NULL},
    {"_was_connected", T_BOOL, offsetof(send_path_t, was_connected), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef send_path_getset[] = {
    {"_lock", send_path_get_lock, send_path_set_lock, NULL, NULL},
    {"_direct", send_path_get_direct, send_path_set_direct, NULL, NULL},
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
    {"_take", RSTI_PY_FASTCALL(send_path_take), METH_FASTCALL,
        "_take($self, messages, offer, data, header, /, *more)\n--\n\n"
        "Call an offer and count what it took: so many messages, or as many as it says."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot send_path_slots[] = {
    {Py_tp_doc, "What a send of a publisher changes, and the short way of send and offer."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_traverse, send_path_traverse},
    {Py_tp_clear, send_path_clear},
    {Py_tp_dealloc, send_path_dealloc},
    {Py_tp_methods, send_path_methods},
    {Py_tp_members, send_path_members},
    {Py_tp_getset, send_path_getset},
    {0, NULL},
};

PyType_Spec rsti_py_send_path_spec = {
    .name = "rstream._core.SendPath",
    .basicsize = sizeof(send_path_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = send_path_slots,
};
