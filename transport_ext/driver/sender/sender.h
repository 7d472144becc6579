/* sender.h: the life of the sender agent. Other agents send it commands through the proxies
 * (base/proxies.h). The objects that it shares with the conductor have headers of their own:
 * network_publication.h, send_endpoint.h, send_rate.h. */
#ifndef RSTI_DRIVER_SENDER_SENDER_H
#define RSTI_DRIVER_SENDER_SENDER_H

#include "driver/base/driver_state.h"

/* Makes driver->sender, and opens its inbox. 0 or -RST_ENOMEM. Called when the driver opens. */
int rsti_sender_create(rst_driver_t *driver);
/* Tells the ends of closed publications that were to be told later. Called when the driver closes,
 * before the sockets are closed. */
void rsti_sender_tell_ends(rst_driver_t *driver);
/* Frees driver->sender, which may be NULL. Called when the driver closes. */
void rsti_sender_destroy(rst_driver_t *driver);
/* Runs one pass; arg is the sender. Called by the sender's thread. */
int64_t rsti_sender_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

#endif
