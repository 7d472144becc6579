/* lab.h: the queue engine: the laws of flow/ in a closed loop without payload, in virtual time.
 *
 * Time advances in steps of step_ns. Data that is sent in a step travels as one chunk. Steps are
 * used instead of events because a step costs the same at any rate, so a thousand receivers cost a
 * thousand times as much and not more. A step of 100 us carries 7 datagrams at 100 MB/s, as one
 * segmentation-offload send does, and is a tenth of the shortest reaction time. The same seed
 * gives the same bytes. Nothing is allocated between rsti_lab_init and rsti_lab_fini.
 *
 * In a step: senders (feedback, resends, new data), arrivals, consumers, messages of receivers, a
 * row of samples. */
#ifndef RSTI_LAB_LAB_H
#define RSTI_LAB_LAB_H

#include "lab/capacity.h"
#include "lab/image.h"
#include "lab/samples.h"
#include "lab/sender.h"
#include "lab/spec.h"

typedef struct rsti_lab_consumer_t {
    const rsti_lab_consumer_spec_t *spec;
    rsti_lab_capacity_t capacity;
    rsti_lab_image_t **images;
    int32_t image_count;
    double rest;       /* part of a byte */
    double taken_most; /* integral of the capacity */
} rsti_lab_consumer_t;

typedef struct rsti_lab_t {
    rsti_lab_spec_t spec;
    rsti_lab_sender_t *senders;
    rsti_lab_consumer_t *consumers;
    rsti_lab_image_t *images;
    rsti_lab_image_t **lists; /* of senders, then of consumers */
    int64_t *forge_due_ns;
    rsti_fill_report_t *overheard; /* one for each forger that replays */
    int64_t *overheard_at;
    int64_t forged_count;
    rsti_lab_samples_t samples;
} rsti_lab_t;

/* The records of spec.h. 0 or a negative code with a text. */
int rsti_lab_init(rsti_lab_t *lab, const double *values, size_t count);
void rsti_lab_fini(rsti_lab_t *lab);
/* Runs to the end. */
void rsti_lab_run(rsti_lab_t *lab);

/* consumer.c */
void rsti_lab_consumer_step(rsti_lab_t *lab, rsti_lab_consumer_t *consumer, int64_t step,
    int64_t now_ns);
/* forger.c */
void rsti_lab_forge(rsti_lab_t *lab, int64_t step, int64_t now_ns);
/* gather.c: the facts of the samples. */
void rsti_lab_gather(rsti_lab_t *lab);

#endif
