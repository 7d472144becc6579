/* image_connections.c: see image_connections.h. */
#include "driver/receiver/image_connections.h"

#include "driver/base/driver_state.h"
#include "driver/receiver/admission.h"
#include "driver/receiver/image_fill.h"
#include "driver/receiver/image_send.h"
#include "driver/receiver/image_window.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/receiver/receive_transport.h"
#include "driver/receiver/wake_readers.h"
#include "util/netaddr.h"

#define SETUPS_ASKED_MAX 5

/* Notes whether an Aeron source exists, for an image with rs-fill-window. */
static void note_aeron(rsti_image_t *image)
{
    int32_t has_aeron = 0;
    for (int32_t i = 0; i < image->connection_capacity && image->window_cut.is_wanted; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        has_aeron |= connection->transport != NULL && !connection->is_rstream;
    }
    rsti_image_window_set_aeron(&image->window_cut, has_aeron);
}

static void note_fill(rsti_image_t *image)
{
    int32_t is_wanted = 0;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        is_wanted |= connection->transport != NULL && connection->follows_fill;
    }
    rsti_image_fill_set_wanted(&image->fill, is_wanted);
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

static rsti_connection_t *bind_to(rsti_image_t *image, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *source, bool is_proven, int64_t now_ns)
{
    rsti_connection_t *connection = &image->connections[transport->slot];
    *connection = (rsti_connection_t){
        .transport = transport,
        .is_proven = is_proven,
        .allowance = RSTI_ADMITTED_ALLOWANCE,
        .last_activity_ns = now_ns,
        .last_frame_ns = now_ns,
    };
    connection->source = *source;
    image->proof_due_ns = is_proven ? image->proof_due_ns : now_ns;
    connection->control = *rsti_receive_transport_control(transport, source);
    note_aeron(image);
    note_rstream(image);
    return connection;
}

rsti_connection_t *rsti_image_bound(const rsti_image_t *image,
    const rsti_receive_transport_t *transport, const struct sockaddr_storage *source)
{
    RST_ASSERT(transport->slot < image->connection_capacity);
    rsti_connection_t *connection = &image->connections[transport->slot];
    return connection->transport == transport
            && rsti_netaddr_is_same_source(&connection->source, source)
        ? connection
        : NULL;
}

/* Whether a proven source of this image has that address, or had it. */
static bool is_known(const rsti_image_t *image, const struct sockaddr_storage *source)
{
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        if (image->connections[i].is_proven
            && rsti_netaddr_is_same_source(&image->connections[i].source, source)) {
            return true;
        }
    }
    return false;
}

rsti_connection_t *rsti_image_connection(rsti_image_t *image, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_connection_t *bound = rsti_image_bound(image, transport, source);
    if (bound == NULL && image->connections[transport->slot].transport != transport
        && is_known(image, source)) {
        return bind_to(image, transport, source, true, now_ns);
    }
    return bound;
}

bool rsti_image_may_join(const rsti_image_t *image, const rsti_receive_transport_t *transport,
    int64_t now_ns)
{
    const rsti_connection_t *connection = &image->connections[transport->slot];
    return connection->transport != transport || !connection->is_proven
        || now_ns > connection->last_frame_ns + RSTI_SOURCE_SILENCE_NS;
}

bool rsti_image_is_same_stream(const rsti_image_t *image, const rsti_setup_t *setup)
{
    const rsti_log_t *log = &image->file.log;
    return setup->initial_term_id == log->initial_term_id && setup->term_length == log->term_length;
}

bool rsti_image_is_displaced_by(const rsti_image_t *image,
    const rsti_receive_transport_t *transport, const rsti_setup_t *setup)
{
    const bool is_taken = image->connections[transport->slot].transport == transport;
    return !rsti_load_relaxed_i32(&image->is_proven)
        && (is_taken || !rsti_image_is_same_stream(image, setup));
}

