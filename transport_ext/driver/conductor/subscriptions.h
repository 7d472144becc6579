/* subscriptions.h: adding and removing subscriptions (docs/reference/aeron/driver.md 6,
 * docs/reference/aeron/memory.md 15). */
#ifndef RSTI_DRIVER_CONDUCTOR_SUBSCRIPTIONS_H
#define RSTI_DRIVER_CONDUCTOR_SUBSCRIPTIONS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"
#include "protocol/command.h"

int rsti_subscription_add_interest(rst_driver_t *driver, const rsti_subscription_t *subscription);
bool rsti_on_add_subscription(rst_driver_t *driver, const rsti_command_t *command);
void rsti_subscription_free(rsti_subscription_t *subscription);
/* An IPC or spy destination of parent; NULL with a trail. */
rsti_subscription_t *rsti_subscription_make_destination(rst_driver_t *driver,
    const rsti_subscription_t *parent, const rsti_channel_t *channel, int64_t destination_id);
void rsti_on_remove_subscription(rst_driver_t *driver, const rsti_command_t *command);
void rsti_subscription_remove(rst_driver_t *driver, rsti_subscription_t *subscription);

#endif
