/* flow.h: flow-control strategies of your own, chosen by name: fc=NAME on a group channel, or the
 * driver options unicast-flow-control and multicast-flow-control. Part of driver.h. */
#ifndef RSTREAM_FLOW_H
#define RSTREAM_FLOW_H

#include "rstream/error.h"

#include <stddef.h>
#include <stdint.h>

/* One status message that passed the checks of the wire protocol. */
typedef struct rst_flow_message_t {
    int64_t position;    /* everything before it has been consumed there */
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
 * Threads: init and fini run in the driver's conductor, before the publication is sent and after it
 * was; the others in the sender, one at a time, never before init returned. Different publications
 * may be served at the same time by different drivers of the process: state belongs to one
 * publication. The sender's functions must not block, allocate, call the driver or take longer than
 * a microsecond or so: they run between two datagrams of all publications.
 *
 * limit is the highest position that may be sent; what on_status_message and on_idle return is the
 * new one. A limit below what was already sent stops the publication and takes nothing back; one
 * that is more than term_length / 2 above the slowest receiver makes that receiver lose data for
 * good. now_ns is monotonic and comes from the driver's clock; do not ask another one. */
typedef struct rst_flow_strategy_t {
    size_t struct_size; /* sizeof(rst_flow_strategy_t) */
    const char *name;   /* 1 to 31 of a-z 0-9 - _ . ; copied */
    size_t state_bytes; /* up to 1 MiB, zeroed, aligned to a cache line; 0: state is NULL */
    int (*init)(void *state, const rst_flow_facts_t *facts); /* optional; negative: refused */
    void (*fini)(void *state); /* optional; only after an init that succeeded */
    int64_t (*on_status_message)(void *state, const rst_flow_message_t *message, int64_t limit,
        int64_t now_ns);
    /* In passes in which nothing was sent. */
    int64_t (*on_idle)(void *state, int64_t limit, int64_t now_ns); /* optional */
    /* A receiver that wants to join asked for a SETUP; a SETUP that was asked for leaves. */
    void (*on_setup_elicited)(void *state, const rst_flow_message_t *message,
        int64_t now_ns); /* optional */
    void (*on_setup)(void *state, int64_t limit, int64_t now_ns);        /* optional */
    /* The receiver rejected the stream. */
    void (*on_error)(void *state, int64_t receiver_id, int64_t now_ns); /* optional */
    /* 0: the publication is not connected, whoever listens. Optional: always satisfied. */
    int (*has_required_receivers)(const void *state);
    /* What the counter fc-receivers shows; optional: there is no such counter. */
    int32_t (*receiver_count)(const void *state);
} rst_flow_strategy_t;

/* For the whole process and its life: there is no way back. Before the drivers that shall know it
 * are opened, from one thread at a time. The table is copied. 0; -RST_EINVAL naming what is wrong
 * (a name that exists counts); -RST_EFULL when 16 are registered. */
RST_API int rst_flow_strategy_register(const rst_flow_strategy_t *strategy);

#endif
