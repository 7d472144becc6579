/* tools.c: functions of the module: looking into a driver directory, and small facts. */
#include "client.h"
#include "types.h"

#include "channel/channel.h"
#include "protocol/data_header.h"
#include "util/msgpack.h"

#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 4096
#define TOKEN_SIZE 256
#define COUNTERS_FIRST 512

/* Borrowed from object; NULL with an exception. */
static const char *get_text(PyObject *object)
{
    Py_ssize_t size;
    const char *text;

    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%R: must be a str", object);
        return NULL;
    }
    text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text != NULL && strlen(text) != (size_t)size) {
        PyErr_SetString(PyExc_ValueError, "text with a zero character");
        return NULL;
    }
    return text;
}

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

    (void)module;
    (void)unused;
    return Py_BuildValue("(sis)", code != 0 ? rst_error_name(code) : "", rst_last_error_detail(),
        text);
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
    const char *dir = get_text(argument);
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
    const char *dir = get_text(argument);
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
    const char *dir = get_text(argument);
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
    const char *dir = get_text(argument);
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

static PyObject *open_tool(PyObject *module, PyObject *argument, rst_tool_t **tool)
{
    const char *dir = get_text(argument);
    int result;

    if (dir == NULL) {
        return NULL;
    }
    result = rst_tool_open(tool, dir);
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result) : argument;
}

/* Steals item; an exception that is set stays. */
static bool append(PyObject *list, PyObject *item)
{
    bool is_done = item != NULL && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return is_done;
}

static PyObject *counter_list(const rst_counter_t *counters, int count)
{
    PyObject *list = PyList_New(0);

    for (int i = 0; list != NULL && i < count; i++) {
        const rst_counter_t *counter = &counters[i];
        PyObject *label = rsti_py_foreign_text(counter->label,
            strnlen(counter->label, sizeof(counter->label)), false);
        PyObject *item = label == NULL
            ? NULL
            : Py_BuildValue("(iiLLLLN)", counter->id, counter->type_id, (long long)counter->value,
                  (long long)counter->registration_id, (long long)counter->owner_id,
                  (long long)counter->reference_id, label);
        if (!append(list, item)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *read_counters(PyObject *module, PyObject *argument)
{
    rst_tool_t *tool;
    rst_counter_t *counters = NULL;
    PyObject *list = NULL;
    int capacity = COUNTERS_FIRST;
    int count = 0;

    if (open_tool(module, argument, &tool) == NULL) {
        return NULL;
    }
    for (;;) {
        free(counters);
        counters = calloc((size_t)capacity, sizeof(*counters));
        count = counters == NULL ? 0 : rst_tool_counters(tool, counters, capacity);
        if (count < capacity || counters == NULL) {
            break;
        }
        capacity *= 2;
    }
    if (counters == NULL) {
        (void)PyErr_NoMemory();
    } else if (count < 0) {
        (void)rsti_py_raise(rsti_py_state_of_module(module), count);
    } else {
        list = counter_list(counters, count);
    }
    free(counters);
    rst_tool_close(tool);
    return list;
}

static void on_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text)
{
    PyObject *list = arg;
    PyObject *message;

    if (PyErr_Occurred() != NULL) {
        return;
    }
    message = rsti_py_foreign_text(text, strlen(text), true);
    if (message != NULL) {
        (void)append(list,
            Py_BuildValue("(iLLN)", observations, (long long)first_ms, (long long)last_ms,
                message));
    }
}

/* The list that read() fills. */
static PyObject *read_list(PyObject *module, PyObject *argument,
    int (*read)(rst_tool_t *tool, PyObject *list))
{
    rst_tool_t *tool;
    PyObject *list;
    int result = 0;

    if (open_tool(module, argument, &tool) == NULL) {
        return NULL;
    }
    list = PyList_New(0);
    if (list != NULL) {
        result = read(tool, list);
        if (result < 0 && PyErr_Occurred() == NULL) {
            (void)rsti_py_raise(rsti_py_state_of_module(module), result);
        }
        if (PyErr_Occurred() != NULL) {
            Py_CLEAR(list);
        }
    }
    rst_tool_close(tool);
    return list;
}

static int append_errors(rst_tool_t *tool, PyObject *list)
{
    return rst_tool_errors(tool, on_error, list);
}

static PyObject *read_errors(PyObject *module, PyObject *argument)
{
    return read_list(module, argument, append_errors);
}

static PyObject *decode(const char *text)
{
    return rsti_py_foreign_text(text, strlen(text), false);
}

static void on_loss(void *arg, const rst_loss_t *loss)
{
    PyObject *channel;
    PyObject *source;

    if (PyErr_Occurred() != NULL) {
        return;
    }
    channel = decode(loss->channel);
    source = channel == NULL ? NULL : decode(loss->source);
    if (source == NULL) {
        Py_XDECREF(channel);
        return;
    }
    (void)append(arg,
        Py_BuildValue("(LLLLiiNN)", (long long)loss->observations, (long long)loss->bytes_lost,
            (long long)loss->first_ms, (long long)loss->last_ms, loss->session_id, loss->stream_id,
            channel, source));
}

static void on_holder(void *arg, const rst_holder_t *holder)
{
    PyObject *source;

    if (PyErr_Occurred() != NULL) {
        return;
    }
    source = decode(holder->source);
    if (source != NULL) {
        (void)append(arg,
            Py_BuildValue("(LOOLLLLLLLLLN)", (long long)holder->registration_id,
                holder->is_report ? Py_True : Py_False, holder->is_local ? Py_True : Py_False,
                (long long)holder->id, (long long)holder->client_id, (long long)holder->pid,
                (long long)holder->since_ms, (long long)holder->position, (long long)holder->window,
                (long long)holder->gap, (long long)holder->allowed, (long long)holder->drain,
                source));
    }
}

static int append_holders(rst_tool_t *tool, PyObject *list)
{
    return rst_tool_holders(tool, on_holder, list);
}

static PyObject *read_holders(PyObject *module, PyObject *argument)
{
    return read_list(module, argument, append_holders);
}

static void on_client(void *arg, const rst_client_facts_t *client)
{
    PyObject *name = PyErr_Occurred() == NULL ? decode(client->name) : NULL;

    if (name != NULL) {
        (void)append(arg,
            Py_BuildValue("(LLLN)", (long long)client->client_id, (long long)client->pid,
                (long long)client->heartbeat_ms, name));
    }
}

static int append_clients(rst_tool_t *tool, PyObject *list)
{
    return rst_tool_clients(tool, on_client, list);
}

static PyObject *read_clients(PyObject *module, PyObject *argument)
{
    return read_list(module, argument, append_clients);
}

static PyObject *read_held_by(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rst_tool_t *tool;
    int64_t registration_id, held_by;
    rst_storage_t storage;

    if (!rsti_py_check_count("read_held_by", count, 2, 2)
        || !rsti_py_get_int64(args[1], &registration_id)
        || open_tool(module, args[0], &tool) == NULL) {
        return NULL;
    }
    held_by = rst_tool_held_by(tool, registration_id, &storage);
    rst_tool_close(tool);
    return held_by < 0 ? rsti_py_raise(rsti_py_state_of_module(module), (int)held_by)
                       : Py_BuildValue("LLL", (long long)held_by, (long long)storage.needed,
                             (long long)storage.usable);
}

static PyObject *decoded(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "ignore");
}

static PyObject *read_last_reader(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rst_tool_t *tool;
    int64_t registration_id;
    rst_last_reader_t last;
    int result;

    if (!rsti_py_check_count("read_last_reader", count, 2, 2)
        || !rsti_py_get_int64(args[1], &registration_id)
        || open_tool(module, args[0], &tool) == NULL) {
        return NULL;
    }
    result = rst_tool_last_reader(tool, registration_id, &last);
    rst_tool_close(tool);
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result)
                      : Py_BuildValue("LNLN", (long long)last.left_ms, decoded(last.why),
                            (long long)last.pid, decoded(last.name));
}

