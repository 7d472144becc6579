/* The texts of refused commands: each names the channel that the client gave, and has the words of
 * Aeron's drivers, by which Aeron's users and tests know what is wrong. */
#include "tests/driver/harness.h"

#define STREAM 10
#define PUB RSTI_CMD_ADD_PUBLICATION
#define XPUB RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION
#define SUB RSTI_CMD_ADD_SUBSCRIPTION
#define RESPONSE "control-mode=response|control=127.0.0.1:24460"

/* Fails unless the command is refused with that code and words, and with its channel. */
static void check_words(harness_t *h, int32_t type, const char *channel, int32_t code,
    const char *words)
{
    h->answer_count = 0;
    const int64_t id = add(h, type, channel, STREAM);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    if (error == NULL || error->response.error_code != code || strstr(error->text, words) == NULL
        || strstr(error->text, channel) == NULL) {
        CHECK_FAIL("%s: code %d \"%s\", expected code %d, \"%s\" and the channel", channel,
            error == NULL ? 0 : (int)error->response.error_code, error == NULL ? "" : error->text,
            (int)code, words);
    }
}

static int no_host(void *arg, const char *host, int family, struct sockaddr_storage *address)
{
    (void)arg;
    (void)family;
    (void)address;
    return RST_SET_ERR(RST_EUNKNOWNHOST, "unknown host: Unable to resolve host=(%s): none", host);
}

/* F1, N15, N17, N18: what a channel alone can do wrong, and what it must agree with. */
TEST(refusals_have_aerons_words)
{
    static const struct {
        int32_t type;
        const char *channel;
        int32_t code;
        const char *words;
    } rows[] = {
        {SUB, "bad uri", RSTI_DRIVER_INVALID_CHANNEL, "invalid URI scheme or transport"},
        {PUB, "aeron:tcp?endpoint=127.0.0.1:1", RSTI_DRIVER_INVALID_CHANNEL,
            "invalid URI scheme or transport"},
        {PUB, "aeron:udp?endpoint=nowhere:24451", RSTI_DRIVER_UNKNOWN_HOST,
            "Unable to resolve host"},
        {SUB, "aeron:udp?endpoint=nowhere:24451", RSTI_DRIVER_UNKNOWN_HOST, "unknown host"},
        {SUB, "aeron:udp?endpoint=224.20.30.39:24452|interface=203.0.113.9",
            RSTI_DRIVER_INVALID_CHANNEL, "could not find matching interface='203.0.113.9'"},
        {SUB, "aeron:udp?endpoint=localhost:24450", RSTI_DRIVER_GENERIC_ERROR, "address in use"},
        {PUB, "aeron:udp?control-mode=dynamic|control=localhost:24450", RSTI_DRIVER_GENERIC_ERROR,
            "address in use"},
        {PUB, "aeron:udp?endpoint=127.0.0.1:24455|tags=8", RSTI_DRIVER_INVALID_CHANNEL,
            "has mismatched endpoint or control"},
        {PUB,
            "aeron:udp?endpoint=127.0.0.1:24454|control=127.0.0.1:24456|control-mode=manual|tags=8",
            RSTI_DRIVER_INVALID_CHANNEL, "has mismatched"},
        {PUB, "aeron:udp?endpoint=127.0.0.1:24454|session-id=7", RSTI_DRIVER_INVALID_CHANNEL,
            "existing publication has different 'session-id'"},
        {XPUB, "aeron:udp?endpoint=127.0.0.1:24454|session-id=5", RSTI_DRIVER_GENERIC_ERROR,
            "existing publication has clashing sessionId=5"},
        {PUB, "aeron:udp?endpoint=127.0.0.1:24454|so-sndbuf=64k", RSTI_DRIVER_INVALID_CHANNEL,
            "does not match existing value of"},
        {XPUB, "aeron:udp?" RESPONSE, RSTI_DRIVER_INVALID_CHANNEL,
            "control-mode=response was specified, but no response-correlation-id set"},
        {XPUB, "aeron:udp?" RESPONSE "|response-correlation-id=99", RSTI_DRIVER_INVALID_CHANNEL,
            "image.correlationId=99 not found"},
        {XPUB, "aeron:udp?" RESPONSE "|response-correlation-id=-2", RSTI_DRIVER_INVALID_CHANNEL,
            "invalid response-correlation-id, must be a number greater than or equal to -1, or "
            "'prototype'"},
        {PUB, "aeron:udp?endpoint=127.0.0.1:24457|response-correlation-id=99",
            RSTI_DRIVER_INVALID_CHANNEL, "unable to find response subscription"},
    };
    harness_t *h = harness_open();
    h->driver->resolver.resolve = no_host;
    (void)add(h, SUB, "aeron:udp?endpoint=127.0.0.1:24450", STREAM);
    (void)add(h, PUB, "aeron:udp?endpoint=127.0.0.1:24454|session-id=5|tags=8", STREAM);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strstr(rows[i].channel, "localhost") != NULL) {
            h->driver->resolver = rsti_system_resolver;
        }
        check_words(h, rows[i].type, rows[i].channel, rows[i].code, rows[i].words);
    }
    harness_close(h);
}

