/* image_receiver.c: the receiver's side of an image: inserting datagrams, status messages, NAKs
 * (wire reference 8.2, 8.4, 9.3). */
#include "driver/internal.h"

#include "protocol/sm_items.h"
#include "protocol/sm_noop.h"
#include "util/error.h"
#include "util/fault.h"

#define SETUPS_ASKED_MAX 5

/* The connection of a transport; made when the transport brings the session for the first time. */
static rsti_connection_t *get_connection(rsti_image_t *image, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    RST_ASSERT(transport->slot < image->connection_capacity);
    rsti_connection_t *connection = &image->connections[transport->slot];
    if (connection->transport != transport) {
        *connection = (rsti_connection_t){
            .transport = transport,
            .last_activity_ns = now_ns,
            .last_frame_ns = now_ns,
        };
        connection->control = *rsti_receive_transport_control(transport, source);
        rsti_image_window_on_sources(image);
    }
    return connection;
}

static void note_rstream(rsti_image_t *image)
{
    int32_t has_rstream = 0;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        has_rstream |= image->connections[i].transport != NULL && image->connections[i].is_rstream;
    }
    if (rsti_load_relaxed_i32(&image->has_rstream) != has_rstream) {
        rsti_store_release_i32(&image->has_rstream, has_rstream);
    }
}

void rsti_image_on_setup(rsti_image_t *image, rsti_receive_transport_t *transport,
    const rsti_setup_t *setup, const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_connection_t *connection = get_connection(image, transport, source, now_ns);
    connection->last_activity_ns = now_ns;
    connection->has_setup = true;
    connection->is_rstream = (setup->frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0;
    connection->follows_fill = connection->is_rstream
        && (setup->frame.flags & RSTI_SETUP_FLAG_FILL) != 0;
    rsti_image_fill_on_setup(image);
    rsti_image_window_on_sources(image);
    note_rstream(image);
}

/* A destination that went and came again is served without a SETUP, and without one its source is
 * told neither demand nor budget nor fill. The image began with a source of ours, so it is asked.
 */
static void ask_setup(rsti_receiver_t *receiver, const rsti_image_t *image,
    rsti_connection_t *connection, int64_t now_ns)
{
    if (image->is_acked_soon && connection->asked_count < SETUPS_ASKED_MAX
        && now_ns >= connection->ask_due_ns) {
        rsti_receive_transport_ask_setup(receiver, connection->transport, image->stream_id,
            image->session_id, &connection->control);
        connection->asked_count++;
        connection->ask_due_ns = now_ns + RSTI_ELICIT_INTERVAL_NS;
    }
}

/* A frame that belongs to the stream came by this transport. */
static rsti_connection_t *refresh(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_receive_transport_t *transport, const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_connection_t *connection = get_connection(image, transport, source, now_ns);
    if (!connection->has_setup) {
        ask_setup(receiver, image, connection, now_ns);
    }
    connection->last_activity_ns = now_ns;
    connection->last_frame_ns = now_ns;
    rsti_store_release_i64(&image->last_packet_ns, now_ns);
    if (!rsti_load_relaxed_i32(&image->has_frames)) {
        rsti_store_relaxed_i32(&image->has_frames, 1);
    }
    return connection;
}

/* The stream has ended when every transport that carries it said so, at the furthest position that
 * one of them named. */
static void check_end_of_stream(rsti_receiver_t *receiver, rsti_image_t *image)
{
    int64_t end = INT64_MIN;
    bool is_revoked = false;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        if (connection->transport == NULL) {
            continue;
        }
        if (!connection->is_eos) {
            return;
        }
        end = rsti_max_i64(end, connection->eos_position);
        is_revoked = is_revoked || connection->is_revoked;
    }
    if (end == INT64_MIN) {
        return;
    }
    if (!rsti_load_relaxed_i32(&image->is_end_of_stream)) {
        rsti_store_release_i64(&image->file.log.metadata->end_of_stream_position, end);
        rsti_store_release_i32(&image->is_end_of_stream, 1);
        rsti_receiver_touch(receiver, image);
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
    if (is_revoked && !rsti_load_relaxed_i32(&image->is_revoked)) {
        image->file.log.metadata->is_publication_revoked = 1;
        rsti_store_release_i32(&image->is_revoked, 1);
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_IMAGES_REVOKED, 1);
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
}

static void on_end_of_stream(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, int64_t position, uint8_t flags)
{
    connection->is_eos = true;
    connection->is_revoked = connection->is_revoked || (flags & RSTI_FLAG_REVOKED) != 0;
    connection->eos_position = position;
    check_end_of_stream(receiver, image);
}

void rsti_image_remove_transport(rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_receive_transport_t *transport)
{
    rsti_connection_t *connection = &image->connections[transport->slot];
    if (connection->transport == transport) {
        *connection = (rsti_connection_t){0};
        rsti_image_window_on_sources(image);
        check_end_of_stream(receiver, image); /* it may have been the one that was waited for */
    }
}

/* In order the readers see the data by themselves; gaps, new or closed, are the conductor's. */
static void raise_hwm(rsti_receiver_t *receiver, rsti_image_t *image, int64_t from, int64_t to)
{
    const int64_t hwm = rsti_load_relaxed_i64(&image->high_water);
    if (to > hwm) {
        rsti_store_release_i64(&image->high_water, to);
        rsti_store_release_i64(image->hwm, to);
        rsti_image_fill_on_data(receiver, image, to, rsti_load_relaxed_i64(&image->last_packet_ns));
    }
    if (from != hwm) {
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
}

/* One that is too old tells nothing, and keeps nothing alive. */
static bool is_heartbeat_in_time(rsti_receiver_t *receiver, const rsti_image_t *image,
    int64_t position)
{
    if (position >= rsti_max_i64(0, image->last_sm_position - image->file.log.term_length)) {
        return true;
    }
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_FLOW_CONTROL_UNDER_RUNS, 1);
    return false;
}

static void on_heartbeat(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, int64_t position, const rsti_data_header_t *header)
{
    const uint8_t flags = header->frame.flags;
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_HEARTBEATS_RECEIVED, 1);
    raise_hwm(receiver, image, position, position);
    if (header->reserved_value != 0) {
        rsti_image_noop_on_heartbeat(receiver, image, header->reserved_value);
    }
    if ((flags & RSTI_FLAG_EOS) != 0) {
        on_end_of_stream(receiver, image, connection, position, flags);
    }
}

