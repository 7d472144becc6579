/* lease.h: a subscription and the batch that it lends.
 *
 * A subscription has one C batch and uses it for every poll. Each poll makes a new Batch object (60
 * ns), so that an old one can say that it was released. The caller holds the GIL. */
#ifndef RSTI_PYTHON_LEASE_H
#define RSTI_PYTHON_LEASE_H

#include "handle.h"

typedef struct rsti_py_batch_t rsti_py_batch_t;

typedef struct rsti_py_subscription_t {
    rsti_py_handle_t handle;
    rst_subscription_t *subscription;
    int32_t channel_status_id;
    rst_batch_t *batch; /* used again by each poll; NULL: its views keep the last one */
    rst_batch_t *spare; /* one that its views have kept, of the same capacity; or NULL */
    int32_t capacity;
    rsti_py_batch_t *current; /* borrowed: the open lease, or NULL */
    bool is_taken;            /* the lease is of take(): it outlives the object of its batch */
    bool has_event;           /* `event` is the one that peek_event() shows */
    rst_image_event_t event;
    int64_t released; /* atomic: a list of memory that C has let go of; see large.h */
} rsti_py_subscription_t;

struct rsti_py_batch_t {
    PyObject_HEAD
    rsti_py_subscription_t *subscription; /* owned reference */
    const rst_message_t *messages;
    int32_t count;
    int32_t exports; /* views that are alive */
    bool is_released;
    bool has_log_views; /* a message that a view may be made of lies in the log */
    rst_batch_t *kept;  /* the lease has ended, and the views alive hold this memory; or NULL */
    int32_t kept_capacity;
    rst_batch_t *aside; /* the loan, while the subscription polls on; or NULL */
};

/* Ends the open lease. False: views of it are alive. */
bool rsti_py_subscription_release(rsti_py_subscription_t *subscription);
/* Ends the lease of the batch, if it is the open one, for everyone but its living views: they stay
 * valid for as long as they are there. Each holds the log from the batch on, unless all messages
 * that views may be made of are assembled ones. */
void rsti_py_subscription_keep(rsti_py_batch_t *batch);
/* Sets the loan of the batch aside, if it is the open one: the subscription polls on, and the loan
 * lasts until the batch is released or given back. Its messages cannot be read any more. False with
 * an exception. */
bool rsti_py_subscription_set_aside(rsti_py_batch_t *batch);
/* Ends a loan that was set aside. */
void rsti_py_batch_end_aside(rsti_py_batch_t *batch, bool is_given_back);
/* Ends the lease of take() at a close: what was not consumed is for the next reader. Living views
 * keep their memory. `first`: messages before it count as consumed. */
void rsti_py_subscription_unread(rsti_py_subscription_t *subscription, int32_t first);
/* The C batch for the next poll. NULL with an exception. */
rst_batch_t *rsti_py_subscription_reserve(rsti_py_subscription_t *subscription, int32_t limit);
/* Counts a view that was made (1) or released (-1). */
void rsti_py_batch_export(rsti_py_batch_t *batch, int32_t change);
/* NULL with ClosedError. */
PyObject *rsti_py_batch_raise_released(const rsti_py_batch_t *batch);

#endif
