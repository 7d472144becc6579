/* subscription_type.c: Subscription. The polls keep the GIL: they read what is there and never
 * wait. */
#include "batch_type.h"
#include "handle_addresses.h"
#include "handle_life.h"
#include "large.h"
#include "lease.h"
#include "records.h"
#include "subscription_commands.h"
#include "types.h"

#include <string.h>

#define BATCH_CAPACITY_MAX 65536
#define ADDRESS_SIZE 128

static bool get_limits(PyObject *const *args, Py_ssize_t count, int32_t *limit, int64_t *bytes_max)
{
    int64_t wanted;

    *bytes_max = 0;
    if (!rsti_py_check_count("poll", count, 1, 2) || !rsti_py_get_int64(args[0], &wanted)
        || (count > 1 && !rsti_py_get_int64(args[1], bytes_max))) {
        return false;
    }
    if (wanted < 1) {
        PyErr_SetString(PyExc_ValueError, "limit must be at least 1");
        return false;
    }
    *limit = wanted < BATCH_CAPACITY_MAX ? (int32_t)wanted : BATCH_CAPACITY_MAX;
    return true;
}

static PyObject *raise_exported(const rsti_py_subscription_t *self)
{
    return PyErr_Format(PyExc_BufferError,
        "the batch of the last poll has %d living view(s), and the next poll reuses its memory: "
        "release() them (or copy with bytes) before the next poll",
        (int)self->current->exports);
}

static bool prepare(rsti_py_subscription_t *self, int32_t limit)
{
    if (self->handle.is_closed) {
        (void)rsti_py_raise_at(&self->handle, RST_ECLOSED, "poll() after close()");
        return false;
    }
    if (self->handle.inside > 0 && !rsti_py_is_forked(self->handle.client)) {
        (void)rsti_py_raise_at(&self->handle, RST_EBUSY,
            "another thread waits here: a subscription has one consumer");
        return false;
    }
    if (!rsti_py_subscription_release(self)) {
        (void)raise_exported(self);
        return false;
    }
    rsti_py_large_drain(self); /* of an image that has ended */
    return rsti_py_subscription_reserve(self, limit) != NULL;
}

static PyObject *hand_over(rsti_py_subscription_t *self, int result)
{
    return result < 0 ? rsti_py_raise_at(&self->handle, result, NULL) : rsti_py_batch_make(self);
}

static PyObject *subscription_poll(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int32_t limit;
    int64_t bytes_max;

    if (!get_limits(args, count, &limit, &bytes_max) || !prepare(self, limit)) {
        return NULL;
    }
    return hand_over(self,
        rst_subscription_poll(self->subscription, limit, bytes_max, self->batch));
}

static PyObject *subscription_poll_demanded(PyObject *object, PyObject *const *args,
    Py_ssize_t count)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int32_t limit;
    int64_t bytes_max;

    if (!get_limits(args, count, &limit, &bytes_max) || !prepare(self, limit)) {
        return NULL;
    }
    return hand_over(self,
        rst_subscription_poll_demanded(self->subscription, limit, bytes_max, self->batch));
}

/* Reads on only when the lease of the last take() has ended; else it gives that batch again, so
 * that a caller who was interrupted loses nothing. */
static PyObject *take(PyObject *object, PyObject *const *args, Py_ssize_t count,
    int (*poll)(rst_subscription_t *, int32_t, int64_t, rst_batch_t *))
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    PyObject *batch;
    int32_t limit;
    int64_t bytes_max;
    int result;

    if (!get_limits(args, count, &limit, &bytes_max)) {
        return NULL;
    }
    if (self->is_taken && !self->handle.is_closed) {
        return self->current != NULL ? rsti_py_self((PyObject *)self->current, NULL)
                                     : rsti_py_batch_make(self);
    }
    if (!prepare(self, limit)) {
        return NULL;
    }
    result = poll(self->subscription, limit, bytes_max, self->batch);
    if (result < 0) {
        return rsti_py_raise_at(&self->handle, result, NULL);
    }
    batch = rsti_py_batch_make(self);
    self->is_taken = batch != NULL && result > 0;
    return batch;
}

static PyObject *subscription_take(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    return take(object, args, count, rst_subscription_poll);
}

static PyObject *subscription_take_demanded(PyObject *object, PyObject *const *args,
    Py_ssize_t count)
{
    return take(object, args, count, rst_subscription_poll_demanded);
}