/* The padding that ends a term is sent at once, however long, so a sender may stand beyond what it
 * was allowed, and say so. What lies there is not taken, but everything below was sent: else the
 * lost end of a term would never be asked for, and its sender never get room. It keeps nothing
 * alive: a laggard under max gets nothing it can take, and has to go. */
static void on_early_heartbeat(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const int64_t position = image->overrun_threshold & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1);
    rsti_image_repair_on_data(image, position, position, now_ns);
    raise_hwm(receiver, image, position, position);
}

/* Data may be taken up to
 *
 *     max(S + T/2, min(C + T/2, S + T))        S the position of the newest status message, C what
 * was consumed, T a term
 *
 * A status message is due after a quarter of the window, and until then more may have been consumed
 * than it said: of a buffer of half a term that quarter would be dropped, just when every byte
 * counts. S + T, since what lies beyond S may come again, and the conductor cleans up to C - T. */
static bool is_over_run(rsti_image_t *image, int64_t end)
{
    if (end > image->overrun_threshold) {
        image->overrun_threshold = rsti_max_i64(image->overrun_threshold,
            rsti_min_i64(rsti_load_acquire_i64(&image->room_until),
                image->last_sm_position + image->file.log.term_length));
    }
    return end > image->overrun_threshold;
}

void rsti_image_on_packet(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_receive_transport_t *transport, const uint8_t *datagram, size_t length,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    rst_driver_t *driver = receiver->driver;
    const rsti_log_t *log = &image->file.log;
    rsti_data_header_t header;
    memcpy(&header, datagram, sizeof header);
    if (rsti_wrap_sub_i32(header.term_id, log->initial_term_id) < 0
        || rsti_load_acquire_i32(&image->is_rejected)) {
        return;
    }
    const int32_t walked = rsti_packet_validate(datagram, length, log->term_length);
    if (walked < 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        return;
    }
    const int64_t position = rsti_position(header.term_id, header.term_offset, log->position_bits,
        log->initial_term_id);
    if (is_over_run(image, position + walked) && RSTI_FAULT != RSTI_FAULT_OVERRUN) {
        rsti_driver_count(driver, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS, 1);
        rsti_store_release_i64(&image->fill.overrun_until, image->overrun_threshold);
        if (rsti_packet_is_heartbeat(datagram, length)) {
            on_early_heartbeat(receiver, image, now_ns);
        } else if (header.frame.type == RSTI_FRAME_DATA) {
            receiver->overrun_bytes += (int64_t)length;
        }
        return;
    }
    if (rsti_packet_is_heartbeat(datagram, length)) {
        if (is_heartbeat_in_time(receiver, image, position)) {
            rsti_image_repair_on_data(image, position, position, now_ns);
            on_heartbeat(receiver, image, refresh(receiver, image, transport, source, now_ns),
                position, &header);
        }
        return;
    }
    if (position < image->last_sm_position) {
        rsti_driver_count(driver, RSTI_SYSTEM_FLOW_CONTROL_UNDER_RUNS, 1);
        if (position + walked >= image->last_sm_position - image->congestion.max_window) {
            (void)refresh(receiver, image, transport, source, now_ns);
        }
        return;
    }
    (void)refresh(receiver, image, transport, source, now_ns);
    uint8_t *term = log->terms[rsti_position_index(position, log->position_bits)];
    if (rsti_term_insert(term, header.term_offset, datagram, length)) {
        rsti_receiver_touch(receiver, image);
        rsti_image_repair_on_data(image, position, position + walked, now_ns);
    }
    raise_hwm(receiver, image, position, position + walked);
}

