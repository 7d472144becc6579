/* hold_queue.h: datagrams that leave later. A ring of entries and a ring of bytes, both freed from
 * the oldest end. Entries leave out of order. An entry that left early keeps its place until the
 * older ones have left. Bounded: allocated once, it never grows. */
#ifndef RSTI_MEDIA_HOLD_QUEUE_H
#define RSTI_MEDIA_HOLD_QUEUE_H

#include "media/media.h"

typedef struct rsti_held_t {
    struct sockaddr_storage address;
    int64_t due_ns;         /* leaves at this time … */
    int64_t due_passed;     /* … or when this many datagrams have passed the flow */
    uint64_t begin, end;    /* in the ring of bytes, counted from the start of time */
    size_t length;
    int64_t arrived_ns;
    bool is_live;
} rsti_held_t;

typedef struct rsti_hold_queue_t {
    rsti_held_t *entries;
    uint8_t *bytes;
    size_t entry_capacity; /* power of two */
    size_t byte_capacity;
    uint64_t first, last;  /* entries [first, last) are in use, some already gone */
    uint64_t bytes_begin, bytes_end;
    int64_t passed;        /* datagrams that went through */
    int64_t next_due_ns;   /* lower bounds over live entries: most calls need not look at them */
    int64_t next_due_passed;
} rsti_hold_queue_t;

/* A delay line is larger: it holds bandwidth times delay. */
int rsti_hold_queue_init(rsti_hold_queue_t *queue, bool is_delay_line);
void rsti_hold_queue_fini(rsti_hold_queue_t *queue);
/* Copies the datagram. It is due at due_ns or when queue->passed reaches due_passed; INT64_MAX: not
 * by that. False: there is no room. */
bool rsti_hold_queue_put(rsti_hold_queue_t *queue, const rsti_datagram_t *datagram, int64_t due_ns,
    int64_t due_passed);
bool rsti_hold_queue_has_due(const rsti_hold_queue_t *queue, int64_t now_ns);
/* The next due entry in order of arrival, NULL when there is none; *from starts at queue->first.
 * The caller clears is_live of what it took and calls settle at the end. */
rsti_held_t *rsti_hold_queue_find_due(const rsti_hold_queue_t *queue, uint64_t *from,
    int64_t now_ns);
uint8_t *rsti_hold_queue_bytes(const rsti_hold_queue_t *queue, const rsti_held_t *held);
/* Frees the oldest places and finds the next due time. */
void rsti_hold_queue_settle(rsti_hold_queue_t *queue);

#endif
