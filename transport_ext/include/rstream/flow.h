/* flow.h: user-written flow-control strategies, chosen by name: fc=NAME on a group channel, or the
 * driver options unicast-flow-control and multicast-flow-control. Part of driver.h. */
#ifndef RSTREAM_FLOW_H
#define RSTREAM_FLOW_H

#include "rstream/error.h"

#include <stddef.h>
#include <stdint.h>

/* One status message that passed the checks of the wire protocol. */
typedef struct rst_flow_message_t {
    int64_t position;    /* the receiver has consumed everything before it */
    int32_t window;      /* bytes that may be sent beyond it */
    int32_t is_eos;      /* the receiver is leaving */
    int64_t receiver_id; /* never 0 */
    int64_t group_tag;   /* valid when has_group_tag */
    int32_t has_group_tag;
    int32_t reserved;
} rst_flow_message_t;

/* The publication, with fc= and the driver's defaults applied. */
typedef struct rst_flow_facts_t {
    const char *channel; /* valid during init only */
    int32_t stream_id;
    int32_t session_id;
    int32_t is_group; /* multicast, or several destinations */
    int32_t group_min_size;
    int64_t group_tag;
    int64_t receiver_timeout_ns;
} rst_flow_facts_t;

/* A strategy. Functions marked "optional" may be NULL.
 *
 * Threads: init and fini run in the driver's conductor, before and after the publication is sent.
 * The others run in the sender, one at a time, and never before init has returned. Several drivers
 * of a process may serve different publications at the same time, so state belongs to one
 * publication. The sender's functions must not block, allocate, call the driver or take longer than
 * about a microsecond: they run between two datagrams of all publications.
 *
 * limit is the highest position that may be sent; on_status_message and on_idle return the new
 * limit. A limit below the sent position stops the publication and takes nothing back. A limit of
 * more than term_length / 2 above the slowest receiver makes that receiver lose data for good.
 * now_ns is monotonic and comes from the driver's clock; do not ask another clock. */
typedef struct rst_flow_strategy_t {
    size_t struct_size; /* sizeof(rst_flow_strategy_t) */
    const char *name;   /* 1 to 31 of a-z 0-9 - _ . ; copied */
    size_t state_bytes; /* up to 1 MiB, zeroed, aligned to a cache line; 0: state is NULL */
    int (*init)(void *state, const rst_flow_facts_t *facts); /* optional; negative: refused */
    void (*fini)(void *state); /* optional; only after an init that succeeded */
    int64_t (*on_status_message)(void *state, const rst_flow_message_t *message, int64_t limit,
        int64_t now_ns);
    /* In duty cycles in which nothing was sent. */
    int64_t (*on_idle)(void *state, int64_t limit, int64_t now_ns); /* optional */
    /* A receiver that wants to join asked for a SETUP; and such a SETUP is sent. */
    void (*on_setup_elicited)(void *state, const rst_flow_message_t *message,
        int64_t now_ns); /* optional */
    void (*on_setup)(void *state, int64_t limit, int64_t now_ns);        /* optional */
    /* The receiver rejected the stream. */
    void (*on_error)(void *state, int64_t receiver_id, int64_t now_ns); /* optional */
    /* 0: the publication counts as not connected, even with receivers. Optional: always
     * satisfied. */
    int (*has_required_receivers)(const void *state);
    /* The value of the counter fc-receivers. Optional: then there is no such counter. */
    int32_t (*receiver_count)(const void *state);
} rst_flow_strategy_t;

/* Registers a strategy for the life of the process. Call it before opening the drivers that use it,
 * from one thread at a time. The table is copied. 0; -RST_EINVAL naming what is wrong (also a name
 * that exists); -RST_EFULL: 16 are registered. */
RST_API int rst_flow_strategy_register(const rst_flow_strategy_t *strategy);

#endif