static PyObject *subscription_poll_bounded(PyObject *object, PyObject *const *args,
    Py_ssize_t count)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int64_t image_id;
    int64_t limit_position;
    int64_t bytes_max;
    int32_t limit;

    if (!rsti_py_check_count("poll_bounded", count, 3, 3) || !rsti_py_get_int64(args[0], &image_id)
        || !rsti_py_get_int64(args[1], &limit_position)
        || !get_limits(args + 2, 1, &limit, &bytes_max) || !prepare(self, limit)) {
        return NULL;
    }
    return hand_over(self,
        rst_subscription_poll_bounded(self->subscription, image_id, limit_position, limit,
            self->batch));
}

static PyObject *subscription_poll_block(PyObject *object, PyObject *bytes_max)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int32_t length;

    if (!rsti_py_get_int32(bytes_max, &length) || !prepare(self, 1)) {
        return NULL;
    }
    return hand_over(self, rst_subscription_poll_block(self->subscription, length, self->batch));
}

/* An n beyond 64 bits means unbounded demand. */
static PyObject *add_demand(PyObject *object, PyObject *argument,
    void (*add)(rst_subscription_t *subscription, int64_t n))
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int overflow = 0;
    int64_t n = PyLong_AsLongLongAndOverflow(argument, &overflow);

    if (n == -1 && PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (overflow > 0) {
        n = INT64_MAX;
    }
    if (overflow < 0 || n < 1) {
        PyErr_SetString(PyExc_ValueError, "request(n): n must be positive (Reactive Streams 3.9)");
        return NULL;
    }
    if (!self->handle.is_closed) {
        add(self->subscription, n);
    }
    Py_RETURN_NONE;
}

static PyObject *subscription_request(PyObject *object, PyObject *argument)
{
    return add_demand(object, argument, rst_subscription_request);
}

static PyObject *subscription_tell_demand(PyObject *object, PyObject *argument)
{
    return add_demand(object, argument, rst_subscription_tell_demand);
}

static PyObject *image_event(rsti_py_state_t *state, const rst_image_event_t *event)
{
    static const char *const kinds[] = {"", "available", "unavailable", "gap", "skipped"};
    bool is_available = event->kind == RST_IMAGE_AVAILABLE;
    bool has_end = !is_available && event->end_position != INT64_MAX;

    return RSTI_PY_RECORD(state, RSTI_PY_IMAGE_EVENT,
        PyUnicode_InternFromString(kinds[event->kind]), PyLong_FromLong(event->session_id),
        PyLong_FromLongLong(event->correlation_id), PyLong_FromLongLong(event->position),
        has_end ? PyLong_FromLongLong(event->end_position) : rsti_py_self(Py_None, NULL),
        PyLong_FromLongLong(is_available ? event->position : event->received_position),
        rsti_py_foreign_text(event->source, strnlen(event->source, sizeof(event->source)), false),
        PyLong_FromLongLong(event->evicted_ms), PyLong_FromLongLong(event->goes_on_at),
        PyLong_FromLongLong(event->message_length), PyLong_FromLong(event->skip_reason),
        PyLong_FromLong(event->initial_term_id), PyLong_FromLong(event->segment));
}

static PyObject *subscription_peek_event(PyObject *object, PyObject *unused)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int result;

    (void)unused;
    if (self->handle.is_closed) {
        Py_RETURN_NONE;
    }
    if (!self->has_event) {
        result = rst_subscription_next_event(self->subscription, &self->event);
        if (result < 0) {
            return rsti_py_raise_at(&self->handle, result, NULL);
        }
        self->has_event = result > 0;
    }
    return self->has_event ? image_event(self->handle.state, &self->event)
                           : rsti_py_self(Py_None, NULL);
}

static PyObject *subscription_drop_event(PyObject *object, PyObject *unused)
{
    (void)unused;
    ((rsti_py_subscription_t *)object)->has_event = false;
    Py_RETURN_NONE;
}

static PyObject *subscription_next_event(PyObject *object, PyObject *unused)
{
    PyObject *event = subscription_peek_event(object, unused);

    if (event != NULL) {
        ((rsti_py_subscription_t *)object)->has_event = false;
    }
    return event;
}

static PyObject *subscription_get_is_connected(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;

    (void)closure;
    return PyBool_FromLong(!self->handle.is_closed
        && rst_subscription_is_connected(self->subscription));
}

static PyObject *subscription_get_is_closed(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;

    (void)closure;
    return PyBool_FromLong(self->handle.is_closed
        || rst_subscription_is_closed(self->subscription));
}

static PyObject *subscription_get_image_count(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;

    (void)closure;
    return PyLong_FromLong(self->handle.is_closed
            ? 0
            : rst_subscription_image_count(self->subscription));
}

