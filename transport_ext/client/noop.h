/* noop.h: the answer to a publisher's NOOP (driver/receiver/image_noop.h). */
#ifndef RSTI_CLIENT_NOOP_H
#define RSTI_CLIENT_NOOP_H

#include "client/subscription.h"

/* Every kind of poll begins with it, and nothing else answers: the question is whether the program
 * still polls. Costs one load of each image's log. The caller holds
 * subscription->lock. */
void rsti_noop_answer(const rst_subscription_t *subscription);

#endif
