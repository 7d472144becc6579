/* send_state.h: what a send of a publisher changes. SendPath and SendState work on it.
 *
 * The GIL guards the fields. */
#ifndef RSTI_PYTHON_SEND_STATE_H
#define RSTI_PYTHON_SEND_STATE_H

#include "publication.h"
#include "turn.h"

typedef struct rsti_py_send_state_t {
    PyObject_HEAD
    rsti_py_turn_t *lock; /* NULL: no short way. Held while the encoder runs, perhaps Python */
    rsti_py_publication_t *direct; /* NULL: no short way: offers are answered elsewhere */
    PyObject *quick_encode;        /* a callable; NULL or None: the object is the message */
    PyObject *accepts; /* a set of classes; of others no object takes the short way. NULL or None:
                        * of all classes */
    PyObject *bucket; /* not NULL or None: the rate is kept in Python: no short way */
    int64_t header;
    int64_t reached; /* position after the last message */
    int64_t before; /* the same, of what was sent before a reader was seen; -1: nothing was since */
    int64_t short_way_end; /* position from which on there is no short way */
    int64_t sent; /* messages */
    int64_t look_again; /* messages after which _note_sent looks at the readers */
    char was_connected; /* whether a reader was there at the last look */
} rsti_py_send_state_t;

/* Counts what was sent, in the same step: no signal handler comes between. */
void rsti_py_send_state_count(rsti_py_send_state_t *state, int64_t position, int64_t messages);

#endif
