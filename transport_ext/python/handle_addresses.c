/* handle_addresses.c: see handle_addresses.h. */
#include "handle_addresses.h"

#define ADDRESS_SIZE 128

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
    id = self->ops->add_destination(self, uri);
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
        id = self->ops->remove_destination_by_id(self, destination_id);
    } else {
        const char *uri = rsti_py_get_text(self->state, args[0]);
        if (uri == NULL) {
            return NULL;
        }
        id = self->ops->remove_destination(self, uri);
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
    for (int i = 0; list != NULL && !self->is_closed
        && self->ops->local_address(self, i, text, sizeof(text)) > 0;
        i++) {
        PyObject *item = PyUnicode_FromString(text);
        if (item == NULL || PyList_Append(list, item) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list;
}
