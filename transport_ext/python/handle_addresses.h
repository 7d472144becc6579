/* handle_addresses.h: methods of publications and subscriptions about addresses. */
#ifndef RSTI_PYTHON_HANDLE_ADDRESSES_H
#define RSTI_PYTHON_HANDLE_ADDRESSES_H

#include "handle.h"

PyObject *rsti_py_handle_add_destination(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_handle_remove_destination(PyObject *self, PyObject *const *args,
    Py_ssize_t count);
PyObject *rsti_py_handle_get_local_addresses(PyObject *self, void *closure);

#endif
