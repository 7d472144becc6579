/* subscription_commands.c: see subscription_commands.h. */
#include "subscription_commands.h"

#include "records.h"

#include <string.h>

#define IMAGES_MAX 4096 /* the list ends here */

static PyObject *tell(PyObject *object, PyObject *const *args, Py_ssize_t count, const char *name,
    int64_t (*say)(rst_subscription_t *subscription, int64_t image_id, const char *reason))
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int64_t timeout_ns;
    int64_t image_id;
    int64_t id;
    const char *reason;

    if (!rsti_py_check_count(name, count, 3, 3) || !rsti_py_get_int64(args[0], &image_id)
        || !rsti_py_get_timeout_ns(args[2], &timeout_ns)
        || !rsti_py_handle_check_open(&self->handle, "a word to a publisher after close()")) {
        return NULL;
    }
    reason = rsti_py_get_text(self->handle.state, args[1]);
    if (reason == NULL) {
        return NULL;
    }
    id = say(self->subscription, image_id, reason);
    if (rsti_py_client_await(self->handle.client, id, timeout_ns) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *rsti_py_subscription_reject(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    return tell(object, args, count, "reject", rst_subscription_reject_image);
}

PyObject *rsti_py_subscription_say_why(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    return tell(object, args, count, "say_why", rst_subscription_say_why);
}

static PyObject *end_or_none(int64_t position)
{
    return position == INT64_MAX ? rsti_py_self(Py_None, NULL) : PyLong_FromLongLong(position);
}

static PyObject *image_facts(rsti_py_state_t *state, const rst_image_info_t *image)
{
    return RSTI_PY_RECORD(state, RSTI_PY_IMAGE_FACTS, PyLong_FromLongLong(image->correlation_id),
        PyLong_FromLong(image->session_id), PyLong_FromLong(image->initial_term_id),
        PyLong_FromLong(image->term_length), PyLong_FromLong(image->mtu),
        PyLong_FromLong(image->active_transport_count), PyLong_FromLongLong(image->join_position),
        PyLong_FromLongLong(image->position), end_or_none(image->end_of_stream_position),
        PyBool_FromLong(image->is_revoked),
        rsti_py_foreign_text(image->source, strnlen(image->source, sizeof(image->source)), false),
        PyLong_FromLongLong(image->segment_bytes));
}

static PyObject *image_list(rsti_py_state_t *state, const rst_image_info_t *images, int count)
{
    PyObject *list = PyList_New(count);

    for (int i = 0; list != NULL && i < count; i++) {
        PyObject *facts = image_facts(state, &images[i]);
        if (facts == NULL) {
            Py_CLEAR(list);
        } else {
            (void)PyList_SetItem(list, i, facts);
        }
    }
    return list;
}

PyObject *rsti_py_subscription_images(PyObject *object, PyObject *unused)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    rst_image_info_t *images;
    PyObject *list;
    int capacity;
    int count;

    (void)unused;
    if (self->handle.is_closed) {
        return PyList_New(0);
    }
    capacity = rst_subscription_images(self->subscription, NULL, 0);
    capacity = capacity < IMAGES_MAX ? capacity : IMAGES_MAX;
    images = PyMem_Calloc((size_t)capacity + 1, sizeof(*images));
    if (images == NULL) {
        return PyErr_NoMemory();
    }
    count = rst_subscription_images(self->subscription, images, capacity);
    list = image_list(self->handle.state, images, count < capacity ? count : capacity);
    PyMem_Free(images);
    return list;
}
