/* state.h: module state, object layouts and what the files of the extension share.
 *
 * References point one way: Message -> Batch -> Subscription -> Client, Claim -> Publication ->
 * Client, Waiter -> handles and Client. No object holds arbitrary Python objects, so there are no
 * cycles and no type needs the garbage collector. Every field here is guarded by the GIL, which is
 * given away only to wait and in the cold calls of driver and client; `inside` counts threads that
 * are in such a call, and closing waits for them.
 *
 * Closing with views alive: the object is closed for users at once, the memory goes when the last
 * view goes (`pins`). */
#ifndef RSTI_PYTHON_STATE_H
#define RSTI_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "rstream/counter.h"
#include "rstream/driver.h"
#include "rstream/image.h"
#include "rstream/rstream.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rsti_py_state_t {
    PyTypeObject *driver_type;
    PyTypeObject *client_type;
    PyTypeObject *publication_type;
    PyTypeObject *claim_type;
    PyTypeObject *subscription_type;
    PyTypeObject *batch_type;
    PyTypeObject *message_type;
    PyTypeObject *waiter_type;
    PyTypeObject *counter_type;
    PyObject *errors_by_code; /* dict of str to exception class, or NULL */
    PyObject *error_base;     /* exception class, or NULL */
} rsti_py_state_t;

typedef struct rsti_py_handle_t rsti_py_handle_t;
typedef struct rsti_py_waiter_t rsti_py_waiter_t;

typedef struct rsti_py_client_t {
    PyObject_HEAD rsti_py_state_t *state; /* lives as long as the type, which this object holds */
    rst_client_t *client;   /* NULL after the real close */
    rsti_py_handle_t *handles;
    rsti_py_waiter_t *waiters;
    PyObject *dir;
    int64_t client_id;
    pid_t pid;
    int32_t inside;
    bool is_aeron_driver;
    bool is_closed;
} rsti_py_client_t;

/* What publication and subscription have in common. */
struct rsti_py_handle_t {
    PyObject_HEAD rsti_py_state_t *state;
    rsti_py_client_t *client; /* owned reference */
    rsti_py_handle_t *previous;
    rsti_py_handle_t *next;
    rst_waiter_t *waiter;     /* of wait(); made at first use */
    PyObject *channel;
    int64_t registration_id;
    int32_t stream_id;
    int32_t pins;   /* exported views of the batch / open claims */
    int32_t inside;
    bool is_subscription;
    bool is_closed; /* for users */
    bool is_open;   /* the C handle is there */
};

typedef struct rsti_py_publication_t {
    rsti_py_handle_t handle;
    rst_publication_t *publication;
    rst_publication_info_t info; /* its channel is not used: handle.channel is */
    bool is_revoking; /* the end of this handle is the end of the stream */
} rsti_py_publication_t;

typedef struct rsti_py_batch_t rsti_py_batch_t;

typedef struct rsti_py_subscription_t {
    rsti_py_handle_t handle;
    rst_subscription_t *subscription;
    rst_batch_t *batch;       /* used again and again */
    int32_t capacity;
    rsti_py_batch_t *current; /* borrowed: the lease that is open now, or NULL */
} rsti_py_subscription_t;

struct rsti_py_batch_t {
    PyObject_HEAD rsti_py_subscription_t *subscription; /* owned reference */
    const rst_message_t *messages;
    int32_t count;
    int32_t exports;
    bool is_released;
};

typedef struct rsti_py_message_t {
    PyObject_HEAD rsti_py_batch_t *batch; /* owned reference */
    const uint8_t *data;
    int64_t position;
    int64_t reserved_value;
    int32_t length;
    int32_t session_id;
} rsti_py_message_t;

typedef struct rsti_py_claim_t {
    PyObject_HEAD rsti_py_publication_t
        *publication; /* owned reference; pinned until the claim is done */
    rst_claim_t claim;
    PyObject *view; /* what __enter__ gave out */
    int64_t position;
    int32_t exports;
    bool is_open;   /* neither committed nor aborted */
    bool is_pinned;
} rsti_py_claim_t;

