/* image.h: a sender's stream at one receiver, without payload. Positions only:
 *
 *     consumed <= ready <= furthest <= consumed + buffer
 *
 * ready is the end of contiguous data, which the consumer may take. furthest is the end of all data
 * received. Data beyond consumed + buffer is dropped and counted (overrun), as a real receiver
 * drops data beyond its threshold. It is missing like data that the link lost, and asked for again
 * as soon as there is room. Until then the buffer counts as full.
 *
 * Each step: data arrives, the consumer takes data (consumer.c), then the receiver sends:
 *
 *   status message   by sm_due.h, and each STATUS_TIMEOUT_NS
 *   fill NAK         by fill.h and fill_suppress.h
 *   NAK for a gap    at once or after a random time up to nak_delay_ns; again after two round trips
 *                    or 20 ms */
#ifndef RSTI_LAB_IMAGE_H
#define RSTI_LAB_IMAGE_H

#include "flow/congestion.h"
#include "flow/fill_suppress.h"
#include "lab/gaps.h"
#include "lab/link.h"
#include "lab/spec.h"
#include "util/rng.h"

typedef struct rsti_lab_image_t rsti_lab_image_t;

struct rsti_lab_image_t {
    const rsti_lab_image_spec_t *spec;
    const rsti_lab_sender_spec_t *sender;
    int32_t index;
    int64_t receiver_id;
    bool reports;   /* fill NAKs */
    bool is_gone;   /* died or evicted */
    bool survives;  /* the scenario lets it neither die nor hang */
    bool has_loss;  /* since the last update of congestion control */
    double group_size;
    rsti_lab_image_t **siblings; /* all images of the same consumer, this one too */
    int32_t sibling_count;
    int64_t consumed, furthest;
    int64_t overrun_until; /* end of the buffer at the last overflow */
    int64_t buffer_bytes;
    rsti_fill_t fill;
    rsti_fill_suppress_t suppress;
    rsti_congestion_t congestion;
    rsti_rng_t dice;
    int64_t moved_ns;            /* last time that data was consumed or the queue was empty */
    int64_t status_ns, status_position;
    int32_t status_window;       /* -1: none was sent */
    int64_t lie_due_ns;
    const rsti_lab_liar_spec_t *liar;
    /* counted */
    int64_t overrun_bytes, lost_bytes, given_up_bytes;
    int64_t report_count, status_count, nak_count;
    int64_t unmasked_ns; /* the sender began to ignore it; INT64_MAX: never */
    rsti_lab_gaps_t gaps;
};

/* 0 or a negative code with a text. */
int rsti_lab_image_init(rsti_lab_image_t *image, const rsti_lab_spec_t *spec, int32_t index);

int64_t rsti_lab_image_ready(const rsti_lab_image_t *image);
void rsti_lab_image_on_data(rsti_lab_image_t *image, const rsti_lab_chunk_t *chunk, int64_t now_ns);
/* The sender no longer has data before oldest. It is skipped, as a new image would. */
void rsti_lab_image_forget(rsti_lab_image_t *image, int64_t oldest);
void rsti_lab_image_consume(rsti_lab_image_t *image, int64_t bytes, int64_t now_ns);
/* Sends the receiver's messages of this step. */
void rsti_lab_image_speak(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step,
    int64_t now_ns);
/* A last status message: the image is closed in good order. */
void rsti_lab_image_leave(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step);

#endif
