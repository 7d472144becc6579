/* tools.c: functions of the module: drivers, headers of messages, and small facts. */
#include "client.h"
#include "directory.h"
#include "records.h"
#include "types.h"

#include "channel/channel.h"
#include "protocol/data_header.h"
#include "util/msgpack.h"

#include <string.h>

#define PATH_SIZE 4096
#define TOKEN_SIZE 256

static PyObject *set_errors(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);
    PyObject *old_errors = state->errors_by_code;
    PyObject *old_base = state->error_base;

    if (!rsti_py_check_count("_set_errors", count, 2, 2)) {
        return NULL;
    }
    if (!PyDict_Check(args[0]) || !PyType_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "_set_errors(dict of classes by code name, base class)");
        return NULL;
    }
    state->errors_by_code = rsti_py_self(args[0], NULL);
    state->error_base = rsti_py_self(args[1], NULL);
    Py_XDECREF(old_errors);
    Py_XDECREF(old_base);
    Py_RETURN_NONE;
}

static PyObject *last_error(PyObject *module, PyObject *unused)
{
    int code = rst_last_error_code();
    const char *text = code != 0 ? rst_last_error_text() : "";

    (void)unused;
    return RSTI_PY_RECORD(rsti_py_state_of_module(module), RSTI_PY_LAST_ERROR,
        PyUnicode_FromString(code != 0 ? rst_error_name(code) : ""),
        PyLong_FromLong(rst_last_error_detail()), PyUnicode_FromString(text));
}

static PyObject *default_dir(PyObject *module, PyObject *unused)
{
    char path[PATH_SIZE];
    int result = rst_default_dir(path, sizeof(path));

    (void)unused;
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result)
                      : PyUnicode_FromString(path);
}

static PyObject *host_token(PyObject *module, PyObject *argument)
{
    const char *dir = rsti_py_get_path(argument);
    char token[TOKEN_SIZE];
    int result;

    if (dir == NULL) {
        return NULL;
    }
    result = rst_host_token(dir, token, sizeof(token));
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result)
                      : PyUnicode_FromString(token);
}

static PyObject *probe(PyObject *module, PyObject *argument)
{
    const char *dir = rsti_py_get_path(argument);
    int result;

    if (dir == NULL) {
        return NULL;
    }
    result = rst_driver_probe(dir);
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result)
                      : PyLong_FromLong(result);
}

static PyObject *check_dir(PyObject *module, PyObject *argument)
{
    const char *dir = rsti_py_get_path(argument);
    int result;

    if (dir == NULL) {
        return NULL;
    }
    result = rst_driver_check_dir(dir);
    if (result < 0) {
        return rsti_py_raise(rsti_py_state_of_module(module), result);
    }
    Py_RETURN_NONE;
}

static PyObject *clean(PyObject *module, PyObject *argument)
{
    const char *dir = rsti_py_get_path(argument);
    int result;

    if (dir == NULL) {
        return NULL;
    }
    result = rst_driver_clean(dir);
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result)
                      : PyLong_FromLong(result);
}

static PyObject *name_hash(PyObject *module, PyObject *argument)
{
    Py_ssize_t size;
    const char *name = PyUnicode_AsUTF8AndSize(argument, &size);

    (void)module;
    return name == NULL ? NULL : PyLong_FromLong(rsti_name_hash(name, (size_t)size));
}

static PyObject *printable(PyObject *module, PyObject *argument)
{
    (void)module;
    return rsti_py_printable(argument, true);
}

static PyObject *msgpack_cost(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_buffer view;
    int64_t enough;
    int64_t cost;

    (void)module;
    if (!rsti_py_check_count("msgpack_cost", count, 2, 2) || !rsti_py_get_int64(args[1], &enough)
        || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    cost = rsti_msgpack_cost(view.buf, (size_t)view.len, enough);
    PyBuffer_Release(&view);
    return PyLong_FromLongLong(cost);
}

static bool get_part(PyObject *object, const char *name, int32_t most, int32_t *value)
{
    if (!rsti_py_get_int32(object, value)) {
        return false;
    }
    if (*value < 0 || *value > most) {
        PyErr_Format(PyExc_ValueError, "%s=%d: must be 0 to %d", name, (int)*value, (int)most);
        return false;
    }
    return true;
}

static PyObject *encode_header(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rsti_stream_header_t header = {.version = RSTI_DATA_HEADER_VERSION};
    int32_t kind;
    int32_t flags;
    int32_t codec_id;
    int32_t target;
    int32_t hash;

    (void)module;
    if (!rsti_py_check_count("encode_header", count, 5, 5)
        || !get_part(args[0], "kind", UINT8_MAX, &kind)
        || !get_part(args[1], "flags", UINT8_MAX, &flags)
        || !get_part(args[2], "codec_id", UINT8_MAX, &codec_id)
        || !get_part(args[3], "target", UINT16_MAX, &target)
        || !get_part(args[4], "name_hash", UINT16_MAX, &hash)) {
        return NULL;
    }
    header.kind = (uint8_t)kind;
    header.flags = (uint8_t)flags;
    header.codec_id = (uint8_t)codec_id;
    header.target = (uint16_t)target;
    header.name_hash = (uint16_t)hash;
    return PyLong_FromLongLong(rsti_stream_header_encode(&header));
}

static PyObject *decode_header(PyObject *module, PyObject *argument)
{
    rsti_stream_header_t header;
    int64_t value;

    (void)module;
    if (!rsti_py_get_int64(argument, &value)) {
        return NULL;
    }
    if (!rsti_stream_header_decode(value, &header)) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(iiiii)", header.kind, header.flags, header.codec_id, header.target,
        header.name_hash);
}

