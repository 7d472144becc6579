/* publication_readers.h: the local readers of a publication, found among the driver's counters. Any
 * thread; no locks. */
#ifndef RSTI_CLIENT_PUBLICATION_READERS_H
#define RSTI_CLIENT_PUBLICATION_READERS_H

#include "client/publication.h"

/* The next subscriber position counter that refers to the publication. Looks from *id on and moves
 * *id behind the counter. NULL: there is no other. */
const rsti_counter_value_t *rsti_publication_next_reader(const rst_publication_t *publication,
    int32_t *id);

#endif
