/* rcv_destinations.h: destinations of multi-destination subscriptions (docs/reference/aeron/wire.md
 * 13.2). A UDP destination is a transport more on the endpoint of the subscription; an IPC or spy
 * destination links the subscription to logs of this driver. */
#ifndef RSTI_DRIVER_CONDUCTOR_RCV_DESTINATIONS_H
#define RSTI_DRIVER_CONDUCTOR_RCV_DESTINATIONS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* True: leave the command in the ring and try it again. */
bool rsti_on_add_rcv_destination(rst_driver_t *driver, const rsti_command_t *command);
bool rsti_on_remove_rcv_destination(rst_driver_t *driver, const rsti_command_t *command);
/* False: no subscription has a destination of that id, nothing was answered. */
bool rsti_on_remove_rcv_destination_by_id(rst_driver_t *driver, const rsti_command_t *command);

#endif
