/* response_channels.h: who answers whom (docs/reference/aeron/wire.md 14).
 *
 *   client's driver                             server's driver
 *   R  subscription, control-mode=response      I  image of the requests, whose set-up had the flag
 *   P  publication of requests, names R         Q  publication of responses, names I
 *
 * I's receiver tells P's sender the session of Q until Q is connected; R then wants that session
 * and asks Q's control address for a set-up, and where that came from is where Q sends to. Over IPC
 * all four are in one driver, and I is P. */
#ifndef RSTI_DRIVER_CONDUCTOR_RESPONSE_CHANNELS_H
#define RSTI_DRIVER_CONDUCTOR_RESPONSE_CHANNELS_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"
#include "driver/sender/network_publication.h"

/* What response-correlation-id names must be there. 0 or -RST_ECHANNEL. */
int rsti_response_check_publication(rst_driver_t *driver, const rsti_channel_t *channel);
/* A publication was added: a subscription that waits for its session is told. */
void rsti_response_on_publication(rst_driver_t *driver, rsti_publication_t *publication);
/* It is connected, or going: its session need not be told any more. */
void rsti_response_settle(rst_driver_t *driver, rsti_network_publication_t *publication);
/* A publisher's driver told the session of our responses. */
void rsti_on_response_setup(rst_driver_t *driver, const rsti_agent_command_t *command);

#endif
