/* counter_events.c: see counter_events.h. */
#include "client/counter_events.h"

#include "util/alloc.h"

void rsti_counter_events_fini(rsti_counter_events_t *ring)
{
    rsti_free(ring->events);
    *ring = (rsti_counter_events_t){0};
}

void rsti_counter_events_push(rsti_counter_events_t *ring, const rst_counter_event_t *event)
{
    if (ring->events == NULL) {
        ring->events = rsti_alloc(RSTI_COUNTER_EVENTS_MAX * sizeof *ring->events);
        if (ring->events == NULL) {
            ring->lost++;
            return;
        }
    }
    if (ring->tail - ring->head == RSTI_COUNTER_EVENTS_MAX) {
        ring->head++;
        ring->lost++;
    }
    ring->events[ring->tail++ % RSTI_COUNTER_EVENTS_MAX] = *event;
}

bool rsti_counter_events_pop(rsti_counter_events_t *ring, rst_counter_event_t *event)
{
    if (ring->head == ring->tail) {
        return false;
    }
    *event = ring->events[ring->head++ % RSTI_COUNTER_EVENTS_MAX];
    return true;
}
