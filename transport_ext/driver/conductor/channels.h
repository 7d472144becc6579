/* channels.h: checks of channel parameters, and the defaults of the parameters that a channel
 * leaves out (docs/reference/aeron/driver.md 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_CHANNELS_H
#define RSTI_DRIVER_CONDUCTOR_CHANNELS_H

#include "driver/base/tether.h"
#include "driver/conductor/conductor_state.h"

/* The checks below return 0, or -RST_ECHANNEL with an error trail.
 *
 * A channel without an address must name an existing socket by its tag. */
int rsti_channel_check_address(const rsti_channel_t *channel, const rsti_udp_channel_t *udp);
bool rsti_channel_follows_path(const rsti_channel_t *channel); /* cc=path */
/* Refuses parameters that belong to the other kind of client object: rs-budget on a publication,
 * for example. */
int rsti_channel_check_supported(const rsti_channel_t *channel, bool is_publication);
/* Refuses a name when another name is in use on the same IPC stream id. The error text has both
 * names. */
int rsti_channel_check_name(rst_driver_t *driver, const rsti_channel_t *channel, int32_t stream_id);
/* The sockets of one address, or with one tag, have one key. */
int rsti_channel_check_key(const rsti_udp_channel_t *udp, const rsti_udp_channel_t *existing);
/* A time-stamp offset must be that of the channel's existing socket, because all its streams are
 * stamped alike. A channel that names the socket by its tag alone agrees. 0 or -RST_ECHANNEL. */
int rsti_channel_check_timestamp(const char *name, int64_t asked, int64_t existing,
    const rsti_channel_t *channel);
/* One length that a socket buffer must hold: mtu in so-sndbuf, rcv-wnd in so-rcvbuf. */
typedef struct rsti_room_t {
    const char *name;
    int64_t length;
    const char *buffer_name;
    int64_t buffer;
    int64_t granted;
} rsti_room_t;
/* A socket buffer length in the channel must equal that of the existing socket. */
int rsti_channel_check_buffer(const char *name, int64_t asked, int64_t existing,
    const rsti_channel_t *channel);
/* A datagram or window must not be longer than the socket buffer that it needs. buffer 0: the
 * system's default, of which granted is the length, 0 when it is unknown. */
int rsti_channel_check_room(const rsti_channel_t *channel, const rsti_room_t *room);
/* The times of the channel. The driver's defaults fill in those that the channel leaves out. */
rsti_tether_times_t rsti_tether_times_of(const rst_driver_params_t *params,
    const rsti_channel_t *channel);
#define RSTI_NO_RESPONSE_ID (-1)
#define RSTI_PROTOTYPE_RESPONSE_ID (-2)
/* The value of rsti_publication_t.response_correlation_id for a publication with this channel: an
 * id, or one of the two constants above. */
int64_t rsti_response_id_of(const rsti_channel_t *channel);

#endif