typedef enum sources_t {
    SOURCES_ALL,
    SOURCES_RSTREAM,
    SOURCES_AERON
} sources_t;

static int32_t send_to(rsti_receiver_t *receiver, rsti_image_t *image, sources_t sources,
    const void *frame, size_t length, int64_t now_ns)
{
    int32_t sent = 0;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        if (connection->transport != NULL
            && (sources == SOURCES_ALL || connection->is_rstream == (sources == SOURCES_RSTREAM))
            && now_ns <= connection->last_activity_ns + RSTI_CONNECTION_ACTIVITY_NS
            && rsti_receive_transport_send(receiver, connection->transport, frame, length,
                &connection->control)) {
            sent++;
        }
    }
    return sent;
}

int32_t rsti_image_send_to_live(rsti_receiver_t *receiver, rsti_image_t *image, const void *frame,
    size_t length, int64_t now_ns)
{
    return send_to(receiver, image, SOURCES_ALL, frame, length, now_ns);
}

static rsti_sm_t sm_at(const rsti_image_t *image, int64_t position, int64_t window, uint8_t flags,
    int32_t length)
{
    const rsti_log_t *log = &image->file.log;
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

static void send_sm(rsti_receiver_t *receiver, rsti_image_t *image, sources_t sources,
    int64_t position, int64_t window, bool is_draining, int64_t now_ns)
{
    const rsti_receive_endpoint_t *endpoint = image->endpoint;
    uint8_t frame[RSTI_SM_TAGGED_LENGTH];
    const rsti_sm_t sm = sm_at(image, position, window, is_draining ? RSTI_SM_FLAG_EOS : 0,
        RSTI_SM_LENGTH);
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
    const rsti_sm_t sm = sm_at(image, image->last_sm_position, image->last_sm_window, 0,
        (int32_t)length);
    memcpy(frame, &sm, sizeof sm);
    rsti_put_i64(frame + RSTI_SM_LENGTH, has_tag ? endpoint->group_tag : 0);
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        if (connection->transport != NULL && connection->is_rstream
            && (fill == NULL || connection->follows_fill)
            && now_ns <= connection->last_activity_ns + RSTI_CONNECTION_ACTIVITY_NS
            && rsti_receive_transport_send(receiver, connection->transport, frame, length,
                &connection->control)) {
            rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, 1);
        }
    }
}

static void send_err(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
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

static void count_active_transports(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    int32_t active = 0;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        active += connection->transport != NULL
            && now_ns <= connection->last_frame_ns + receiver->driver->params.image_liveness_ns;
    }
    rsti_store_release_i32(&image->file.log.metadata->active_transport_count, active);
}