static PyObject *read_client_at(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rst_tool_t *tool;
    int64_t registration_id;
    rst_client_facts_t client;
    int is_reader, result;

    if (!rsti_py_check_count("read_client_at", count, 3, 3)
        || !rsti_py_get_int64(args[1], &registration_id)
        || (is_reader = PyObject_IsTrue(args[2])) < 0
        || open_tool(module, args[0], &tool) == NULL) {
        return NULL;
    }
    result = rst_tool_client_at(tool, registration_id, is_reader, &client);
    rst_tool_close(tool);
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result)
                      : Py_BuildValue("LN", (long long)client.pid, decoded(client.name));
}

static PyObject *read_demand(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rst_tool_t *tool;
    int64_t registration_id, wanted;

    if (!rsti_py_check_count("read_demand", count, 2, 2)
        || !rsti_py_get_int64(args[1], &registration_id)
        || open_tool(module, args[0], &tool) == NULL) {
        return NULL;
    }
    wanted = rst_tool_demand(tool, registration_id);
    rst_tool_close(tool);
    return wanted < 0 ? rsti_py_raise(rsti_py_state_of_module(module), (int)wanted)
                      : PyLong_FromLongLong(wanted);
}

static void on_segment(void *arg, int64_t end_position, int64_t bytes_before)
{
    if (PyErr_Occurred() == NULL) {
        (void)append(arg, Py_BuildValue("(LL)", (long long)end_position, (long long)bytes_before));
    }
}

static PyObject *read_segments(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    rst_tool_t *tool;
    int64_t registration_id, bytes;
    int64_t wait = 0;
    PyObject *list;

    if (!rsti_py_check_count("read_segments", count, 2, 2)
        || !rsti_py_get_int64(args[1], &registration_id)
        || open_tool(module, args[0], &tool) == NULL) {
        return NULL;
    }
    list = PyList_New(0);
    bytes = list == NULL ? 0 : rst_tool_segments(tool, registration_id, &wait, on_segment, list);
    rst_tool_close(tool);
    if (bytes < 0) {
        (void)rsti_py_raise(rsti_py_state_of_module(module), (int)bytes);
    }
    if (list == NULL || PyErr_Occurred() != NULL) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue("LLN", (long long)bytes, (long long)wait, list);
}

