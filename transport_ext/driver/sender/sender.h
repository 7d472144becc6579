/* sender.h: the sender as the others see it. They tell it things by the proxies
 * (base/proxies.h); the objects that it shares with the conductor have headers of their own:
 * network_publication.h, send_endpoint.h, send_rate.h. */
#ifndef RSTI_DRIVER_SENDER_SENDER_H
#define RSTI_DRIVER_SENDER_SENDER_H

#include "driver/base/driver_state.h"

/* Makes driver->sender, and opens its inbox. 0 or -RST_ENOMEM. */
int rsti_sender_create(rst_driver_t *driver);
/* NULL is legal. */
void rsti_sender_destroy(rst_driver_t *driver);
/* One pass; arg is the sender. */
int64_t rsti_sender_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

#endif
