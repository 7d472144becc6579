/* driver_type.c: Driver, a media driver whose agents are threads of this process. */
#include "types.h"

#include <unistd.h>

typedef struct driver_object_t {
    PyObject_HEAD
    rsti_py_state_t *state;
    rst_driver_t *driver; /* NULL after close */
    PyObject *dir;
    pid_t pid;
    bool is_started;
    bool is_busy; /* a thread is in a call without the GIL */
} driver_object_t;

static int set_options(rst_driver_params_t *params, PyObject *options)
{
    PyObject *key;
    PyObject *value;
    Py_ssize_t index = 0;

    while (PyDict_Next(options, &index, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
        int result;
        if (text == NULL) {
            return -RST_EINVAL; /* with Python's exception set */
        }
        result = rst_driver_params_set(params, name, text);
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

static int open_driver(driver_object_t *self, PyObject *options)
{
    rst_driver_params_t *params = NULL;
    int result = rst_driver_params_create(&params);

    if (result == 0) {
        result = set_options(params, options);
        if (result == 0) {
            Py_BEGIN_ALLOW_THREADS result = rst_driver_open(&self->driver, params);
            Py_END_ALLOW_THREADS
        }
        rst_driver_params_destroy(params);
    }
    return result;
}

static PyObject *driver_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    driver_object_t *self;
    PyObject *options;
    int result;

    if (keywords != NULL && PyDict_Size(keywords) != 0) {
        PyErr_SetString(PyExc_TypeError, "Driver() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!:Driver", &PyDict_Type, &options)) {
        return NULL;
    }
    self = PyObject_New(driver_object_t, type);
    if (self == NULL) {
        return NULL;
    }
    self->state = rsti_py_state_of_type(type);
    self->driver = NULL;
    self->dir = NULL;
    self->pid = getpid();
    self->is_started = false;
    self->is_busy = false;
    result = open_driver(self, options);
    if (result < 0) {
        if (PyErr_Occurred() == NULL) {
            (void)rsti_py_raise(self->state, result);
        }
        self->driver = NULL;
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    self->dir = PyUnicode_FromString(rst_driver_dir(self->driver));
    if (self->dir == NULL) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

/* Whether it is open, belongs to this process, and no other thread is inside. False with an
 * exception. */
static bool enter(driver_object_t *self)
{
    if (self->driver == NULL) {
        (void)rsti_py_raise_text(self->state, RST_ECLOSED, "the driver was closed");
    } else if (self->pid != getpid()) {
        (void)rsti_py_raise_text(self->state, RST_EFORKED, "the driver was made before fork");
    } else if (self->is_busy) {
        (void)rsti_py_raise_text(self->state, RST_EBUSY, "another thread is inside the driver");
    } else {
        self->is_busy = true;
        return true;
    }
    return false;
}

static PyObject *driver_start(PyObject *object, PyObject *unused)
{
    driver_object_t *self = (driver_object_t *)object;
    int result;

    (void)unused;
    if (!enter(self)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS result = rst_driver_start(self->driver);
    Py_END_ALLOW_THREADS self->is_busy = false;
    if (result < 0) {
        return rsti_py_raise(self->state, result);
    }
    self->is_started = true;
    Py_RETURN_NONE;
}

static PyObject *driver_do_work(PyObject *object, PyObject *unused)
{
    driver_object_t *self = (driver_object_t *)object;
    int64_t next_deadline_ns = 0;
    int64_t work_count;

    (void)unused;
    if (!enter(self)) {
        return NULL;
    }
    if (self->is_started) {
        self->is_busy = false;
        return rsti_py_raise_text(self->state, RST_EBUSY,
            "the driver runs in threads of its own: do_work() is for threading=invoker");
    }
    Py_BEGIN_ALLOW_THREADS work_count = rst_driver_do_work(self->driver, &next_deadline_ns);
    Py_END_ALLOW_THREADS self->is_busy = false;
    if (work_count < 0) {
        return rsti_py_raise(self->state, (int)work_count);
    }
    return Py_BuildValue("(LL)", (long long)work_count, (long long)next_deadline_ns);
}

static PyObject *driver_close(PyObject *object, PyObject *unused)
{
    driver_object_t *self = (driver_object_t *)object;
    rst_driver_t *driver = self->driver;

    (void)unused;
    if (driver == NULL) {
        Py_RETURN_NONE;
    }
    if (self->pid != getpid()) {
        /* The driver runs in the parent; its threads do not exist here. The copied memory is not
         * freed. */
        self->driver = NULL;
        Py_RETURN_NONE;
    }
    if (!enter(self)) {
        return NULL;
    }
    self->driver = NULL;
    Py_BEGIN_ALLOW_THREADS rst_driver_close(driver);
    Py_END_ALLOW_THREADS self->is_busy = false;
    Py_RETURN_NONE;
}

static void driver_dealloc(PyObject *object)
{
    driver_object_t *self = (driver_object_t *)object;
    PyTypeObject *type = Py_TYPE(object);

    /* The agents never take the GIL, so joining them while holding it cannot deadlock. */
    if (self->driver != NULL && self->pid == getpid()) {
        rst_driver_close(self->driver);
    }
    Py_XDECREF(self->dir);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *driver_get_dir(PyObject *object, void *closure)
{
    (void)closure;
    return rsti_py_self(((driver_object_t *)object)->dir, NULL);
}

static PyMethodDef driver_methods[] = {
    {"start", driver_start, METH_NOARGS, "Start the agents' threads."},
    {"do_work", driver_do_work, METH_NOARGS,
        "One pass in invoker mode: (work count, next deadline in monotonic ns)."},
    {"close", driver_close, METH_NOARGS,
        "Stop the agents, tell the clients, remove the files. Idempotent."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef driver_getset[] = {
    {"dir", driver_get_dir, NULL, "The driver directory.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot driver_slots[] = {
    {Py_tp_doc, "Driver(options, /)\n--\n\nAn embedded media driver (threads of this process)."},
    {Py_tp_new, driver_new},
    {Py_tp_dealloc, driver_dealloc},
    {Py_tp_methods, driver_methods},
    {Py_tp_getset, driver_getset},
    {0, NULL},
};

PyType_Spec rsti_py_driver_spec = {
    .name = "rstream._core.Driver",
    .basicsize = sizeof(driver_object_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = driver_slots,
};
