/* fault_target.h: chosen datagrams that are lost on purpose, for the drop function of the
 * interceptor. A first transmission is recognised by its offset: a stream sends in order, so a
 * frame that begins below the end of the last dropped one is a retransmission. One target serves
 * the sockets of one agent. */
#ifndef RSTI_MEDIA_FAULT_TARGET_H
#define RSTI_MEDIA_FAULT_TARGET_H

#include "media/interceptor.h"

/* Which frames to drop: all that match every given fact. */
typedef struct rsti_fault_filter_t {
    bool has_type, has_stream, has_session, has_port;
    int16_t type; /* of the first frame */
    int32_t stream_id;
    int32_t session_id;
    uint16_t port; /* the peer's */
    int32_t direction; /* 0: both, 1: sent, 2: received */
} rsti_fault_filter_t;
bool rsti_fault_filter_matches(const rsti_fault_filter_t *filter,
    const rsti_fault_view_t *datagram);

/* Drops everything that the filter matches while is_on. A drop function: arg is the target. */
typedef struct rsti_fault_cut_t {
    rsti_fault_filter_t filter;
    bool is_on;
    int64_t dropped;
} rsti_fault_cut_t;
bool rsti_fault_cut(void *arg, const rsti_fault_view_t *datagram);

#define RSTI_FAULT_STREAMS_MAX 64

/* How far the datagrams of one session were dropped, on one socket. */
typedef struct rsti_fault_seen_t {
    int64_t socket_number;
    int32_t stream_id;
    int32_t session_id;
    int32_t dropped_to;
} rsti_fault_seen_t;

/* Drops the first transmission of every data datagram that overlaps one of the gaps
 *     [first + k * period, first + k * period + length),  k < count,  of term_id.
 * count 1: one fixed range. Each session of a stream is told apart on each socket. Sessions beyond
 * RSTI_FAULT_STREAMS_MAX lose nothing. */
typedef struct rsti_fault_gaps_t {
    rsti_fault_filter_t filter;
    int32_t term_id;
    int32_t first;
    int32_t period;
    int32_t length;
    int32_t count;
    rsti_fault_seen_t seen[RSTI_FAULT_STREAMS_MAX]; /* starts with zeros */
    int32_t seen_count;
    int64_t dropped;
} rsti_fault_gaps_t;
bool rsti_fault_gaps(void *arg, const rsti_fault_view_t *datagram);

#endif
