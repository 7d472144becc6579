/* send_budget.c: see send_budget.h. */
#include "driver/sender/send_budget.h"

#include "driver/sender/network_publication.h"
#include "driver/sender/send_endpoint.h"
#include "flow/budget.h"

static bool is_counted(const rsti_network_publication_t *publication)
{
    return publication->budget.number != 0
        && publication->budget.number == publication->endpoint->budget.number;
}

static int64_t unacknowledged(const rsti_network_publication_t *publication)
{
    return rsti_load_relaxed_i64(&publication->position) - publication->budget.acknowledged;
}

static void set_connection(rsti_connection_budget_t *connection, int64_t receiver_id)
{
    if (connection->number == 0 || connection->receiver_id != receiver_id) {
        *connection = (rsti_connection_budget_t){
            .number = connection->number + 1,
            .receiver_id = receiver_id,
        };
    }
}

/* Everything below position is acknowledged. An outdated position changes nothing. */
static void acknowledge(rsti_network_publication_t *publication, int64_t position)
{
    rsti_stream_budget_t *stream = &publication->budget;
    if (position > stream->acknowledged) {
        publication->endpoint->budget.unacknowledged_bytes -= position - stream->acknowledged;
        stream->acknowledged = position;
    }
    RST_ASSERT(publication->endpoint->budget.unacknowledged_bytes >= 0);
}

void rsti_send_budget_on_consumed(rsti_network_publication_t *publication, int64_t position)
{
    if (is_counted(publication) && position <= rsti_load_relaxed_i64(&publication->position)) {
        acknowledge(publication, position);
    }
}

void rsti_send_budget_on_told(rsti_network_publication_t *publication, int64_t receiver_id,
    const rsti_sm_budget_t *told, int64_t now_ns)
{
    rsti_stream_budget_t *stream = &publication->budget;
    rsti_connection_budget_t *connection = &publication->endpoint->budget;
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    if (publication->is_group || publication->receiver_count != 1 || told->position > snd_pos
        || told->position < snd_pos - publication->base.file.log.term_length) {
        return;
    }
    set_connection(connection, receiver_id);
    if (!is_counted(publication)) {
        *stream = (rsti_stream_budget_t){
            .number = connection->number,
            .acknowledged = told->position,
            .told_ns = now_ns,
        };
        connection->unacknowledged_bytes += snd_pos - told->position;
        connection->stream_count++;
    }
    if (told->position >= stream->acknowledged) {
        acknowledge(publication, told->position);
        stream->told_ns = now_ns;
        stream->granted_bytes = told->stream_bytes;
        connection->granted_bytes = told->connection_bytes;
    }
}

void rsti_send_budget_check(rsti_network_publication_t *publication)
{
    if (is_counted(publication) && publication->receiver_count == 1
        && publication->receivers[0].last_sm_ns > publication->budget.told_ns + RSTI_ITEM_NS) {
        rsti_send_budget_forget(publication);
        publication->is_setup_elicited = true;
    }
}

void rsti_send_budget_forget(rsti_network_publication_t *publication)
{
    if (is_counted(publication)) {
        rsti_connection_budget_t *connection = &publication->endpoint->budget;
        connection->unacknowledged_bytes -= unacknowledged(publication);
        connection->stream_count--;
        RST_ASSERT(connection->unacknowledged_bytes >= 0 && connection->stream_count >= 0);
    }
    publication->budget.number = 0;
}

static int64_t room_of(const rsti_network_publication_t *publication)
{
    const rsti_connection_budget_t *connection = &publication->endpoint->budget;
    const int64_t of_all = rsti_budget_room(connection->granted_bytes,
        connection->unacknowledged_bytes);
    const int64_t of_stream = unacknowledged(publication);
    return rsti_min_i64(rsti_budget_room_of_stream(of_all, of_stream, connection->stream_count),
        rsti_budget_room(publication->budget.granted_bytes, of_stream));
}

/* Returns the end of the message that reaches begin + room, at most limit. The search also ends at
 * a frame that is invalid or that a producer has not written yet. */
static int64_t end_of_message(const rsti_log_t *log, int64_t begin, int64_t room, int64_t limit)
{
    int64_t position = begin;
    while (position < limit) {
        const int32_t offset = rsti_position_offset(position, log->term_length);
        uint8_t *term = log->terms[rsti_position_index(position, log->position_bits)];
        const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, offset));
        const rsti_data_header_t *header = (const void *)(term + offset);
        if (length <= 0 || !rsti_frame_fits(length, log->term_length - offset)
            || (position - begin >= room && (header->frame.flags & RSTI_FLAG_BEGIN) != 0)) {
            break;
        }
        position += rsti_frame_span(length);
    }
    if (position == begin && room > 0) {
        return rsti_min_i64(begin + RSTI_FRAME_ALIGNMENT,
            limit); /* the budget is not the cause: there is no frame yet */
    }
    return rsti_min_i64(position, limit);
}

int64_t rsti_send_budget_limit(const rsti_network_publication_t *publication, int64_t snd_pos,
    int64_t limit, int64_t most)
{
    if (!is_counted(publication) || limit <= snd_pos) {
        return limit;
    }
    const int64_t room = room_of(publication);
    if (room >= limit - snd_pos) {
        return limit;
    }
    return room >= most ? snd_pos + most
                        : end_of_message(&publication->base.file.log, snd_pos, room,
                              rsti_min_i64(limit, snd_pos + most));
}

void rsti_send_budget_on_sent(rsti_network_publication_t *publication, int64_t bytes)
{
    if (is_counted(publication)) {
        publication->endpoint->budget.unacknowledged_bytes += bytes;
    }
}
