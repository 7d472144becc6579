/* image_send.c: see image_send.h. */
#include "driver/receiver/image_send.h"

#include "driver/base/driver_state.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/receiver/receive_transport.h"
#include "protocol/sm_noop.h"

bool rsti_connection_send(rsti_receiver_t *receiver, rsti_connection_t *connection,
    const void *frame, size_t length)
{
    if (connection->is_proven) {
        return rsti_receive_transport_send(receiver, connection->transport, frame, length,
            &connection->control);
    }
    if (connection->allowance < (int64_t)length) {
        return false;
    }
    connection->allowance -= (int64_t)length;
    return rsti_receive_transport_answer(receiver, connection->transport, frame, length,
        &connection->control);
}

static bool is_among(const rsti_connection_t *connection, rsti_sources_t sources)
{
    switch (sources) {
    case RSTI_SOURCES_PROVEN:
        return connection->is_proven;
    case RSTI_SOURCES_RSTREAM:
        return connection->is_rstream;
    case RSTI_SOURCES_PATH:
        return connection->follows_path;
    case RSTI_SOURCES_AERON:
        return !connection->is_rstream;
    default:
        return true;
    }
}

static int32_t send_to(rsti_receiver_t *receiver, rsti_image_t *image, rsti_sources_t sources,
    const void *frame, size_t length, int64_t now_ns)
{
    int32_t sent = 0;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        rsti_connection_t *connection = &image->connections[i];
        if (connection->transport != NULL && is_among(connection, sources)
            && now_ns <= connection->last_activity_ns + RSTI_CONNECTION_ACTIVITY_NS
            && rsti_connection_send(receiver, connection, frame, length)) {
            sent++;
        }
    }
    return sent;
}

int32_t rsti_image_send_to_live(rsti_receiver_t *receiver, rsti_image_t *image, const void *frame,
    size_t length, int64_t now_ns)
{
    return send_to(receiver, image, RSTI_SOURCES_ALL, frame, length, now_ns);
}

void rsti_image_send_nak(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_nak_t *nak,
    int64_t now_ns)
{
    const int32_t sent = send_to(receiver, image, RSTI_SOURCES_PROVEN, nak, sizeof *nak, now_ns);
    if (sent > 0) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_NAKS_SENT, sent);
        rsti_add_single_writer_i64(image->naks, sent);
    }
}

/* Whatever follows the first status message with EOS carries EOS too: the sender takes one without
 * for the first of a new reader, and goes on sending to a stream that nobody reads. */
static rsti_sm_t sm_at(const rsti_image_t *image, int64_t position, int64_t window, bool is_eos,
    int32_t length)
{
    const rsti_log_t *log = &image->file.log;
    const uint8_t flags = is_eos || image->is_eos_sm_sent ? RSTI_SM_FLAG_EOS : 0;
    return (rsti_sm_t){
        .frame = {length, 0, flags, RSTI_FRAME_SM},
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .consumption_term_id = rsti_position_term_id(position, log->position_bits,
            log->initial_term_id),
        .consumption_term_offset = rsti_position_offset(position, log->term_length),
        .receiver_window = (int32_t)window,
        .receiver_id = image->endpoint->receiver_id,
    };
}

void rsti_image_send_sm(rsti_receiver_t *receiver, rsti_image_t *image, rsti_sources_t sources,
    int64_t position, int64_t window, bool is_draining, int64_t now_ns)
{
    const rsti_receive_endpoint_t *endpoint = image->endpoint;
    uint8_t frame[RSTI_SM_TAGGED_LENGTH];
    const rsti_sm_t sm = sm_at(image, position, window, is_draining, RSTI_SM_LENGTH);
    const size_t length = rsti_sm_with_tag(frame, &sm, endpoint);
    const int32_t sent = send_to(receiver, image, sources, frame, length, now_ns);
    if (sent > 0) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, sent);
    }
}

