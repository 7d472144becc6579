/* records.h: results of several values, whose values have names. They are struct sequences, so also
 * tuples. One costs about 30 ns more than a tuple: what comes with each message is none. */
#ifndef RSTI_PYTHON_RECORDS_H
#define RSTI_PYTHON_RECORDS_H

#include "state.h"

/* Makes their types, in the module and in its state; -1 with an exception. */
int rsti_py_records_add(PyObject *module);

/* A new reference to a record of these values, in the order of records.c. Steals them. NULL with an
 * exception, also when one of them is NULL. */
PyObject *rsti_py_record(rsti_py_state_t *state, rsti_py_record_t kind, PyObject *const *values,
    size_t count);

#define RSTI_PY_RECORD(state, kind, ...)                                                           \
    rsti_py_record(state, kind, (PyObject *[]){__VA_ARGS__},                                       \
        sizeof((PyObject *[]){__VA_ARGS__}) / sizeof(PyObject *))

PyObject *rsti_py_counter_facts(rsti_py_state_t *state, const rst_counter_t *counter);

#endif
