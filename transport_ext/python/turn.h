/* turn.h: a turn as the code that enters it without a call sees it. The caller holds the GIL. */
#ifndef RSTI_PYTHON_TURN_H
#define RSTI_PYTHON_TURN_H

#include "state.h"

#include <pthread.h>

typedef struct rsti_py_turn_t {
    PyObject_HEAD
    unsigned long owner; /* thread ident; meaningless while depth is 0 */
    int64_t depth;
    int64_t rivals;
    bool is_reserved; /* a visit left it to a rival, who has yet to wake: the next visit waits */
    PyObject *title; /* NULL: it is no turn of one use at a time */
    pthread_mutex_t mutex;
    pthread_cond_t left;
} rsti_py_turn_t;

/* False: another thread is inside; or this one, in a turn for one use at a time. */
static inline bool rsti_py_turn_try_enter(rsti_py_turn_t *turn)
{
    const unsigned long me = PyThread_get_thread_ident();

    if (turn->depth > 0 && (turn->owner != me || turn->title != NULL)) {
        return false;
    }
    turn->owner = me;
    turn->depth++;
    return true;
}

/* This thread must be inside. */
void rsti_py_turn_leave(rsti_py_turn_t *turn);

#endif
