/* responses.c: see responses.h. */
#include "driver/conductor/responses.h"

#include "driver/base/driver_state.h"
#include "util/error.h"
#include "util/int_math.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>

static rsti_text_t text_of(const char *text)
{
    return (rsti_text_t){text, (int32_t)strlen(text)};
}

void rsti_respond(rst_driver_t *driver, const rsti_response_t *response)
{
    rsti_conductor_t *conductor = driver->conductor;
    const int64_t length = rsti_response_encode(response, conductor->response,
        sizeof conductor->response);
    if (length < 0
        || rsti_broadcast_transmit(&driver->to_clients, response->type, conductor->response,
               (size_t)length)
            < 0) {
        rsti_driver_log_error(driver, RST_ETOOLARGE,
            "response to a client does not fit into the broadcast buffer, and was dropped");
        return;
    }
    conductor->has_responses = true;
}

void rsti_respond_error(rst_driver_t *driver, int64_t correlation_id, int code, const char *text)
{
    char cut[RSTI_ERROR_TEXT_MAX];
    snprintf(cut, sizeof cut, "%s", text);
    const rsti_response_t response = {
        .type = RSTI_RSP_ON_ERROR,
        .correlation_id = correlation_id,
        .error_code = code,
        .log_file = text_of(cut),
    };
    rsti_respond(driver, &response);
    if (code != RSTI_DRIVER_TEMPORARILY_UNAVAILABLE) {
        rsti_driver_log_error(driver, code, cut);
    }
}

static int driver_code(int code)
{
    switch (code) {
    case RST_ECHANNEL:
        return RSTI_DRIVER_INVALID_CHANNEL;
    case RST_ENOTSUP:
        return RSTI_DRIVER_NOT_SUPPORTED;
    case RST_EUNKNOWNHOST:
        return RSTI_DRIVER_UNKNOWN_HOST;
    case RST_ESTORAGE:
        return RSTI_DRIVER_STORAGE_SPACE;
    default:
        return RSTI_DRIVER_GENERIC_ERROR;
    }
}

void rsti_respond_trail(rst_driver_t *driver, int64_t correlation_id)
{
    rsti_respond_error(driver, correlation_id, driver_code(rst_last_error_code()),
        rst_last_error_text());
    rsti_error_clear();
}

/* A client may ask with a channel that is longer than the longest: so much of it is repeated. */
void rsti_respond_channel_trail(rst_driver_t *driver, const rsti_command_t *command)
{
    char text[RSTI_ERROR_TEXT_MAX + RSTI_CHANNEL_URI_MAX + 16];
    const int code = driver_code(rst_last_error_code());
    const char *why = rst_last_error_text();
    const rsti_text_t *channel = &command->channel;
    const int32_t length = rsti_min_i32(channel->length, RSTI_CHANNEL_URI_MAX);
    const bool is_named = length == 0
        || memmem(why, strlen(why), channel->text, (size_t)length) != NULL;
    (void)snprintf(text, sizeof text, "%s%s%.*s", why,
        is_named ? "" : "; channel=", is_named ? 0 : (int)length, channel->text);
    rsti_error_hide_keys(text);
    const rsti_response_t response = {
        .type = RSTI_RSP_ON_ERROR,
        .correlation_id = command->correlation_id,
        .error_code = code,
        .log_file = text_of(text),
    };
    rsti_error_clear();
    rsti_respond(driver, &response);
    rsti_driver_log_error(driver, code, text);
}

void rsti_respond_ok(rst_driver_t *driver, int64_t correlation_id)
{
    const rsti_response_t response = {
        .type = RSTI_RSP_OPERATION_SUCCESS,
        .correlation_id = correlation_id,
    };
    rsti_respond(driver, &response);
}

void rsti_respond_counter(rst_driver_t *driver, int32_t type, int64_t correlation_id,
    int32_t counter_id)
{
    const rsti_response_t response = {
        .type = type,
        .correlation_id = correlation_id,
        .registration_id = correlation_id,
        .counter_id = counter_id,
    };
    rsti_respond(driver, &response);
}

