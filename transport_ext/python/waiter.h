/* waiter.h: a waiter and the handles that it watches. The list of handles changes only while no
 * thread waits on it: changing it ends the waits first. The caller holds the GIL; every function
 * may release it for a moment. */
#ifndef RSTI_PYTHON_WAITER_H
#define RSTI_PYTHON_WAITER_H

#include "handle.h"

struct rsti_py_waiter_t {
    PyObject_HEAD
    rsti_py_client_t *client; /* owned reference */
    rsti_py_waiter_t *previous;
    rsti_py_waiter_t *next;
    rst_waiter_t *waiter;       /* NULL after close */
    rsti_py_handle_t **handles; /* owned references */
    size_t handle_count;
    size_t handle_capacity;
    int32_t inside;
    int32_t paused; /* a thread changes the list: waits return */
    bool is_closed;
};

/* NULL with an exception. */
PyObject *rsti_py_waiter_make(rsti_py_client_t *client);
/* False with ClosedError. */
bool rsti_py_waiter_check_open(rsti_py_waiter_t *waiter);
/* is_demand: watch the readers' demand instead of room. None, or NULL with an exception. */
PyObject *rsti_py_waiter_attach(rsti_py_waiter_t *waiter, rsti_py_handle_t *handle, bool is_demand);
/* A handle that is not attached changes nothing. */
void rsti_py_waiter_forget(rsti_py_waiter_t *waiter, rsti_py_handle_t *handle);
/* Detaches the handle from every waiter of its client. */
void rsti_py_waiters_forget(rsti_py_handle_t *handle);
/* Repeated calls do nothing. */
void rsti_py_waiter_close(rsti_py_waiter_t *waiter);

#endif