void rsti_image_send_items(rsti_receiver_t *receiver, rsti_image_t *image, const uint8_t *fill,
    int64_t now_ns)
{
    const rsti_receive_endpoint_t *endpoint = image->endpoint;
    uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
    const uint8_t has_tag = endpoint->has_group_tag;
    const int64_t rtt_ns = image->rtt.least_ns;
    const int64_t rate = rsti_arrival_wanted(&image->arrival, image->rtt.smoothed_ns,
        image->rtt.least_ns);
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_TAG_PRESENT, &has_tag, sizeof has_tag);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_ROUND_TRIP, &rtt_ns, sizeof rtt_ns);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_ARRIVAL_RATE, &rate, sizeof rate);
    if (fill != NULL) {
        (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_FILL, fill, RSTI_SM_FILL_LENGTH);
    }
    if (image->demand.seen > 0) {
        uint8_t value[RSTI_SM_DEMAND_LENGTH];
        rsti_sm_demand_encode(&image->demand.told, value);
        (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_DEMAND, value, sizeof value);
    }
    if (image->budget.seen > 0) {
        uint8_t value[RSTI_SM_BUDGET_LENGTH];
        rsti_sm_budget_encode(&image->budget.told, value);
        (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_BUDGET, value, sizeof value);
    }
    if (rsti_load_relaxed_i64(&image->noop.heard) > 0) {
        uint8_t value[RSTI_SM_NOOP_LENGTH];
        const rsti_sm_noop_t noop = {
            .heard = rsti_load_relaxed_i64(&image->noop.heard),
            .answered = rsti_load_acquire_i64(&image->noop.answered),
        };
        rsti_sm_noop_encode(&noop, value);
        (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_NOOP, value, sizeof value);
    }
    const size_t length = RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer);
    const rsti_sm_t sm = sm_at(image, image->last_sm_position, image->last_sm_window, false,
        (int32_t)length);
    memcpy(frame, &sm, sizeof sm);
    rsti_put_i64(frame + RSTI_SM_LENGTH, has_tag ? endpoint->group_tag : 0);
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        rsti_connection_t *connection = &image->connections[i];
        if (connection->transport != NULL && connection->is_rstream
            && (fill == NULL || connection->follows_fill)
            && now_ns <= connection->last_activity_ns + RSTI_CONNECTION_ACTIVITY_NS
            && rsti_connection_send(receiver, connection, frame, length)) {
            rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, 1);
        }
    }
}

typedef struct item_t {
    uint8_t type, length;
    const void *value;
} item_t;

/* Sends a status message with this one item. */
static void send_item(rsti_receiver_t *receiver, rsti_image_t *image, rsti_sources_t sources,
    rsti_sm_t sm, const item_t *item, int64_t now_ns)
{
    const rsti_receive_endpoint_t *endpoint = image->endpoint;
    uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
    const uint8_t has_tag = endpoint->has_group_tag;
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_TAG_PRESENT, &has_tag, sizeof has_tag);
    (void)rsti_sm_items_add(&writer, item->type, item->value, item->length);
    sm.frame.frame_length = (int32_t)(RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer));
    memcpy(frame, &sm, sizeof sm);
    rsti_put_i64(frame + RSTI_SM_LENGTH, has_tag ? endpoint->group_tag : 0);
    const int32_t sent = send_to(receiver, image, sources, frame, (size_t)sm.frame.frame_length,
        now_ns);
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, sent);
}

void rsti_image_send_path(rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_path_item_t *path, int64_t now_ns)
{
    uint8_t value[RSTI_SM_PATH_LENGTH];
    const item_t item = {RSTI_SM_ITEM_PATH, sizeof value, value};
    rsti_sm_path_encode(path, value);
    send_item(receiver, image, RSTI_SOURCES_PATH,
        sm_at(image, image->last_sm_position, image->last_sm_window, false, 0), &item, now_ns);
}

void rsti_image_send_why(rsti_receiver_t *receiver, rsti_image_t *image, int64_t position,
    int64_t window, int64_t now_ns)
{
    const item_t item = {RSTI_SM_ITEM_WHY, (uint8_t)strnlen(image->leave_reason, RSTI_SM_WHY_MAX),
        image->leave_reason};
    send_item(receiver, image, RSTI_SOURCES_RSTREAM, sm_at(image, position, window, true, 0), &item,
        now_ns);
}

void rsti_image_send_err(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const rsti_receive_endpoint_t *endpoint = image->endpoint;
    uint8_t frame[RSTI_ERR_LENGTH + RSTI_ERR_TEXT_MAX];
    const size_t text_length = strlen(image->reject_reason);
    const rsti_err_t err = {
        .frame = {(int32_t)(RSTI_ERR_LENGTH + text_length), 0,
            endpoint->has_group_tag ? RSTI_ERR_FLAG_GROUP_TAG : 0, RSTI_FRAME_ERR},
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .receiver_id = endpoint->receiver_id,
        .group_tag = endpoint->group_tag,
        .error_code = RSTI_DRIVER_IMAGE_REJECTED,
        .error_length = (int32_t)text_length,
    };
    memcpy(frame, &err, sizeof err);
    memcpy(frame + RSTI_ERR_LENGTH, image->reject_reason, text_length);
    const int32_t sent = rsti_image_send_to_live(receiver, image, frame,
        RSTI_ERR_LENGTH + text_length, now_ns);
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_ERROR_FRAMES_SENT, sent);
}