static void check_sm(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    /* Before the position: the conductor writes the last position, then that it is the last. */
    const bool is_draining = rsti_load_acquire_i32(&image->is_draining) != 0;
    rsti_image_sm_t sm;
    const int64_t change = RSTI_MAILBOX_READ(&image->sm, &sm);
    if (change == RSTI_MAILBOX_TORN) {
        return; /* the next pass sees it whole */
    }
    const int64_t position = sm.position, window = sm.window, cut = sm.window_cut;
    const bool is_first_eos = is_draining && !image->is_eos_sm_sent;
    const bool is_repeat = rsti_sm_repeat_is_due(&image->sm_repeat,
        rsti_load_relaxed_i64(&image->high_water), image->mtu, now_ns);
    if (change == image->sm_seen && now_ns <= image->sm_due_ns && !is_first_eos && !is_repeat) {
        return;
    }
    if (rsti_load_acquire_i32(&image->is_rejected)) {
        if (now_ns > image->sm_due_ns) {
            send_err(receiver, image, now_ns);
            image->sm_due_ns = now_ns + receiver->driver->params.sm_timeout_ns;
        }
        image->sm_seen = change;
        rsti_sm_repeat_init(&image->sm_repeat); /* there is no status message to repeat */
        return;
    }
    if (cut == window) {
        send_sm(receiver, image, SOURCES_ALL, position, window, is_draining, now_ns);
    } else {
        send_sm(receiver, image, SOURCES_RSTREAM, position, window, is_draining, now_ns);
        send_sm(receiver, image, SOURCES_AERON, position, cut, is_draining, now_ns);
    }
    image->sm_seen = change;
    image->is_eos_sm_sent = image->is_eos_sm_sent || is_first_eos;
    image->last_sm_position = position;
    image->last_sm_window = window;
    /* A source of ours goes on to the end of its window, and so hides where one of Aeron's stands.
     */
    rsti_sm_repeat_on_sent(&image->sm_repeat,
        position + (rsti_load_relaxed_i32(&image->has_rstream) ? window : cut),
        receiver->driver->params.sm_timeout_ns);
    image->overrun_threshold = rsti_max_i64(image->overrun_threshold,
        position + image->file.log.term_length / 2);
    image->sm_due_ns = now_ns + receiver->driver->params.sm_timeout_ns;
    count_active_transports(receiver, image, now_ns);
}

static void check_loss(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    rsti_image_loss_t loss;
    if (!RSTI_MAILBOX_READ_NEW(&image->loss_found, &image->loss_seen, &loss)) {
        return; /* if it is torn the next pass sees it whole */
    }
    const rsti_gap_t gap = {
        .term_id = (int32_t)loss.term_id,
        .term_offset = (int32_t)loss.term_offset,
        .length = (int32_t)loss.length,
    };
    if (!image->is_reliable) {
        if (rsti_term_gap_fill(&image->file.log, &gap)) {
            rsti_driver_count(receiver->driver, RSTI_SYSTEM_LOSS_GAP_FILLS, 1);
            rsti_receiver_touch(receiver, image);
            rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
        }
        return;
    }
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .term_id = gap.term_id,
        .term_offset = gap.term_offset,
        .length = gap.length,
    };
    const int32_t sent = rsti_image_send_to_live(receiver, image, &nak, sizeof nak, now_ns);
    if (sent > 0) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_NAKS_SENT, sent);
        rsti_add_single_writer_i64(image->naks, sent);
    }
}

/* The session of the publication that answers, until somebody listens to that (wire reference 14).
 * Returns when to tell it again. */
static int64_t check_response(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const int64_t session = rsti_load_acquire_i64(&image->response_session);
    if (session == RSTI_NO_SESSION) {
        return RSTI_NO_DEADLINE;
    }
    if (session != image->response_told || now_ns > image->response_due_ns) {
        const rsti_rsp_setup_t setup = {
            .frame = {RSTI_RSP_SETUP_LENGTH, 0, 0, RSTI_FRAME_RSP_SETUP},
            .session_id = image->session_id,
            .stream_id = image->stream_id,
            .response_session_id = (int32_t)session,
        };
        (void)rsti_image_send_to_live(receiver, image, &setup, sizeof setup, now_ns);
        image->response_told = session;
        image->response_due_ns = now_ns + receiver->driver->params.sm_timeout_ns;
    }
    return image->response_due_ns + 1;
}

/* Demand, budget and NOOPs, when one of them is new. */
static void check_words(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const bool has_demand = rsti_image_demand_pending(image);
    const bool has_budget = rsti_image_budget_pending(image);
    const bool has_noop = rsti_image_noop_pending(image);
    if ((has_demand || has_budget || has_noop) && !rsti_load_acquire_i32(&image->is_rejected)) {
        rsti_image_send_items(receiver, image, NULL, now_ns);
    }
}

int64_t rsti_image_send_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    if (image->is_superseded) {
        return RSTI_NO_DEADLINE;
    }
    check_words(receiver, image, now_ns); /* a grant before the window that it bounds */
    check_sm(receiver, image, now_ns);
    check_loss(receiver, image, now_ns);
    rsti_image_check_rtt(receiver, image, now_ns);
    rsti_image_fill_pending(receiver, image, now_ns);
    const int64_t repair_due_ns = rsti_image_repair_pending(receiver, image, now_ns);
    const int64_t response_due_ns = check_response(receiver, image, now_ns);
    const int64_t sm_due_ns = rsti_with_slack(image->sm_due_ns + 1,
        receiver->driver->params.sm_timeout_ns, now_ns);
    return rsti_min_i64(rsti_min_i64(repair_due_ns, response_due_ns),
        rsti_min_i64(sm_due_ns, image->sm_repeat.due_ns));
}
