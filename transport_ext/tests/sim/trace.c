/* trace.c: prints frames in readable form for the chronicle. */
#include "tests/sim/wire_invariants.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *type_name(int16_t type)
{
    switch (type) {
    case RSTI_FRAME_PAD:
        return "PAD";
    case RSTI_FRAME_DATA:
        return "DATA";
    case RSTI_FRAME_NAK:
        return "NAK";
    case RSTI_FRAME_SM:
        return "SM";
    case RSTI_FRAME_ERR:
        return "ERR";
    case RSTI_FRAME_SETUP:
        return "SETUP";
    case RSTI_FRAME_RTTM:
        return "RTTM";
    case RSTI_FRAME_RSP_SETUP:
        return "RSP_SETUP";
    default:
        return "?";
    }
}

static void describe(const uint8_t *data, size_t length, char *text, size_t size)
{
    rsti_frame_header_t header;
    memcpy(&header, data, sizeof header);
    int used = snprintf(text, size, "%-5s flags %02x length %d/%zu", type_name(header.type),
        header.flags, header.frame_length, length);
    text += used;
    size -= (size_t)used;
    if (header.type <= RSTI_FRAME_DATA && length >= RSTI_DATA_HEADER_LENGTH) {
        rsti_data_header_t frame;
        memcpy(&frame, data, sizeof frame);
        snprintf(text, size, " stream %d session %d term %d offset %d", frame.stream_id,
            frame.session_id, frame.term_id, frame.term_offset);
    } else if (header.type == RSTI_FRAME_SM && length >= RSTI_SM_LENGTH) {
        rsti_sm_t frame;
        memcpy(&frame, data, sizeof frame);
        snprintf(text, size, " stream %d session %d term %d offset %d window %d", frame.stream_id,
            frame.session_id, frame.consumption_term_id, frame.consumption_term_offset,
            frame.receiver_window);
    } else if (header.type == RSTI_FRAME_NAK && length >= RSTI_NAK_LENGTH) {
        rsti_nak_t frame;
        memcpy(&frame, data, sizeof frame);
        snprintf(text, size, " stream %d session %d term %d offset %d for %d bytes",
            frame.stream_id, frame.session_id, frame.term_id, frame.term_offset, frame.length);
    } else if (header.type == RSTI_FRAME_SETUP && length >= RSTI_SETUP_LENGTH) {
        rsti_setup_t frame;
        memcpy(&frame, data, sizeof frame);
        snprintf(text, size, " stream %d session %d initial term %d term %d offset %d of %d mtu %d",
            frame.stream_id, frame.session_id, frame.initial_term_id, frame.active_term_id,
            frame.term_offset, frame.term_length, frame.mtu);
    }
}

void sim_trace_frame(int32_t from_host, int32_t to_host, const uint8_t *data, size_t length,
    const char *lost)
{
    if (world.is_traced) {
        char text[256];
        describe(data, length, text, sizeof text);
        sim_event("%d > %d  %s%s%s", from_host, to_host, text, lost == NULL ? "" : "  LOST, ",
            lost == NULL ? "" : lost);
    } else {
        sim_event("%d > %d  %s", from_host, to_host, lost == NULL ? "" : lost);
    }
    sim_hash_bytes(data, length);
}
