/* counter_events.h: a bounded ring of events about counters.
 *
 * The ring is allocated at the first event. A full ring drops its oldest event and counts it. A
 * ring of zero bytes is empty and ready for use. The caller holds client->lock. */
#ifndef RSTI_CLIENT_COUNTER_EVENTS_H
#define RSTI_CLIENT_COUNTER_EVENTS_H

#include "rstream/counter.h"
#include "rstream/rstream.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_COUNTER_EVENTS_MAX 256

typedef struct rsti_counter_events_t {
    rst_counter_event_t *events; /* RSTI_COUNTER_EVENTS_MAX of them, or NULL */
    uint32_t head, tail;
    int64_t lost;
} rsti_counter_events_t;

void rsti_counter_events_fini(rsti_counter_events_t *ring);
/* Counts the event as lost when memory runs out. */
void rsti_counter_events_push(rsti_counter_events_t *ring, const rst_counter_event_t *event);
/* Takes the oldest event. False: the ring is empty. */
bool rsti_counter_events_pop(rsti_counter_events_t *ring, rst_counter_event_t *event);

#endif
