/* fault_target.c: see the header. */
#include "media/fault_target.h"

#include "protocol/frame.h"
#include "util/bits.h"
#include "util/int_math.h"
#include "util/netaddr.h"

#include <string.h>

/* Where the frame types name stream and session; data frames the other way round. */
static bool find_ids(const rsti_fault_view_t *datagram, int32_t *stream_id, int32_t *session_id)
{
    if (datagram->length < 16) {
        return false;
    }
    *session_id = rsti_get_i32(datagram->data + (datagram->is_data ? 12 : 8));
    *stream_id = rsti_get_i32(datagram->data + (datagram->is_data ? 16 : 12));
    return !datagram->is_data || datagram->length >= 20;
}

bool rsti_fault_filter_matches(const rsti_fault_filter_t *filter, const rsti_fault_view_t *datagram)
{
    rsti_frame_header_t header;
    if (datagram->length < sizeof header
        || (filter->direction != 0 && (filter->direction == 1) != datagram->is_sent)
        || (filter->has_port && rsti_netaddr_port(datagram->peer) != filter->port)) {
        return false;
    }
    memcpy(&header, datagram->data, sizeof header);
    if (filter->has_type && header.type != filter->type) {
        return false;
    }
    int32_t stream_id = 0, session_id = 0;
    return (!filter->has_stream && !filter->has_session)
        || (find_ids(datagram, &stream_id, &session_id)
            && (!filter->has_stream || stream_id == filter->stream_id)
            && (!filter->has_session || session_id == filter->session_id));
}

bool rsti_fault_cut(void *arg, const rsti_fault_view_t *datagram)
{
    rsti_fault_cut_t *cut = arg;
    const bool is_dropped = cut->is_on && rsti_fault_filter_matches(&cut->filter, datagram);
    cut->dropped += is_dropped;
    return is_dropped;
}

/* The last gap that begins before the end of the datagram is the only one that can overlap it from
 * the left; gaps that begin inside the datagram overlap it too. */
static bool overlaps_gap(const rsti_fault_gaps_t *gaps, int64_t offset, int64_t end)
{
    if (gaps->count <= 0 || end <= gaps->first) {
        return false;
    }
    const int64_t last = gaps->count == 1 || gaps->period <= 0
        ? 0
        : rsti_min_i64(gaps->count - 1, (end - 1 - gaps->first) / gaps->period);
    return offset < gaps->first + last * gaps->period + gaps->length;
}

/* NULL: the table is full. */
static rsti_fault_seen_t *find_seen(rsti_fault_gaps_t *gaps, const rsti_fault_view_t *datagram,
    const rsti_data_header_t *header)
{
    for (int32_t i = 0; i < gaps->seen_count; i++) {
        rsti_fault_seen_t *seen = &gaps->seen[i];
        if (seen->session_id == header->session_id && seen->stream_id == header->stream_id
            && seen->socket_number == datagram->socket_number) {
            return seen;
        }
    }
    if (gaps->seen_count == RSTI_FAULT_STREAMS_MAX) {
        return NULL;
    }
    rsti_fault_seen_t *added = &gaps->seen[gaps->seen_count++];
    *added = (rsti_fault_seen_t){datagram->socket_number, header->stream_id, header->session_id, 0};
    return added;
}

bool rsti_fault_gaps(void *arg, const rsti_fault_view_t *datagram)
{
    rsti_fault_gaps_t *gaps = arg;
    rsti_data_header_t header;
    if (datagram->length < sizeof header || !rsti_fault_filter_matches(&gaps->filter, datagram)) {
        return false;
    }
    memcpy(&header, datagram->data, sizeof header);
    const int64_t end = (int64_t)header.term_offset + (int64_t)datagram->length;
    if ((header.frame.type != RSTI_FRAME_DATA && header.frame.type != RSTI_FRAME_PAD)
        || header.frame.frame_length <= 0 || header.term_id != gaps->term_id
        || !overlaps_gap(gaps, header.term_offset, end)) {
        return false;
    }
    rsti_fault_seen_t *seen = find_seen(gaps, datagram, &header);
    if (seen == NULL || header.term_offset < seen->dropped_to) {
        return false;
    }
    seen->dropped_to = (int32_t)rsti_min_i64(INT32_MAX, end);
    gaps->dropped++;
    return true;
}
