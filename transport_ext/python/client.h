/* client.h: a client as its handles and waiters see it, and waiting without the GIL. The caller of
 * every function holds the GIL. */
#ifndef RSTI_PYTHON_CLIENT_H
#define RSTI_PYTHON_CLIENT_H

#include "state.h"
#include <sys/types.h>

typedef struct rsti_py_handle_t rsti_py_handle_t;
typedef struct rsti_py_waiter_t rsti_py_waiter_t;

typedef struct rsti_py_client_t {
    PyObject_HEAD
    rsti_py_state_t *state; /* lives as long as the type, which this object holds */
    rst_client_t *client;                 /* NULL after the C client was closed */
    rsti_py_handle_t *handles;            /* borrowed: a list of those whose C handle is open */
    rsti_py_waiter_t *waiters;            /* borrowed: a list of the open ones */
    PyObject *dir;
    int64_t client_id;
    pid_t pid;
    int32_t inside;
    bool is_aeron_driver;
    bool is_closed; /* for users */
} rsti_py_client_t;

int64_t rsti_py_now_ns(void);
/* Runs the signal handlers that are due. -1 with an exception: one has raised it. */
int rsti_py_check_signals(void);
/* For tests: check number `number` from now on fails with KeyboardInterrupt; 0: none does. */
void rsti_py_fail_check(int64_t number);
bool rsti_py_is_forked(const rsti_py_client_t *client);
/* False with ClosedError. */
bool rsti_py_client_check_open(rsti_py_client_t *client);
/* Closes the C client if the object is closed for users and nothing uses it any more. */
void rsti_py_client_finish(rsti_py_client_t *client);

/* Waits for the driver's answer without the GIL. 1: ready. -1 with an exception: the command was
 * cancelled. A negative correlation id is the error of the command. */
int rsti_py_client_await(rsti_py_client_t *client, int64_t correlation_id, int64_t timeout_ns);

/* Releases the GIL until no thread is inside; wakes `waiter`, which may be NULL, to get them out.
 */
void rsti_py_drain(const rsti_py_client_t *client, const int32_t *inside, rst_waiter_t *waiter);

typedef struct rsti_py_waiting_t {
    rst_waiter_t *waiter;
    int32_t *inside;
    const bool *is_closed; /* the wait ends with ClosedError once it is true */
    const int32_t *paused; /* may be NULL; the wait returns 1 once it is not zero */
} rsti_py_waiting_t;

/* Waits in slices without the GIL. 1: something may be ready; 0: timeout_ns passed; -1 with an
 * exception. */
int rsti_py_wait(rsti_py_client_t *client, const rsti_py_waiting_t *waiting, int64_t timeout_ns,
    int64_t spin_ns);

#endif
