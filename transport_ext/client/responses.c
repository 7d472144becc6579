/* responses.c: see responses.h (docs/reference/aeron/memory.md 14, 15). The bytes come from another
 * process. The decoder validates them, and ids unknown here belong to other clients. */
#include "client/responses.h"

#include "client/client_counters.h"
#include "client/client_fail.h"
#include "client/pending.h"
#include "client/publication.h"
#include "client/publication_errors.h"
#include "client/send.h"
#include "client/subscription_images.h"
#include "client/user_counter.h"
#include "util/error.h"
#include "util/parse.h"

#include <inttypes.h>
#include <stdio.h>

#define RESPONSES_PER_PASS 64

static rsti_pending_t *awaited(rst_client_t *client, int64_t correlation_id)
{
    rsti_pending_t *pending = rsti_hash_map_get(&client->pending, correlation_id);
    if (pending == NULL
        || (pending->state != RSTI_PENDING_SENT && pending->state != RSTI_PENDING_CANCELLED)) {
        return NULL;
    }
    return pending;
}

/* Takes a cancelled pending out and undoes its command. False: it is not cancelled. */
static bool drop_cancelled(rst_client_t *client, rsti_pending_t *pending, int32_t remove_type)
{
    if (pending->state != RSTI_PENDING_CANCELLED) {
        return false;
    }
    if (remove_type != 0) {
        rsti_client_send_remove(client, remove_type, pending->correlation_id, 0);
    }
    (void)rsti_hash_map_remove(&client->pending, pending->correlation_id);
    rsti_pending_finish(client, pending, RSTI_PENDING_CANCELLED);
    rsti_pending_free(pending);
    return true;
}

static void on_error(rst_client_t *client, const rsti_response_t *response)
{
    rsti_pending_t *pending = awaited(client, response->correlation_id);
    if (pending != NULL && !drop_cancelled(client, pending, 0)) {
        const int code = response->error_code == RSTI_DRIVER_STORAGE_SPACE ? RST_ESTORAGE
                                                                           : RST_EREGISTRATION;
        rsti_pending_fail(client, pending, code, response->error_code, response->log_file.text,
            (size_t)response->log_file.length);
    }
}

/* The driver made its side, this client could not: report the error and undo the command. */
static void fail_unmade(rst_client_t *client, rsti_pending_t *pending, int32_t remove_type)
{
    rsti_pending_fail(client, pending, rst_last_error_code(), rst_last_error_detail(),
        rst_last_error_text(), strlen(rst_last_error_text()));
    if (remove_type != 0) {
        rsti_client_send_remove(client, remove_type, pending->correlation_id, 0);
    }
}

static void on_publication_ready(rst_client_t *client, const rsti_response_t *response)
{
    rsti_pending_t *pending = awaited(client, response->correlation_id);
    if (pending == NULL || pending->kind != RSTI_PENDING_PUBLICATION
        || drop_cancelled(client, pending, RSTI_CMD_REMOVE_PUBLICATION)) {
        return;
    }
    pending->publication = rsti_publication_create(client, pending->channel, response);
    if (pending->publication == NULL) {
        fail_unmade(client, pending, RSTI_CMD_REMOVE_PUBLICATION);
        return;
    }
    rsti_pending_finish(client, pending, RSTI_PENDING_READY);
}

static void on_subscription_ready(rst_client_t *client, const rsti_response_t *response)
{
    rsti_pending_t *pending = awaited(client, response->correlation_id);
    if (pending == NULL || pending->kind != RSTI_PENDING_SUBSCRIPTION
        || drop_cancelled(client, pending, RSTI_CMD_REMOVE_SUBSCRIPTION)) {
        return;
    }
    /* Make the object now: its images may be announced right behind this answer. */
    const rsti_subscription_params_t params = {
        .channel = pending->channel,
        .registration_id = pending->correlation_id,
        .stream_id = pending->stream_id,
        .channel_status_id = response->channel_status_id,
        .is_on_demand = pending->is_on_demand,
    };
    pending->subscription = rsti_subscription_create(client, &params);
    if (pending->subscription == NULL) {
        fail_unmade(client, pending, RSTI_CMD_REMOVE_SUBSCRIPTION);
        return;
    }
    rsti_pending_finish(client, pending, RSTI_PENDING_READY);
}

static void on_counter_ready(rst_client_t *client, const rsti_response_t *response)
{
    rsti_pending_t *pending = awaited(client, response->correlation_id);
    if (response->type == RSTI_RSP_COUNTER_READY) {
        rsti_client_on_counter(client, RST_COUNTER_AVAILABLE, response->correlation_id,
            response->counter_id);
    }
    if (pending == NULL || pending->kind != RSTI_PENDING_COUNTER
        || drop_cancelled(client, pending, pending->is_static ? 0 : RSTI_CMD_REMOVE_COUNTER)) {
        return;
    }
    const rsti_user_counter_params_t params = {
        .correlation_id = pending->correlation_id,
        .registration_id = pending->is_static ? pending->counter_registration_id
                                              : pending->correlation_id,
        .counter_id = response->counter_id,
        .is_static = pending->is_static,
    };
    pending->counter = rsti_user_counter_create(client, &params);
    if (pending->counter == NULL) {
        fail_unmade(client, pending, pending->is_static ? 0 : RSTI_CMD_REMOVE_COUNTER);
        return;
    }
    rsti_pending_finish(client, pending, RSTI_PENDING_READY);
}

