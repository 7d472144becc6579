/* handle_life.h: closing publications and subscriptions, and waiting on one of them. The caller
 * holds the GIL. */
#ifndef RSTI_PYTHON_HANDLE_LIFE_H
#define RSTI_PYTHON_HANDLE_LIFE_H

#include "handle.h"

/* Closes for users: ends waits and an open lease, then rsti_py_handle_finish(). May release the
 * GIL. Repeated calls do nothing. */
void rsti_py_handle_close(rsti_py_handle_t *handle);
/* Closes the C handle if the handle is closed for users and nothing pins it; then its client, if
 * that waits for it. */
void rsti_py_handle_finish(rsti_py_handle_t *handle);
/* tp_dealloc of both types. */
void rsti_py_handle_dealloc(rsti_py_handle_t *handle);

/* ---- methods of both types ---- */

PyObject *rsti_py_handle_wait(PyObject *self, PyObject *timeout_s); /* METH_O */
PyObject *rsti_py_handle_close_method(PyObject *self, PyObject *unused);

#endif
