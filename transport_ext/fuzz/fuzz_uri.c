/* fuzz_uri.c: any bytes as a channel; an accepted channel obeys the grammar and every range. */
#include "channel/channel.h"
#include "fuzz/check.h"
#include "util/netaddr.h"

#include <arpa/inet.h>

/* A second implementation of the grammar: each "|"-separated part has a key and a value. */
static void check_grammar(const uint8_t *data, size_t size)
{
    FUZZ_CHECK(size <= RSTI_CHANNEL_URI_MAX);
    FUZZ_CHECK(memchr(data, 0, size) == NULL);
    const uint8_t *params = memchr(data, '?', size);
    if (params == NULL || params + 1 == data + size) {
        return;
    }
    const uint8_t *at = params + 1;
    const uint8_t *end = data + size;
    while (at <= end) {
        const uint8_t *bar = memchr(at, '|', (size_t)(end - at));
        const uint8_t *part_end = bar != NULL ? bar : end;
        const uint8_t *equals = memchr(at, '=', (size_t)(part_end - at));
        FUZZ_CHECK(equals != NULL && equals > at && equals + 1 < part_end);
        at = part_end + 1;
    }
}

static void check_range(int64_t value, int64_t least, int64_t most)
{
    FUZZ_CHECK(value == RSTI_CHANNEL_UNSET || (value >= least && value <= most));
}

static void check_text(const char *text, size_t size)
{
    FUZZ_CHECK(memchr(text, 0, size) != NULL);
}

static void check_values(const rsti_channel_t *channel)
{
    check_text(channel->endpoint, sizeof channel->endpoint);
    check_text(channel->interface_text, sizeof channel->interface_text);
    check_text(channel->control, sizeof channel->control);
    check_text(channel->alias, sizeof channel->alias);
    check_text(channel->fc, sizeof channel->fc);
    check_text(channel->cc, sizeof channel->cc);
    check_text(channel->name, sizeof channel->name);
    check_text(channel->rate, sizeof channel->rate);
    check_range(channel->session_id, INT32_MIN, INT32_MAX);
    check_range(channel->initial_term_id, INT32_MIN, INT32_MAX);
    check_range(channel->term_id, INT32_MIN, INT32_MAX);
    check_range(channel->term_offset, 0, 1 << 30);
    check_range(channel->mtu, 0, INT32_MAX);
    check_range(channel->term_length, 0, INT32_MAX);
    check_range(channel->ttl, 0, 255);
    check_range(channel->max_resend, 1, 256);
    check_range(channel->receiver_window, 1, 1 << 30);
    check_range(channel->publication_window, 1, 1 << 30);
    check_range(channel->so_rcvbuf, 0, INT32_MAX);
    check_range(channel->so_sndbuf, 0, INT32_MAX);
    check_range(channel->linger_ns, 0, INT64_MAX);
    check_range(channel->nak_delay_ns, 0, INT64_MAX);
    FUZZ_CHECK((channel->term_id == RSTI_CHANNEL_UNSET)
        == (channel->term_offset == RSTI_CHANNEL_UNSET));
}

static void check_options(const rsti_channel_t *channel)
{
    rsti_publication_options_t options;
    if (rsti_publication_options(&options, channel, 1408, 65536, 0) < 0) {
        return;
    }
    FUZZ_CHECK(options.mtu >= 64 && options.mtu <= 65504 && options.mtu % 32 == 0);
    FUZZ_CHECK(options.term_length >= 65536 && options.term_length <= 1 << 30);
    FUZZ_CHECK((options.term_length & (options.term_length - 1)) == 0);
    FUZZ_CHECK(options.publication_window > 0
        && options.publication_window <= options.term_length / 2);
    FUZZ_CHECK(options.term_offset >= 0 && options.term_offset <= options.term_length);
}

/* Host names would ask a name server, so only addresses are resolved. */
static bool is_numeric(const char *text)
{
    char host[RSTI_CHANNEL_HOST_MAX];
    uint16_t port;
    uint8_t address[16];
    return text[0] == '\0'
        || (rsti_netaddr_split(text, host, sizeof host, &port)
            && (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static rsti_channel_t channel;
    const uint8_t *data = fuzz_exact_copy(input, size);
    if (rsti_channel_parse(&channel, (const char *)data, size) < 0) {
        return 0;
    }
    FUZZ_CHECK(channel.uri_length == size && memcmp(channel.uri, data, size) == 0);
    check_grammar(data, size);
    check_values(&channel);
    check_options(&channel);
    if (channel.media == RSTI_MEDIA_UDP && channel.interface_text[0] == '\0'
        && is_numeric(channel.endpoint) && is_numeric(channel.control)) {
        rsti_udp_channel_t udp;
        if (rsti_udp_channel_resolve(&udp, &channel) == 0) {
            check_text(udp.canonical, sizeof udp.canonical);
            FUZZ_CHECK(strncmp(udp.canonical, "UDP-", 4) == 0);
        }
    }
    return 0;
}
