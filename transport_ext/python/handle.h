/* handle.h: the common head of publications and subscriptions, and what differs between them. */
#ifndef RSTI_PYTHON_HANDLE_H
#define RSTI_PYTHON_HANDLE_H

#include "client.h"

/* What a handle does by its kind. All under the GIL; the C handle is open. */
typedef struct rsti_py_handle_ops_t {
    const char *kind; /* in error texts */
    int (*attach)(rsti_py_handle_t *handle, rst_waiter_t *waiter, bool is_demand);
    void (*detach)(rsti_py_handle_t *handle, rst_waiter_t *waiter);
    /* Ends an open lease, if no view of it is alive. */
    void (*release)(rsti_py_handle_t *handle);
    /* Closes the C handle. */
    void (*destroy)(rsti_py_handle_t *handle);
    /* Each of these three returns a correlation id, or a negative error. */
    int64_t (*add_destination)(rsti_py_handle_t *handle, const char *uri);
    int64_t (*remove_destination)(rsti_py_handle_t *handle, const char *uri);
    int64_t (*remove_destination_by_id)(rsti_py_handle_t *handle, int64_t destination_id);
    /* 1: written; 0: there are not so many; negative error. */
    int (*local_address)(rsti_py_handle_t *handle, int index, char *text, size_t size);
} rsti_py_handle_ops_t;

struct rsti_py_handle_t {
    PyObject_HEAD
    rsti_py_state_t *state;
    const rsti_py_handle_ops_t *ops;
    rsti_py_client_t *client; /* owned reference */
    rsti_py_handle_t *previous;
    rsti_py_handle_t *next;
    rst_waiter_t *waiter; /* of wait(); made at its first use */
    PyObject *channel;
    int64_t registration_id;
    int32_t stream_id;
    int32_t pins; /* exported views of the batch, or open claims */
    int32_t inside;
    bool is_closed; /* for users */
    bool is_open;   /* the C handle is open */
};

/* Puts a new handle into its client's list and takes a reference to the client. */
void rsti_py_handle_link(rsti_py_handle_t *handle, rsti_py_client_t *client);
void rsti_py_handle_unlink(rsti_py_handle_t *handle);

/* NULL with an exception that names the channel and the stream. */
PyObject *rsti_py_raise_at(const rsti_py_handle_t *handle, int code, const char *text);
/* False with ClosedError. */
bool rsti_py_handle_check_open(const rsti_py_handle_t *handle, const char *what);

/* ---- attributes of both types ---- */

PyObject *rsti_py_handle_get_channel(PyObject *self, void *closure);
PyObject *rsti_py_handle_get_stream_id(PyObject *self, void *closure);
PyObject *rsti_py_handle_get_registration_id(PyObject *self, void *closure);

#endif
