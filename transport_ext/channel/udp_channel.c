/* udp_channel.c: the addresses of a UDP channel and the text that identifies it. */
#include "channel/channel.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/net_interface.h"
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

static int resolve_param(const rsti_name_resolver_t *resolver, const char *key, const char *text,
    int family, struct sockaddr_storage *address)
{
    int result = rsti_netaddr_resolve_with(resolver, text, family, address);
    if (result < 0) {
        (void)RST_APPEND_ERR("channel parameter %s=%s", key, text);
    }
    return result;
}

/* An address written as a number sets the family for the names beside it. */
static int literal_family(const char *text)
{
    char host[RSTI_NETADDR_HOST_MAX];
    uint16_t port;
    struct sockaddr_storage address;
    return rsti_netaddr_split(text, host, sizeof host, &port)
            && rsti_netaddr_parse_numeric(host, &address)
        ? address.ss_family
        : AF_UNSPEC;
}

static uint8_t *last_byte(struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return (uint8_t *)&((struct sockaddr_in *)address)->sin_addr + 3;
    }
    return &((struct sockaddr_in6 *)address)->sin6_addr.s6_addr[15];
}

/* The canonical form: the given text where it is complete, formatted addresses otherwise. */
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
    bool is_wildcard_port = (udp->has_explicit_endpoint
                                && rsti_netaddr_port(&udp->remote_data) == 0)
        || (udp->has_explicit_control && rsti_netaddr_port(&udp->remote_control) == 0);
    bool is_ambiguous = is_wildcard_port
        || (!udp->has_explicit_endpoint && !udp->has_explicit_control);
    bool has_tag = channel->channel_tag != RSTI_CHANNEL_UNSET;
    char tag[32] = "";
    if (is_ambiguous && has_tag) {
        (void)snprintf(tag, sizeof tag, "#%" PRId64, channel->channel_tag);
    }
    udp->is_unique = !is_ambiguous || has_tag;
    int length = snprintf(udp->canonical, sizeof udp->canonical, "UDP-%s-%s%s", local_text,
        remote_text, tag);
    /* A truncated form would make two channels equal; the sizes of the fields rule that out. */
    RST_ASSERT(length > 0 && (size_t)length < sizeof udp->canonical);
    (void)length;
}

static int resolve_interface(rsti_udp_channel_t *udp, const rsti_channel_t *channel,
    const rsti_name_resolver_t *resolver, int family)
{
    rsti_net_interface_t found = {.address = wildcard(family == AF_UNSPEC ? AF_INET : family)};
    if (channel->interface_text[0] != '\0') {
        const int result = rsti_net_interface_find(resolver, channel->interface_text, family,
            &found);
        if (result != 0) {
            return result;
        }
    } else if (udp->is_multicast) {
        /* None found: the system's routes decide. */
        (void)rsti_net_interface_for_multicast(family, &found);
    }
    udp->interface_address = found.address;
    udp->interface_index = found.index;
    return 0;
}

static int use_multicast(rsti_udp_channel_t *udp, const rsti_channel_t *channel)
{
    udp->remote_control = udp->remote_data;
    uint8_t *byte = last_byte(&udp->remote_control);
    if ((*byte & 1) == 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter endpoint=%s: the last byte of a multicast address must be odd",
            channel->endpoint);
    }
    *byte = (uint8_t)(*byte + 1); /* odd, so only this byte changes */
    udp->local_data = udp->interface_address;
    return 0;
}

/* endpoint= and control=; *family: theirs, or AF_UNSPEC. */
static int resolve_remotes(rsti_udp_channel_t *udp, const rsti_channel_t *channel,
    const rsti_name_resolver_t *resolver, struct sockaddr_storage *control, int *family)
{
    int result = 0;
    *family = AF_UNSPEC;
    if (udp->has_explicit_control) {
        *family = literal_family(channel->control);
    }
    if (udp->has_explicit_endpoint) {
        result = resolve_param(resolver, "endpoint", channel->endpoint, *family, &udp->remote_data);
        if (result != 0) {
            return result;
        }
        *family = udp->remote_data.ss_family;
        udp->is_multicast = rsti_netaddr_is_multicast(&udp->remote_data);
    }
    if (udp->has_explicit_control) {
        result = resolve_param(resolver, "control", channel->control, *family, control);
        if (result != 0) {
            return result;
        }
        if (udp->has_explicit_endpoint && control->ss_family != *family) {
            return RST_SET_ERR(RST_ECHANNEL,
                "channel parameter control=%s: address family differs from endpoint=%s",
                channel->control, channel->endpoint);
        }
        *family = control->ss_family;
    }
    return 0;
}

