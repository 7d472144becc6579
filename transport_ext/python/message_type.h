/* message_type.h: Message, a read-only view of one message of a leased batch. */
#ifndef RSTI_PYTHON_MESSAGE_TYPE_H
#define RSTI_PYTHON_MESSAGE_TYPE_H

#include "lease.h"

/* Takes a reference to the batch. NULL with an exception. */
PyObject *rsti_py_message_make(rsti_py_batch_t *batch, const rst_message_t *message);

#endif
