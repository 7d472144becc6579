/* module.c: rstream.lab._lab, the laboratory as functions: what a run consists of, what comes out,
 * and the run itself, by the queue engine (lab/lab.h), by real agents (lab/agents.h), in virtual or
 * in real time, or by flows on a link (lab/traffic.h), without the GIL.
 *
 * It has laws and agents of its own, as rstream._core has, and shares errors.c and text.c with it.
 * Of the state of a module only the classes of errors are used. */
#include "flow/rate.h"
#include "flow/saturate.h"
#include "lab/agents.h"
#include "lab/lab.h"
#include "lab/traffic.h"
#include "python/state.h"

#include <string.h>

#define PART_NS (100 * RSTI_NS_PER_MS) /* of a run in real time, between two looks for signals */

static PyObject *texts(const char *const *names, int32_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int32_t i = 0; tuple != NULL && i < count; i++) {
        if (!rsti_py_put(tuple, i, PyUnicode_FromString(names[i]))) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

static PyObject *fields_of(const rsti_lab_record_t *record)
{
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list != NULL && i < record->count; i++) {
        const rsti_lab_field_t *field = &record->fields[i];
        PyObject *entry = Py_BuildValue("(sdd)", field->name, field->least, field->most);
        if (entry == NULL || PyList_Append(list, entry) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *lab_records(PyObject *module, PyObject *unused)
{
    PyObject *result = PyList_New(0);

    (void)module;
    (void)unused;
    for (int32_t kind = 0; result != NULL && kind < RSTI_LAB_KIND_COUNT; kind++) {
        const rsti_lab_record_t *record = &rsti_lab_records[kind];
        PyObject *entry = Py_BuildValue("(sN)", record->name, fields_of(record));
        if (entry == NULL || PyList_Append(result, entry) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(entry);
    }
    return result;
}

static PyObject *lab_columns(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("(NNN)", texts(rsti_lab_sender_columns, rsti_lab_sender_column_count),
        texts(rsti_lab_image_columns, rsti_lab_image_column_count),
        texts(rsti_lab_result_columns, rsti_lab_result_column_count));
}

/* The samples and the results as bytes of doubles. */
static PyObject *take_outcome(const rsti_lab_samples_t *samples)
{
    const Py_ssize_t width = rsti_lab_result_column_count * (Py_ssize_t)sizeof(double);
    const int32_t images = samples->spec->counts[RSTI_LAB_IMAGE];
    PyObject *rows = PyBytes_FromStringAndSize((const char *)samples->values,
        (Py_ssize_t)(samples->row_count * samples->row_width) * (Py_ssize_t)sizeof(double));
    PyObject *results = PyBytes_FromStringAndSize(NULL, images * width);

    if (rows == NULL || results == NULL) {
        Py_XDECREF(rows);
        Py_XDECREF(results);
        return NULL;
    }
    for (int32_t i = 0; i < images; i++) {
        double row[RSTI_LAB_RESULT_WIDTH];
        rsti_lab_samples_result(samples, i, row);
        memcpy(PyBytes_AsString(results) + i * width, row, (size_t)width);
    }
    return Py_BuildValue("(NN)", rows, results);
}

/* Takes the buffer of records; NULL with an exception set when it is none. */
static const double *records_of(PyObject *object, Py_buffer *records, size_t *count)
{
    if (PyObject_GetBuffer(object, records, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (records->len % (Py_ssize_t)sizeof(double) != 0) {
        PyErr_Format(PyExc_ValueError, "%zd bytes of records: not a multiple of 8", records->len);
        PyBuffer_Release(records);
        return NULL;
    }
    *count = (size_t)records->len / sizeof(double);
    return records->buf;
}

static PyObject *lab_run(PyObject *module, PyObject *argument)
{
    Py_buffer records;
    rsti_lab_t lab;
    PyObject *outcome = NULL;
    size_t count = 0;
    const double *values = records_of(argument, &records, &count);

    if (values == NULL) {
        return NULL;
    }
    const int result = rsti_lab_init(&lab, values, count);
    PyBuffer_Release(&records);
    if (result < 0) {
        return rsti_py_raise(rsti_py_state_of_module(module), result);
    }
    Py_BEGIN_ALLOW_THREADS rsti_lab_run(&lab);
    Py_END_ALLOW_THREADS outcome = take_outcome(&lab.samples);
    rsti_lab_fini(&lab);
    return outcome;
}

static PyObject *lab_traffic_columns(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return texts(rsti_lab_traffic_columns, RSTI_LAB_TRAFFIC_FLOW_WIDTH);
}

static PyObject *lab_run_traffic(PyObject *module, PyObject *argument)
{
    Py_buffer records;
    rsti_lab_traffic_t traffic;
    size_t count = 0;
    const double *values = records_of(argument, &records, &count);

    if (values == NULL) {
        return NULL;
    }
    const int result = rsti_lab_traffic_init(&traffic, values, count);
    PyBuffer_Release(&records);
    if (result < 0) {
        return rsti_py_raise(rsti_py_state_of_module(module), result);
    }
    Py_BEGIN_ALLOW_THREADS rsti_lab_traffic_run(&traffic);
    Py_END_ALLOW_THREADS PyObject *rows = PyBytes_FromStringAndSize((const char *)traffic.values,
        (Py_ssize_t)(traffic.row_count * traffic.row_width) * (Py_ssize_t)sizeof(double));
    rsti_lab_traffic_fini(&traffic);
    return rows;
}

/* The arguments of a run by real agents, and its set up. 0 or -1 with an exception set. */
static int set_up_agents(PyObject *module, PyObject *const *arguments, Py_ssize_t given,
    rsti_lab_agents_t *agents,
    int (*set_up)(rsti_lab_agents_t *, const double *, size_t, const char *))
{
    Py_buffer records;
    size_t count = 0;
    int result;

    if (given != 2) {
        PyErr_Format(PyExc_TypeError, "takes records and a directory, not %zd arguments", given);
        return -1;
    }
    PyObject *dir = NULL;
    if (PyUnicode_FSConverter(arguments[1], &dir) == 0) {
        return -1;
    }
    const double *values = records_of(arguments[0], &records, &count);
    if (values == NULL) {
        Py_DECREF(dir);
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS result = set_up(agents, values, count, PyBytes_AsString(dir));
    Py_END_ALLOW_THREADS PyBuffer_Release(&records);
    Py_DECREF(dir);
    if (result < 0) {
        (void)rsti_py_raise(rsti_py_state_of_module(module), result);
        return -1;
    }
    return 0;
}

static void close_agents(rsti_lab_agents_t *agents)
{
    Py_BEGIN_ALLOW_THREADS rsti_lab_agents_fini(agents);
    Py_END_ALLOW_THREADS
}

static PyObject *lab_run_agents(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    rsti_lab_agents_t agents;

    if (set_up_agents(module, arguments, given, &agents, rsti_lab_agents_init) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS rsti_lab_agents_run(&agents);
    Py_END_ALLOW_THREADS PyObject *outcome = take_outcome(&agents.samples);
    close_agents(&agents);
    return outcome;
}

/* In parts, so that Ctrl-C ends it. */
static int run_real(rsti_lab_agents_t *agents)
{
    bool has_ended = false;
    while (!has_ended) {
        Py_BEGIN_ALLOW_THREADS has_ended = rsti_lab_agents_run_real(agents, PART_NS);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0)
        {
            return -1;
        }
    }
    return 0;
}

static PyObject *lab_run_real(PyObject *module, PyObject *const *arguments, Py_ssize_t given)
{
    rsti_lab_agents_t agents;
    PyObject *outcome = NULL;

    if (set_up_agents(module, arguments, given, &agents, rsti_lab_agents_init_real) < 0) {
        return NULL;
    }
    if (run_real(&agents) == 0) {
        PyObject *rows = take_outcome(&agents.samples);
        if (rows != NULL) {
            outcome = Py_BuildValue("(NLL)", rows, (long long)agents.step_count,
                (long long)agents.gap_most_ns);
        }
    }
    close_agents(&agents);
    return outcome;
}

static PyObject *lab_headroom(PyObject *module, PyObject *args)
{
    long long target_delay_ns, detect_ns, buffer_bytes, rtt_ns;
    double rate;

    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLd:headroom", &target_delay_ns, &detect_ns, &buffer_bytes,
            &rtt_ns, &rate)) {
        return NULL;
    }
    return PyFloat_FromDouble(rsti_rate_headroom(rsti_clamp_i64(target_delay_ns, 0,
                                                     RSTI_REPORT_RTT_MAX_NS),
        rsti_clamp_i64(detect_ns, 0, RSTI_REPORT_RTT_MAX_NS),
        rsti_clamp_i64(buffer_bytes, 0, RSTI_BUFFER_MAX),
        rsti_clamp_i64(rtt_ns, 0, RSTI_REPORT_RTT_MAX_NS), rate));
}

static PyObject *lab_defaults(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("(LLL)", (long long)RSTI_TARGET_DELAY_NS, (long long)RSTI_DETECT_NS,
        (long long)RSTI_FILL_PERIOD_NS);
}

static PyMethodDef module_methods[] = {
    {"headroom", lab_headroom, METH_VARARGS,
        "headroom($module, target_delay_ns, detect_ns, buffer_bytes, rtt_ns, rate, /)\n--\n\n"
        "Headroom X of a buffer, where the drain is the rate."},
    {"defaults", lab_defaults, METH_NOARGS,
        "Target delay, detection time and least period of reports of the adaptive law in ns."},
    {"records", lab_records, METH_NOARGS,
        "[(kind, [(field, least, most), ...]), ...]: what run reads, by number of kind."},
    {"columns", lab_columns, METH_NOARGS,
        "Names of a sender's and an image's samples and of an image's results."},
    {"run", lab_run, METH_O,
        "run($module, records, /)\n--\n\n"
        "Doubles: each record its kind and its fields. Rows of samples and of results, as bytes."},
    {"traffic_columns", lab_traffic_columns, METH_NOARGS,
        "Names of a flow's samples in the rows of run_traffic."},
    {"run_traffic", lab_run_traffic, METH_O,
        "run_traffic($module, records, /)\n--\n\n"
        "As run, by flows on a link. Rows of samples, as bytes."},
    {"run_agents", RSTI_PY_FASTCALL(lab_run_agents), METH_FASTCALL,
        "run_agents($module, records, dir, /)\n--\n\n"
        "As run, by real agents whose files lie in dir, an empty directory."},
    {"run_real", RSTI_PY_FASTCALL(lab_run_real), METH_FASTCALL,
        "run_real($module, records, dir, /)\n--\n\n"
        "As run_agents, on sockets in real time: (rows, steps, longest time between two steps "
        "in ns)."},
    {NULL, NULL, 0, NULL},
};

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);

    Py_VISIT(state->errors_by_code);
    Py_VISIT(state->error_base);
    return 0;
}

static int module_clear(PyObject *module)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);

    Py_CLEAR(state->errors_by_code);
    Py_CLEAR(state->error_base);
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {{0, NULL}};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rstream.lab._lab",
    .m_doc = "The engines of the laboratory. Wrapped by rstream.lab.",
    .m_size = sizeof(rsti_py_state_t),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__lab(void);

PyMODINIT_FUNC PyInit__lab(void)
{
    return PyModuleDef_Init(&module_def);
}
