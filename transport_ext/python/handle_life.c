/* handle_life.c: see handle_life.h. */
#include "handle_life.h"

#include "waiter.h"

void rsti_py_handle_finish(rsti_py_handle_t *handle)
{
    rsti_py_client_t *client = handle->client;

    if (!handle->is_closed || !handle->is_open || handle->pins > 0) {
        return;
    }
    /* First: forgetting may release the GIL, and no other thread may come here meanwhile. */
    handle->is_open = false;
    rsti_py_waiters_forget(handle);
    if (handle->waiter != NULL) {
        handle->ops->detach(handle, handle->waiter);
        rst_waiter_destroy(handle->waiter);
        handle->waiter = NULL;
    }
    handle->ops->destroy(handle);
    rsti_py_handle_unlink(handle);
    rsti_py_client_finish(client);
}

void rsti_py_handle_close(rsti_py_handle_t *handle)
{
    if (handle->is_closed) {
        return;
    }
    handle->is_closed = true;
    rsti_py_drain(handle->client, &handle->inside, handle->waiter);
    handle->ops->release(handle);
    rsti_py_handle_finish(handle);
}

/* Shutdown and foreign threads come here too: only the C core is called, no Python code. */
void rsti_py_handle_dealloc(rsti_py_handle_t *handle)
{
    PyTypeObject *type = Py_TYPE((PyObject *)handle);

    if (handle->client != NULL) {
        handle->is_closed = true;
        rsti_py_handle_finish(handle);
    }
    Py_XDECREF((PyObject *)handle->client);
    Py_XDECREF(handle->channel);
    PyObject_Free(handle);
    Py_DECREF(type);
}

static int make_waiter(rsti_py_handle_t *handle)
{
    rst_waiter_t *waiter = NULL;
    int result = rst_waiter_create(&waiter, handle->client->client);

    if (result == 0) {
        result = handle->ops->attach(handle, waiter, false);
    }
    if (result < 0) {
        rst_waiter_destroy(waiter);
        return result;
    }
    handle->waiter = waiter;
    return 0;
}

PyObject *rsti_py_handle_wait(PyObject *self, PyObject *timeout_s)
{
    rsti_py_handle_t *handle = (rsti_py_handle_t *)self;
    int64_t timeout_ns;
    int result;

    if (!rsti_py_get_timeout_ns(timeout_s, &timeout_ns)) {
        return NULL;
    }
    if (handle->is_closed) {
        return rsti_py_raise_at(handle, RST_ECLOSED, "wait() after close()");
    }
    if (handle->waiter == NULL) {
        result = make_waiter(handle);
        if (result < 0) {
            return rsti_py_raise_at(handle, result, NULL);
        }
    }
    {
        const rsti_py_waiting_t waiting = {
            .waiter = handle->waiter, .inside = &handle->inside, .is_closed = &handle->is_closed};
        result = rsti_py_wait(handle->client, &waiting, timeout_ns, 0);
    }
    return result < 0 ? NULL : PyBool_FromLong(result);
}

PyObject *rsti_py_handle_close_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    rsti_py_handle_close((rsti_py_handle_t *)self);
    Py_RETURN_NONE;
}
