/* link.h: the link between a sender and its receivers: data in one direction, feedback in the
 * other, each in half a round trip. Two rings, allocated once. An entry that does not fit is
 * dropped and counted, as by a socket whose buffer is full. All entries of a ring take equally
 * long, so a ring is a queue. */
#ifndef RSTI_LAB_LINK_H
#define RSTI_LAB_LINK_H

#include "flow/fill_report.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a datagram's Aeron part: status message, the one with a fill item, NAK. */
#define RSTI_LAB_STATUS_BYTES 36
#define RSTI_LAB_REPORT_BYTES 100
#define RSTI_LAB_NAK_BYTES 28

typedef struct rsti_lab_chunk_t {
    int64_t due_step;
    int64_t from, to; /* equal: a heartbeat at that position */
    bool is_resend;
} rsti_lab_chunk_t;

typedef enum rsti_lab_feedback_kind_t {
    RSTI_LAB_STATUS,
    RSTI_LAB_FILL_NAK,
    RSTI_LAB_NAK,
} rsti_lab_feedback_kind_t;

typedef struct rsti_lab_feedback_t {
    int64_t due_step;
    rsti_lab_feedback_kind_t kind;
    int32_t image;  /* -1: the sender has no id */
    int64_t from;   /* NAK: missing from; else the consumption position */
    int64_t to;     /* NAK: missing to; status: the window */
    bool is_eos;
    rsti_fill_report_t report;
} rsti_lab_feedback_t;

typedef struct rsti_lab_ring_t {
    int64_t head, tail; /* entries since the beginning */
    int64_t mask;
    int64_t dropped;
} rsti_lab_ring_t;

typedef struct rsti_lab_link_t {
    int64_t delay_steps;
    rsti_lab_ring_t data, control;
    rsti_lab_chunk_t *chunks;
    rsti_lab_feedback_t *feedback;
    int64_t control_bytes; /* since the beginning, by the receivers */
} rsti_lab_link_t;

/* 0 or -RST_ENOMEM. chunks, feedback: the most that can be on the link. */
int rsti_lab_link_init(rsti_lab_link_t *link, int64_t delay_steps, int64_t chunks,
    int64_t feedback);
void rsti_lab_link_fini(rsti_lab_link_t *link);

void rsti_lab_link_send_data(rsti_lab_link_t *link, int64_t step, int64_t from, int64_t to,
    bool is_resend);
/* NULL: nothing more arrives in this step. Valid until the next send. */
const rsti_lab_chunk_t *rsti_lab_link_receive_data(rsti_lab_link_t *link, int64_t step);

/* is_lost: it is sent but does not arrive. */
void rsti_lab_link_send_feedback(rsti_lab_link_t *link, int64_t step,
    const rsti_lab_feedback_t *feedback, bool is_lost);
const rsti_lab_feedback_t *rsti_lab_link_receive_feedback(rsti_lab_link_t *link, int64_t step);

#endif
