/* handle.c: see handle.h. */
#include "handle.h"

void rsti_py_handle_link(rsti_py_handle_t *handle, rsti_py_client_t *client)
{
    Py_INCREF((PyObject *)client);
    handle->client = client;
    handle->state = client->state;
    handle->previous = NULL;
    handle->next = client->handles;
    if (client->handles != NULL) {
        client->handles->previous = handle;
    }
    client->handles = handle;
    handle->is_open = true;
}

void rsti_py_handle_unlink(rsti_py_handle_t *handle)
{
    if (handle->previous != NULL) {
        handle->previous->next = handle->next;
    } else {
        handle->client->handles = handle->next;
    }
    if (handle->next != NULL) {
        handle->next->previous = handle->previous;
    }
    handle->previous = NULL;
    handle->next = NULL;
}

PyObject *rsti_py_raise_at(const rsti_py_handle_t *handle, int code, const char *text)
{
    return rsti_py_raise_on_channel(handle->state, code, text, handle->ops->kind, handle->channel,
        handle->stream_id);
}

bool rsti_py_handle_check_open(const rsti_py_handle_t *handle, const char *what)
{
    if (handle->is_closed) {
        (void)rsti_py_raise_at(handle, RST_ECLOSED, what);
        return false;
    }
    return true;
}

PyObject *rsti_py_handle_get_channel(PyObject *self, void *closure)
{
    (void)closure;
    return rsti_py_self(((rsti_py_handle_t *)self)->channel, NULL);
}

PyObject *rsti_py_handle_get_stream_id(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((rsti_py_handle_t *)self)->stream_id);
}

PyObject *rsti_py_handle_get_registration_id(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((rsti_py_handle_t *)self)->registration_id);
}
