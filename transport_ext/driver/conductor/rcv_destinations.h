/* rcv_destinations.h: destinations of multi-destination subscriptions
 * (docs/reference/aeron/wire.md 13.2). A UDP destination is one more transport on the endpoint of
 * the subscription. An IPC or spy destination links the subscription to logs of this driver. Each
 * function answers its command with a result or with an error. */
#ifndef RSTI_DRIVER_CONDUCTOR_RCV_DESTINATIONS_H
#define RSTI_DRIVER_CONDUCTOR_RCV_DESTINATIONS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* True: the name look-up is not finished. Call again in the next pass. */
bool rsti_on_add_rcv_destination(rst_driver_t *driver, const rsti_command_t *command);
/* The same result. An unknown destination is an error. */
bool rsti_on_remove_rcv_destination(rst_driver_t *driver, const rsti_command_t *command);
/* False: no subscription has a destination with this id, and the command is not answered. */
bool rsti_on_remove_rcv_destination_by_id(rst_driver_t *driver, const rsti_command_t *command);

#endif
