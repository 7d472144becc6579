/* batch.h: messages on loan.
 *
 * A batch remembers, per image, where its loan begins (a lease). The subscriber position of an
 * image never passes its oldest lease, so the driver neither cleans nor refills memory that a user
 * can still read. A part of a batch may be consumed before the rest: its leases then begin behind
 * that part. A batch may be released in another thread than the one that polls, and after the
 * image, the subscription or the client was closed. */
#ifndef RSTI_CLIENT_BATCH_H
#define RSTI_CLIENT_BATCH_H

#include "client/assembler.h"
#include "client/image.h"

struct rst_batch_t {
    int32_t capacity;
    int32_t count;
    int32_t consumed; /* messages that rst_batch_consume has counted */
    int32_t generation;
    rst_message_t *messages;
    rsti_lease_t *leases;
    int32_t lease_count;
    int32_t lease_capacity;
    rst_subscription_t *subscription; /* a reference while leases are held */
    int64_t lent;                     /* its messages that demand covered, not consumed yet */
    rsti_buffer_t *owned;             /* the memory of assembled messages */
    int32_t owned_count;
    int32_t owned_capacity;
    rsti_buffer_t spare[4]; /* buffers for the next assembled messages */
    int32_t spare_count;
    int64_t damaged;  /* files that were cut short when it was filled (map_guard.h) */
    int32_t given;    /* of its messages; the rest is read again */
    void **large; /* owners of the memory of messages that came in parts */
    int32_t large_count;
    int32_t large_capacity;
};

/* Makes room for leases on so many images. The batch holds no lease. 0, or -RST_ENOMEM. */
int rsti_batch_prepare(rst_batch_t *batch, size_t image_count);
/* Holds the image from `begin` on, and takes a reference to it. The caller holds
 * subscription->lock. */
void rsti_batch_lease(rst_batch_t *batch, rst_image_t *image, int64_t begin);
/* Takes the assembler's buffer into the batch and gives it a spare one. *data: the message. 0, or
 * -RST_ENOMEM. */
int rsti_batch_own(rst_batch_t *batch, rsti_assembler_t *assembler, const uint8_t **data);
/* Holds the memory of a message that came in parts; its owner is freed at the release. 0, or
 * -RST_ENOMEM. */
int rsti_batch_own_large(rst_batch_t *batch, void *owner);
/* Ends the leases and moves the positions. True: wake the driver's conductor. The caller holds
 * subscription->lock, and calls rsti_batch_drop_images() after it has unlocked. */
bool rsti_batch_unlease(rst_batch_t *batch);
/* Drops the references to the images. The caller holds no lock. */
void rsti_batch_drop_images(rst_batch_t *batch);

#endif