static PyObject *terminate(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const char *dir;
    char *token;
    Py_ssize_t length;
    int result;

    if (!rsti_py_check_count("terminate", count, 2, 2) || (dir = rsti_py_get_path(args[0])) == NULL
        || PyBytes_AsStringAndSize(args[1], &token, &length) < 0) {
        return NULL;
    }
    result = rst_tool_terminate(dir, token, (size_t)length);
    if (result < 0) {
        return rsti_py_raise(rsti_py_state_of_module(module), result);
    }
    Py_RETURN_NONE;
}

static PyObject *driver_options(PyObject *module, PyObject *unused)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);
    const rst_driver_option_t *option = rst_driver_option_list();
    PyObject *list = PyList_New(0);

    (void)unused;
    for (; list != NULL && option->name != NULL; option++) {
        if (!rsti_py_append(list,
                RSTI_PY_RECORD(state, RSTI_PY_DRIVER_OPTION, PyUnicode_FromString(option->name),
                    PyUnicode_FromString(option->default_text),
                    PyUnicode_FromString(option->help)))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* How the C core reads a channel, without a driver. */
static PyObject *tool_check_channel(PyObject *module, PyObject *argument)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);
    rsti_channel_t channel;
    const char *uri = rsti_py_get_text(state, argument);
    int result;

    if (uri == NULL) {
        return NULL;
    }
    result = rsti_channel_parse(&channel, uri, strlen(uri));
    if (result < 0) {
        return rsti_py_raise(state, result);
    }
    Py_RETURN_NONE;
}

/* The list that a callback fills. */
typedef struct listing_t {
    rsti_py_state_t *state;
    PyObject *list;
} listing_t;

static PyObject *text_or_none(const char *text)
{
    return text == NULL ? rsti_py_self(Py_None, NULL) : PyUnicode_FromString(text);
}

static void on_aeron_name(void *arg, const char *property, const char *variable, const char *option,
    const char *why)
{
    const listing_t *listing = arg;

    if (PyErr_Occurred() == NULL) {
        (void)rsti_py_append(listing->list,
            RSTI_PY_RECORD(listing->state, RSTI_PY_AERON_NAME, PyUnicode_FromString(property),
                PyUnicode_FromString(variable), text_or_none(option), text_or_none(why)));
    }
}

static PyObject *aeron_names(PyObject *module, PyObject *unused)
{
    listing_t listing = {rsti_py_state_of_module(module), PyList_New(0)};

    (void)unused;
    if (listing.list != NULL) {
        rst_driver_aeron_names(on_aeron_name, &listing);
        if (PyErr_Occurred() != NULL) {
            Py_CLEAR(listing.list);
        }
    }
    return listing.list;
}

static PyObject *fail_check(PyObject *module, PyObject *number)
{
    int64_t wanted;

    (void)module;
    if (!rsti_py_get_int64(number, &wanted)) {
        return NULL;
    }
    rsti_py_fail_check(wanted);
    Py_RETURN_NONE;
}

PyMethodDef rsti_py_tool_methods[] = {
    {"check_channel", tool_check_channel, METH_O,
        "check_channel($module, uri, /)\n--\n\n"
        "Refuses a URI that is malformed (ChannelError) or not served at all (NotSupported)."},
    {"_set_errors", RSTI_PY_FASTCALL(set_errors), METH_FASTCALL,
        "_set_errors($module, by_code, base, /)\n--\n\nException classes by C code name."},
    {"_fail_check", fail_check, METH_O,
        "_fail_check($module, number, /)\n--\n\n"
        "For tests: the number-th look for signals from now on raises KeyboardInterrupt; 0: none."},
    {"last_error", last_error, METH_NOARGS, "This thread's last failure; explains a reason ERROR."},
    {"default_dir", default_dir, METH_NOARGS, "The default driver directory."},
    {"host_token", host_token, METH_O, "Equal for processes that can share the directory."},
    {"probe", probe, METH_O, "0 absent, 1 dead, 2 alive, 3 alive and not rstream."},
    {"check_dir", check_dir, METH_O, "Raises when no driver could start in the directory."},
    {"clean", clean, METH_O, "Remove what a dead driver left: the number of files."},
    {"name_hash", name_hash, METH_O, "16-bit hash of a stream's name."},
    {"printable", printable, METH_O,
        "printable($module, text, /)\n--\n\n"
        "The text with escapes such as \\x1b for control characters; line ends and tabs stay."},
    {"msgpack_cost", RSTI_PY_FASTCALL(msgpack_cost), METH_FASTCALL,
        "msgpack_cost($module, data, enough, /)\n--\n\n"
        "Bytes that a message of msgpack takes when it is decoded, about; -1: it is not whole."},
    {"encode_header", RSTI_PY_FASTCALL(encode_header), METH_FASTCALL,
        "encode_header($module, kind, flags, codec_id, target, name_hash, /)\n--\n\n"
        "The 64-bit reserved value."},
    {"decode_header", decode_header, METH_O,
        "(kind, flags, codec_id, target, name_hash), or None for a plain Aeron message."},
    {"terminate", RSTI_PY_FASTCALL(terminate), METH_FASTCALL,
        "terminate($module, dir, token, /)\n--\n\nAsk the driver of the directory to end."},
    {"aeron_names", aeron_names, METH_NOARGS, "Each name of an option of Aeron's drivers."},
    {"driver_options", driver_options, METH_NOARGS, "The options of the driver."},
    {NULL, NULL, 0, NULL},
};
