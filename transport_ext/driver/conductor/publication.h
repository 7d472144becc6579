/* publication.h: what the conductor does with any publication, IPC or UDP: log file, counters,
 * limit, end. */
#ifndef RSTI_DRIVER_CONDUCTOR_PUBLICATION_H
#define RSTI_DRIVER_CONDUCTOR_PUBLICATION_H

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"

/* Log file and the counters pub-pos and pub-lmt. On failure nothing is left behind. */
int rsti_publication_init(rst_driver_t *driver, rsti_publication_t *publication,
    const rsti_publication_facts_t *facts);
void rsti_publication_fini(rst_driver_t *driver, rsti_publication_t *publication);
int64_t rsti_publication_start_position(const rsti_publication_t *publication);
/* Reserves the terms up to where a producer may write below limit (its last message may begin just
 * below it), stores limit and wakes producers. False: no storage, limit stays. */
bool rsti_publication_raise_limit(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t limit);
void rsti_publication_lower_limit(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t limit);
void rsti_publication_clean_up_to(rsti_publication_t *publication, int64_t position);
/* The last producer is gone. Limit and end of stream become the producer position, or consumed (the
 * position of the furthest consumer) when the tail counters in shared memory are impossible. */
void rsti_publication_drain(rst_driver_t *driver, rsti_publication_t *publication, int64_t consumed,
    int64_t now_ns);
/* The log holds what no producer makes: the stream ends at position, as if it were revoked. */
void rsti_publication_abort(rst_driver_t *driver, rsti_publication_t *publication, int64_t position,
    const char *why);
/* Pads over a claim whose producer died (docs/reference/aeron/memory.md 6). */
void rsti_publication_check_blocked(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t consumer_position, int64_t now_ns);
void rsti_publication_set_life(rsti_publication_t *publication, rsti_life_t life, int64_t now_ns);

#endif
