/* destinations.h: commands that add destinations to publications with control-mode=manual and
 * remove them (docs/reference/aeron/wire.md 13.1 and 19.4). The conductor keeps the text of each
 * destination, the sender its address. Each function answers its command with a result or with an
 * error. */
#ifndef RSTI_DRIVER_CONDUCTOR_DESTINATIONS_H
#define RSTI_DRIVER_CONDUCTOR_DESTINATIONS_H

#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* True: the name look-up is not finished. Call again in the next pass. */
bool rsti_on_add_destination(rst_driver_t *driver, const rsti_command_t *command);
/* The same result. Removing an unknown destination is not an error. */
bool rsti_on_remove_destination(rst_driver_t *driver, const rsti_command_t *command);
/* An unknown id is an error. */
void rsti_on_remove_destination_by_id(rst_driver_t *driver, const rsti_command_t *command);

#endif
