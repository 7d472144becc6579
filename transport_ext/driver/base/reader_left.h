/* reader_left.h: tells a publisher in the log that its reader has left, and where the next one
 * began. Called by the one agent that knows the readers: the sender for a network publication, the
 * conductor for an IPC publication. */
#ifndef RSTI_DRIVER_BASE_READER_LEFT_H
#define RSTI_DRIVER_BASE_READER_LEFT_H

#include "driver/base/publication.h"

/* joined: where the reader that took its place began; -1: there is none. */
void rsti_reader_left(rsti_publication_t *publication, int64_t consumed, int64_t joined);
/* The first reader after a time without any. */
void rsti_reader_joined(rsti_publication_t *publication, int64_t position);

#endif