typedef struct rsti_py_counter_t {
    PyObject_HEAD rsti_py_client_t *client; /* owned reference */
    rst_user_counter_t *counter; /* NULL after close */
    int64_t registration_id;
    int32_t counter_id;
} rsti_py_counter_t;

struct rsti_py_waiter_t {
    PyObject_HEAD rsti_py_client_t *client; /* owned reference */
    rsti_py_waiter_t *previous;
    rsti_py_waiter_t *next;
    rst_waiter_t *waiter;       /* NULL after close */
    rsti_py_handle_t **handles; /* owned references */
    size_t handle_count;
    size_t handle_capacity;
    int32_t inside;
    int32_t paused; /* somebody attaches or detaches: waits return */
    bool is_closed;
};

extern PyType_Spec rsti_py_driver_spec;
extern PyType_Spec rsti_py_client_spec;
extern PyType_Spec rsti_py_publication_spec;
extern PyType_Spec rsti_py_claim_spec;
extern PyType_Spec rsti_py_subscription_spec;
extern PyType_Spec rsti_py_batch_spec;
extern PyType_Spec rsti_py_message_spec;
extern PyType_Spec rsti_py_waiter_spec;
extern PyType_Spec rsti_py_counter_spec;

extern PyMethodDef rsti_py_tool_methods[];
extern PyMethodDef rsti_py_bench_methods[];
extern PyMethodDef rsti_py_lab_methods[];   /* lab.c */

#define RSTI_PY_FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

/* ---- errors.c: one place turns codes into exceptions; all return NULL ---- */

/* code: RST_E… with either sign; the text is the thread's last error when it belongs to the code.
 */
PyObject *rsti_py_raise(rsti_py_state_t *state, int code);
PyObject *rsti_py_raise_text(rsti_py_state_t *state, int code, const char *text);
/* The same, with channel and stream id in text and attributes. */
PyObject *rsti_py_raise_at(const rsti_py_handle_t *handle, int code, const char *text);
rsti_py_state_t *rsti_py_state_of_module(PyObject *module);
rsti_py_state_t *rsti_py_state_of_type(PyTypeObject *type);

/* Arguments of METH_FASTCALL functions: false with an exception set. */
bool rsti_py_check_count(const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most);
bool rsti_py_get_int64(PyObject *object, int64_t *value);
bool rsti_py_get_int32(PyObject *object, int32_t *value);
/* Seconds to ns; infinite and huge become INT64_MAX, negative 0. */
bool rsti_py_get_timeout_ns(PyObject *object, int64_t *timeout_ns);
/* Type members shared by types that only C makes. */
PyObject *rsti_py_self(PyObject *self, PyObject *unused);

/* ---- handle.c: life and waits of publications and subscriptions ---- */

int64_t rsti_py_now_ns(void);
bool rsti_py_is_forked(const rsti_py_client_t *client);
/* Lets threads that are in a call without the GIL come out; wakes waiter when given. */
void rsti_py_drain(const rsti_py_client_t *client, const int32_t *inside, rst_waiter_t *waiter);
/* NULL with an exception. Steals the C handle (closes it when it fails). */
PyObject *rsti_py_publication_make(rsti_py_client_t *client, rst_publication_t *publication);
PyObject *rsti_py_subscription_make(rsti_py_client_t *client, rst_subscription_t *subscription);
void rsti_py_handle_link(rsti_py_handle_t *handle, rsti_py_client_t *client);
void rsti_py_handle_close(rsti_py_handle_t *handle);
/* Closes for real when closed for users and nothing pins it; also its client. */
void rsti_py_handle_finish(rsti_py_handle_t *handle);
void rsti_py_handle_dealloc(rsti_py_handle_t *handle);
/* METH_O wait(timeout_s) of both. */
PyObject *rsti_py_handle_wait(PyObject *self, PyObject *timeout_s);
PyObject *rsti_py_handle_close_method(PyObject *self, PyObject *unused);
PyObject *rsti_py_handle_get_channel(PyObject *self, void *closure);
PyObject *rsti_py_handle_get_stream_id(PyObject *self, void *closure);
PyObject *rsti_py_handle_get_registration_id(PyObject *self, void *closure);

