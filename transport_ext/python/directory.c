/* directory.c: functions of the module that look into a driver directory. */
#include "directory.h"
#include "records.h"
#include "types.h"

#include <stdlib.h>
#include <string.h>

#define COUNTERS_FIRST 512

const char *rsti_py_get_path(PyObject *object)
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

static PyObject *open_tool(PyObject *module, PyObject *argument, rst_tool_t **tool)
{
    const char *dir = rsti_py_get_path(argument);
    int result;

    if (dir == NULL) {
        return NULL;
    }
    result = rst_tool_open(tool, dir);
    return result < 0 ? rsti_py_raise(rsti_py_state_of_module(module), result) : argument;
}

static PyObject *counter_list(rsti_py_state_t *state, const rst_counter_t *counters, int count)
{
    PyObject *list = PyList_New(0);

    for (int i = 0; list != NULL && i < count; i++) {
        if (!rsti_py_append(list, rsti_py_counter_facts(state, &counters[i]))) {
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
        list = counter_list(rsti_py_state_of_module(module), counters, count);
    }
    free(counters);
    rst_tool_close(tool);
    return list;
}

/* The list that a callback fills. */
typedef struct reading_t {
    rst_tool_t *tool;
    rsti_py_state_t *state;
    PyObject *list;
} reading_t;

/* The list that read() fills. */
static PyObject *read_list(PyObject *module, PyObject *argument, int (*read)(reading_t *reading))
{
    reading_t reading = {.state = rsti_py_state_of_module(module)};
    int result = 0;

    if (open_tool(module, argument, &reading.tool) == NULL) {
        return NULL;
    }
    reading.list = PyList_New(0);
    if (reading.list != NULL) {
        result = read(&reading);
        if (result < 0 && PyErr_Occurred() == NULL) {
            (void)rsti_py_raise(reading.state, result);
        }
        if (PyErr_Occurred() != NULL) {
            Py_CLEAR(reading.list);
        }
    }
    rst_tool_close(reading.tool);
    return reading.list;
}

static PyObject *printable(const char *text, bool keeps_lines)
{
    return rsti_py_foreign_text(text, strlen(text), keeps_lines);
}

static void on_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text)
{
    const reading_t *reading = arg;

    if (PyErr_Occurred() == NULL) {
        (void)rsti_py_append(reading->list,
            RSTI_PY_RECORD(reading->state, RSTI_PY_LOGGED_ERROR, PyLong_FromLong(observations),
                PyLong_FromLongLong(first_ms), PyLong_FromLongLong(last_ms),
                printable(text, true)));
    }
}

static int append_errors(reading_t *reading)
{
    return rst_tool_errors(reading->tool, on_error, reading);
}

static PyObject *read_errors(PyObject *module, PyObject *argument)
{
    return read_list(module, argument, append_errors);
}

static void on_loss(void *arg, const rst_loss_t *loss)
{
    const reading_t *reading = arg;

    if (PyErr_Occurred() == NULL) {
        (void)rsti_py_append(reading->list,
            RSTI_PY_RECORD(reading->state, RSTI_PY_LOSS_FACTS,
                PyLong_FromLongLong(loss->observations), PyLong_FromLongLong(loss->bytes_lost),
                PyLong_FromLongLong(loss->first_ms), PyLong_FromLongLong(loss->last_ms),
                PyLong_FromLong(loss->session_id), PyLong_FromLong(loss->stream_id),
                printable(loss->channel, false), printable(loss->source, false)));
    }
}

static int append_losses(reading_t *reading)
{
    return rst_tool_losses(reading->tool, on_loss, reading);
}

static PyObject *read_losses(PyObject *module, PyObject *argument)
{
    return read_list(module, argument, append_losses);
}