void rsti_respond_available(rst_driver_t *driver, int64_t image_id, int32_t session_id,
    int32_t stream_id, const rsti_subscriber_t *subscriber, const char *path, const char *source)
{
    const rsti_response_t response = {
        .type = RSTI_RSP_AVAILABLE_IMAGE,
        .correlation_id = image_id,
        .registration_id = subscriber->subscription->registration_id,
        .session_id = session_id,
        .stream_id = stream_id,
        .counter_id = subscriber->counter_id,
        .log_file = text_of(path),
        .source_identity = text_of(source),
    };
    rsti_respond(driver, &response);
}

void rsti_respond_unavailable(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription)
{
    const rsti_response_t response = {
        .type = RSTI_RSP_UNAVAILABLE_IMAGE,
        .correlation_id = image_id,
        .registration_id = subscription->registration_id,
        .stream_id = subscription->stream_id,
        .log_file = {subscription->uri, (int32_t)subscription->uri_length},
    };
    rsti_respond(driver, &response);
}

/* The reason follows the channel. Aeron clients do not read the channel of this message
 * (docs/reference/aeron/wire.md 22). */
static void respond_parted(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription, const char *why)
{
    char text[RSTI_CHANNEL_URI_MAX + 64];
    const int length = snprintf(text, sizeof text, "%.*s%s", (int)subscription->uri_length,
        subscription->uri, why);
    RST_ASSERT(length > 0 && (size_t)length < sizeof text);
    const rsti_response_t response = {
        .type = RSTI_RSP_UNAVAILABLE_IMAGE,
        .correlation_id = image_id,
        .registration_id = subscription->registration_id,
        .stream_id = subscription->stream_id,
        .log_file = {text, length},
    };
    rsti_respond(driver, &response);
}

void rsti_respond_evicted(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription, int64_t evicted_ms)
{
    char why[48];
    (void)snprintf(why, sizeof why, "|rs-evicted=%" PRId64, evicted_ms);
    respond_parted(driver, image_id, subscription, why);
}

void rsti_respond_let_go(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription)
{
    respond_parted(driver, image_id, subscription, "|rs-let-go");
}

void rsti_respond_overrun(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription, int64_t position)
{
    char why[48];
    (void)snprintf(why, sizeof why, "|rs-goes-on=%" PRId64, position);
    respond_parted(driver, image_id, subscription, why);
}

/* The reason and the source are those of a peer, so that many of them could fill the error log.
 * Beyond one entry a second only the counter tells. */
static void log_rejection(rst_driver_t *driver, const rsti_response_t *response,
    const struct sockaddr_storage *source)
{
    rsti_conductor_t *conductor = driver->conductor;
    if (conductor->now_ns < conductor->rejection_due_ns) {
        rsti_driver_count(driver, RSTI_SYSTEM_ERRORS, 1);
        return;
    }
    conductor->rejection_due_ns = conductor->now_ns + RSTI_NS_PER_S;
    char text[RSTI_ERROR_TEXT_MAX], where[RSTI_NETADDR_TEXT_MAX] = "this machine";
    if (source != NULL) {
        rsti_netaddr_format(source, where, sizeof where);
    }
    (void)snprintf(text, sizeof text,
        "a subscriber on %s rejected the image of stream %" PRId32 " session %" PRId32
        ": reason=%.*s",
        where, response->stream_id, response->session_id, (int)response->log_file.length,
        response->log_file.text);
    rsti_driver_log_error(driver, response->error_code, text);
}

void rsti_respond_publication_error(rst_driver_t *driver, rsti_response_t *response,
    const struct sockaddr_storage *source)
{
    if (response->error_code == RSTI_DRIVER_IMAGE_REJECTED) {
        log_rejection(driver, response, source);
    }
    response->type = RSTI_RSP_PUBLICATION_ERROR;
    response->address_kind = RSTI_ADDRESS_IPV4;
    if (source != NULL) {
        const rsti_packed_address_t packed = rsti_netaddr_pack(source);
        response->address_kind = packed.family == AF_INET6 ? RSTI_ADDRESS_IPV6 : RSTI_ADDRESS_IPV4;
        response->port = packed.port;
        memcpy(response->address, packed.bytes, sizeof packed.bytes);
    }
    rsti_respond(driver, response);
}
