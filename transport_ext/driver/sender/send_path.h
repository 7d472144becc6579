/* send_path.h: the law of the path (flow/path.h) at work, for a unicast publication that follows
 * the path. It takes the place of the pacer of flow/pace.h.
 *
 *     under way     <= limit of the law                      new data and resends alike
 *     sent in t     <= pace of the law x t + its run
 *     publisher     <= RSTI_PATH_AHEAD_NS of the pace ahead of the sender, at least
 *                      RSTI_PATH_AHEAD_DATAGRAMS: more would only wait in the log. Before a
 *                      receiver whose window is shorter than that it ends where the window does
 *
 * A receiver that tells arrivals says so before its first status message (image_path.h). Until that
 * has come, none of this holds. New data then ends RSTI_PATH_UNKNOWN_BYTES above what is consumed:
 * Aeron's receivers grant as much by default, and that first message may be lost. Or at a half of
 * the window, because receivers acknowledge a quarter of that at once. A receiver that has sent
 * status messages for RSTI_PATH_UNKNOWN_NS and told nothing is Aeron's or of an older rstream: only
 * its window limits the stream. The next arrival that is told ends that. Owner: the sender. */
#ifndef RSTI_DRIVER_SENDER_SEND_PATH_H
#define RSTI_DRIVER_SENDER_SEND_PATH_H

#include "flow/bucket.h"
#include "flow/path.h"
#include "util/clock.h"

#define RSTI_PATH_AHEAD_NS (50 * RSTI_NS_PER_MS)
#define RSTI_PATH_AHEAD_DATAGRAMS 64
#define RSTI_PATH_HELD_NS (20 * RSTI_NS_PER_MS)
#define RSTI_PATH_UNKNOWN_BYTES (128 * 1024)
#define RSTI_PATH_UNKNOWN_NS RSTI_NS_PER_S

typedef enum rsti_path_receiver_t {
    RSTI_PATH_RECEIVER_UNKNOWN,
    RSTI_PATH_RECEIVER_TELLS,
    RSTI_PATH_RECEIVER_SILENT,
} rsti_path_receiver_t;

/* The counters for tools; what they hold is in protocol/command.h. */
typedef enum rsti_path_told_t {
    RSTI_PATH_TOLD_BANDWIDTH,
    RSTI_PATH_TOLD_RTT,
    RSTI_PATH_TOLD_LOSS,
    RSTI_PATH_TOLD_UNDER_WAY,
    RSTI_PATH_TOLD_COUNT
} rsti_path_told_t;

typedef struct rsti_send_path_t {
    int32_t told_ids[RSTI_PATH_TOLD_COUNT]; /* conductor; -1: no such counter */
    int64_t *told[RSTI_PATH_TOLD_COUNT]; /* conductor, before use. Written by: sender, when arrivals
                                          * are told, and not for each datagram */
    bool is_wanted; /* conductor, before use; false: the fields below are unused */
    rsti_path_receiver_t receiver;
    int64_t joined_ns; /* when it joined */
    bool is_silence_told; /* in the error log, once */
    rsti_path_t path;
    rsti_bucket_t pace;
    int64_t least_since_ns; /* the path is in the way of data; RSTI_NO_DEADLINE: it is not. After
                             * RSTI_PATH_HELD_NS the publisher is told */
    int64_t ahead_bytes; /* atomic: see above; INT64_MAX: no limit */
    int64_t edge; /* atomic: end of a short window; INT64_MAX: it is not short */
} rsti_send_path_t;

/* Conductor, before use. 0 or -RST_ENOMEM. */
int rsti_send_path_init(rsti_send_path_t *send_path, int64_t position, int32_t mtu, int64_t now_ns);
void rsti_send_path_fini(rsti_send_path_t *send_path);

/* How many bytes the publisher may be ahead of position, where the sender is. Any agent. */
int64_t rsti_send_path_ahead(const rsti_send_path_t *send_path, int64_t position, int64_t window);
/* A status message has come: the window of the receiver, and where it ends. True: the publisher may
 * go on. */
bool rsti_send_path_on_window(rsti_send_path_t *send_path, int64_t window, int64_t end);
/* Whether the law limits this publication. */
static inline bool rsti_send_path_holds(const rsti_send_path_t *send_path)
{
    return send_path->is_wanted && send_path->receiver == RSTI_PATH_RECEIVER_TELLS;
}
/* The limit of flow control, or less. That one never goes back, as in Aeron, but the window of a
 * receiver that tells arrivals may get smaller. consumed, window: as the receiver said. */
int64_t rsti_send_path_limit(const rsti_send_path_t *send_path, int64_t limit, int64_t consumed,
    int64_t window);
/* In each pass. last_sm_ns: of the receiver; INT64_MIN: none. Returns the next deadline. */
int64_t rsti_send_path_on_cycle(rsti_send_path_t *send_path, int64_t last_sm_ns, int64_t now_ns);
/* Another receiver has joined. */
void rsti_send_path_on_joined(rsti_send_path_t *send_path, int64_t now_ns);
/* Bytes that may leave now, at least a datagram; INT64_MAX: the law does not hold. 0: none, and
 * *due_ns is when there may be room, RSTI_NO_DEADLINE: not before the next arrival is told. */
int64_t rsti_send_path_room(rsti_send_path_t *send_path, int64_t now_ns, int64_t *due_ns);
/* bytes were sent, up to position; a resend ends at or below the end of new data. */
void rsti_send_path_on_sent(rsti_send_path_t *send_path, int64_t position, int64_t bytes,
    int64_t now_ns);
void rsti_send_path_on_item(rsti_send_path_t *send_path, const rsti_path_item_t *item,
    int64_t now_ns);

#endif
