/* turn_type.c: Turn, a reentrant lock for moments. The GIL guards its fields, so that entering and
 * leaving without a rival is two stores: half the cost of threading.RLock, which takes a lock of
 * the system each time. Only rivals use the mutex, to sleep until the owner leaves. And Visit, a
 * block in a turn that waits for it a limited time. */
#include "turn.h"

#include "client.h"
#include "types.h"
#include "util/clock.h"

/* Within a slice a thread that waits notices Ctrl-C. */
#define SLICE_NS (50 * RSTI_NS_PER_MS)

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

/* One sleep without the GIL, of a slice at most. The mutex is taken before the GIL is released: so
 * an owner, who needs the GIL to leave, cannot signal before this thread sleeps. */
static void sleep_slice(rsti_py_turn_t *self, int64_t most_ns)
{
    const rsti_clock_t clock = rsti_clock_system();
    const int64_t slice_ns = most_ns < SLICE_NS ? most_ns : SLICE_NS;
    const int64_t until_ns = rsti_clock_epoch_ns(&clock) + slice_ns;
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / RSTI_NS_PER_S), .tv_nsec = (long)(until_ns % RSTI_NS_PER_S)};

    (void)pthread_mutex_lock(&self->mutex);
    Py_BEGIN_ALLOW_THREADS(void) pthread_cond_timedwait(&self->left, &self->mutex, &until);
    (void)pthread_mutex_unlock(&self->mutex);
    Py_END_ALLOW_THREADS
}

/* Sleeps until nobody is inside, or for timeout_ns; once at least. False with an exception: a
 * signal handler raised one. */
static bool await_turn(rsti_py_turn_t *self, int64_t timeout_ns)
{
    const rsti_clock_t clock = rsti_clock_system();
    const int64_t began_ns = rsti_clock_nano_time(&clock);
    int64_t left_ns = timeout_ns;
    bool is_interrupted = false;

    self->rivals++;
    do {
        sleep_slice(self, left_ns);
        is_interrupted = rsti_py_check_signals() < 0;
        left_ns = timeout_ns - (rsti_clock_nano_time(&clock) - began_ns);
    } while (self->depth > 0 && left_ns > 0 && !is_interrupted);
    self->rivals--;
    self->is_reserved = false;
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
        if (!await_turn(self, INT64_MAX)) {
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

/* ---- a block that waits a limited time ----
 *
 * Visits take turns: one that leaves and comes again finds a rival inside, as if the lock had been
 * handed over. */

typedef struct visit_t {
    PyObject_HEAD
    rsti_py_turn_t *turn;
    int64_t timeout_ns;
    bool is_inside;
} visit_t;

static PyObject *turn_within(PyObject *object, PyObject *seconds)
{
    rsti_py_state_t *state = rsti_py_state_of_type(Py_TYPE(object));
    int64_t timeout_ns;
    visit_t *visit;

    if (!rsti_py_get_timeout_ns(seconds, &timeout_ns)) {
        return NULL;
    }
    visit = (visit_t *)PyType_GenericAlloc(state->visit_type, 0);
    if (visit != NULL) {
        Py_INCREF(object);
        visit->turn = (rsti_py_turn_t *)object;
        visit->timeout_ns = timeout_ns;
    }
    return (PyObject *)visit;
}

static PyObject *visit_enter(PyObject *object, PyObject *unused)
{
    visit_t *self = (visit_t *)object;

    (void)unused;
    if (self->is_inside) {
        PyErr_SetString(PyExc_RuntimeError, "a visit is one block");
        return NULL;
    }
    self->is_inside = !self->turn->is_reserved && rsti_py_turn_try_enter(self->turn);
    if (!self->is_inside && self->timeout_ns > 0) {
        if (!await_turn(self->turn, self->timeout_ns)) {
            return NULL;
        }
        self->is_inside = rsti_py_turn_try_enter(self->turn);
    }
    return PyBool_FromLong(self->is_inside);
}

static PyObject *visit_leave(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    visit_t *self = (visit_t *)object;

    (void)args;
    (void)count;
    if (self->is_inside) {
        self->is_inside = false;
        rsti_py_turn_leave(self->turn);
        self->turn->is_reserved = self->turn->depth == 0 && self->turn->rivals > 0;
    }
    Py_RETURN_NONE;
}

static void visit_dealloc(PyObject *object)
{
    visit_t *self = (visit_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    Py_XDECREF((PyObject *)self->turn);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef visit_methods[] = {
    {"__enter__", visit_enter, METH_NOARGS, "Wait for the turn; whether this thread is inside."},
    {"__exit__", RSTI_PY_FASTCALL(visit_leave), METH_FASTCALL, "Leave if it is inside."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot visit_slots[] = {
    {Py_tp_doc, "A block in a turn, which waits for it a limited time."},
    {Py_tp_dealloc, visit_dealloc},
    {Py_tp_methods, visit_methods},
    {0, NULL},
};

PyType_Spec rsti_py_visit_spec = {
    .name = "rstream._core.Visit",
    .basicsize = sizeof(visit_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = visit_slots,
};

/* ---- the type ---- */

static PyMethodDef turn_methods[] = {
    {"__enter__", turn_enter, METH_NOARGS,
        "Wait until no other thread is inside, and enter. For one use at a time: raise instead."},
    {"__exit__", RSTI_PY_FASTCALL(turn_leave), METH_FASTCALL, "Leave."},
    {"within", turn_within, METH_O,
        "within($self, seconds, /)\n--\n\n"
        "For one ``with``, which waits so long at most; it says whether this thread is inside."},
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