int rsti_udp_channel_resolve_with(rsti_udp_channel_t *udp, const rsti_channel_t *channel,
    const rsti_name_resolver_t *resolver)
{
    struct sockaddr_storage control = {0};
    int family;
    *udp = (rsti_udp_channel_t){0};
    if (channel->media != RSTI_MEDIA_UDP) {
        return RST_SET_ERR(RST_ECHANNEL, "channel \"%s\": is not aeron:udp", channel->uri);
    }
    udp->has_explicit_endpoint = channel->endpoint[0] != '\0';
    udp->has_explicit_control = channel->control[0] != '\0';
    udp->control_mode = channel->control_mode;
    udp->channel_tag = channel->channel_tag;
    memcpy(udp->key, channel->key, sizeof udp->key);
    int result = resolve_remotes(udp, channel, resolver, &control, &family);
    if (result == 0) {
        result = resolve_interface(udp, channel, resolver, family);
    }
    if (result != 0) {
        return result;
    }
    if (!udp->has_explicit_endpoint) {
        udp->remote_data = wildcard(udp->interface_address.ss_family);
    }
    udp->local_data = udp->has_explicit_control ? control : udp->interface_address;
    udp->remote_control = udp->has_explicit_control ? control : udp->remote_data;
    if (udp->is_multicast && (result = use_multicast(udp, channel)) != 0) {
        return result;
    }
    udp->local_control = udp->local_data;
    write_canonical(udp, channel);
    return 0;
}

int rsti_udp_channel_resolve(rsti_udp_channel_t *udp, const rsti_channel_t *channel)
{
    return rsti_udp_channel_resolve_with(udp, channel, &rsti_system_resolver);
}

bool rsti_udp_channel_has_address(const rsti_udp_channel_t *udp)
{
    return udp->has_explicit_endpoint || udp->has_explicit_control;
}

int rsti_udp_channel_matches_tag(const rsti_udp_channel_t *udp, const rsti_udp_channel_t *existing)
{
    if (udp->channel_tag == RSTI_CHANNEL_UNSET || udp->channel_tag != existing->channel_tag) {
        return 0;
    }
    /* The same text means the same socket, whatever its names resolve to by now. */
    if (!udp->is_multicast && udp->control_mode == existing->control_mode
        && rsti_udp_channel_has_address(udp) && strcmp(udp->canonical, existing->canonical) == 0) {
        return 1;
    }
    const char *different = NULL;
    if (udp->has_explicit_endpoint
        && !rsti_netaddr_equal(&udp->remote_data, &existing->remote_data)) {
        different = "endpoint";
    } else if (udp->has_explicit_control
        && !rsti_netaddr_equal(&udp->remote_control, &existing->remote_control)) {
        different = "control";
    } else if ((udp->control_mode != RSTI_CONTROL_NONE || rsti_udp_channel_has_address(udp))
        && udp->control_mode != existing->control_mode) {
        different = "control-mode";
    }
    if (different != NULL) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter tags=%" PRId64 ": %s differs from that of the existing socket with"
            " this tag (matching tag %" PRId64 " has mismatched %s: %s <> %s)",
            udp->channel_tag, different, udp->channel_tag,
            strcmp(different, "control-mode") == 0 ? different : "endpoint or control",
            udp->canonical, existing->canonical);
    }
    return 1;
}

bool rsti_udp_channel_matches_form(const rsti_udp_channel_t *udp,
    const rsti_udp_channel_t *existing)
{
    return strcmp(udp->canonical, existing->canonical) == 0
        && (udp->channel_tag == RSTI_CHANNEL_UNSET || existing->channel_tag == RSTI_CHANNEL_UNSET
            || udp->channel_tag == existing->channel_tag);
}

bool rsti_udp_channel_has_same_key(const rsti_udp_channel_t *udp,
    const rsti_udp_channel_t *existing)
{
    return strcmp(udp->key, existing->key) == 0
        || (udp->key[0] == '\0' && !rsti_udp_channel_has_address(udp));
}
