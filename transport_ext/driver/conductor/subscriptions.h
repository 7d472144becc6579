/* subscriptions.h: adding and removing subscriptions (docs/reference/aeron/driver.md 6,
 * docs/reference/aeron/memory.md 15). */
#ifndef RSTI_DRIVER_CONDUCTOR_SUBSCRIPTIONS_H
#define RSTI_DRIVER_CONDUCTOR_SUBSCRIPTIONS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"
#include "protocol/command.h"

/* Tells the receiver which sessions the subscription matches. Returns 0 or -RST_ENOMEM. */
int rsti_subscription_add_interest(rst_driver_t *driver, const rsti_subscription_t *subscription);
/* Answers the command with a result or with an error. True: not possible yet. Call again in the
 * next pass. */
bool rsti_on_add_subscription(rst_driver_t *driver, const rsti_command_t *command);
/* Frees the memory only; rsti_subscription_remove removes a subscription in use. */
void rsti_subscription_free(rsti_subscription_t *subscription);
/* Makes an IPC or spy destination of parent. NULL with a trail on failure. */
rsti_subscription_t *rsti_subscription_make_destination(rst_driver_t *driver,
    const rsti_subscription_t *parent, const rsti_channel_t *channel, int64_t destination_id);
/* Removes the subscription and its local destinations. Answers the command with a result or with
 * an error. */
void rsti_on_remove_subscription(rst_driver_t *driver, const rsti_command_t *command);
/* Unlinks the subscription, releases its endpoint and frees it. */
void rsti_subscription_remove(rst_driver_t *driver, rsti_subscription_t *subscription);

#endif
