/* way.h: the way between a sender and its receivers: data one way, control the other, each in half
 * a round trip. Two rings, allocated once; what does not fit is dropped and counted, as by a
 * socket whose buffer is full. All entries of a ring take equally long, so a ring is a queue. */
#ifndef RSTI_LAB_WAY_H
#define RSTI_LAB_WAY_H

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

typedef enum rsti_lab_letter_kind_t {
    RSTI_LAB_STATUS,
    RSTI_LAB_FILL_NAK,
    RSTI_LAB_NAK,
} rsti_lab_letter_kind_t;

typedef struct rsti_lab_letter_t {
    int64_t due_step;
    rsti_lab_letter_kind_t kind;
    int32_t image;  /* -1: from somebody who has none */
    int64_t from;   /* NAK: missing from; else the consumption position */
    int64_t to;     /* NAK: missing to; status: the window */
    bool is_eos;
    rsti_fill_report_t report;
} rsti_lab_letter_t;

typedef struct rsti_lab_ring_t {
    int64_t head, tail; /* taken, put: ever */
    int64_t mask;
    int64_t dropped;
} rsti_lab_ring_t;

typedef struct rsti_lab_way_t {
    int64_t delay_steps;
    rsti_lab_ring_t data, control;
    rsti_lab_chunk_t *chunks;
    rsti_lab_letter_t *letters;
    int64_t control_bytes; /* ever, by the receivers */
} rsti_lab_way_t;

/* 0 or -RST_ENOMEM. chunks, letters: how many are on the way at most. */
int rsti_lab_way_init(rsti_lab_way_t *way, int64_t delay_steps, int64_t chunks, int64_t letters);
void rsti_lab_way_fini(rsti_lab_way_t *way);

void rsti_lab_way_send(rsti_lab_way_t *way, int64_t step, int64_t from, int64_t to, bool is_resend);
/* NULL: nothing more arrives in this step. Valid until the next send. */
const rsti_lab_chunk_t *rsti_lab_way_receive(rsti_lab_way_t *way, int64_t step);

/* is_lost: it was sent, and arrives nowhere. */
void rsti_lab_way_post(rsti_lab_way_t *way, int64_t step, const rsti_lab_letter_t *letter,
    bool is_lost);
const rsti_lab_letter_t *rsti_lab_way_open(rsti_lab_way_t *way, int64_t step);

#endif
