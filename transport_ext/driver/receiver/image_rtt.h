/* image_rtt.h: the round trip of an image, measured by the receiver (docs/reference/aeron/wire.md
 * 8.5). The receiver always measures it with rstream sources, because their repair depends on it.
 * It measures it with all sources when the congestion law of the image needs it. It measures only
 * while data arrives. The conductor reads the result in two atomic words. The time in a measurement
 * is hidden by a secret key, so that only a host that received it can answer. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_RTT_H
#define RSTI_DRIVER_RECEIVER_IMAGE_RTT_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"
#include "protocol/frame.h"

/* Sends a measurement when one is due. Receiver. */
void rsti_image_check_rtt(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* Handles the answer of a source to a measurement. False: it answers none of the last ones.
 * Receiver. */
bool rsti_image_on_rtt_answer(rsti_image_t *image, const rsti_rttm_t *rttm, int64_t now_ns);
/* The key of an image. Receiver. */
int64_t rsti_image_rtt_key(const rsti_receiver_t *receiver, const rsti_image_t *image);

#endif
