/* image_events.h: images that came and went, in order, in a bounded ring per subscription. A full
 * ring drops its oldest event and counts it. The caller holds subscription->lock. */
#ifndef RSTI_CLIENT_IMAGE_EVENTS_H
#define RSTI_CLIENT_IMAGE_EVENTS_H

#include "client/image.h"

/* kind: RST_IMAGE_AVAILABLE or RST_IMAGE_UNAVAILABLE. */
void rsti_image_events_push(rst_subscription_t *subscription, int kind, const rst_image_t *image);
/* Takes the oldest event or gap (image_gaps.h). False: there is none. */
bool rsti_image_events_pop(rst_subscription_t *subscription, rst_image_event_t *event);

#endif
