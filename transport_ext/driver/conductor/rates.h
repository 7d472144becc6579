/* rates.h: chooses the rate law of a publication, and the command that changes it. */
#ifndef RSTI_DRIVER_CONDUCTOR_RATES_H
#define RSTI_DRIVER_CONDUCTOR_RATES_H

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* The rate of the channel, or the driver's default. Returns 0, or a negative error code with a
 * trail. */
int rsti_rate_of_channel(const rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_rate_choice_t *rate);
/* All clients of a shared publication have one rate. Returns 0, or -RST_ECHANNEL with a trail when
 * the channel has another one. */
int rsti_rate_check_shared(const rst_driver_t *driver, const rsti_publication_t *publication,
    const rsti_channel_t *channel);
/* Changes the rate. Answers the command with a result or with an error. */
void rsti_on_set_rate(rst_driver_t *driver, const rsti_command_t *command);

#endif
