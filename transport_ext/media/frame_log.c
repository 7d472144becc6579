#include "media/frame_log.h"

#include "protocol/frame.h"
#include "util/bits.h"
#include "util/int_math.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct line_t {
    char text[RSTI_FRAME_LOG_LINE_MAX];
    size_t length;
} line_t;

/* The line is cut at its end; there is always room for the newline. */
static void add(line_t *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(line_t *line, const char *format, ...)
{
    const size_t room = sizeof line->text - 1 - line->length;
    va_list arguments;
    va_start(arguments, format);
    const int added = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (added > 0) {
        line->length += (size_t)added < room ? (size_t)added : room - 1;
    }
}

static const char *name_of(int16_t type)
{
    static const char *const names[] = {[RSTI_FRAME_PAD] = "PAD",
        [RSTI_FRAME_DATA] = "DATA",
        [RSTI_FRAME_NAK] = "NAK",
        [RSTI_FRAME_SM] = "SM",
        [RSTI_FRAME_ERR] = "ERR",
        [RSTI_FRAME_SETUP] = "SETUP",
        [RSTI_FRAME_RTTM] = "RTTM",
        [RSTI_FRAME_RES] = "RES",
        [RSTI_FRAME_RSP_SETUP] = "RSP_SETUP"};
    const bool is_known = type >= 0 && (size_t)type < sizeof names / sizeof names[0];
    return is_known && names[type] != NULL ? names[type] : "?";
}

static void add_place(line_t *line, int32_t session_id, int32_t stream_id, int32_t term_id,
    int32_t term_offset, int32_t length)
{
    add(line,
        " session=%" PRId32 " stream=%" PRId32 " term=%" PRId32 " offset=%" PRId32
        " length=%" PRId32,
        session_id, stream_id, term_id, term_offset, length);
}

static void add_payload(line_t *line, const uint8_t *payload, int64_t length)
{
    const int64_t shown = rsti_min_i64(length, RSTI_FRAME_LOG_PAYLOAD_MAX);
    add(line, " payload=");
    for (int64_t i = 0; i < shown; i++) {
        add(line, "%02x", payload[i]);
    }
    if (length > shown) {
        add(line, "+%" PRId64, length - shown);
    }
}

/* The first frame of a datagram of so many bytes, or of its rest. Returns the bytes that belong to
 * it. */
static size_t add_frame(line_t *line, const uint8_t *frame, size_t left)
{
    rsti_frame_header_t header;
    if (!rsti_frame_is_acceptable(frame, left)) {
        add(line, " ? length=%zu", left);
        return left;
    }
    memcpy(&header, frame, sizeof header);
    add(line, " %s flags=%02x", name_of(header.type), header.flags);
    switch (header.type) {
    case RSTI_FRAME_DATA:
    case RSTI_FRAME_PAD:
    case RSTI_FRAME_SETUP:
        add_place(line, rsti_get_i32(frame + 12), rsti_get_i32(frame + 16),
            rsti_get_i32(frame + (header.type == RSTI_FRAME_SETUP ? 24 : 20)),
            rsti_get_i32(frame + 8), header.frame_length);
        break;
    case RSTI_FRAME_NAK:
    case RSTI_FRAME_SM:
        add_place(line, rsti_get_i32(frame + 8), rsti_get_i32(frame + 12), rsti_get_i32(frame + 16),
            rsti_get_i32(frame + 20), rsti_get_i32(frame + 24));
        break;
    case RSTI_FRAME_RES:
        add(line, " length=%" PRId32, header.frame_length);
        break;
    default: /* every other kind that concerns a stream has it at the same place */
        add(line, " session=%" PRId32 " stream=%" PRId32 " length=%" PRId32,
            rsti_get_i32(frame + 8), rsti_get_i32(frame + 12), header.frame_length);
        break;
    }
    const int64_t length = header.frame_length;
    if (header.type != RSTI_FRAME_DATA || length < RSTI_DATA_HEADER_LENGTH
        || length > (int64_t)left) {
        return left;
    }
    add_payload(line, frame + RSTI_DATA_HEADER_LENGTH, length - RSTI_DATA_HEADER_LENGTH);
    return (size_t)rsti_align_i64(length, RSTI_FRAME_ALIGNMENT);
}

void rsti_frame_log_on_datagram(void *arg, const rsti_tapped_t *datagram)
{
    const rsti_frame_log_t *log = arg;
    char local[RSTI_NETADDR_TEXT_MAX];
    char peer[RSTI_NETADDR_TEXT_MAX];
    rsti_netaddr_format(&datagram->local, local, sizeof local);
    rsti_netaddr_format(&datagram->peer, peer, sizeof peer);
    size_t at = 0;
    do {
        line_t line = {.length = 0};
        add(&line, "%" PRId64 " %s %s %s", rsti_clock_epoch_ms(&log->clock),
            datagram->is_sent ? "sent" : "received", local, peer);
        at += add_frame(&line, datagram->data + at, datagram->length - at);
        line.text[line.length++] = '\n';
        log->write(log->arg, line.text, line.length);
    } while (at < datagram->length);
}
