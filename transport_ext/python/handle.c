/* handle.c: what publications and subscriptions have in common: life and waits. */
#include "state.h"

#include "util/clock.h"

#include <time.h>
#include <unistd.h>

/* Ctrl-C and close() from another thread are noticed within a slice. */
#define WAIT_SLICE_NS INT64_C(100000000)
#define DRAIN_PAUSE_NS 200000

int64_t rsti_py_now_ns(void)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_clock_nano_time(&clock);
}

bool rsti_py_is_forked(const rsti_py_client_t *client)
{
    return client->pid != getpid();
}

void rsti_py_drain(const rsti_py_client_t *client, const int32_t *inside, rst_waiter_t *waiter)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = DRAIN_PAUSE_NS};

    /* In a forked child the threads that were inside do not exist. */
    if (rsti_py_is_forked(client)) {
        return;
    }
    while (*inside > 0) {
        if (waiter != NULL) {
            rst_waiter_wake(waiter);
        }
        Py_BEGIN_ALLOW_THREADS(void) nanosleep(&pause, NULL);
        Py_END_ALLOW_THREADS
    }
}

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

static void unlink_handle(rsti_py_handle_t *handle)
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

static rsti_py_waiter_t *find_attached(const rsti_py_client_t *client,
    const rsti_py_handle_t *handle)
{
    for (rsti_py_waiter_t *waiter = client->waiters; waiter != NULL; waiter = waiter->next) {
        for (size_t i = 0; i < waiter->handle_count; i++) {
            if (waiter->handles[i] == handle) {
                return waiter;
            }
        }
    }
    return NULL;
}

void rsti_py_handle_finish(rsti_py_handle_t *handle)
{
    rsti_py_client_t *client = handle->client;
    rsti_py_waiter_t *waiter;

    if (!handle->is_closed || !handle->is_open || handle->pins > 0) {
        return;
    }
    handle
        ->is_open = false; /* first: forgetting may give the GIL away, and nobody may come again */
    while ((waiter = find_attached(client, handle)) != NULL) {
        Py_INCREF((PyObject *)waiter);
        rsti_py_waiter_forget(waiter, handle);
        Py_DECREF((PyObject *)waiter);
    }
    if (handle->waiter != NULL) {
        if (handle->is_subscription) {
            rst_waiter_detach_subscription(handle->waiter,
                ((rsti_py_subscription_t *)handle)->subscription);
        } else {
            rst_waiter_detach_publication(handle->waiter,
                ((rsti_py_publication_t *)handle)->publication);
        }
        rst_waiter_destroy(handle->waiter);
        handle->waiter = NULL;
    }
    if (handle->is_subscription) {
        rsti_py_subscription_destroy((rsti_py_subscription_t *)handle);
    } else {
        rsti_py_publication_t *publication = (rsti_py_publication_t *)handle;
        if (publication->is_revoking) {
            rst_publication_revoke(publication->publication);
        } else {
            rst_publication_close(publication->publication);
        }
        publication->publication = NULL;
    }
    unlink_handle(handle);
    rsti_py_client_finish(client);
}

void rsti_py_handle_close(rsti_py_handle_t *handle)
{
    if (handle->is_closed) {
        return;
    }
    handle->is_closed = true;
    rsti_py_drain(handle->client, &handle->inside, handle->waiter);
    if (handle->is_subscription) {
        (void)rsti_py_subscription_release((rsti_py_subscription_t *)handle);
    }
    rsti_py_handle_finish(handle);
}

/* Shutdown and foreign threads come here too: no Python code runs, only the C core is told. */
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
        result = handle->is_subscription
            ? rst_waiter_attach_subscription(waiter,
                  ((rsti_py_subscription_t *)handle)->subscription)
            : rst_waiter_attach_publication(waiter, ((rsti_py_publication_t *)handle)->publication);
    }
    if (result < 0) {
        rst_waiter_destroy(waiter);
        return result;
    }
    handle->waiter = waiter;
    return 0;
}

/* A slice of a wait; counted, so that close() of another thread waits until it is out. */
static int wait_slice(rst_waiter_t *waiter, int32_t *inside, int64_t timeout_ns, int64_t spin_ns)
{
    int result;

    (*inside)++;
    Py_BEGIN_ALLOW_THREADS result = rst_waiter_wait(waiter, timeout_ns, spin_ns);
    Py_END_ALLOW_THREADS(*inside)--;
    return result;
}

/* 0 to go on; 1 to return; -1 with an exception. Signal handlers run here and may close anything.
 */
static int look_up(rsti_py_client_t *client, const rsti_py_waiting_t *waiting)
{
    if (PyErr_CheckSignals() < 0) {
        return -1;
    }
    if (*waiting->is_closed) {
        (void)rsti_py_raise_text(client->state, RST_ECLOSED, "closed while waiting");
        return -1;
    }
    return waiting->paused != NULL && *waiting->paused > 0;
}

int rsti_py_wait(rsti_py_client_t *client, const rsti_py_waiting_t *waiting, int64_t timeout_ns,
    int64_t spin_ns)
{
    int64_t now_ns = 0;
    int64_t end_ns = 0;
    int result;

    if (*waiting->inside > 0 && !rsti_py_is_forked(client)) {
        (void)rsti_py_raise_text(client->state, RST_EBUSY, "another thread waits here already");
        return -1;
    }
    /* When something is there already the GIL is kept: to get it back can take milliseconds. */
    result = rst_waiter_wait(waiting->waiter, 0, 0);
    if (result == 0 && timeout_ns > 0) {
        now_ns = rsti_py_now_ns();
        end_ns = timeout_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + timeout_ns;
    }
    while (result == 0 && now_ns < end_ns) {
        int64_t slice_ns = end_ns - now_ns < WAIT_SLICE_NS ? end_ns - now_ns : WAIT_SLICE_NS;
        int verdict;
        result = wait_slice(waiting->waiter, waiting->inside, slice_ns,
            spin_ns < slice_ns ? spin_ns : slice_ns);
        verdict = look_up(client, waiting);
        if (verdict != 0) {
            return verdict;
        }
        now_ns = rsti_py_now_ns();
    }
    if (result < 0) {
        (void)rsti_py_raise(client->state, result);
        return -1;
    }
    return result > 0;
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
