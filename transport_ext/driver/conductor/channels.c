/* channels.c: see channels.h. */
#include "driver/conductor/channels.h"

#include "driver/base/publication.h"
#include "driver/conductor/subscription.h"
#include "util/error.h"

#include <inttypes.h>
#include <string.h>

bool rsti_channel_follows_path(const rsti_channel_t *channel)
{
    return strcmp(channel->cc, "path") == 0;
}

/* The law of the path is the sender's; static, cubic and auto are laws of the receiver's window,
 * and Aeron ignores them in the channel of a publication. */
static int check_path(const rsti_channel_t *channel, bool is_publication)
{
    if (!rsti_channel_follows_path(channel) || channel->is_spy) {
        return 0; /* a spy has the channel of its publication */
    }
    if (!is_publication) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter cc=path: the sender follows the path:"
            " move it from \"%s\" to the channel of the publication",
            channel->uri);
    }
    if (channel->media != RSTI_MEDIA_UDP) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter cc=path: \"%s\" has no path: only UDP has one", channel->uri);
    }
    return 0;
}

int rsti_channel_check_supported(const rsti_channel_t *channel, bool is_publication)
{
    if (check_path(channel, is_publication) < 0) {
        return -RST_ECHANNEL;
    }
    if (is_publication && channel->budget_bytes != RSTI_CHANNEL_UNSET) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-budget=%" PRId64
            ": is a parameter of subscriptions: move it from the publication's channel"
            " to that of the subscription",
            channel->budget_bytes);
    }
    if (is_publication && channel->is_fill_window_set) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-fill-window=%s: is a parameter of"
            " subscriptions: move it from the publication's channel to that of the subscription",
            channel->fill_window ? "true" : "false");
    }
    if (!is_publication && channel->rate[0] != '\0') {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-rate=%s: a subscription has no rate:"
            " move it from \"%s\" to the channel of the publication",
            channel->rate, channel->uri);
    }
    if (channel->is_spy && !is_publication) {
        return 0; /* it has no socket of its own */
    }
    if (!is_publication && channel->session_tag != RSTI_CHANNEL_UNSET) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter session-id=tag:%" PRId64 ": only a publication can take the session"
            " of another one",
            channel->session_tag);
    }
    return 0;
}

int rsti_channel_check_buffer(const char *name, int64_t asked, int64_t existing,
    const rsti_channel_t *channel)
{
    if (asked != RSTI_CHANNEL_UNSET && asked != existing) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel %s: %s=%" PRId64
            " differs from that of the channel's existing socket: it does "
            "not match existing value of %" PRId64,
            channel->uri, name, asked, existing);
    }
    return 0;
}

int rsti_channel_check_room(const rsti_channel_t *channel, const rsti_room_t *room)
{
    const int64_t most = room->buffer != 0 ? room->buffer : room->granted;
    if (most > 0 && room->length > most) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel %s: %s=%" PRId64 " is greater than %s=%" PRId64 "%s: raise %s", channel->uri,
            room->name, room->length, room->buffer_name, most,
            room->buffer != 0 ? "" : " of this system", room->buffer_name);
    }
    return 0;
}

int rsti_channel_check_timestamp(const char *name, int64_t asked, int64_t existing,
    const rsti_channel_t *channel)
{
    const bool is_by_tag = channel->endpoint[0] == '\0' && channel->control[0] == '\0'
        && channel->channel_tag != RSTI_CHANNEL_UNSET;
    if (asked == existing || (asked == RSTI_CHANNEL_UNSET && is_by_tag)) {
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL,
        "channel %s: its %s conflicts with that of the channel's existing socket: all its streams"
        " must have the same offset",
        channel->uri, name);
}

/* A channel with neither endpoint nor control is complete only if its tag names an existing
 * socket. */
int rsti_channel_check_address(const rsti_channel_t *channel, const rsti_udp_channel_t *udp)
{
    if (rsti_udp_channel_has_address(udp) || udp->control_mode == RSTI_CONTROL_MANUAL
        || udp->channel_tag == RSTI_CHANNEL_UNSET) {
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL,
        "channel \"%s\": there is no socket with tags=%" PRId64
        ", and the channel has no endpoint or control to open one",
        channel->uri, udp->channel_tag);
}

/* A name is mapped to a stream id. Two names must not share one, or their messages would mix. */
int rsti_channel_check_name(rst_driver_t *driver, const rsti_channel_t *channel, int32_t stream_id)
{
    const rsti_conductor_t *conductor = driver->conductor;
    const char *other = NULL;
    if (channel->name[0] == '\0') {
        return 0;
    }
    for (size_t i = 0; i < conductor->ipc_publications.count && other == NULL; i++) {
        const rsti_publication_t *p = conductor->ipc_publications.items[i];
        if (p->stream_id == stream_id && p->name[0] != '\0' && p->life == RSTI_LIFE_ACTIVE
            && strcmp(p->name, channel->name) != 0) {
            other = p->name;
        }
    }
    for (size_t i = 0; i < conductor->subscriptions.count && other == NULL; i++) {
        const rsti_subscription_t *s = conductor->subscriptions.items[i];
        if (s->is_ipc && s->stream_id == stream_id && s->name[0] != '\0'
            && strcmp(s->name, channel->name) != 0) {
            other = s->name;
        }
    }
    if (other != NULL) {
        return RST_SET_ERR(RST_ECHANNEL,
            "the names \"%s\" and \"%s\" fall on the same IPC stream id %" PRId32
            ": choose another name or give a stream id",
            channel->name, other, stream_id);
    }
    return 0;
}

static int64_t or_default(int64_t value, int64_t value_default)
{
    return value == RSTI_CHANNEL_UNSET ? value_default : value;
}

rsti_tether_times_t rsti_tether_times_of(const rst_driver_params_t *params,
    const rsti_channel_t *channel)
{
    rsti_tether_times_t times = {
        .window_limit_ns = or_default(channel->untethered_window_limit_ns,
            params->untethered_window_limit_ns),
        .linger_ns = or_default(channel->untethered_linger_ns, params->untethered_linger_ns),
        .resting_ns = or_default(channel->untethered_resting_ns, params->untethered_resting_ns),
    };
    /* A driver default of 0 means the window limit. A 0 in the channel means 0. */
    if (channel->untethered_linger_ns == RSTI_CHANNEL_UNSET && times.linger_ns == 0) {
        times.linger_ns = times.window_limit_ns;
    }
    return times;
}

int64_t rsti_response_id_of(const rsti_channel_t *channel)
{
    return channel->response_correlation_id == RSTI_CHANNEL_UNSET ? RSTI_NO_RESPONSE_ID
        : channel->response_correlation_id == RSTI_CHANNEL_PROTOTYPE
        ? RSTI_PROTOTYPE_RESPONSE_ID
        : channel->response_correlation_id;
}

int rsti_channel_check_key(const rsti_udp_channel_t *udp, const rsti_udp_channel_t *existing)
{
    if (rsti_udp_channel_has_same_key(udp, existing)) {
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL, "channel %s: rs-key=%s: its existing socket has %s",
        udp->canonical, udp->key[0] == '\0' ? "(none)" : udp->key,
        existing->key[0] == '\0' ? "no key" : existing->key);
}
