/* batch_type.h: Batch, the messages of one poll. */
#ifndef RSTI_PYTHON_BATCH_TYPE_H
#define RSTI_PYTHON_BATCH_TYPE_H

#include "lease.h"

/* Opens the lease of what the C batch holds. NULL with an exception: the C batch is released. */
PyObject *rsti_py_batch_make(rsti_py_subscription_t *subscription);

#endif
