/* publication.h: a publication as its methods see it. The caller holds the GIL. */
#ifndef RSTI_PYTHON_PUBLICATION_H
#define RSTI_PYTHON_PUBLICATION_H

#include "handle.h"

typedef struct rsti_py_publication_t {
    rsti_py_handle_t handle;
    rst_publication_t *publication;
    rst_publication_info_t info; /* without its channel: handle.channel holds that */
    bool is_revoking;            /* closing this handle ends the stream at once */
    int64_t filled; /* the segment that was filled last, perhaps sent since; -1: none */
} rsti_py_publication_t;

/* Owns the C handle from now on; closes it when it fails. NULL with an exception. */
PyObject *rsti_py_publication_make(rsti_py_client_t *client, rst_publication_t *publication);

/* Positions and Aeron's reasons are numbers; a code below them (fork) raises. Inlined into offer.
 */
static inline PyObject *rsti_py_position_result(const rsti_py_publication_t *self, int64_t position)
{
    return position >= RST_ERROR ? PyLong_FromLongLong(position)
                                 : rsti_py_raise_at(&self->handle, (int)position, NULL);
}

#endif