static int append_losses(rst_tool_t *tool, PyObject *list)
{
    return rst_tool_losses(tool, on_loss, list);
}

static PyObject *read_losses(PyObject *module, PyObject *argument)
{
    return read_list(module, argument, append_losses);
}

static PyObject *terminate(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const char *dir;
    char *token;
    Py_ssize_t length;
    int result;

    if (!rsti_py_check_count("terminate", count, 2, 2) || (dir = get_text(args[0])) == NULL
        || PyBytes_AsStringAndSize(args[1], &token, &length) < 0) {
        return NULL;
    }
    result = rst_tool_terminate(dir, token, (size_t)length);
    if (result < 0) {
        return rsti_py_raise(rsti_py_state_of_module(module), result);
    }
    Py_RETURN_NONE;
}

static PyObject *driver_info(PyObject *module, PyObject *argument)
{
    rst_tool_t *tool;
    PyObject *pair;

    if (open_tool(module, argument, &tool) == NULL) {
        return NULL;
    }
    pair = Py_BuildValue("(LL)", (long long)rst_tool_pid(tool),
        (long long)rst_tool_heartbeat_age_ms(tool));
    rst_tool_close(tool);
    return pair;
}

static PyObject *driver_options(PyObject *module, PyObject *unused)
{
    const rst_driver_option_t *option = rst_driver_option_list();
    PyObject *list = PyList_New(0);

    (void)module;
    (void)unused;
    for (; list != NULL && option->name != NULL; option++) {
        if (!append(list,
                Py_BuildValue("(sss)", option->name, option->default_text, option->help))) {
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

static void on_aeron_name(void *arg, const char *property, const char *variable, const char *option,
    const char *why)
{
    if (PyErr_Occurred() == NULL) {
        (void)append(arg, Py_BuildValue("(sszz)", property, variable, option, why));
    }
}

static PyObject *aeron_names(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);

    (void)module;
    (void)unused;
    if (list != NULL) {
        rst_driver_aeron_names(on_aeron_name, list);
        if (PyErr_Occurred() != NULL) {
            Py_CLEAR(list);
        }
    }
    return list;
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
    {"last_error", last_error, METH_NOARGS,
        "(code name, detail, text) of this thread's last failure; explains a reason ERROR."},
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
    {"read_counters", read_counters, METH_O, "Every counter of a driver directory."},
    {"read_errors", read_errors, METH_O, "The distinct errors of a driver directory."},
    {"read_losses", read_losses, METH_O, "What the images of a driver directory lost."},
    {"read_clients", read_clients, METH_O, "The clients of a driver directory."},
    {"read_holders", read_holders, METH_O, "Who holds the publications of a directory back."},
    {"read_demand", RSTI_PY_FASTCALL(read_demand), METH_FASTCALL,
        "read_demand($module, dir, registration_id, /)\n--\n\n"
        "Messages that the readers of a publication still want; 2**63 - 1: no limit."},
    {"read_last_reader", RSTI_PY_FASTCALL(read_last_reader), METH_FASTCALL,
        "read_last_reader($module, dir, registration_id, /)\n--\n\n"
        "(when the last reader of a publication without one left, the error that it said, its pid "
        "or 0, its name or ip:port or empty)."},
    {"read_client_at", RSTI_PY_FASTCALL(read_client_at), METH_FASTCALL,
        "read_client_at($module, dir, registration_id, is_reader, /)\n--\n\n"
        "(pid, name) of the client that owns a publication, or reads it in shared memory."},
    {"read_held_by", RSTI_PY_FASTCALL(read_held_by), METH_FASTCALL,
        "read_held_by($module, dir, registration_id, /)\n--\n\n"
        "(HELD_BY_…, bytes that the log's next term needs, bytes usable) of a publication."},
    {"read_segments", RSTI_PY_FASTCALL(read_segments), METH_FASTCALL,
        "read_segments($module, dir, registration_id, /)\n--\n\n"
        "(bytes of its messages in shared segments, of one that waits, which may be unread)."},
    {"terminate", RSTI_PY_FASTCALL(terminate), METH_FASTCALL,
        "terminate($module, dir, token, /)\n--\n\nAsk the driver of the directory to end."},
    {"aeron_names", aeron_names, METH_NOARGS,
        "(property, variable, option or None, why it has none or None) of each name of Aeron's."},
    {"driver_info", driver_info, METH_O, "(pid, age of the last heartbeat in ms)."},
    {"driver_options", driver_options, METH_NOARGS, "(name, default, help) of each option."},
    {NULL, NULL, 0, NULL},
};