bool rsti_image_join(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_origin_t *origin,
    const rsti_setup_t *setup, bool is_proven, int64_t now_ns)
{
    rsti_receive_transport_t *transport = origin->transport;
    const bool is_taken = image->connections[transport->slot].transport == transport;
    if (is_proven && rsti_image_is_displaced_by(image, transport, setup)) {
        rsti_store_release_i32(&image->is_displaced, 1);
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
        return false;
    }
    if (!rsti_image_is_same_stream(image, setup) || !rsti_image_may_join(image, transport, now_ns)
        || (is_taken && !is_proven)) {
        return true;
    }
    rsti_connection_t *connection = bind_to(image, transport, origin->source, is_proven, now_ns);
    rsti_image_on_setup(image, connection, setup, now_ns);
    if (is_proven) {
        rsti_image_prove(receiver, image, connection);
    }
    return true;
}

void rsti_image_prove(rsti_receiver_t *receiver, rsti_image_t *image, rsti_connection_t *connection)
{
    connection->is_proven = true;
    if (!rsti_load_relaxed_i32(&image->is_proven)) {
        rsti_store_release_i32(&image->is_proven, 1);
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR); /* it gets its counters */
    }
}

int64_t rsti_image_check_proof(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    int64_t due_ns = RSTI_NO_DEADLINE;
    if (now_ns < image->proof_due_ns) {
        return image->proof_due_ns;
    }
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        rsti_connection_t *connection = &image->connections[i];
        if (connection->transport == NULL || connection->is_proven) {
            continue;
        }
        due_ns = now_ns + RSTI_PROOF_INTERVAL_NS;
        if (connection->allowance >= RSTI_RTTM_LENGTH) {
            const rsti_origin_t origin = {
                connection->transport, &connection->source, image->stream_id, image->session_id};
            connection->allowance -= RSTI_RTTM_LENGTH;
            (void)rsti_admission_ask(receiver, &origin, &connection->control, now_ns);
        }
    }
    image->proof_due_ns = due_ns;
    return due_ns;
}

void rsti_image_on_setup(rsti_image_t *image, rsti_connection_t *connection,
    const rsti_setup_t *setup, int64_t now_ns)
{
    if (!rsti_image_is_same_stream(image, setup)) {
        return; /* of another publication with this session: it has to wait for the end of this one
                 */
    }
    connection->last_activity_ns = now_ns;
    if (!connection->has_setup) {
        connection->has_setup = true;
        connection->is_rstream = (setup->frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0;
        connection->follows_path = rsti_setup_follows_path(setup);
    }
    connection->follows_fill = connection->is_rstream
        && (setup->frame.flags & RSTI_SETUP_FLAG_FILL) != 0;
    note_fill(image);
    note_aeron(image);
    note_rstream(image);
}

/* Asks for the SETUP that a connection lacks. A destination that was removed and added again gets
 * data without a SETUP. Until a SETUP comes, the source is not known to be rstream and gets no
 * demand, budget or fill. Only an image that began with an rstream source asks. */
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

void rsti_image_refresh_connection(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, int64_t now_ns)
{
    if (!connection->has_setup) {
        ask_setup(receiver, image, connection, now_ns);
    }
    connection->last_activity_ns = now_ns;
    connection->last_frame_ns = now_ns;
    rsti_store_release_i64(&image->last_packet_ns, now_ns);
}

/* The stream ends when every connection has reported the end of stream. Its end is the highest
 * reported position. */
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

void rsti_image_on_end_of_stream(rsti_receiver_t *receiver, rsti_image_t *image,
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
        const rsti_connection_t gone = {
            .source = connection->source,
            .is_proven = connection->is_proven,
        };
        *connection = gone;
        note_aeron(image);
        check_end_of_stream(receiver, image); /* all other connections may have ended already */
    }
}

void rsti_image_on_echo(rsti_receiver_t *receiver, rsti_image_t *image, const rsti_sm_t *sm)
{
    rsti_sm_items_t items;
    if (sm->receiver_id != image->endpoint->receiver_id
        && rsti_load_relaxed_i32(&image->fill.is_wanted) && rsti_sm_items_decode(&items, sm)
        && rsti_image_fill_on_items(&image->fill, &items)) {
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
}