static void on_next_session_id(rst_client_t *client, const rsti_response_t *response)
{
    rsti_pending_t *pending = awaited(client, response->correlation_id);
    if (pending != NULL && pending->kind == RSTI_PENDING_SESSION_ID
        && !drop_cancelled(client, pending, 0)) {
        pending->session_id = response->session_id;
        rsti_pending_finish(client, pending, RSTI_PENDING_READY);
    }
}

static void on_operation_success(rst_client_t *client, const rsti_response_t *response)
{
    rsti_pending_t *pending = awaited(client, response->correlation_id);
    if (pending != NULL && pending->kind == RSTI_PENDING_OPERATION
        && !drop_cancelled(client, pending, 0)) {
        rsti_pending_finish(client, pending, RSTI_PENDING_READY);
    }
}

static void on_available_image(rst_client_t *client, const rsti_response_t *response)
{
    rst_subscription_t *subscription = rsti_hash_map_get(&client->subscriptions,
        response->registration_id);
    if (subscription != NULL) {
        rsti_subscription_add_image(subscription, response);
        rsti_client_kick_waiters(client);
    }
}

/* An rstream driver writes this mark behind the channel of an untethered reader whose stream goes
 * on. */
static bool says_let_go(const rsti_text_t *channel)
{
    static const char mark[] = "|rs-let-go";
    const int32_t length = (int32_t)sizeof mark - 1;
    return channel->length >= length
        && memcmp(channel->text + channel->length - length, mark, (size_t)length) == 0;
}

/* The number behind a mark at the end of the channel. 0: the mark is not there. */
static int64_t number_behind(const rsti_text_t *channel, const char *mark)
{
    const size_t mark_length = strlen(mark);
    int64_t value = 0;
    for (int32_t i = channel->length; i > 0; i--) {
        if (channel->text[i - 1] < '0' || channel->text[i - 1] > '9') {
            char digits[20];
            const size_t length = (size_t)(channel->length - i);
            if ((size_t)i < mark_length || length == 0 || length >= sizeof digits
                || memcmp(channel->text + i - mark_length, mark, mark_length) != 0) {
                return 0;
            }
            memcpy(digits, channel->text + i, length);
            digits[length] = '\0';
            return rsti_parse_i64(digits, &value) ? value : 0;
        }
    }
    return 0;
}

/* Why an rstream driver ends the image, from its marks behind the channel. */
static rsti_image_end_t end_of(const rsti_text_t *channel)
{
    return (rsti_image_end_t){
        .is_let_go = says_let_go(channel),
        .evicted_ms = number_behind(channel, "|rs-evicted="),
        .goes_on_at = number_behind(channel, "|rs-goes-on="),
    };
}

static void on_unavailable_image(rst_client_t *client, const rsti_response_t *response)
{
    rst_subscription_t *subscription = rsti_hash_map_get(&client->subscriptions,
        response->registration_id);
    if (subscription != NULL) {
        const rsti_image_end_t end = end_of(&response->log_file);
        rsti_subscription_image_unavailable(subscription, response->correlation_id, &end);
        rsti_client_kick_waiters(client);
    }
}

static void on_record(void *arg, int32_t type, const void *record, size_t length)
{
    rst_client_t *client = arg;
    rsti_response_t response;
    if (rsti_client_state_now(client) != RST_CLIENT_OPEN
        || rsti_response_decode(type, record, length, &response) != 0) {
        return; /* unknown or malformed: a newer driver may send more kinds of records */
    }
    switch (response.type) {
    case RSTI_RSP_ON_ERROR:
        on_error(client, &response);
        break;
    case RSTI_RSP_PUBLICATION_READY:
    case RSTI_RSP_EXCLUSIVE_PUBLICATION_READY:
        on_publication_ready(client, &response);
        break;
    case RSTI_RSP_SUBSCRIPTION_READY:
        on_subscription_ready(client, &response);
        break;
    case RSTI_RSP_AVAILABLE_IMAGE:
        on_available_image(client, &response);
        break;
    case RSTI_RSP_UNAVAILABLE_IMAGE:
        on_unavailable_image(client, &response);
        break;
    case RSTI_RSP_CLIENT_TIMEOUT:
        if (response.correlation_id == client->client_id) {
            rsti_client_fail(client, RST_CLIENT_TIMED_OUT,
                "it gave this client up: no heartbeat within its client liveness timeout");
        }
        break;
    case RSTI_RSP_OPERATION_SUCCESS:
        on_operation_success(client, &response);
        break;
    case RSTI_RSP_COUNTER_READY:
    case RSTI_RSP_STATIC_COUNTER:
        on_counter_ready(client, &response);
        break;
    case RSTI_RSP_UNAVAILABLE_COUNTER:
        rsti_client_on_counter(client, RST_COUNTER_UNAVAILABLE, response.registration_id,
            response.counter_id);
        break;
    case RSTI_RSP_NEXT_SESSION_ID:
        on_next_session_id(client, &response);
        break;
    case RSTI_RSP_PUBLICATION_ERROR:
        rsti_client_on_publication_error(client, &response);
        break;
    default:
        break;
    }
}

int64_t rsti_client_receive(rst_client_t *client)
{
    int64_t work = 0;
    while (work < RESPONSES_PER_PASS) {
        const int result = rsti_broadcast_receive(&client->to_clients, on_record, client);
        if (result < 0) {
            return -1;
        }
        if (result == 0) {
            break;
        }
        work++;
    }
    return work;
}
