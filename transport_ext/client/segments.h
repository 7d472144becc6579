/* segments.h: shared segments of a publication, in which its large messages lie (segment_file.h).
 *
 * Publisher. A segment is free when every reader has consumed the message that lay in it: the
 * positions of readers and their leases, which hold a log together, hold segments too. One thread
 * at a time claims, fills and offers a segment; other threads may offer messages meanwhile.
 *
 * Bounded: RSTI_SEGMENTS_MAX messages and RSTI_SEGMENT_BYTES_MAX bytes of memory per publication. A
 * publication that has as many unread must wait, which is its back-pressure: the window of the log
 * counts only the few bytes that tell where a message lies.
 *
 * Reader. All subscriptions of a process map a segment once, with the log (shared_log.h). A reader
 * that joins may begin before messages that all others have consumed. So the frame of a message and
 * the log's metadata both name the use of the segment, and a reader passes over a message whose
 * segment has another use by now. */
#ifndef RSTI_CLIENT_SEGMENTS_H
#define RSTI_CLIENT_SEGMENTS_H

#include "client/image.h"
#include "client/publication.h"
#include "cnc/segment_file.h"
#include "protocol/segment.h"

#define RSTI_SEGMENT_BYTES_MAX (4 * RSTI_SEGMENT_LENGTH)
_Static_assert(RSTI_SEGMENTS_MAX == RSTI_LOG_SEGMENTS, "segments of a log");

typedef struct rsti_segment_t {
    rsti_segment_file_t file;
    int64_t length;       /* of the message in it */
    int64_t end_position; /* of that message; 0: none has been in it */
    int64_t used;         /* grows with each use, to find the one used last */
    bool is_claimed;
    bool is_cut; /* another program has cut its file short: it is not used again */
} rsti_segment_t;

typedef struct rsti_segments_t {
    rsti_segment_t items[RSTI_SEGMENTS_MAX];
    int32_t count;
    int64_t uses;
    int64_t reserved; /* bytes of all */
} rsti_segments_t;

/* The segment to write a message of this length into, or -1: all are in use. Pure: `consumed` is up
 * to where the readers have come. Of the free ones that have memory enough it is the one that was
 * used last, whose memory is warm; else a new one while there is room, or the free one that has
 * most. The memory that messages need stays within RSTI_SEGMENT_BYTES_MAX; what is reserved beyond
 * goes from one segment to another. */
int32_t rsti_segments_choose(const rsti_segments_t *segments, int64_t length, int64_t consumed);
/* Unmaps all. */
void rsti_segments_free(rsti_segments_t *segments);

/* What the log's metadata tells of messages in segments; another process wrote it. Pure.
 *
 * Bytes of all whose frames end at or below the position, since the session began. It counts what
 * some reader has not consumed exactly, and never falls. */
int64_t rsti_segments_below(const rsti_log_ext_t *ext, int64_t position);
/* How many have frames that end in (from, to]; of those that all readers have consumed some are
 * missing. */
int32_t rsti_segments_count(const rsti_log_ext_t *ext, int64_t from, int64_t to);

/* Whether a message says only where it lies. */
static inline bool rsti_segments_take(const rst_image_t *image, int64_t reserved_value)
{
    const rst_subscription_t *subscription = image->subscription;
    const uint16_t name_hash = (uint16_t)reserved_value;
    return subscription->takes_parts && rsti_stream_header_is_segment(reserved_value)
        && name_hash != 0
        && (subscription->parts.name_hash == 0 || subscription->parts.name_hash == name_hash);
}

/* Not told: the segment has another message by now, or none. All readers had consumed this one
 * before the image joined, so it lies before what a late reader is promised. */
#define RSTI_SKIP_OLD ((rst_skip_reason_t)0)
/* The message that the payload names; *ref: what it says. NULL: it cannot be read, and *reason says
 * why. Valid as long as the image's log and the lease on it. The caller holds
 * subscription->lock. */
const uint8_t *rsti_segments_find(rst_image_t *image, const uint8_t *payload,
    int32_t payload_length, rsti_segment_ref_t *ref, rst_skip_reason_t *reason);
/* Tells that the message at this position is not handed out, or was not whole. */
void rsti_segments_skip(rst_image_t *image, int64_t position, int64_t length, int32_t number,
    rst_skip_reason_t reason);

#endif
