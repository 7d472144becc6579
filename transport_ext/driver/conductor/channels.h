/* channels.h: what a channel may ask for here, and what it gets where it says nothing
 * (docs/reference/aeron/driver.md 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_CHANNELS_H
#define RSTI_DRIVER_CONDUCTOR_CHANNELS_H

#include "driver/base/tether.h"
#include "driver/conductor/conductor_state.h"

/* 0 or -RST_ECHANNEL, all of these. A channel without an address names a socket that exists. */
int rsti_channel_check_address(const rsti_channel_t *channel, const rsti_udp_channel_t *udp);
int rsti_channel_check_supported(const rsti_channel_t *channel, bool is_publication);
/* Two names on one IPC stream id are refused: -RST_ECHANNEL naming both. */
int rsti_channel_check_name(rst_driver_t *driver, const rsti_channel_t *channel, int32_t stream_id);
/* A socket buffer asked for must be that of the socket which is there. */
int rsti_channel_check_buffer(const char *name, int64_t asked, int64_t existing,
    const rsti_channel_t *channel);
/* What the channel says, else what the driver says. */
rsti_tether_times_t rsti_tether_times_of(const rst_driver_params_t *params,
    const rsti_channel_t *channel);
#define RSTI_NO_RESPONSE_ID (-1)
#define RSTI_PROTOTYPE_RESPONSE_ID (-2)
/* rsti_publication_t.response_correlation_id of its publication. */
int64_t rsti_response_id_of(const rsti_channel_t *channel);

#endif
