/* transmit.c: see transmit.h. */
#include "driver/sender/transmit.h"

#include "driver/base/driver_state.h"
#include "driver/sender/send_endpoint.h"
#include "logbuffer/reader.h"
#include "protocol/timestamp.h"

bool rsti_network_publication_is_waiting(const rsti_network_publication_t *publication)
{
    return publication->base.is_response && publication->response_address.ss_family == AF_UNSPEC;
}

/* In the log itself, because that is what the socket sends, and again with each resend. */
static void stamp(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint,
    const rsti_datagram_t *datagrams, int32_t count)
{
    if (endpoint->send_timestamp == RSTI_CHANNEL_UNSET) {
        return;
    }
    const int64_t now_ns = rsti_clock_epoch_ns(&driver->clock);
    for (int32_t i = 0; i < count; i++) {
        rsti_timestamp_write(datagrams[i].data, datagrams[i].length, endpoint->send_timestamp,
            now_ns);
    }
}

int32_t rsti_network_publication_transmit(rsti_sender_t *sender,
    rsti_network_publication_t *publication, rsti_datagram_t *datagrams, int32_t count)
{
    if (rsti_network_publication_is_waiting(publication)) {
        return count;
    }
    if (publication->base.is_response) {
        publication->endpoint->data_address = publication->response_address;
    }
    stamp(sender->driver, publication->endpoint, datagrams, count);
    return rsti_send_endpoint_send(sender, publication->endpoint, datagrams, count);
}

bool rsti_network_publication_send_frame(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const void *frame, size_t length)
{
    rsti_datagram_t datagram;
    datagram.data = (uint8_t *)(uintptr_t)frame;
    datagram.length = length;
    return rsti_network_publication_transmit(sender, publication, &datagram, 1) == 1;
}

bool rsti_network_publication_send_heartbeat(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, uint8_t flags)
{
    const rsti_log_t *log = &publication->base.file.log;
    rsti_data_header_t heartbeat;
    memset(&heartbeat, 0, sizeof heartbeat);
    rsti_data_header_fill(&heartbeat, flags, RSTI_FRAME_DATA, publication->base.session_id,
        publication->base.stream_id,
        rsti_position_term_id(snd_pos, log->position_bits, log->initial_term_id),
        rsti_position_offset(snd_pos, log->term_length));
    heartbeat.frame.frame_length = 0;
    heartbeat.reserved_value = publication->noop.number;
    if (!rsti_network_publication_send_frame(sender, publication, &heartbeat, sizeof heartbeat)) {
        return false;
    }
    rsti_driver_count(sender->driver, RSTI_SYSTEM_HEARTBEATS_SENT, 1);
    return true;
}

/* The scan stopped at a committed frame: either it does not fit below the limit, or it is invalid.
 * An invalid frame would stop the stream for ever, so it has to be reported. */
static bool is_impossible(uint8_t *term, int32_t offset, int32_t term_length, int32_t mtu)
{
    const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, offset));
    const int16_t type = ((const rsti_data_header_t *)(const void *)(term + offset))->frame.type;
    return length > 0
        && (!rsti_frame_fits(length, term_length - offset)
            || (type != RSTI_FRAME_PAD && rsti_frame_span(length) > mtu));
}

int32_t rsti_network_publication_collect(rsti_sender_t *sender,
    const rsti_network_publication_t *publication, int64_t position, int64_t limit, int32_t most,
    bool *is_blocked, bool *is_corrupt)
{
    const rsti_log_t *log = &publication->base.file.log;
    most = rsti_min_i32(most, (int32_t)sender->driver->params.max_messages_per_send);
    int32_t count = 0;
    while (count < most && position < limit) {
        const int32_t offset = rsti_position_offset(position, log->term_length);
        uint8_t *term = log->terms[rsti_position_index(position, log->position_bits)];
        const int32_t room = (int32_t)rsti_min_i64(limit - position, publication->base.options.mtu);
        int32_t padding = 0;
        const int32_t length = rsti_term_scan(term, log->term_length, offset, room, &padding);
        if (length <= 0) {
            *is_blocked = length < 0;
            *is_corrupt = is_impossible(term, offset, log->term_length,
                publication->base.options.mtu);
            break;
        }
        position += length + padding;
        sender->datagrams[count].data = term + offset;
        sender->datagrams[count].length = (size_t)length;
        sender->ends[count] = position;
        count++;
    }
    return count;
}
