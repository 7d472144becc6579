/* module.c: rstream._core, multi-phase init. */
#include "records.h"
#include "types.h"

#include "seal/aead.h"

#ifndef RST_BUILD_ID
#define RST_BUILD_ID "unknown"
#endif
#ifndef RST_BUILD_TYPE
#define RST_BUILD_TYPE ""
#endif
#ifndef RST_BUILD_SANITIZE
#define RST_BUILD_SANITIZE ""
#endif
#ifndef RST_BUILD_FLAGS
#define RST_BUILD_FLAGS ""
#endif
#define CORE_VERSION "0.1.0"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static PyObject *build_config(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "version", CORE_VERSION, "build_id",
        RST_BUILD_ID, "build_type", RST_BUILD_TYPE, "sanitize", RST_BUILD_SANITIZE, "flags",
        RST_BUILD_FLAGS, "compiler", __VERSION__, "limited_api", TEXT(Py_LIMITED_API), "crypto",
        rsti_aead_is_built() ? "libcrypto" : "none");
}

static PyMethodDef module_methods[] = {
    {"build_config", build_config, METH_NOARGS, "How this extension was built."},
    {NULL, NULL, 0, NULL},
};

typedef struct type_entry_t {
    PyType_Spec *spec;
    size_t offset;
} type_entry_t;

static const type_entry_t type_entries[] = {
    {&rsti_py_driver_spec, offsetof(rsti_py_state_t, driver_type)},
    {&rsti_py_client_spec, offsetof(rsti_py_state_t, client_type)},
    {&rsti_py_publication_spec, offsetof(rsti_py_state_t, publication_type)},
    {&rsti_py_claim_spec, offsetof(rsti_py_state_t, claim_type)},
    {&rsti_py_subscription_spec, offsetof(rsti_py_state_t, subscription_type)},
    {&rsti_py_batch_spec, offsetof(rsti_py_state_t, batch_type)},
    {&rsti_py_message_spec, offsetof(rsti_py_state_t, message_type)},
    {&rsti_py_waiter_spec, offsetof(rsti_py_state_t, waiter_type)},
    {&rsti_py_counter_spec, offsetof(rsti_py_state_t, counter_type)},
    {&rsti_py_turn_spec, offsetof(rsti_py_state_t, turn_type)},
    {&rsti_py_visit_spec, offsetof(rsti_py_state_t, visit_type)},
    {&rsti_py_send_state_spec, offsetof(rsti_py_state_t, send_state_type)},
    {&rsti_py_send_path_spec, offsetof(rsti_py_state_t, send_path_type)},
};

static int add_types(PyObject *module)
{
    char *state = PyModule_GetState(module);

    for (size_t i = 0; i < sizeof(type_entries) / sizeof(type_entries[0]); i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, type_entries[i].spec, NULL);
        if (type == NULL) {
            return -1;
        }
        *(PyTypeObject **)(void *)(state + type_entries[i].offset) = (PyTypeObject *)type;
        if (PyModule_AddType(module, (PyTypeObject *)type) < 0) {
            return -1;
        }
    }
    return 0;
}

static int add_constants(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } reasons[] = {
        {"NOT_CONNECTED", RST_NOT_CONNECTED},
        {"BACK_PRESSURED", RST_BACK_PRESSURED},
        {"RATE_LIMITED", RST_RATE_LIMITED},
        {"HELD_BY_WINDOW", RST_HELD_BY_WINDOW},
        {"HELD_BY_RATE", RST_HELD_BY_RATE},
        {"HELD_BY_BUDGET", RST_HELD_BY_BUDGET},
        {"HELD_BY_STORAGE", RST_HELD_BY_STORAGE},
        {"HELD_BY_ENDED", RST_HELD_BY_ENDED},
        {"HELD_BY_PATH", RST_HELD_BY_PATH},
        {"ADMIN_ACTION", RST_ADMIN_ACTION},
        {"CLOSED", RST_CLOSED},
        {"MAX_POSITION_EXCEEDED", RST_MAX_POSITION_EXCEEDED},
        {"ERROR", RST_ERROR},
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (PyModule_AddIntConstant(module, reasons[i].name, reasons[i].value) < 0) {
            return -1;
        }
    }
    return PyModule_AddStringConstant(module, "__version__", CORE_VERSION) < 0
            || PyModule_AddStringConstant(module, "__build_id__", RST_BUILD_ID) < 0
        ? -1
        : 0;
}

static int module_exec(PyObject *module)
{
    return add_types(module) < 0 || rsti_py_records_add(module) < 0 || add_constants(module) < 0
            || PyModule_AddFunctions(module, rsti_py_tool_methods) < 0
            || PyModule_AddFunctions(module, rsti_py_directory_methods) < 0
            || PyModule_AddFunctions(module, rsti_py_bench_methods) < 0
        ? -1
        : 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);

    for (size_t i = 0; i < sizeof(type_entries) / sizeof(type_entries[0]); i++) {
        Py_VISIT(*(PyObject **)(void *)((char *)state + type_entries[i].offset));
    }
    for (size_t i = 0; i < RSTI_PY_RECORD_COUNT; i++) {
        Py_VISIT(state->record_types[i]);
    }
    Py_VISIT(state->errors_by_code);
    Py_VISIT(state->error_base);
    return 0;
}

/* The types stay until the module is freed: objects reach them through the state. */
static int module_clear(PyObject *module)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);

    Py_CLEAR(state->errors_by_code);
    Py_CLEAR(state->error_base);
    return 0;
}

static void module_free(void *module)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);

    (void)module_clear(module);
    for (size_t i = 0; i < sizeof(type_entries) / sizeof(type_entries[0]); i++) {
        Py_CLEAR(*(PyObject **)(void *)((char *)state + type_entries[i].offset));
    }
    for (size_t i = 0; i < RSTI_PY_RECORD_COUNT; i++) {
        Py_CLEAR(state->record_types[i]);
    }
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rstream._core",
    .m_doc =
        "The C extension: exact, thin, no policy. Wrapped by rstream.driver and rstream.client.",
    .m_size = sizeof(rsti_py_state_t),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