static void on_holder(void *arg, const rst_holder_t *holder)
{
    const reading_t *reading = arg;

    if (PyErr_Occurred() == NULL) {
        (void)rsti_py_append(reading->list,
            RSTI_PY_RECORD(reading->state, RSTI_PY_HOLDER_FACTS,
                PyLong_FromLongLong(holder->registration_id), PyBool_FromLong(holder->is_report),
                PyBool_FromLong(holder->is_local), PyLong_FromLongLong(holder->id),
                PyLong_FromLongLong(holder->client_id), PyLong_FromLongLong(holder->pid),
                PyLong_FromLongLong(holder->since_ms), PyLong_FromLongLong(holder->position),
                PyLong_FromLongLong(holder->window), PyLong_FromLongLong(holder->gap),
                PyLong_FromLongLong(holder->allowed), PyLong_FromLongLong(holder->drain),
                printable(holder->source, false)));
    }
}

static int append_holders(reading_t *reading)
{
    return rst_tool_holders(reading->tool, on_holder, reading);
}

static PyObject *read_holders(PyObject *module, PyObject *argument)
{
    return read_list(module, argument, append_holders);
}

static void on_client(void *arg, const rst_client_facts_t *client)
{
    const reading_t *reading = arg;

    if (PyErr_Occurred() == NULL) {
        (void)rsti_py_append(reading->list,
            RSTI_PY_RECORD(reading->state, RSTI_PY_CLIENT_FACTS,
                PyLong_FromLongLong(client->client_id), PyLong_FromLongLong(client->pid),
                PyLong_FromLongLong(client->heartbeat_ms), printable(client->name, false)));
    }
}

static int append_clients(reading_t *reading)
{
    return rst_tool_clients(reading->tool, on_client, reading);
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
                       : RSTI_PY_RECORD(rsti_py_state_of_module(module), RSTI_PY_LIMIT_CAUSE,
                             PyLong_FromLongLong(held_by), PyLong_FromLongLong(storage.needed),
                             PyLong_FromLongLong(storage.usable));
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
                      : RSTI_PY_RECORD(rsti_py_state_of_module(module), RSTI_PY_LAST_READER,
                            PyLong_FromLongLong(last.left_ms), decoded(last.why),
                            PyLong_FromLongLong(last.pid), decoded(last.name));
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
        (void)rsti_py_append(arg,
            Py_BuildValue("(LL)", (long long)end_position, (long long)bytes_before));
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
    return RSTI_PY_RECORD(rsti_py_state_of_module(module), RSTI_PY_SEGMENT_FACTS,
        PyLong_FromLongLong(bytes), PyLong_FromLongLong(wait), list);
}

static PyObject *driver_info(PyObject *module, PyObject *argument)
{
    rst_tool_t *tool;
    PyObject *info;

    if (open_tool(module, argument, &tool) == NULL) {
        return NULL;
    }
    info = RSTI_PY_RECORD(rsti_py_state_of_module(module), RSTI_PY_DRIVER_INFO,
        PyLong_FromLongLong(rst_tool_pid(tool)),
        PyLong_FromLongLong(rst_tool_heartbeat_age_ms(tool)));
    rst_tool_close(tool);
    return info;
}

PyMethodDef rsti_py_directory_methods[] = {
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
        "The last reader of a publication that has none."},
    {"read_client_at", RSTI_PY_FASTCALL(read_client_at), METH_FASTCALL,
        "read_client_at($module, dir, registration_id, is_reader, /)\n--\n\n"
        "(pid, name) of the client that owns a publication, or reads it in shared memory."},
    {"read_held_by", RSTI_PY_FASTCALL(read_held_by), METH_FASTCALL,
        "read_held_by($module, dir, registration_id, /)\n--\n\n"
        "The cause of a publication's limit."},
    {"read_segments", RSTI_PY_FASTCALL(read_segments), METH_FASTCALL,
        "read_segments($module, dir, registration_id, /)\n--\n\n"
        "A publication's messages in shared segments."},
    {"driver_info", driver_info, METH_O, "The process of a driver."},
    {NULL, NULL, 0, NULL},
};
