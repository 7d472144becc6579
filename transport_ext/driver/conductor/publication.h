/* publication.h: the conductor's work on every publication, IPC or UDP: log file, counters, limit
 * and end. */
#ifndef RSTI_DRIVER_CONDUCTOR_PUBLICATION_H
#define RSTI_DRIVER_CONDUCTOR_PUBLICATION_H

#include "driver/base/counters.h"
#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"

/* Makes the log file and the counters pub-pos and pub-lmt. Returns 0, or a negative error code
 * with a trail; then nothing is left behind. */
int rsti_publication_init(rst_driver_t *driver, rsti_publication_t *publication,
    const rsti_publication_facts_t *facts);
/* What rsti_stream_counter_allocate takes for one of its counters, with the value 0. */
rsti_stream_counter_t rsti_publication_counter(const rsti_publication_t *publication,
    int64_t client_id, int32_t type_id, const char *name);
/* Releases the log, the counters and the subscribers. */
void rsti_publication_fini(rst_driver_t *driver, rsti_publication_t *publication);
/* The position of the first byte of the stream. */
int64_t rsti_publication_start_position(const rsti_publication_t *publication);
/* Until the whole log is reserved, the limit stays within RSTI_LIMIT_AHEAD of the producer, so that
 * a long log that is hardly used takes little storage. Returns the limit that a proposed one means
 * now, and tells producers whether it is nearer than proposed. The result is the present limit
 * while the producer has room enough. */
#define RSTI_LIMIT_AHEAD INT64_C(1048576)
int64_t rsti_publication_near_producer(rsti_publication_t *publication, int64_t proposed);
/* Tells producers whether one that is refused wakes the conductor. Returns whether it does so now,
 * and did not before: one that was refused a moment ago has not woken it. */
bool rsti_publication_tell_refusal(rsti_publication_t *publication);
/* How far producers may write that were told of this limit. */
int64_t rsti_publication_reach(const rsti_publication_t *publication, int64_t limit);
/* Stores a higher limit and wakes the producers. First reserves memory for the last message that
 * may begin below the limit, and for the end of the stream behind it. False: no storage; the limit
 * stays, and the error log gets an entry. */
bool rsti_publication_raise_limit(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t limit);
/* Stores the limit without reserving memory, and wakes the producers. */
void rsti_publication_lower_limit(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t limit);
/* Sets the memory below position to zero. */
void rsti_publication_clean_up_to(rsti_publication_t *publication, int64_t position);
/* Ends the stream after the last producer has gone. The limit and the end of the stream become the
 * producer position. If the tail counters in shared memory are impossible, they become consumed,
 * the position of the furthest consumer. */
void rsti_publication_drain(rst_driver_t *driver, rsti_publication_t *publication, int64_t consumed,
    int64_t now_ns);
/* Ends the stream at position, like a revoked one, because the log holds a frame that no producer
 * writes. why goes into the error text. */
void rsti_publication_abort(rst_driver_t *driver, rsti_publication_t *publication, int64_t position,
    const char *why);
/* Writes padding over the claim of a dead producer (docs/reference/aeron/memory.md 6). */
/* The client's process has died: what it claimed is skipped. Not when a living client of the
 * publication shows the same owner. */
void rsti_publication_note_death(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t client_id);
void rsti_publication_check_blocked(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t consumer_position, int64_t now_ns);
/* Moves the lifecycle forward, never back. */
void rsti_publication_set_life(rsti_publication_t *publication, rsti_life_t life, int64_t now_ns);

#endif
