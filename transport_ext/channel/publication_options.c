/* publication_options.c: checks one publication's parameters against each other. The driver's
 * defaults pass the same checks, so a bad configuration is reported too. */
#include "channel/channel.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"
#include "util/netaddr.h"

#include <inttypes.h>

#define FRAME_ALIGNMENT 32
#define DATA_HEADER_LENGTH 32
#define MTU_MAX 65504
#define TERM_LENGTH_MIN 65536
#define TERM_LENGTH_MAX 1073741824

static int64_t or_default(int64_t value, int64_t value_default)
{
    return value == RSTI_CHANNEL_UNSET ? value_default : value;
}

static int check_addresses(const rsti_channel_t *channel)
{
    if (channel->is_spy) {
        return RST_SET_ERR(RST_ECHANNEL, "channel \"%s\": only a subscription can be a spy",
            channel->uri);
    }
    if (channel->media != RSTI_MEDIA_UDP) {
        return 0;
    }
    bool has_endpoint = channel->endpoint[0] != '\0';
    char host[RSTI_CHANNEL_HOST_MAX];
    uint16_t port = 0;
    if (has_endpoint && rsti_netaddr_split(channel->endpoint, host, sizeof host, &port)
        && port == 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter endpoint=%s: a publication needs the port of its reader, not 0",
            channel->endpoint);
    }
    if (channel->control[0] != '\0' && !has_endpoint && channel->control_mode == RSTI_CONTROL_NONE
        && channel->channel_tag == RSTI_CHANNEL_UNSET) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter control=%s: a publication needs endpoint or control-mode with it",
            channel->control);
    }
    return 0;
}

static int check_lengths(int64_t mtu, int64_t term_length)
{
    if (mtu <= DATA_HEADER_LENGTH || mtu > MTU_MAX || mtu % FRAME_ALIGNMENT != 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter mtu=%" PRId64 ": must be a multiple of 32 in 64...65504", mtu);
    }
    if (term_length < TERM_LENGTH_MIN || term_length > TERM_LENGTH_MAX
        || !rsti_is_power_of_two(term_length)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter term-length=%" PRId64
            ": must be a power of two in 65536...1073741824",
            term_length);
    }
    return 0;
}

static int set_position(rsti_publication_options_t *options, const rsti_channel_t *channel)
{
    options->has_position = channel->term_offset != RSTI_CHANNEL_UNSET;
    if (!options->has_position) {
        return 0;
    }
    RST_ASSERT(channel->initial_term_id != RSTI_CHANNEL_UNSET);
    RST_ASSERT(channel->term_id != RSTI_CHANNEL_UNSET);
    options->initial_term_id = (int32_t)channel->initial_term_id;
    options->term_id = (int32_t)channel->term_id;
    options->term_offset = (int32_t)channel->term_offset;
    if (channel->term_offset > options->term_length
        || channel->term_offset % FRAME_ALIGNMENT != 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter term-offset=%" PRId64
            ": must be a multiple of 32 up to term-length=%d",
            channel->term_offset, options->term_length);
    }
    if (rsti_wrap_sub_i32(options->term_id, options->initial_term_id) < 0) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter term-id=%d: lies before, or 2^31 or more after, init-term-id=%d",
            options->term_id, options->initial_term_id);
    }
    return 0;
}

static int set_window(rsti_publication_options_t *options, const rsti_channel_t *channel)
{
    int32_t most = options->term_length / 2;
    int64_t window = or_default(channel->publication_window, most);
    bool is_given = channel->publication_window != RSTI_CHANNEL_UNSET;
    /* Half a small term may be less than a large MTU; both limit a message. */
    if (is_given && (window < options->mtu || window > most)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter pub-wnd=%" PRId64 ": must be in mtu=%d...term-length/2=%d", window,
            options->mtu, most);
    }
    options->publication_window = (int32_t)window;
    options->is_window_given = is_given;
    return 0;
}

int rsti_publication_options(rsti_publication_options_t *options, const rsti_channel_t *channel,
    int32_t default_mtu, int32_t default_term_length, int64_t default_linger_ns)
{
    *options = (rsti_publication_options_t){0};
    int64_t mtu = or_default(channel->mtu, default_mtu);
    int64_t term_length = or_default(channel->term_length, default_term_length);
    int result = check_addresses(channel);
    if (result == 0) {
        result = check_lengths(mtu, term_length);
    }
    if (result < 0) {
        return result;
    }
    options->mtu = (int32_t)mtu;
    options->term_length = (int32_t)term_length;
    options->linger_ns = or_default(channel->linger_ns, default_linger_ns);
    options->eos = channel->eos;
    options->sparse = channel->sparse;
    result = set_position(options, channel);
    return result < 0 ? result : set_window(options, channel);
}
