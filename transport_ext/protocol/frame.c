/* frame.c: the gates and the header template. Every check reads lengths as 64-bit numbers, so no
 * length from a peer overflows. */
#include "protocol/frame.h"

#include "util/bits.h"
#include "util/fault.h"
#include "util/int_math.h"

#include <string.h>

#define TERM_LENGTH_MIN INT64_C(65536)
#define TERM_LENGTH_MAX INT64_C(1073741824)
#define MTU_MAX 65504
#define MESSAGE_LENGTH_MAX 16777216
/* Frame header and one IPv4 entry without a name. */
#define RES_LENGTH_MIN 22

static rsti_frame_header_t load_header(const void *frame)
{
    rsti_frame_header_t header;
    memcpy(&header, frame, sizeof header);
    return header;
}

static bool is_frame_aligned(int32_t offset)
{
    return (offset & (RSTI_FRAME_ALIGNMENT - 1)) == 0;
}

static bool is_term_offset(int32_t offset, int32_t term_length)
{
    return offset >= 0 && offset < term_length && is_frame_aligned(offset);
}

/* The struct size of a control frame; 0 for an unknown type. */
static size_t control_length_min(int16_t type)
{
    switch (type) {
    case RSTI_FRAME_NAK:
        return RSTI_NAK_LENGTH;
    case RSTI_FRAME_SM:
        return RSTI_SM_LENGTH;
    case RSTI_FRAME_ERR:
        return RSTI_ERR_LENGTH;
    case RSTI_FRAME_SETUP:
        return RSTI_SETUP_LENGTH;
    case RSTI_FRAME_RTTM:
        return RSTI_RTTM_LENGTH;
    case RSTI_FRAME_RES:
        return RES_LENGTH_MIN;
    case RSTI_FRAME_RSP_SETUP:
        return RSTI_RSP_SETUP_LENGTH;
    default:
        return 0;
    }
}

bool rsti_frame_is_acceptable(const void *datagram, size_t length)
{
    if (length < RSTI_FRAME_HEADER_LENGTH) {
        return false;
    }
    rsti_frame_header_t header = load_header(datagram);
    if (header.frame_length < 0 || header.version != 0) {
        return false;
    }
    if (header.type == RSTI_FRAME_DATA || header.type == RSTI_FRAME_PAD) {
        /* frame_length is not checked: that of a PAD covers bytes that are never sent. */
        return length >= RSTI_DATA_HEADER_LENGTH && length % RSTI_FRAME_ALIGNMENT == 0;
    }
    size_t length_min = control_length_min(header.type);
    size_t frame_length = (size_t)header.frame_length;
    return length_min != 0 && frame_length >= length_min && frame_length <= length;
}

bool rsti_setup_is_valid(const rsti_setup_t *setup)
{
    if (setup->term_length < TERM_LENGTH_MIN || setup->term_length > TERM_LENGTH_MAX
        || !rsti_is_power_of_two(setup->term_length)) {
        return false;
    }
    /* A term before the first one has no position; no sender is there. */
    return is_term_offset(setup->term_offset, setup->term_length)
        && setup->mtu >= RSTI_DATA_HEADER_LENGTH && setup->mtu <= MTU_MAX
        && is_frame_aligned(setup->mtu)
        && rsti_wrap_sub_i32(setup->active_term_id, setup->initial_term_id) >= 0;
}

bool rsti_nak_is_valid(const rsti_nak_t *nak, int32_t term_length)
{
    RST_ASSERT(rsti_is_power_of_two(term_length));
    return is_term_offset(nak->term_offset, term_length) && nak->length >= 0
        && (int64_t)nak->term_offset + nak->length <= term_length;
}

bool rsti_sm_is_valid(const rsti_sm_t *sm, int32_t term_length)
{
    RST_ASSERT(rsti_is_power_of_two(term_length));
    return is_term_offset(sm->consumption_term_offset, term_length) && sm->receiver_window >= 0
        && sm->receiver_window <= term_length / 2;
}

bool rsti_err_is_valid(const rsti_err_t *err, size_t length)
{
    if (length < RSTI_ERR_LENGTH) {
        return false;
    }
    int64_t frame_length = err->frame.frame_length;
    return err->error_length >= 0 && err->error_length <= RSTI_ERR_TEXT_MAX
        && RSTI_ERR_LENGTH + (int64_t)err->error_length <= frame_length
        && frame_length <= (int64_t)length;
}

