/* state.h: the module state, and the helpers that every file of the extension may use.
 *
 * References point one way: Message -> Batch -> Subscription -> Client, Claim -> Publication ->
 * Client, Waiter -> handles and Client. Only SendPath, the base of publishers, and its SendState
 * hold any Python objects; so they alone take part in garbage collection, and there are no other
 * reference cycles.
 *
 * The GIL guards every field of every object. It is released only to wait and in the cold calls of
 * driver and client. `inside` counts the threads that are in such a call; closing waits for them.
 *
 * Closing while views are alive closes the object for users at once. Its memory goes with the last
 * view (`pins`). */
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

/* The kinds of records.h. */
typedef enum rsti_py_record_t {
    RSTI_PY_IMAGE_EVENT,
    RSTI_PY_IMAGE_FACTS,
    RSTI_PY_RECEIVER_ERROR,
    RSTI_PY_READER_DEMAND,
    RSTI_PY_READER_LEFT,
    RSTI_PY_READER_LEFT_WHO,
    RSTI_PY_HELD_MEMORY,
    RSTI_PY_SEGMENT_USE,
    RSTI_PY_COUNTER_FACTS,
    RSTI_PY_COUNTER_EVENT,
    RSTI_PY_LOGGED_ERROR,
    RSTI_PY_LOSS_FACTS,
    RSTI_PY_CLIENT_FACTS,
    RSTI_PY_HOLDER_FACTS,
    RSTI_PY_LIMIT_CAUSE,
    RSTI_PY_LAST_READER,
    RSTI_PY_SEGMENT_FACTS,
    RSTI_PY_AERON_NAME,
    RSTI_PY_DRIVER_OPTION,
    RSTI_PY_DRIVER_INFO,
    RSTI_PY_LAST_ERROR,
    RSTI_PY_RECORD_COUNT
} rsti_py_record_t;

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
    PyTypeObject *turn_type;
    PyTypeObject *visit_type;
    PyTypeObject *send_state_type;
    PyTypeObject *send_path_type;
    PyTypeObject *record_types[RSTI_PY_RECORD_COUNT];
    PyObject *errors_by_code; /* dict of str to exception class, or NULL */
    PyObject *error_base;     /* exception class, or NULL */
} rsti_py_state_t;

#define RSTI_PY_FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

rsti_py_state_t *rsti_py_state_of_module(PyObject *module);
rsti_py_state_t *rsti_py_state_of_type(PyTypeObject *type);

/* ---- errors: the only place that turns codes into exceptions; all return NULL ---- */

/* code: RST_E… with either sign. The text is the thread's last error if that has this code. */
PyObject *rsti_py_raise(rsti_py_state_t *state, int code);
PyObject *rsti_py_raise_text(rsti_py_state_t *state, int code, const char *text);
/* The same, with the channel and the stream id in the text and in attributes. kind:
 * "subscription" or "publication". text NULL: as rsti_py_raise. */
PyObject *rsti_py_raise_on_channel(rsti_py_state_t *state, int code, const char *text,
    const char *kind, PyObject *channel, int32_t stream_id);

/* ---- arguments: false or NULL with an exception set ---- */

/* The number of arguments of a METH_FASTCALL function. */
bool rsti_py_check_count(const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most);
bool rsti_py_get_int64(PyObject *object, int64_t *value);
bool rsti_py_get_int32(PyObject *object, int32_t *value);
/* Seconds to ns. Infinite and huge values become INT64_MAX, negative ones 0. */
bool rsti_py_get_timeout_ns(PyObject *object, int64_t *timeout_ns);
/* A text without zero characters, as UTF-8. Valid as long as the object. */
const char *rsti_py_get_text(rsti_py_state_t *state, PyObject *object);

/* ---- text that came from elsewhere: from the network, another program or another user ----
 *
 * Both return a new reference to a text that a terminal may print: control characters are escapes
 * such as \x1b. keeps_lines: line ends and tabs stay. NULL with an exception. */

PyObject *rsti_py_printable(PyObject *text, bool keeps_lines);
PyObject *rsti_py_foreign_text(const char *bytes, size_t length, bool keeps_lines);

/* ---- results ---- */

/* A new reference to self: the method of types that return themselves. */
PyObject *rsti_py_self(PyObject *self, PyObject *unused);
/* Steals value; false when it is NULL. */
bool rsti_py_put(PyObject *tuple, Py_ssize_t index, PyObject *value);
/* Steals item; false when it is NULL or the list cannot grow, with an exception. */
bool rsti_py_append(PyObject *list, PyObject *item);

#endif
