/* publication_segments.h: methods of a publication for messages in shared segments. */
#ifndef RSTI_PYTHON_PUBLICATION_SEGMENTS_H
#define RSTI_PYTHON_PUBLICATION_SEGMENTS_H

#include "publication.h"

PyObject *rsti_py_publication_fill_segment(PyObject *self, PyObject *buffers);
PyObject *rsti_py_publication_offer_segment(PyObject *self, PyObject *const *args,
    Py_ssize_t count);
PyObject *rsti_py_publication_drop_segment(PyObject *self, PyObject *number);
PyObject *rsti_py_publication_note_segment_wait(PyObject *self, PyObject *length);
PyObject *rsti_py_publication_get_segment_bytes(PyObject *self, void *closure);
PyObject *rsti_py_publication_get_unread_bytes(PyObject *self, void *closure);

#endif