static PyObject *subscription_get_local_address(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    char text[ADDRESS_SIZE];

    (void)closure;
    if (self->handle.is_closed
        || rst_subscription_local_address(self->subscription, text, sizeof(text)) <= 0) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromString(text);
}

static PyObject *subscription_get_channel_status(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;

    (void)closure;
    return PyLong_FromLongLong(self->handle.is_closed
            ? RST_CLOSED
            : rst_subscription_channel_status(self->subscription));
}

static PyObject *subscription_get_channel_status_id(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((rsti_py_subscription_t *)object)->channel_status_id);
}

static PyObject *subscription_get_demand(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;

    (void)closure;
    return PyLong_FromLongLong(self->handle.is_closed
            ? 0
            : rst_subscription_demand(self->subscription));
}

static PyObject *subscription_get_is_taken(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((rsti_py_subscription_t *)object)->is_taken);
}

static PyObject *subscription_get_fill(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int64_t fill_bytes = 0;
    int64_t window_bytes = 0;

    (void)closure;
    if (!self->handle.is_closed) {
        rst_subscription_fill(self->subscription, &fill_bytes, &window_bytes);
    }
    return Py_BuildValue("(LL)", (long long)fill_bytes, (long long)window_bytes);
}

static PyObject *subscription_get_partial_bytes(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;

    (void)closure;
    return PyLong_FromLongLong(self->handle.is_closed
            ? 0
            : rst_subscription_partial_bytes(self->subscription));
}

static PyObject *subscription_get_held(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    int64_t held_bytes = 0;
    int64_t window_bytes = 0;
    int32_t mtu_max = 0;

    (void)closure;
    if (self->subscription != NULL) { /* also after close(), while views are alive */
        rst_subscription_held(self->subscription, &held_bytes, &window_bytes, &mtu_max);
    }
    return RSTI_PY_RECORD(self->handle.state, RSTI_PY_HELD_MEMORY, PyLong_FromLongLong(held_bytes),
        PyLong_FromLongLong(window_bytes), PyLong_FromLong(mtu_max));
}

static PyObject *subscription_get_segments(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;
    rst_segment_use_t use = {0};

    (void)closure;
    if (self->subscription != NULL) { /* also after close(), while views are alive */
        rst_subscription_segments(self->subscription, &use);
    }
    return RSTI_PY_RECORD(self->handle.state, RSTI_PY_SEGMENT_USE,
        PyLong_FromLongLong(use.unread_bytes), PyLong_FromLong(use.unread_count),
        PyLong_FromLongLong(use.held_bytes), PyLong_FromLong(use.held_count));
}

static PyObject *subscription_get_events_lost(PyObject *object, void *closure)
{
    rsti_py_subscription_t *self = (rsti_py_subscription_t *)object;

    (void)closure;
    return PyLong_FromLongLong(self->handle.is_closed
            ? 0
            : rst_subscription_events_lost(self->subscription));
}

static void subscription_dealloc(PyObject *object)
{
    rsti_py_handle_dealloc((rsti_py_handle_t *)object);
}

