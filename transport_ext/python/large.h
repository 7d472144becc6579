/* large.h: bytes objects as the memory of messages that come in parts.
 *
 * Each part is copied once, straight into the bytes object that the user gets. A poll makes the
 * object, with the GIL held. C may let go of it in a thread without the GIL (the client's
 * conductor); so it is put on a list, and the next poll, release or close frees it. */
#ifndef RSTI_PYTHON_LARGE_H
#define RSTI_PYTHON_LARGE_H

#include "lease.h"

/* take_parts(name_hash, length_max) */
PyObject *rsti_py_subscription_take_parts(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* A new reference to the bytes object of a message that came in parts. */
PyObject *rsti_py_large_bytes(const rst_message_t *message);
/* Frees what C has let go of. The caller holds the GIL. */
void rsti_py_large_drain(rsti_py_subscription_t *subscription);

#endif
