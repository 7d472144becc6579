/* on_path.h: in a world with keys the hostile host sits on the path, between all hosts. It reads
 * all frames, even those that are sealed, and has no key. Until the calm it drops, holds back and
 * alters what passes. While there are publishers it sends again what it recorded, a moment ago or
 * in the beginning, also what never arrived, and also to others than it was meant for; it forges
 * plain frames, with whatever is right in them, from the addresses of those that it forges; and it
 * sends refusals.
 *
 * Invariants: those of keys_oracle.h, and all others of the run hold as without it. */
#ifndef RSTI_SIM_ON_PATH_H
#define RSTI_SIM_ON_PATH_H

#include "tests/sim/links.h"

/* Most of the worlds with keys have it there. Called after sim_generate_keys. */
void sim_generate_on_path(void);
/* True: it keeps the datagram, or has sent something else in its place. */
bool sim_on_path_takes(const sim_passage_t *passage);

#endif
