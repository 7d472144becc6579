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

static bool is_in_gap(const rsti_fault_gaps_t *gaps, int32_t offset)
{
    const int64_t behind = (int64_t)offset - gaps->first;
    if (behind < 0 || gaps->count <= 0) {
        return false;
    }
    const int64_t index = gaps->count == 1 || gaps->period <= 0 ? 0 : behind / gaps->period;
    return index < gaps->count && behind - index * gaps->period < gaps->length;
}

bool rsti_fault_gaps(void *arg, const rsti_fault_view_t *datagram)
{
    rsti_fault_gaps_t *gaps = arg;
    rsti_data_header_t header;
    if (datagram->length < sizeof header || !rsti_fault_filter_matches(&gaps->filter, datagram)) {
        return false;
    }
    memcpy(&header, datagram->data, sizeof header);
    if ((header.frame.type != RSTI_FRAME_DATA && header.frame.type != RSTI_FRAME_PAD)
        || header.frame.frame_length <= 0 || header.term_id != gaps->term_id
        || header.term_offset < gaps->dropped_to || !is_in_gap(gaps, header.term_offset)) {
        return false;
    }
    gaps->dropped_to = (int32_t)rsti_min_i64(INT32_MAX,
        (int64_t)header.term_offset + (int64_t)datagram->length);
    gaps->dropped++;
    return true;
}
