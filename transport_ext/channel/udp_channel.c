/* udp_channel.c: the addresses of a UDP channel and the text that identifies it. */
#include "channel/channel.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct sockaddr_storage wildcard(int family)
{
    struct sockaddr_storage address = {0};
    address.ss_family = (sa_family_t)family; /* both families write "any" as zeros */
    return address;
}

static int resolve_param(const char *key, const char *text, struct sockaddr_storage *address)
{
    int result = rsti_netaddr_resolve(text, address);
    if (result < 0) {
        (void)RST_APPEND_ERR("channel parameter %s=%s", key, text);
    }
    return result;
}

static uint8_t *last_byte(struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return (uint8_t *)&((struct sockaddr_in *)address)->sin_addr + 3;
    }
    return &((struct sockaddr_in6 *)address)->sin6_addr.s6_addr[15];
}

/* The canonical form: given text where it says it all, formatted addresses elsewhere. */
static void write_canonical(rsti_udp_channel_t *udp, const rsti_channel_t *channel)
{
    char local[RSTI_NETADDR_TEXT_MAX];
    char remote[RSTI_NETADDR_TEXT_MAX];
    const char *local_text = rsti_netaddr_format(&udp->local_data, local, sizeof local);
    const char *remote_text = rsti_netaddr_format(&udp->remote_data, remote, sizeof remote);
    if (!udp->is_multicast) {
        local_text = udp->has_explicit_control ? channel->control : local_text;
        remote_text = udp->has_explicit_endpoint ? channel->endpoint : remote_text;
    }
    bool is_wildcard_port =
        (udp->has_explicit_endpoint && rsti_netaddr_port(&udp->remote_data) == 0)
        || (udp->has_explicit_control && rsti_netaddr_port(&udp->remote_control) == 0);
    bool is_ambiguous =
        is_wildcard_port || (!udp->has_explicit_endpoint && !udp->has_explicit_control);
    bool has_tag = channel->channel_tag != RSTI_CHANNEL_UNSET;
    char tag[32] = "";
    if (is_ambiguous && has_tag) {
        (void)snprintf(tag, sizeof tag, "#%" PRId64, channel->channel_tag);
    }
    udp->is_unique = !is_ambiguous || has_tag;
    int length = snprintf(udp->canonical, sizeof udp->canonical, "UDP-%s-%s%s", local_text,
        remote_text, tag);
    /* A cut form would identify two channels as one; the fields' sizes make it impossible. */
    RST_ASSERT(length > 0 && (size_t)length < sizeof udp->canonical);
    (void)length;
}

static int resolve_interface(rsti_udp_channel_t *udp, const rsti_channel_t *channel, int family)
{
    if (channel->interface_text[0] != '\0') {
        return rsti_netaddr_interface(channel->interface_text, family, &udp->interface_address);
    }
    udp->interface_address = wildcard(family == AF_UNSPEC ? AF_INET : family);
    return 0;
}

static int use_multicast(rsti_udp_channel_t *udp, const rsti_channel_t *channel)
{
    udp->is_multicast = true;
    udp->remote_control = udp->remote_data;
    uint8_t *byte = last_byte(&udp->remote_control);
    if ((*byte & 1) == 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter endpoint=%s: the last byte of a multicast address must be odd",
            channel->endpoint);
    }
    *byte = (uint8_t)(*byte + 1); /* odd, so only this byte changes */
    return 0;
}

int rsti_udp_channel_resolve(rsti_udp_channel_t *udp, const rsti_channel_t *channel)
{
    *udp = (rsti_udp_channel_t){0};
    if (channel->media != RSTI_MEDIA_UDP) {
        return RST_SET_ERR(RST_ECHANNEL, "channel \"%s\": is not aeron:udp", channel->uri);
    }
    udp->has_explicit_endpoint = channel->endpoint[0] != '\0';
    udp->has_explicit_control = channel->control[0] != '\0';
    struct sockaddr_storage control = {0};
    int result = 0;
    if (udp->has_explicit_endpoint) {
        result = resolve_param("endpoint", channel->endpoint, &udp->remote_data);
    }
    if (result == 0 && udp->has_explicit_control) {
        result = resolve_param("control", channel->control, &control);
    }
    if (result < 0) {
        return result;
    }
    if (udp->has_explicit_endpoint && udp->has_explicit_control
        && control.ss_family != udp->remote_data.ss_family) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter control=%s: address family differs from endpoint=%s",
            channel->control, channel->endpoint);
    }
    int family = udp->has_explicit_endpoint  ? udp->remote_data.ss_family
                 : udp->has_explicit_control ? control.ss_family
                                             : AF_UNSPEC;
    result = resolve_interface(udp, channel, family);
    if (result < 0) {
        return result;
    }
    if (!udp->has_explicit_endpoint) {
        udp->remote_data = wildcard(udp->interface_address.ss_family);
    }
    udp->local_data = udp->has_explicit_control ? control : udp->interface_address;
    udp->remote_control = udp->has_explicit_control ? control : udp->remote_data;
    if (rsti_netaddr_is_multicast(&udp->remote_data)) {
        udp->local_data = udp->interface_address;
        result = use_multicast(udp, channel);
    }
    udp->local_control = udp->local_data;
    if (result == 0) {
        write_canonical(udp, channel);
    }
    return result;
}
