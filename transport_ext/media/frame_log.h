/* frame_log.h: a line of text for every frame that the system took or handed over, to see what
 * drivers say to each other:
 *
 *     1700000000000 sent 127.0.0.1:40123 127.0.0.1:24400 DATA flags=c0 session=-7 stream=10 term=5
 *         offset=1408 length=1408 payload=68656c6c6f+1371
 *
 * (in one line): ms since 1970, direction, own address, peer, facts. Of a NAK length is what is
 * asked for, of a status message the window. Of a payload come the first RSTI_FRAME_LOG_PAYLOAD_MAX
 * bytes, and how many are left out. */
#ifndef RSTI_MEDIA_FRAME_LOG_H
#define RSTI_MEDIA_FRAME_LOG_H

#include "media/media.h"

#define RSTI_FRAME_LOG_PAYLOAD_MAX 32
#define RSTI_FRAME_LOG_LINE_MAX 512

typedef struct rsti_frame_log_t {
    rsti_clock_t clock;
    /* A complete line with its end, from any of the agents' threads. */
    void (*write)(void *arg, const char *line, size_t length);
    void *arg;
} rsti_frame_log_t;

/* A tap (media.h); arg is the log. */
void rsti_frame_log_on_datagram(void *arg, const rsti_tapped_t *datagram);

#endif
