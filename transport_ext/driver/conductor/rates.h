/* rates.h: which law of rate a publication gets, and the command that changes it. */
#ifndef RSTI_DRIVER_CONDUCTOR_RATES_H
#define RSTI_DRIVER_CONDUCTOR_RATES_H

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* The channel's rate, else the driver's; one publication has one. */
int rsti_rate_of_channel(const rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_rate_choice_t *rate);
int rsti_rate_check_shared(const rsti_publication_t *publication, const rsti_channel_t *channel);
void rsti_on_set_rate(rst_driver_t *driver, const rsti_command_t *command);

#endif