/* handle_addresses.c: methods of both. */
PyObject *rsti_py_handle_add_destination(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_handle_remove_destination(PyObject *self, PyObject *const *args,
    Py_ssize_t count);
PyObject *rsti_py_handle_get_local_addresses(PyObject *self, void *closure);
/* False with ClosedError, which names the channel. */
bool rsti_py_handle_check_open(const rsti_py_handle_t *handle, const char *what);

typedef struct rsti_py_waiting_t {
    rst_waiter_t *waiter;
    int32_t *inside;
    const bool *is_closed; /* the wait ends with ClosedError when it gets true */
    const int32_t *paused; /* may be NULL; the wait returns 1 when it is not zero */
} rsti_py_waiting_t;
/* Waits in slices without the GIL: 1, 0 after timeout_ns, -1 with an exception. */
int rsti_py_wait(rsti_py_client_t *client, const rsti_py_waiting_t *waiting, int64_t timeout_ns,
    int64_t spin_ns);

/* client_type.c */
void rsti_py_client_finish(rsti_py_client_t *client);
/* Waits for the driver's answer: 1 ready; -1 with an exception, the command is cancelled then. A
 * negative correlation id is the error of the command. */
int rsti_py_client_await(rsti_py_client_t *client, int64_t correlation_id, int64_t timeout_ns);
bool rsti_py_client_check_open(rsti_py_client_t *client);
/* A text without zero characters, as UTF-8; NULL with an exception. */
const char *rsti_py_get_text(rsti_py_state_t *state, PyObject *object);

/* counter_type.c: methods of the client about counters, and the type. */
PyObject *rsti_py_client_add_counter(PyObject *client, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_client_add_static_counter(PyObject *client, PyObject *const *args,
    Py_ssize_t count);
PyObject *rsti_py_client_find_counter(PyObject *client, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_client_read_counter(PyObject *client, PyObject *counter_id);
PyObject *rsti_py_client_next_counter_event(PyObject *client, PyObject *unused);

/* publication_commands.c, subscription_commands.c */
PyObject *rsti_py_publication_revoke(PyObject *self, PyObject *unused);
PyObject *rsti_py_publication_offer_frames(PyObject *self, PyObject *frames);
PyObject *rsti_py_publication_append_padding(PyObject *self, PyObject *length);
PyObject *rsti_py_publication_set_rate(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_publication_next_error(PyObject *self, PyObject *unused);
PyObject *rsti_py_publication_get_next_frame(PyObject *self, void *closure);
PyObject *rsti_py_publication_get_demand(PyObject *self, void *closure);
PyObject *rsti_py_publication_get_has_new_demand(PyObject *self, void *closure);
PyObject *rsti_py_publication_get_errors_lost(PyObject *self, void *closure);
PyObject *rsti_py_subscription_reject(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_subscription_images(PyObject *self, PyObject *unused);
/* Positions and Aeron's reasons are numbers; what lies below them (fork) is an exception. */
PyObject *rsti_py_position_result(const rsti_py_publication_t *publication, int64_t position);
/* Steals value; false when it is NULL. */
bool rsti_py_put(PyObject *tuple, Py_ssize_t index, PyObject *value);

/* subscription_type.c: ends the open lease; false when views of it are alive. */
bool rsti_py_subscription_release(rsti_py_subscription_t *subscription);
void rsti_py_subscription_destroy(rsti_py_subscription_t *subscription);

/* batch_type.c, message_type.c, claim_type.c */
PyObject *rsti_py_batch_make(rsti_py_subscription_t *subscription);
PyObject *rsti_py_batch_raise_released(const rsti_py_batch_t *batch);
void rsti_py_batch_export(rsti_py_batch_t *batch, int32_t change);
PyObject *rsti_py_message_make(rsti_py_batch_t *batch, const rst_message_t *message);
PyObject *rsti_py_claim_make(rsti_py_publication_t *publication, const rst_claim_t *claim);

/* waiter_type.c */
PyObject *rsti_py_waiter_make(rsti_py_client_t *client);
void rsti_py_waiter_forget(rsti_py_waiter_t *waiter, rsti_py_handle_t *handle);
void rsti_py_waiter_close(rsti_py_waiter_t *waiter);

#endif
