/* destination.c: parameters that a destination must not have, because all destinations of a
 * publication or subscription share them (docs/reference/aeron/wire.md 19.4). */
#include "channel/channel.h"

#include "util/error.h"

#include <inttypes.h>

int rsti_channel_check_destination(const rsti_channel_t *channel)
{
    const struct {
        const char *name;
        int64_t value;
    } shared[] = {
        {"mtu", channel->mtu},
        {"rcv-wnd", channel->receiver_window},
        {"so-rcvbuf", channel->so_rcvbuf},
        {"so-sndbuf", channel->so_sndbuf},
        {"response-correlation-id", channel->response_correlation_id},
    };
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        if (shared[i].value != RSTI_CHANNEL_UNSET) {
            return RST_SET_ERR(RST_ECHANNEL,
                "channel parameter %s=%" PRId64
                ": belongs to the publication or subscription, not to a destination",
                shared[i].name, shared[i].value);
        }
    }
    if (channel->evict_ns != RSTI_CHANNEL_UNSET) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-evict=%" PRId64 "ns: belongs to the"
            " subscription, not to a destination",
            channel->evict_ns);
    }
    if (channel->budget_bytes != RSTI_CHANNEL_UNSET) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-budget=%" PRId64 ": belongs to the"
            " subscription, not to a destination",
            channel->budget_bytes);
    }
    if (channel->is_fill_window_set) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-fill-window=%s: belongs to the"
            " subscription, not to a destination",
            channel->fill_window ? "true" : "false");
    }
    if (channel->rate[0] != '\0') {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-rate=%s: belongs to the publication,"
            " not to a destination",
            channel->rate);
    }
    if (channel->sources[0] != '\0') {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-sources=%s: belongs to the subscription, not to a destination",
            channel->sources);
    }
    if (channel->key[0] != '\0') {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter rs-key=%s: belongs to the publication or subscription, not to a"
            " destination",
            channel->key);
    }
    if (channel->control_mode == RSTI_CONTROL_RESPONSE
        || channel->control_mode == RSTI_CONTROL_MANUAL) {
        return RST_SET_ERR(RST_ECHANNEL, "channel parameter control-mode=%s: not for a destination",
            channel->control_mode == RSTI_CONTROL_MANUAL ? "manual" : "response");
    }
    return 0;
}