static PyMethodDef subscription_methods[] = {
    {"poll", RSTI_PY_FASTCALL(subscription_poll), METH_FASTCALL,
        "poll($self, limit, bytes_max=0, /)\n--\n\n"
        "Up to limit messages that are already here, leased. Never waits."},
    {"poll_demanded", RSTI_PY_FASTCALL(subscription_poll_demanded), METH_FASTCALL,
        "poll_demanded($self, limit, bytes_max=0, /)\n--\n\n"
        "As poll(), but no more than requested and not yet delivered."},
    {"take", RSTI_PY_FASTCALL(subscription_take), METH_FASTCALL,
        "take($self, limit, bytes_max=0, /)\n--\n\n"
        "As poll(); but until the lease of the last one has ended, that batch again."},
    {"take_demanded", RSTI_PY_FASTCALL(subscription_take_demanded), METH_FASTCALL,
        "take_demanded($self, limit, bytes_max=0, /)\n--\n\nAs take(), and poll_demanded()."},
    {"poll_bounded", RSTI_PY_FASTCALL(subscription_poll_bounded), METH_FASTCALL,
        "poll_bounded($self, image_id, limit_position, limit, /)\n--\n\n"
        "As poll(), from one image, and only messages that begin below limit_position."},
    {"poll_block", subscription_poll_block, METH_O,
        "poll_block($self, bytes_max, /)\n--\n\n"
        "Raw frames with their headers, as one entry of a batch."},
    {"add_destination", RSTI_PY_FASTCALL(rsti_py_handle_add_destination), METH_FASTCALL,
        "add_destination($self, uri, timeout_s, /)\n--\n\n"
        "Ask the driver to receive there too, and wait. Returns the id of the destination."},
    {"remove_destination", RSTI_PY_FASTCALL(rsti_py_handle_remove_destination), METH_FASTCALL,
        "remove_destination($self, destination, timeout_s, /)\n--\n\n"
        "Remove a destination, by URI or id."},
    {"reject", RSTI_PY_FASTCALL(rsti_py_subscription_reject), METH_FASTCALL,
        "reject($self, image_id, reason, timeout_s, /)\n--\n\n"
        "Refuse a publisher's session, and tell it why."},
    {"say_why", RSTI_PY_FASTCALL(rsti_py_subscription_say_why), METH_FASTCALL,
        "say_why($self, image_id, reason, timeout_s, /)\n--\n\n"
        "Before close: the error with which it leaves a publisher in shared memory."},
    {"images", rsti_py_subscription_images, METH_NOARGS, "A tuple for each image; see the stub."},
    {"request", subscription_request, METH_O,
        "request($self, n, /)\n--\n\nAdd to the demand; saturates. Any thread."},
    {"tell_demand", subscription_tell_demand, METH_O,
        "tell_demand($self, n, /)\n--\n\n"
        "Tell publishers that n more are wanted; it limits no poll. Any thread."},
    {"take_parts", RSTI_PY_FASTCALL(rsti_py_subscription_take_parts), METH_FASTCALL,
        "take_parts($self, name_hash, length_max, /)\n--\n\n"
        "Put messages together that come in parts; call it once, before the first poll."},
    {"wait", rsti_py_handle_wait, METH_O,
        "wait($self, timeout_s, /)\n--\n\nWait for messages, image events or the end."},
    {"peek_event", subscription_peek_event, METH_NOARGS,
        "The next image event, or None; the same one until drop_event()."},
    {"drop_event", subscription_drop_event, METH_NOARGS, "Go on to the event behind it."},
    {"next_event", subscription_next_event, METH_NOARGS, "The next image event, or None."},
    {"close", rsti_py_handle_close_method, METH_NOARGS,
        "Close. Idempotent. Memory stays valid while views of it are alive."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef subscription_getset[] = {
    {"channel", rsti_py_handle_get_channel, NULL, "The channel as given.", NULL},
    {"stream_id", rsti_py_handle_get_stream_id, NULL, "The stream.", NULL},
    {"registration_id", rsti_py_handle_get_registration_id, NULL, "The driver's number.", NULL},
    {"is_connected", subscription_get_is_connected, NULL, "There is an image.", NULL},
    {"is_closed", subscription_get_is_closed, NULL, "Closed here or with the client.", NULL},
    {"image_count", subscription_get_image_count, NULL, "Sessions seen now.", NULL},
    {"local_address", subscription_get_local_address, NULL, "Bound UDP address, or None.", NULL},
    {"local_addresses", rsti_py_handle_get_local_addresses, NULL, "Bound UDP addresses.", NULL},
    {"channel_status", subscription_get_channel_status, NULL,
        "-1 errored, 0 initialising, 1 active, 2 closing.", NULL},
    {"channel_status_id", subscription_get_channel_status_id, NULL,
        "Counter of the state of its socket; -1: shared memory or a spy.", NULL},
    {"demand", subscription_get_demand, NULL, "Requested and not yet delivered.", NULL},
    {"is_taken", subscription_get_is_taken, NULL, "The lease of the last take() is open.", NULL},
    {"held", subscription_get_held, NULL,
        "(bytes from the oldest lease on, window) of the image that is held most, and the largest "
        "MTU of all.",
        NULL},
    {"segments", subscription_get_segments, NULL,
        "Bytes and number of messages in shared segments: unread, and then held.", NULL},
    {"fill", subscription_get_fill, NULL,
        "(bytes received and not consumed, window) of the fullest image.", NULL},
    {"partial_bytes", subscription_get_partial_bytes, NULL,
        "Bytes held of messages whose last part has not come.", NULL},
    {"events_lost", subscription_get_events_lost, NULL, "Image events dropped from the full queue.",
        NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot subscription_slots[] = {
    {Py_tp_doc, "The receiving side of a stream."},
    {Py_tp_dealloc, subscription_dealloc},
    {Py_tp_methods, subscription_methods},
    {Py_tp_getset, subscription_getset},
    {0, NULL},
};

PyType_Spec rsti_py_subscription_spec = {
    .name = "rstream._core.Subscription",
    .basicsize = sizeof(rsti_py_subscription_t),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = subscription_slots,
};
