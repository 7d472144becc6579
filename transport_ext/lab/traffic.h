/* traffic.h: flows on one bottleneck, datagram by datagram, in virtual time: streams of rstream by
 * the law of the path (flow/path.h), and TCP with cubic or like BBR beside them.
 *
 *     sender --> bottleneck --> RTT / 2 --> receiver --> RTT / 2 --> sender
 *
 * Events instead of steps, because a queue of some datagrams overflows within microseconds. Nothing
 * overtakes within a flow, so all its ways are rings, and the next event is the least of a few
 * times for each flow: about 0.2 us for a datagram. Feedback meets no queue, only random loss,
 * and is late by up to the time of one datagram: without that two flows fall into step, and one of
 * them meets every drop.
 *
 * A host stalls now and then: sender and receiver do nothing for a time, each on its own. The same
 * records give the same bytes. Nothing is allocated between init and fini. */
#ifndef RSTI_LAB_TRAFFIC_H
#define RSTI_LAB_TRAFFIC_H

#include "flow/path.h"
#include "lab/bottleneck.h"
#include "lab/tcp.h"

#define RSTI_LAB_FOREVER INT64_MAX

/* Columns: time and state of the bottleneck, then these of each flow. */
#define RSTI_LAB_TRAFFIC_WIDTH 3 /* time_s, queue_bytes, rate */
#define RSTI_LAB_TRAFFIC_FLOW_WIDTH 8

typedef enum rsti_lab_news_kind_t {
    RSTI_LAB_NEWS_ITEM,
    RSTI_LAB_NEWS_NAK,
    RSTI_LAB_NEWS_ACK,
} rsti_lab_news_kind_t;

typedef struct rsti_lab_news_t {
    rsti_lab_news_kind_t kind;
    int64_t number; /* NAK: datagram; ACK: number of the packet */
    rsti_path_item_t item;
} rsti_lab_news_t;

/* What travels behind the bottleneck, and what travels back. All entries take equally long. */
typedef struct rsti_lab_way_t {
    int64_t *due_ns;
    int64_t *ids; /* forward */
    rsti_lab_news_t *news; /* back */
    int64_t head, tail, mask;
} rsti_lab_way_t;

typedef struct rsti_lab_path_flow_t {
    rsti_path_t path;
    rsti_path_arrival_t arrival;
    uint8_t *flags; /* of the datagrams in the window, by number */
    int64_t *missing, *missing_due_ns; /* ring, at the receiver, in the order of the next NAK */
    int64_t *resends; /* ring, at the sender */
    int64_t missing_head, missing_tail, resend_head, resend_tail, mask;
    int64_t next, contiguous; /* datagrams, at the sender */
    int64_t received_to, highest; /* at the receiver: contiguous, end of the furthest */
    double credit; /* bytes that the pace has earned */
    int64_t credit_ns;
} rsti_lab_path_flow_t;

typedef struct rsti_lab_traffic_t rsti_lab_traffic_t;
typedef struct rsti_lab_flow_t rsti_lab_flow_t;

typedef struct rsti_lab_flow_kind_law_t {
    int (*init)(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow);
    void (*fini)(rsti_lab_flow_t *flow);
    /* Sends what it may, and sets send_ns anew. */
    void (*send)(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns);
    void (*on_packet)(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t id,
        int64_t now_ns);
    void (*on_news)(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, const rsti_lab_news_t *news,
        int64_t now_ns);
    /* The receiver's timer; sets tell_ns anew. */
    void (*tell)(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t now_ns);
    double (*window)(const rsti_lab_flow_t *flow);
    double (*state)(const rsti_lab_flow_t *flow);
} rsti_lab_flow_kind_law_t;

struct rsti_lab_flow_t {
    const rsti_lab_flow_spec_t *spec;
    const rsti_lab_flow_kind_law_t *kind;
    int32_t number;
    int32_t datagram;
    int64_t delay_ns; /* one way */
    int64_t jitter_ns; /* what an answer may be late */
    rsti_lab_way_t forward, back;
    rsti_rng_t rng;
    int64_t send_ns, tell_ns; /* timers of sender and receiver */
    int64_t sender_free_ns, receiver_free_ns; /* a stall ends */
    int64_t sender_stall_ns, receiver_stall_ns; /* the next one begins */
    int64_t next_ns; /* least of all */
    /* counts */
    int64_t sent, resent, dropped, lost, delivered; /* bytes */
    union {
        rsti_lab_path_flow_t stream;
        rsti_lab_tcp_t tcp;
        int64_t fixed;
    } of;
};

struct rsti_lab_traffic_t {
    rsti_lab_spec_t spec;
    rsti_lab_bottleneck_t bottleneck;
    rsti_lab_flow_t *flows;
    int32_t flow_count;
    int32_t next_change;
    double *values;
    int64_t row_count, row_width, sample_ns;
};

extern const char *const rsti_lab_traffic_columns[];

/* The records of spec.h. 0 or a negative code with a text. */
int rsti_lab_traffic_init(rsti_lab_traffic_t *traffic, const double *values, size_t count);
void rsti_lab_traffic_fini(rsti_lab_traffic_t *traffic);
/* Runs to the end. */
void rsti_lab_traffic_run(rsti_lab_traffic_t *traffic);

/* For kinds. False: it was dropped at once. */
bool rsti_lab_traffic_put(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow, int64_t id,
    bool is_resend, int64_t now_ns);
void rsti_lab_traffic_answer(rsti_lab_traffic_t *traffic, rsti_lab_flow_t *flow,
    const rsti_lab_news_t *news, int64_t now_ns);
/* Bytes that the application has written by now. */
double rsti_lab_traffic_written(const rsti_lab_flow_t *flow, int64_t now_ns);
/* The most datagrams that may be on the way. */
int64_t rsti_lab_traffic_window(const rsti_lab_flow_t *flow);

extern const rsti_lab_flow_kind_law_t rsti_lab_path_kind; /* path_flow.c */
extern const rsti_lab_flow_kind_law_t rsti_lab_tcp_kind;    /* tcp.c */

#endif
