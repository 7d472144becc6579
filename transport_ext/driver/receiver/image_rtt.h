/* image_rtt.h: the round trip of an image, measured by the receiver (docs/reference/aeron/wire.md
 * 8.5). The receiver always measures it with rstream sources, because their repair depends on it.
 * It measures it with all sources when the congestion law of the image needs it. It measures only
 * while data arrives. The conductor reads the result in two atomic words. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_RTT_H
#define RSTI_DRIVER_RECEIVER_IMAGE_RTT_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"
#include "protocol/frame.h"

/* Sends a measurement when one is due. Receiver. */
void rsti_image_check_rtt(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
/* Handles the answer to a measurement. Receiver. */
void rsti_image_on_rtt_answer(rsti_image_t *image, const rsti_rttm_t *rttm, int64_t now_ns);

#endif
