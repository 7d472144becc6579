/* response_channels.h: links publications of requests with publications of responses
 * (docs/reference/aeron/wire.md 14).
 *
 *   client's driver                             server's driver
 *   R  subscription, control-mode=response      I  image of the requests, whose set-up had the flag
 *   P  publication of requests, names R         Q  publication of responses, names I
 *
 * Over UDP: the receiver of I sends the session id of Q to the sender of P, until Q is connected. R
 * then subscribes to that session and requests a SETUP from the control address of Q. Q sends to
 * the source address of that request.
 * Over IPC: all four are in one driver, and I is P itself.
 */
#ifndef RSTI_DRIVER_CONDUCTOR_RESPONSE_CHANNELS_H
#define RSTI_DRIVER_CONDUCTOR_RESPONSE_CHANNELS_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"
#include "driver/sender/network_publication.h"

/* Checks that the object that response-correlation-id names exists. Returns 0, or -RST_ECHANNEL
 * with a trail. */
int rsti_response_check_publication(rst_driver_t *driver, const rsti_channel_t *channel);
/* A publication was added. If it carries responses, its session id goes to the waiting
 * subscription. */
void rsti_response_on_publication(rst_driver_t *driver, rsti_publication_t *publication);
/* The publication is connected, or ends: the receiver stops sending its session id. */
void rsti_response_settle(rst_driver_t *driver, rsti_network_publication_t *publication);
/* The driver of the responding publication has sent the session id of the responses. */
void rsti_on_response_setup(rst_driver_t *driver, const rsti_agent_command_t *command);

#endif
