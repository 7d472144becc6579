/* directory.h: a driver directory as an argument. */
#ifndef RSTI_PYTHON_DIRECTORY_H
#define RSTI_PYTHON_DIRECTORY_H

#include "state.h"

/* A path, borrowed from object; NULL with an exception. */
const char *rsti_py_get_path(PyObject *object);

#endif
