/* path_track.h: what a sender learns from one arrival item, by what it remembers of its sending.
 *
 *     rtt       = now - when highest was sent - hold;  none, if that is not above 0
 *     bandwidth = (received - received then) / (clock - clock then);  then: in the newest item when
 *                 highest was sent
 *     reached   = bytes sent when highest was sent + since
 *     under way = bytes sent - reached - forgiven
 *     silence   : after max(3 RTT, RSTI_PATH_SILENCE_NS) without an item what is under way is
 *                 forgiven, until highest moves past it, or lost resends would hold the sender for
 *                 ever
 *
 * While only resends arrive, highest stands still. Then the newest byte that is not under way takes
 * its place, and fresh that of hold. Without that a sender with many resends to make learned
 * nothing for seconds, and its window stayed as it was. If a resend got lost, this round trip is
 * too long; if one that was forgiven arrives, too short.
 *
 * Marks are kept in a ring, allocated once. A mark is set for each run, but at most
 * RSTI_PATH_MARKS / 4 in what may be under way; between two marks the time is interpolated. A pause
 * begins and ends with a mark, and so does a row of resends or of new data: interpolated over a
 * pause, a round trip may be too short by all of it, and the least one is kept for 10 s. A pause is
 *
 *     no sending for clamp(least RTT / 8, RSTI_PATH_PAUSE_LEAST_NS, RSTI_PATH_PAUSE_MOST_NS)
 *
 * A full ring keeps its first marks, and the last one moves: what was sent between the two last
 * ones gives no round trip.
 *
 * When the end of the data was lost, resends move highest. Which of the sendings arrived is unknown
 * then, so it counts as a resend: what was received has left the network, and no more.
 *
 * An item comes from the network. One that contradicts itself, or names a position that was not
 * sent, is refused and counted. More bytes than were sent, or than can be missing, are cut to what
 * can be. An older item, which a newer one overtook, is only counted. An item further on with
 * lower counts is of a new image, which counts from 0: its counts are added to those of the last
 * one. Pure: now_ns is an argument; time that goes back counts as no time. Owner: sender. */
#ifndef RSTI_FLOW_PATH_TRACK_H
#define RSTI_FLOW_PATH_TRACK_H

#include "flow/path_arrival.h"

#define RSTI_PATH_MARKS 512 /* a power of two; 24 KiB */
#define RSTI_PATH_SILENCE_NS INT64_C(20000000)
#define RSTI_PATH_PAUSE_LEAST_NS INT64_C(20000)
#define RSTI_PATH_PAUSE_MOST_NS INT64_C(500000)
#define RSTI_PATH_RTT_MAX_NS INT64_C(10000000000)
#define RSTI_PATH_BANDWIDTH_MAX INT64_C(1000000000000)

typedef struct rsti_path_mark_t {
    int64_t position; /* end of what was sent */
    int64_t sent_ns;
    int64_t sent_bytes; /* in total, with resends, after it */
    int64_t received, clock_ns; /* in the newest item at that time */
    bool has_moved; /* when what lies below it was sent is not known */
} rsti_path_mark_t;

typedef struct rsti_path_track_t {
    rsti_path_mark_t *marks;
    int64_t head, tail; /* since the beginning; marks[head] is the last one below highest */
    int64_t position;   /* end of new data */
    int64_t resent_to;  /* greatest end of a resend */
    int64_t sent_bytes;
    int64_t left_bytes; /* sent_bytes when highest was sent */
    int64_t forgiven_bytes;
    int64_t now_ns;
    int64_t sent_ns;  /* last sending */
    bool was_resend;  /* that one */
    int64_t heard_ns; /* last item, or last sending after nothing was under way */
    rsti_path_item_t item; /* newest, with base; clock_ns is valid once item_count > 0 */
    struct {
        int64_t received, missing, clock_ns;
    } base; /* of the images before */
    int64_t item_count, old_count, refused_count;
    int64_t silence_count; /* without an item between them */
} rsti_path_track_t;

typedef struct rsti_path_sample_t {
    int64_t rtt_ns;    /* 0: none */
    bool is_resend;    /* of a resend: not exact */
    int64_t bandwidth; /* bytes per second; 0: unknown */
    int64_t received, missing; /* bytes since the item before */
} rsti_path_sample_t;

/* 0 or -RST_ENOMEM. position: the first one that will be sent. */
int rsti_path_track_init(rsti_path_track_t *track, int64_t position, int64_t now_ns);
void rsti_path_track_fini(rsti_path_track_t *track);

typedef struct rsti_path_sent_t {
    int64_t position; /* they end there; those of a resend below or at the end of new data */
    int64_t bytes;
    int64_t most;     /* bytes that may be under way */
    int64_t least_ns; /* round trip; 0: unknown */
} rsti_path_sent_t;
void rsti_path_track_on_sent(rsti_path_track_t *track, const rsti_path_sent_t *sent,
    int64_t now_ns);
/* False: old or refused, and nothing changes but the count. */
bool rsti_path_track_on_item(rsti_path_track_t *track, const rsti_path_item_t *told, int64_t now_ns,
    rsti_path_sample_t *sample);
int64_t rsti_path_reached(const rsti_path_track_t *track);
int64_t rsti_path_under_way(const rsti_path_track_t *track);
/* When silence will have lasted too long; RSTI_NO_DEADLINE: nothing is under way. */
int64_t rsti_path_silence_ns(const rsti_path_track_t *track, int64_t rtt_ns);
/* It has: nothing counts as under way any more. */
void rsti_path_track_on_silence(rsti_path_track_t *track, int64_t now_ns);

/* Aborts in debug builds if the track contradicts itself. */
void rsti_path_track_check(const rsti_path_track_t *track);

#endif
