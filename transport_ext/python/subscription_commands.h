/* subscription_commands.h: methods of a subscription besides polling. */
#ifndef RSTI_PYTHON_SUBSCRIPTION_COMMANDS_H
#define RSTI_PYTHON_SUBSCRIPTION_COMMANDS_H

#include "lease.h"

PyObject *rsti_py_subscription_reject(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_subscription_say_why(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_subscription_images(PyObject *self, PyObject *unused);

#endif
