/* destinations.h: destinations that clients add to publications with control-mode=manual and take
 * away (docs/reference/aeron/wire.md 13.1 and 19.4). The conductor keeps what was written, the
 * sender what it sends to. */
#ifndef RSTI_DRIVER_CONDUCTOR_DESTINATIONS_H
#define RSTI_DRIVER_CONDUCTOR_DESTINATIONS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* True: leave the command in the ring and try it again. */
bool rsti_on_add_destination(rst_driver_t *driver, const rsti_command_t *command);
bool rsti_on_remove_destination(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_remove_destination_by_id(rst_driver_t *driver, const rsti_command_t *command);

#endif
