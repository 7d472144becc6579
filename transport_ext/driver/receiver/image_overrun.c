/* image_overrun.c: see image_overrun.h. */
#include "driver/receiver/image_overrun.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/image.h"
#include "driver/receiver/image_connections.h"
#include "driver/receiver/image_repair.h"

#define WAKE_INTERVAL_NS RSTI_NS_PER_MS

int32_t rsti_image_history(const rsti_image_t *image)
{
    const int32_t term_length = image->file.log.term_length;
    return rsti_load_acquire_i32(&image->has_rstream) ? term_length : term_length / 2;
}

bool rsti_image_on_over_run(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, const rsti_data_header_t *header, int64_t begin, int64_t end,
    int64_t now_ns)
{
    rsti_image_overrun_t *overrun = &image->overrun;
    const int64_t sent = rsti_overrun_on_data(&overrun->law, begin, end,
        (header->frame.flags & RSTI_FLAG_BEGIN) != 0, image->file.log.term_length);
    if (sent < 0) {
        return false;
    }
    /* The source lives, and is heard: it only sends what this image cannot take. */
    rsti_image_refresh_connection(receiver, image, connection, now_ns);
    rsti_store_release_i64(&overrun->sent, sent);
    if (rsti_overrun_is_lost(image->last_sm_position, sent, rsti_image_history(image))
        && now_ns >= overrun->woken_ns + WAKE_INTERVAL_NS) {
        overrun->woken_ns = now_ns;
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
    return true;
}

static const rsti_connection_t *newest_connection(const rsti_image_t *image)
{
    const rsti_connection_t *newest = NULL;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        if (connection->transport != NULL
            && (newest == NULL || connection->last_frame_ns > newest->last_frame_ns)) {
            newest = connection;
        }
    }
    return newest;
}

/* The SETUP that the source would send if it stood at that position. */
static rsti_setup_t setup_at(const rsti_image_t *image, const rsti_connection_t *connection,
    int64_t position)
{
    const rsti_log_t *log = &image->file.log;
    const uint8_t flags = (uint8_t)((connection->is_rstream ? RSTI_SETUP_FLAG_RSTREAM : 0)
        | (connection->follows_fill ? RSTI_SETUP_FLAG_FILL : 0)
        | (connection->follows_path ? RSTI_SETUP_FLAG_PATH : 0)
        | (log->metadata->group != 0 ? RSTI_SETUP_FLAG_GROUP : 0)
        | (image->wants_responses ? RSTI_SETUP_FLAG_SEND_RESPONSE : 0));
    return (rsti_setup_t){
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .term_offset = rsti_position_offset(position, log->term_length),
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .initial_term_id = log->initial_term_id,
        .active_term_id = rsti_position_term_id(position, log->position_bits, log->initial_term_id),
        .term_length = log->term_length,
        .mtu = image->mtu,
    };
}

/* End of the contiguous data, as readers see it. */
static int64_t contiguous_end(const rsti_image_t *image)
{
    const rsti_log_t *log = &image->file.log;
    const int64_t newest = rsti_load_relaxed_i64(&image->high_water);
    int64_t end = image->last_sm_position;
    while (end < newest) {
        uint8_t *term = log->terms[rsti_position_index(end, log->position_bits)];
        const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term,
            rsti_position_offset(end, log->term_length)));
        if (length <= 0) {
            break;
        }
        end += rsti_align_i32(length, RSTI_FRAME_ALIGNMENT);
    }
    return end;
}

void rsti_image_on_resume(rsti_receiver_t *receiver, rsti_image_t *image, int32_t tries)
{
    const rsti_session_t *session = rsti_dispatcher_find(&image->endpoint->dispatcher,
        image->stream_id, image->session_id);
    const rsti_connection_t *connection = newest_connection(image);
    const int64_t position = rsti_overrun_goes_on_at(&image->overrun.law, rsti_image_history(image),
        tries);
    if (session == NULL || session->image != image || connection == NULL || position < 0) {
        return; /* the conductor asks again */
    }
    if (position <= contiguous_end(image)) {
        return; /* what was missing has come after all */
    }
    image->overrun.taken_from = rsti_max_i64(image->overrun.taken_from, position);
    rsti_agent_command_t command = {
        .endpoint = image->endpoint,
        .object = connection->transport,
        .registration_id = image->correlation_id,
        .stream_id = image->stream_id,
        .session_id = image->session_id,
        .setup = setup_at(image, connection, position),
    };
    command.address = connection->source;
    command.is_proven = connection->is_proven;
    (void)rsti_tell_conductor(receiver->driver, RSTI_AGENT_RESUME_IMAGE, &command);
}

void rsti_image_overrun_begin(rsti_image_t *image, int64_t now_ns)
{
    const int64_t high_water = rsti_load_relaxed_i64(&image->high_water);
    if (high_water > image->join_position) {
        rsti_image_repair_on_data(image, high_water, high_water, now_ns);
    }
}
