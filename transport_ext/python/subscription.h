/* subscription.h: making the Python object of a subscription. */
#ifndef RSTI_PYTHON_SUBSCRIPTION_H
#define RSTI_PYTHON_SUBSCRIPTION_H

#include "lease.h"

/* Owns the C handle from now on; closes it when it fails. NULL with an exception. */
PyObject *rsti_py_subscription_make(rsti_py_client_t *client, rst_subscription_t *subscription);

#endif
