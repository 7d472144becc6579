/* replay.h: which counters of one sender have come. Each may come once.
 *
 *     fresh(c)  <=>  c > highest  or  (highest - c < RSTI_REPLAY_WINDOW and c has not come)
 *
 * A datagram that the network holds back behind 1 024 later ones counts as a replay: it is lost,
 * and repaired. Pure. Source: RFC 4303, section 3.4.3. */
#ifndef RSTI_SEAL_REPLAY_H
#define RSTI_SEAL_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_REPLAY_WINDOW 1024 /* a multiple of 64 */

typedef struct rsti_replay_t {
    uint64_t next; /* highest + 1; 0: none has come */
    uint64_t seen[RSTI_REPLAY_WINDOW / 64]; /* bit c mod RSTI_REPLAY_WINDOW */
} rsti_replay_t;

void rsti_replay_init(rsti_replay_t *replay);
bool rsti_replay_is_fresh(const rsti_replay_t *replay, uint64_t counter);
/* It has come, and is authentic: what is forged must not move the window. It was fresh. */
void rsti_replay_note(rsti_replay_t *replay, uint64_t counter);

#endif
