/* receiver.h: the receiver as the others see it. They tell it things by the proxies
 * (base/proxies.h); the objects that it shares with the conductor have headers of their own:
 * image.h with image_*.h for its parts, receive_endpoint.h, receive_transport.h, dispatcher.h. */
#ifndef RSTI_DRIVER_RECEIVER_RECEIVER_H
#define RSTI_DRIVER_RECEIVER_RECEIVER_H

#include "driver/base/driver_state.h"

/* Makes driver->receiver, and opens its inbox. 0 or -RST_ENOMEM. */
int rsti_receiver_create(rst_driver_t *driver);
/* NULL is legal. */
void rsti_receiver_destroy(rst_driver_t *driver);
/* One pass; arg is the receiver. */
int64_t rsti_receiver_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

#endif
