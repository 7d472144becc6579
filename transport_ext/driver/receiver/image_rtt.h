/* image_rtt.h: the round trip of an image, measured by the receiver (docs/reference/aeron/wire.md
 * 8.5). Sources that are rstream are asked, because repair follows the round trip there, and every
 * source when the image's law of congestion wants to know; only while data moves. Two words tell
 * the conductor what was measured. */
#ifndef RSTI_DRIVER_RECEIVER_IMAGE_RTT_H
#define RSTI_DRIVER_RECEIVER_IMAGE_RTT_H

#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"
#include "protocol/frame.h"

/* Asks for the round trip when it is time. */
void rsti_image_check_rtt(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns);
void rsti_image_on_rtt_answer(rsti_image_t *image, const rsti_rttm_t *rttm, int64_t now_ns);

#endif
