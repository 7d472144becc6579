/* handle_addresses.c: the addresses of publications and subscriptions: destinations that are added
 * and removed, and what their sockets are bound to. */
#include "state.h"

#define ADDRESS_SIZE 128

static rst_publication_t *publication_of(rsti_py_handle_t *handle)
{
    return ((rsti_py_publication_t *)handle)->publication;
}

static rst_subscription_t *subscription_of(rsti_py_handle_t *handle)
{
    return ((rsti_py_subscription_t *)handle)->subscription;
}

/* The correlation id, or a negative error, of each. */
static int64_t add(rsti_py_handle_t *handle, const char *uri)
{
    return handle->is_subscription ? rst_subscription_add_destination(subscription_of(handle), uri)
                                   : rst_publication_add_destination(publication_of(handle), uri);
}

static int64_t remove_uri(rsti_py_handle_t *handle, const char *uri)
{
    return handle->is_subscription
        ? rst_subscription_remove_destination(subscription_of(handle), uri)
        : rst_publication_remove_destination(publication_of(handle), uri);
}

static int64_t remove_id(rsti_py_handle_t *handle, int64_t destination_id)
{
    return handle->is_subscription
        ? rst_subscription_remove_destination_by_id(subscription_of(handle), destination_id)
        : rst_publication_remove_destination_by_id(publication_of(handle), destination_id);
}

static int local_address(rsti_py_handle_t *handle, int index, char *text, size_t size)
{
    return handle->is_subscription
        ? rst_subscription_local_address_at(subscription_of(handle), index, text, size)
        : rst_publication_local_address(publication_of(handle), index, text, size);
}

bool rsti_py_handle_check_open(const rsti_py_handle_t *handle, const char *what)
{
    if (handle->is_closed) {
        (void)rsti_py_raise_at(handle, RST_ECLOSED, what);
        return false;
    }
    return true;
}

PyObject *rsti_py_handle_add_destination(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_handle_t *self = (rsti_py_handle_t *)object;
    int64_t timeout_ns;
    int64_t id;
    const char *uri;

    if (!rsti_py_check_count("add_destination", count, 2, 2)
        || !rsti_py_get_timeout_ns(args[1], &timeout_ns)
        || !rsti_py_handle_check_open(self, "add_destination() after close()")) {
        return NULL;
    }
    uri = rsti_py_get_text(self->state, args[0]);
    if (uri == NULL) {
        return NULL;
    }
    id = add(self, uri);
    return rsti_py_client_await(self->client, id, timeout_ns) < 0 ? NULL : PyLong_FromLongLong(id);
}

PyObject *rsti_py_handle_remove_destination(PyObject *object, PyObject *const *args,
    Py_ssize_t count)
{
    rsti_py_handle_t *self = (rsti_py_handle_t *)object;
    int64_t timeout_ns;
    int64_t id;

    if (!rsti_py_check_count("remove_destination", count, 2, 2)
        || !rsti_py_get_timeout_ns(args[1], &timeout_ns)
        || !rsti_py_handle_check_open(self, "remove_destination() after close()")) {
        return NULL;
    }
    if (PyLong_Check(args[0])) {
        int64_t destination_id;
        if (!rsti_py_get_int64(args[0], &destination_id)) {
            return NULL;
        }
        id = remove_id(self, destination_id);
    } else {
        const char *uri = rsti_py_get_text(self->state, args[0]);
        if (uri == NULL) {
            return NULL;
        }
        id = remove_uri(self, uri);
    }
    if (rsti_py_client_await(self->client, id, timeout_ns) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *rsti_py_handle_get_local_addresses(PyObject *object, void *closure)
{
    rsti_py_handle_t *self = (rsti_py_handle_t *)object;
    PyObject *list = PyList_New(0);
    char text[ADDRESS_SIZE];

    (void)closure;
    for (int i = 0;
        list != NULL && !self->is_closed && local_address(self, i, text, sizeof(text)) > 0; i++) {
        PyObject *item = PyUnicode_FromString(text);
        if (item == NULL || PyList_Append(list, item) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}
