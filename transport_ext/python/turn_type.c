/* turn_type.c: Turn, a reentrant lock for moments. The GIL guards its fields, so that entering and
 * leaving without a rival is two stores: half the cost of threading.RLock, which takes a lock of
 * the system each time. Only rivals use the mutex, to sleep until the owner leaves. */
#include "turn.h"

#include "client.h"
#include "types.h"
#include "util/clock.h"

/* Within a slice a thread that waits notices Ctrl-C. */
#define SLICE_MS 50

static PyObject *turn_new(PyTypeObject *type, PyObject *args, PyObject *options)
{
    rsti_py_turn_t *self;
    PyObject *title = NULL;

    if ((options != NULL && PyDict_Size(options) > 0)
        || !PyArg_UnpackTuple(args, "Turn", 0, 1, &title)) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_TypeError, "Turn() takes no keyword arguments");
        }
        return NULL;
    }
    self = (rsti_py_turn_t *)PyType_GenericAlloc(type, 0);
    if (self != NULL) {
        self->title = title == NULL ? NULL : PyObject_Str(title);
        (void)pthread_mutex_init(&self->mutex, NULL);
        (void)pthread_cond_init(&self->left, NULL);
    }
    return (PyObject *)self;
}

static void turn_dealloc(PyObject *object)
{
    rsti_py_turn_t *self = (rsti_py_turn_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    Py_XDECREF(self->title);
    (void)pthread_cond_destroy(&self->left);
    (void)pthread_mutex_destroy(&self->mutex);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* One sleep without the GIL. The mutex is taken before the GIL is released: so an owner, who needs
 * the GIL to leave, cannot signal before this thread sleeps. */
static void sleep_slice(rsti_py_turn_t *self)
{
    const rsti_clock_t clock = rsti_clock_system();
    const int64_t until_ms = rsti_clock_epoch_ms(&clock) + SLICE_MS;
    const struct timespec until = {
        .tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000};

    (void)pthread_mutex_lock(&self->mutex);
    Py_BEGIN_ALLOW_THREADS(void) pthread_cond_timedwait(&self->left, &self->mutex, &until);
    (void)pthread_mutex_unlock(&self->mutex);
    Py_END_ALLOW_THREADS
}

/* False with an exception: a signal handler raised one. */
static bool await_turn(rsti_py_turn_t *self)
{
    bool is_interrupted = false;

    self->rivals++;
    while (self->depth > 0 && !is_interrupted) {
        sleep_slice(self);
        is_interrupted = rsti_py_check_signals() < 0;
    }
    self->rivals--;
    return !is_interrupted;
}

static PyObject *raise_busy(rsti_py_turn_t *self)
{
    PyObject *text = PyUnicode_FromFormat("%U: another thread is reading; one thread at a time",
        self->title);

    if (text != NULL) {
        (void)rsti_py_raise_text(rsti_py_state_of_type(Py_TYPE((PyObject *)self)), RST_EBUSY,
            PyUnicode_AsUTF8AndSize(text, NULL));
        Py_DECREF(text);
    }
    return NULL;
}

static PyObject *turn_enter(PyObject *object, PyObject *unused)
{
    rsti_py_turn_t *self = (rsti_py_turn_t *)object;

    (void)unused;
    while (!rsti_py_turn_try_enter(self)) {
        if (self->title != NULL) {
            return raise_busy(self);
        }
        if (!await_turn(self)) {
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

void rsti_py_turn_leave(rsti_py_turn_t *turn)
{
    turn->depth--;
    if (turn->depth == 0 && turn->rivals > 0) {
        (void)pthread_mutex_lock(&turn->mutex);
        (void)pthread_cond_signal(&turn->left);
        (void)pthread_mutex_unlock(&turn->mutex);
    }
}

static PyObject *turn_leave(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_turn_t *self = (rsti_py_turn_t *)object;

    (void)args;
    (void)count;
    if (self->depth == 0 || self->owner != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "this thread has not entered");
        return NULL;
    }
    rsti_py_turn_leave(self);
    Py_RETURN_NONE;
}

static PyObject *turn_get_is_contended(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((rsti_py_turn_t *)object)->rivals > 0);
}

static PyObject *turn_get_is_mine(PyObject *object, void *closure)
{
    const rsti_py_turn_t *self = (rsti_py_turn_t *)object;

    (void)closure;
    return PyBool_FromLong(self->depth > 0 && self->owner == PyThread_get_thread_ident());
}

static PyMethodDef turn_methods[] = {
    {"__enter__", turn_enter, METH_NOARGS,
        "Wait until no other thread is inside, and enter. For one use at a time: raise instead."},
    {"__exit__", RSTI_PY_FASTCALL(turn_leave), METH_FASTCALL, "Leave."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef turn_getset[] = {
    {"is_mine", turn_get_is_mine, NULL, "Whether this thread is inside.", NULL},
    {"is_contended", turn_get_is_contended, NULL, "Whether another thread waits to enter.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot turn_slots[] = {
    {Py_tp_doc, "A reentrant lock for moments, cheaper than threading.RLock."},
    {Py_tp_new, turn_new},
    {Py_tp_dealloc, turn_dealloc},
    {Py_tp_methods, turn_methods},
    {Py_tp_getset, turn_getset},
    {0, NULL},
};

PyType_Spec rsti_py_turn_spec = {
    .name = "rstream._core.Turn",
    .basicsize = sizeof(rsti_py_turn_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = turn_slots,
};
