/* publication_commands.h: methods and attributes of a publication besides offering messages. */
#ifndef RSTI_PYTHON_PUBLICATION_COMMANDS_H
#define RSTI_PYTHON_PUBLICATION_COMMANDS_H

#include "publication.h"

PyObject *rsti_py_publication_revoke(PyObject *self, PyObject *unused);
PyObject *rsti_py_publication_offer_frames(PyObject *self, PyObject *frames);
PyObject *rsti_py_publication_offer_control(PyObject *self, PyObject *const *args,
    Py_ssize_t count);
PyObject *rsti_py_publication_append_padding(PyObject *self, PyObject *length);
PyObject *rsti_py_publication_set_rate(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *rsti_py_publication_next_error(PyObject *self, PyObject *unused);
PyObject *rsti_py_publication_get_next_frame(PyObject *self, void *closure);
PyObject *rsti_py_publication_get_demand(PyObject *self, void *closure);
PyObject *rsti_py_publication_get_has_new_demand(PyObject *self, void *closure);
PyObject *rsti_py_publication_get_errors_lost(PyObject *self, void *closure);

#endif
