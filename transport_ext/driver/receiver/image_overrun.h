/* image_overrun.h: an image whose group has left it behind (loss/overrun.h).
 *
 *     receiver     data found no room: notes what was sent, and wakes the conductor
 *     conductor    what is missing has left the sender's history, and the readers have read
 *                  everything before it: asks the receiver where the stream goes on
 *     receiver     tells the position, with the facts of the source in the form of a SETUP
 *     conductor    makes another image there, ends this one, and tells its readers the position
 *
 * Until the readers have read everything, nothing happens, so a reader that stands still costs no
 * memory and loses no more than it must. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_OVERRUN_H
#define RSTI_DRIVER_RECEIVER_IMAGE_OVERRUN_H

#include "loss/overrun.h"
#include "protocol/frame.h"

#include <sys/socket.h>

typedef struct rsti_image_t rsti_image_t;
typedef struct rsti_receiver_t rsti_receiver_t;
typedef struct rsti_connection_t rsti_connection_t;

typedef struct rsti_image_overrun_t {
    /* written by: receiver */
    rsti_overrun_t law;
    int64_t woken_ns;
    int64_t sent;       /* atomic; 0: nothing yet */
    int64_t taken_from; /* earlier data no longer comes into the image; 0: all does */
    /* written by: conductor */
    int64_t
        began_sent; /* what had been sent when this image began; INT64_MIN: it began by a SETUP */
    int64_t asked_ns;   /* when the receiver was asked last */
    int32_t tries;      /* returns before this image that did not last; written before use */
} rsti_image_overrun_t;

/* How much the slowest source of the image can send again. */
int32_t rsti_image_history(const rsti_image_t *image);
/* A datagram of the session found no room. [begin, end): its place; a heartbeat has none. True when
 * enough of them followed each other to be believed. Then the image is also kept alive. */
bool rsti_image_on_over_run(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, const rsti_data_header_t *header, int64_t begin, int64_t end,
    int64_t now_ns);
/* The conductor asks where the stream goes on. tries: as the law counts them. Earlier data is no
 * longer taken from now on: if it closed the gap after all, readers would go on in this image, and
 * get the same data again in the next one. */
void rsti_image_on_resume(rsti_receiver_t *receiver, rsti_image_t *image, int32_t tries);
/* The receiver takes over an image that begins behind an overrun: asks for what was sent already.
 */
void rsti_image_overrun_begin(rsti_image_t *image, int64_t now_ns);

#endif
