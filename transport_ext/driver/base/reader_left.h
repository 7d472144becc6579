/* reader_left.h: tells a publisher in the log that its reader has left, and where the next one
 * began. Called by the one agent that knows the readers: the sender for a network publication, the
 * conductor for an IPC publication. */
#ifndef RSTI_DRIVER_BASE_READER_LEFT_H
#define RSTI_DRIVER_BASE_READER_LEFT_H

#include "driver/base/publication.h"

/* joined: where the reader that took its place began; -1: there is none. who: its count is
 * overwritten. */
void rsti_reader_left(rsti_publication_t *publication, int64_t consumed, int64_t joined,
    int64_t now_ms, rsti_log_left_who_t *who);
/* The first reader after a time without any. */
void rsti_reader_joined(rsti_publication_t *publication, int64_t position);
/* Why the last reader leaves: text of length bytes, cut to the room in the log. Called by the
 * conductor, before or after it has left. */
void rsti_reader_left_why(rsti_publication_t *publication, const char *text, int32_t length);

#endif
