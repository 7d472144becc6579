/* client.c: see client.h. */
#include "client.h"

#include "util/clock.h"

#include <time.h>
#include <unistd.h>

/* Within a slice a wait notices Ctrl-C and a close() of another thread. */
#define WAIT_SLICE_NS INT64_C(100000000)
#define AWAIT_SLICE_NS INT64_C(50000000)
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

bool rsti_py_client_check_open(rsti_py_client_t *self)
{
    if (self->is_closed) {
        (void)rsti_py_raise_text(self->state, RST_ECLOSED, "the client was closed");
        return false;
    }
    return true;
}

void rsti_py_client_finish(rsti_py_client_t *self)
{
    rst_client_t *client = self->client;

    if (!self->is_closed || client == NULL || self->handles != NULL || self->waiters != NULL
        || self->inside > 0) {
        return;
    }
    self->client = NULL;
    /* Closing waits for the end of a C thread, on a busy machine for milliseconds. */
    Py_BEGIN_ALLOW_THREADS rst_client_close(client);
    Py_END_ALLOW_THREADS
}

/* ---- waiting ---- */

/* Guarded by the GIL. */
static int64_t failing_check;

void rsti_py_fail_check(int64_t number)
{
    failing_check = number;
}

int rsti_py_check_signals(void)
{
    if (failing_check > 0) {
        failing_check--;
        if (failing_check == 0) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            return -1;
        }
    }
    return PyErr_CheckSignals();
}

int rsti_py_client_await(rsti_py_client_t *self, int64_t correlation_id, int64_t timeout_ns)
{
    int64_t now_ns = rsti_py_now_ns();
    int64_t end_ns = timeout_ns > INT64_MAX - now_ns ? INT64_MAX : now_ns + timeout_ns;
    int result = 0;

    if (correlation_id < 0) {
        (void)rsti_py_raise(self->state, (int)correlation_id);
        return -1;
    }
    for (;;) {
        int64_t slice_ns = end_ns - now_ns < AWAIT_SLICE_NS ? end_ns - now_ns : AWAIT_SLICE_NS;
        self->inside++;
        Py_BEGIN_ALLOW_THREADS result = rst_client_await(self->client, correlation_id,
            slice_ns > 0 ? slice_ns : 0);
        Py_END_ALLOW_THREADS self->inside--;
        if (result < 0) {
            (void)rsti_py_raise(self->state, result);
            break;
        }
        /* A close() in another thread or in a signal handler may have waited for this call. */
        if (rsti_py_check_signals() < 0) {
            break;
        }
        if (self->is_closed) {
            (void)rsti_py_raise_text(self->state, RST_ECLOSED, "the client was closed");
            break;
        }
        now_ns = rsti_py_now_ns();
        if (result > 0) {
            return 1;
        }
        if (now_ns >= end_ns) {
            (void)rsti_py_raise_text(self->state, RST_ETIMEDOUT,
                "the media driver did not answer in time; see `rstream stat` and `rstream errors`");
            break;
        }
    }
    if (self->client != NULL) {
        rst_client_cancel(self->client, correlation_id);
    }
    return -1;
}

void rsti_py_drain(const rsti_py_client_t *client, const int32_t *inside, rst_waiter_t *waiter)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = DRAIN_PAUSE_NS};

    /* In a forked child the threads inside do not exist. */
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

/* One slice of a wait. It is counted, so that close() in another thread waits for its end. */
static int wait_slice(rst_waiter_t *waiter, int32_t *inside, int64_t timeout_ns, int64_t spin_ns)
{
    int result;

    (*inside)++;
    Py_BEGIN_ALLOW_THREADS result = rst_waiter_wait(waiter, timeout_ns, spin_ns);
    Py_END_ALLOW_THREADS(*inside)--;
    return result;
}

/* 0: go on; 1: return; -1 with an exception. Signal handlers run here and may close anything. */
static int look_up(rsti_py_client_t *client, const rsti_py_waiting_t *waiting)
{
    if (rsti_py_check_signals() < 0) {
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
    /* First without releasing the GIL: getting it back can take milliseconds. */
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