bool rsti_sm_group_tag(const rsti_sm_t *sm, int64_t *group_tag)
{
    if (sm->frame.frame_length != RSTI_SM_TAGGED_LENGTH) {
        return false;
    }
    *group_tag = rsti_get_i64((const uint8_t *)sm + RSTI_SM_LENGTH);
    return true;
}

bool rsti_sm_is_in_window(int64_t sm_position, int64_t snd_position, int32_t term_length)
{
    RST_ASSERT(term_length > 0);
    int64_t half = term_length / 2;
    return sm_position >= rsti_saturating_add_i64(snd_position, -half)
        && sm_position <= rsti_saturating_add_i64(snd_position, half);
}

bool rsti_packet_is_heartbeat(const void *datagram, size_t length)
{
    return length == RSTI_DATA_HEADER_LENGTH && rsti_get_i32(datagram) == 0;
}

/* The frames of one datagram follow each other in one term of one stream. Stricter than Aeron: a
 * frame must hold its own header (otherwise its payload has a negative length), and must name the
 * stream and the term of the first frame. */
static bool is_next_frame(const rsti_data_header_t *first, const rsti_data_header_t *frame,
    int64_t term_offset)
{
    return frame->frame.frame_length >= RSTI_DATA_HEADER_LENGTH && frame->frame.version == 0
        && (frame->frame.type == RSTI_FRAME_DATA || frame->frame.type == RSTI_FRAME_PAD)
        && frame->term_offset == term_offset && frame->session_id == first->session_id
        && frame->stream_id == first->stream_id && frame->term_id == first->term_id;
}

int32_t rsti_packet_validate(const void *datagram, size_t length, int32_t term_length)
{
    RST_ASSERT(rsti_is_power_of_two(term_length));
    if (length < RSTI_DATA_HEADER_LENGTH || length % RSTI_FRAME_ALIGNMENT != 0) {
        return -1;
    }
    rsti_data_header_t first;
    memcpy(&first, datagram, sizeof first);
    if (!is_term_offset(first.term_offset, term_length)) {
        return -1;
    }
    if (rsti_packet_is_heartbeat(datagram, length)) {
        bool is_data = first.frame.type == RSTI_FRAME_DATA || first.frame.type == RSTI_FRAME_PAD;
        return is_data && first.frame.version == 0 ? 0 : -1;
    }
    int64_t walked = 0;
    rsti_data_header_t frame = first;
    while (walked < (int64_t)length) {
        memcpy(&frame, (const uint8_t *)datagram + walked, sizeof frame);
        if (!is_next_frame(&first, &frame, first.term_offset + walked)) {
            return -1;
        }
        walked += rsti_align_i64(frame.frame.frame_length, RSTI_FRAME_ALIGNMENT);
        if (first.term_offset + walked > term_length) {
            return -1;
        }
    }
    /* Only a final PAD may extend beyond its datagram: just its header is sent. */
    if (walked != (int64_t)length && frame.frame.type != RSTI_FRAME_PAD) {
        return -1;
    }
    return (int32_t)walked;
}

void rsti_data_header_fill(rsti_data_header_t *header, uint8_t flags, int16_t type,
    int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset)
{
    RST_ASSERT(is_frame_aligned(term_offset));
    *header = (rsti_data_header_t){
        .frame = {.frame_length = 0, .version = 0, .flags = flags, .type = type},
        .term_offset = term_offset,
        .session_id = session_id,
        .stream_id = stream_id,
        .term_id = term_id,
        .reserved_value = 0,
    };
}

int32_t rsti_max_message_length(int32_t term_length)
{
    return rsti_min_i32(term_length / 8, MESSAGE_LENGTH_MAX);
}

int32_t rsti_framed_length(int32_t length, int32_t max_payload_length)
{
    RST_ASSERT(length >= 0);
    RST_ASSERT(max_payload_length > 0);
    if (length == 0) {
        return RSTI_DATA_HEADER_LENGTH; /* an empty message is a frame of its own */
    }
    int32_t whole = length / max_payload_length;
    int32_t rest = length % max_payload_length;
    int32_t last = rest == 0 ? 0
                             : rsti_align_i32(rest + RSTI_DATA_HEADER_LENGTH, RSTI_FRAME_ALIGNMENT);
#if RSTI_FAULT == RSTI_FAULT_FRAMED_LENGTH
    last -= whole > 0 && last > RSTI_FRAME_ALIGNMENT ? RSTI_FRAME_ALIGNMENT : 0;
#endif
    return whole * (max_payload_length + RSTI_DATA_HEADER_LENGTH) + last;
}