/* L18: the words stand in one order, because Aeron's tests look for the whole of them. */
TEST(conflicting_subscriptions_name_both_channels)
{
    static const char *const pairs[][3] = {
        {"aeron:udp?endpoint=127.0.0.1:24461",
            "aeron:udp?endpoint=127.0.0.1:24461|control-mode=response", "isResponse=true"},
        {"aeron:udp?control=127.0.0.1:24462",
            "aeron:udp?control-mode=response|control=127.0.0.1:24462", "isResponse=true"},
        {"aeron:udp?control-mode=response|control=127.0.0.1:24463",
            "aeron:udp?control=127.0.0.1:24463", "isResponse=false"},
        {"aeron:udp?endpoint=127.0.0.1:24464", "aeron:udp?endpoint=127.0.0.1:24464|reliable=false",
            "reliable=false"},
        {"aeron:udp?endpoint=127.0.0.1:24465", "aeron:udp?endpoint=127.0.0.1:24465|rejoin=false",
            "rejoin=false"},
    };
    harness_t *h = harness_open();
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char words[512];
        (void)add(h, SUB, pairs[i][0], STREAM);
        snprintf(words, sizeof words,
            "option conflicts with existing subscription: %s existingChannel=%s channel=%s",
            pairs[i][2], pairs[i][0], pairs[i][1]);
        check_words(h, SUB, pairs[i][1], RSTI_DRIVER_INVALID_CHANNEL, words);
    }
    harness_close(h);
}

/* A response channel to an image whose publisher asked for none. */
TEST(an_image_that_asked_for_no_responses)
{
    harness_t *h = harness_open();
    (void)add(h, SUB, "aeron:udp?endpoint=127.0.0.1:24466", STREAM);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = 7,
        .stream_id = STREAM,
        .initial_term_id = 5,
        .active_term_id = 5,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(h, endpoint->owned[0]->socket, "10.1.2.3:4567", &setup, sizeof setup);
    pass(h);
    pass(h);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    const rsti_image_t *image = h->driver->conductor->images.items[0];
    char channel[256], words[128];
    snprintf(channel, sizeof channel, "aeron:udp?" RESPONSE "|response-correlation-id=%lld",
        (long long)image->correlation_id);
    snprintf(words, sizeof words, "image.correlationId=%lld did not request a response channel",
        (long long)image->correlation_id);
    check_words(h, XPUB, channel, RSTI_DRIVER_INVALID_CHANNEL, words);
    harness_close(h);
}

static char long_text[8192];

static void on_long_answer(void *arg, int32_t type, const void *record, size_t length)
{
    rsti_response_t response;
    (void)arg;
    if (type == RSTI_RSP_ON_ERROR && rsti_response_decode(type, record, length, &response) == 0) {
        snprintf(long_text, sizeof long_text, "%.*s", (int)response.log_file.length,
            response.log_file.text);
    }
}

/* F1: a channel that is too long is repeated up to the length that is allowed. */
TEST(an_overlong_channel_is_repeated)
{
    static char channel[RSTI_CHANNEL_URI_MAX + 64], allowed[RSTI_CHANNEL_URI_MAX + 1];
    harness_t *h = harness_open();
    memset(channel, 'x', sizeof channel - 1);
    memcpy(channel, "aeron:ipc?alias=", 16);
    memcpy(allowed, channel, RSTI_CHANNEL_URI_MAX);
    const int32_t types[] = {PUB, SUB};
    for (size_t i = 0; i < 2; i++) {
        rsti_command_t c = {
            .type = types[i],
            .registration_id = -1,
            .stream_id = STREAM,
            .channel = {channel, (int32_t)strlen(channel)},
        };
        static uint8_t record[8192];
        c.client_id = CLIENT_ID;
        c.correlation_id = rsti_mpsc_rb_next_correlation_id(&h->driver->to_driver);
        const int64_t length = rsti_command_encode(&c, record, sizeof record);
        CHECK(length > 0);
        CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, c.type, record, (size_t)length),
            RSTI_RB_OK);
        long_text[0] = '\0';
        int64_t deadline;
        (void)rst_driver_do_work(h->driver, &deadline);
        while (rsti_broadcast_receive(&h->rx, on_long_answer, h) == 1) {
        }
        CHECK(strstr(long_text, allowed) != NULL);
        CHECK(strstr(long_text, "exceeds max supported length") != NULL);
    }
    harness_close(h);
}

CHECK_MAIN(RUN(refusals_have_aerons_words), RUN(conflicting_subscriptions_name_both_channels),
    RUN(an_image_that_asked_for_no_responses), RUN(an_overlong_channel_is_repeated))
