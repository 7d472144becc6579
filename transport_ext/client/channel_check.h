/* channel_check.h: the check of a channel URI before a command carries it. */
#ifndef RSTI_CLIENT_CHANNEL_CHECK_H
#define RSTI_CLIENT_CHANNEL_CHECK_H

#include "client/client_state.h"

/* Finds the errors that need no driver: 0, or -RST_ECHANNEL with a trail. Any thread. */
int rsti_client_check_channel(const rst_client_t *client, const char *channel);

#endif
