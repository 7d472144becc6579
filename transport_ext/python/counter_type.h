/* counter_type.h: the client's methods about counters. */
#ifndef RSTI_PYTHON_COUNTER_TYPE_H
#define RSTI_PYTHON_COUNTER_TYPE_H

#include "client.h"

PyObject *rsti_py_client_add_counter(PyObject *client, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_client_add_static_counter(PyObject *client, PyObject *const *args,
    Py_ssize_t count);
PyObject *rsti_py_client_find_counter(PyObject *client, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_client_read_counter(PyObject *client, PyObject *counter_id);
PyObject *rsti_py_client_next_counter_event(PyObject *client, PyObject *unused);

#endif
