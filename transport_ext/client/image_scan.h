/* image_scan.h: one poll's pass over one image, into a batch. The caller holds
 * subscription->lock. */
#ifndef RSTI_CLIENT_IMAGE_SCAN_H
#define RSTI_CLIENT_IMAGE_SCAN_H

#include "client/batch.h"
#include "client/image.h"

typedef enum rsti_stop_t {
    RSTI_STOP_EMPTY, /* no committed frame follows */
    RSTI_STOP_TERM_END,
    RSTI_STOP_FULL, /* room, bytes or demand are used up */
    RSTI_STOP_CORRUPT,
    RSTI_STOP_ERROR /* poll->error says which */
} rsti_stop_t;

/* A poll in progress: its batch, and what it may still add to it. */
typedef struct rsti_poll_t {
    rst_batch_t *batch;
    int32_t room;             /* messages */
    int64_t bytes_left;
    int64_t limit_position;   /* frames that begin here or behind stay in the log */
    int64_t only_image;       /* correlation id; -1: all images */
    int32_t block_length_max; /* > 0: one block of raw frames instead of messages */
    bool is_demanded;
    int64_t demand;  /* at the beginning of the poll */
    int64_t charged; /* messages handed out that cost demand */
    int error;
} rsti_poll_t;

/* Hands out messages, to the end of the term at most. */
rsti_stop_t rsti_image_poll_term(rst_image_t *image, rsti_poll_t *poll);
/* Hands out one block of raw frames as one message. */
rsti_stop_t rsti_image_poll_block(rst_image_t *image, rsti_poll_t *poll);

#endif
