/* sequence.h: a mailbox: several words that change together, one writer, any reader (a sequence
 * lock). The words lie between two numbers, begin and end:
 *
 *     writer: begin := n + 1; words; end := n + 1        reader: n := end; words; is begin = n?
 *
 * A reader that finds begin and end apart has met a change, and tries again at its next look: the
 * writer wakes it after the change. Numbers are above zero once something was written. Words are
 * read and written by relaxed loads and stores, eight bytes at a time.
 *
 *     RSTI_MAILBOX(rsti_sm_demand_t) asked;
 *     RSTI_MAILBOX_WRITE(&asked, &demand);
 *     if (RSTI_MAILBOX_READ_NEW(&asked, &seen, &demand)) ...
 *
 * The record of holder.h has one number instead, odd while the words change. */
#ifndef RSTI_CONCURRENT_SEQUENCE_H
#define RSTI_CONCURRENT_SEQUENCE_H

#include "concurrent/atomics.h"
#include "util/int_math.h"

#define RSTI_MAILBOX_TORN (-1)

#define RSTI_MAILBOX(type)                                                                         \
    struct {                                                                                       \
        int64_t begin;                                                                             \
        type value;                                                                                \
        int64_t end;                                                                               \
    }

/* A pointer to a value of another type than the mailbox's is an error. */
#define RSTI_MAILBOX_CHECKED(box, pointer) ((void)sizeof((pointer) == &(box)->value), (pointer))

#define RSTI_MAILBOX_WRITE(box, from)                                                              \
    rsti_sequence_write(&(box)->begin, &(box)->end, &(box)->value,                                 \
        RSTI_MAILBOX_CHECKED(box, from), sizeof(box)->value)
/* The number of the change that was read, or RSTI_MAILBOX_TORN. */
#define RSTI_MAILBOX_READ(box, to)                                                                 \
    rsti_sequence_read(&(box)->begin, &(box)->end, &(box)->value, RSTI_MAILBOX_CHECKED(box, to),   \
        sizeof(box)->value)
/* True: *to is another change than *seen, and *seen is its number now. False: there is none, or it
 * is torn, and *to may be anything. */
#define RSTI_MAILBOX_READ_NEW(box, seen, to)                                                       \
    rsti_sequence_read_new(&(box)->begin, &(box)->end, &(box)->value,                              \
        RSTI_MAILBOX_CHECKED(box, to), sizeof(box)->value, (seen))

static inline void rsti_sequence_write(int64_t *begin, int64_t *end, void *shared, const void *from,
    size_t length)
{
    const int64_t change = rsti_wrap_add_i64(rsti_load_relaxed_i64(begin), 1);
    rsti_store_release_i64(begin, change);
    rsti_fence();
    rsti_copy_to_shared((uint8_t *)shared, from, length);
    rsti_store_release_i64(end, change);
}

/* The rest of a read: change was loaded from end. */
static inline bool rsti_sequence_take(const int64_t *begin, int64_t change, const void *shared,
    void *to, size_t length)
{
    rsti_copy_from_shared(to, (const uint8_t *)shared, length);
    rsti_acquire_fence();
    return change == rsti_load_acquire_i64(begin);
}

static inline int64_t rsti_sequence_read(const int64_t *begin, const int64_t *end,
    const void *shared, void *to, size_t length)
{
    const int64_t change = rsti_load_acquire_i64(end);
    return rsti_sequence_take(begin, change, shared, to, length) ? change : RSTI_MAILBOX_TORN;
}

static inline bool rsti_sequence_read_new(const int64_t *begin, const int64_t *end,
    const void *shared, void *to, size_t length, int64_t *seen)
{
    const int64_t change = rsti_load_acquire_i64(end);
    if (change == *seen || !rsti_sequence_take(begin, change, shared, to, length)) {
        return false;
    }
    *seen = change;
    return true;
}

#endif
