/* errors.c: see state.h. Turns codes into exceptions and objects into arguments. */
#include "state.h"

#include <math.h>
#include <string.h>

rsti_py_state_t *rsti_py_state_of_module(PyObject *module)
{
    return (rsti_py_state_t *)PyModule_GetState(module);
}

rsti_py_state_t *rsti_py_state_of_type(PyTypeObject *type)
{
    return (rsti_py_state_t *)PyType_GetModuleState(type);
}

/* Takes the classes from rstream.errors. Also for users that import only the extension. */
static void load_errors(rsti_py_state_t *state)
{
    PyObject *module = PyImport_ImportModule("rstream.errors");
    if (module != NULL) {
        state->errors_by_code = PyObject_GetAttrString(module, "BY_CODE");
        state->error_base = PyObject_GetAttrString(module, "RStreamError");
        Py_DECREF(module);
    }
    PyErr_Clear(); /* at interpreter shutdown the module may be gone: RuntimeError serves then */
}

/* New reference. */
static PyObject *exception_class(rsti_py_state_t *state, const char *name)
{
    PyObject *found = NULL;

    if (state->errors_by_code == NULL) {
        load_errors(state);
    }
    if (state->errors_by_code != NULL) {
        found = PyMapping_GetItemString(state->errors_by_code, name);
        if (found == NULL) {
            PyErr_Clear();
        }
    }
    if (found == NULL) {
        found = state->error_base != NULL ? state->error_base : PyExc_RuntimeError;
        Py_INCREF(found);
    }
    return found;
}

/* Steals value. A class that refuses the attribute keeps its text, and that is enough. */
static void set_attribute(PyObject *exception, const char *name, PyObject *value)
{
    if (value == NULL || PyObject_SetAttrString(exception, name, value) < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(value);
}

/* channel: NULL for errors without one. Steals text. */
static PyObject *raise_exception(rsti_py_state_t *state, int code, PyObject *text, int detail,
    PyObject *channel, int32_t stream_id)
{
    const char *name = rst_error_name(code);
    PyObject *type;
    PyObject *exception = NULL;

    if (text == NULL) {
        return NULL;
    }
    type = exception_class(state, name);
    exception = PyObject_CallFunctionObjArgs(type, text, NULL);
    Py_DECREF(text);
    if (exception != NULL) {
        set_attribute(exception, "code", PyUnicode_FromString(name));
        set_attribute(exception, "detail", PyLong_FromLong(detail));
        if (channel != NULL) {
            Py_INCREF(channel);
            set_attribute(exception, "channel", channel);
            set_attribute(exception, "stream_id", PyLong_FromLong(stream_id));
        }
        PyErr_SetObject(type, exception);
        Py_DECREF(exception);
    }
    Py_DECREF(type);
    return NULL;
}

static const char *text_of(int code)
{
    const char *text = rst_last_error_code() == code ? rst_last_error_text() : NULL;
    return text != NULL && text[0] != '\0' ? text : rst_error_text(code);
}

static PyObject *decode(const char *text)
{
    return rsti_py_foreign_text(text, strlen(text), true);
}

PyObject *rsti_py_raise(rsti_py_state_t *state, int code)
{
    code = code < 0 ? -code : code;
    return raise_exception(state, code, decode(text_of(code)),
        rst_last_error_code() == code ? rst_last_error_detail() : 0, NULL, 0);
}

PyObject *rsti_py_raise_text(rsti_py_state_t *state, int code, const char *text)
{
    return raise_exception(state, code < 0 ? -code : code, decode(text), 0, NULL, 0);
}

PyObject *rsti_py_raise_on_channel(rsti_py_state_t *state, int code, const char *text,
    const char *kind, PyObject *channel, int32_t stream_id)
{
    PyObject *what;
    PyObject *message;
    int detail = 0;

    code = code < 0 ? -code : code;
    if (text == NULL) {
        text = text_of(code);
        detail = rst_last_error_code() == code ? rst_last_error_detail() : 0;
    }
    what = decode(text);
    message = what == NULL ? NULL
                           : PyUnicode_FromFormat("%U (%s on channel %U stream %d)", what, kind,
                                 channel, (int)stream_id);
    Py_XDECREF(what);
    return raise_exception(state, code, message, detail, channel, stream_id);
}

bool rsti_py_check_count(const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most)
{
    if (count >= least && count <= most) {
        return true;
    }
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd positional arguments, %zd were given",
        name, least, most, count);
    return false;
}

bool rsti_py_get_int64(PyObject *object, int64_t *value)
{
    *value = PyLong_AsLongLong(object);
    return *value != -1 || PyErr_Occurred() == NULL;
}

bool rsti_py_get_int32(PyObject *object, int32_t *value)
{
    int64_t wide;

    if (!rsti_py_get_int64(object, &wide)) {
        return false;
    }
    if (wide < INT32_MIN || wide > INT32_MAX) {
        PyErr_Format(PyExc_OverflowError, "%lld does not fit 32 bits", (long long)wide);
        return false;
    }
    *value = (int32_t)wide;
    return true;
}

bool rsti_py_get_timeout_ns(PyObject *object, int64_t *timeout_ns)
{
    double seconds = PyFloat_AsDouble(object);

    if (seconds == -1.0 && PyErr_Occurred() != NULL) {
        return false;
    }
    if (isnan(seconds)) {
        PyErr_SetString(PyExc_ValueError, "a timeout must be a number of seconds, not nan");
        return false;
    }
    if (seconds <= 0.0) {
        *timeout_ns = 0;
    } else if (seconds > 4e9) {
        *timeout_ns = INT64_MAX;
    } else {
        *timeout_ns = (int64_t)(seconds * 1e9);
    }
    return true;
}

PyObject *rsti_py_self(PyObject *self, PyObject *unused)
{
    (void)unused;
    Py_INCREF((PyObject *)self);
    return self;
}

const char *rsti_py_get_text(rsti_py_state_t *state, PyObject *object)
{
    Py_ssize_t size;
    const char *text;

    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%R: must be a str", object);
        return NULL;
    }
    text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text != NULL && strlen(text) != (size_t)size) {
        (void)rsti_py_raise_text(state, RST_ECHANNEL, "text with a zero character");
        return NULL;
    }
    return text;
}

bool rsti_py_put(PyObject *tuple, Py_ssize_t index, PyObject *value)
{
    return value != NULL && PyTuple_SetItem(tuple, index, value) == 0;
}

bool rsti_py_append(PyObject *list, PyObject *item)
{
    bool is_done = item != NULL && PyList_Append(list, item) == 0;

    Py_XDECREF(item);
    return is_done;
}
