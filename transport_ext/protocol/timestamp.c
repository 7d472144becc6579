#include "protocol/timestamp.h"

#include "protocol/frame.h"
#include "util/bits.h"

#include <string.h>

void rsti_timestamp_write(uint8_t *datagram, size_t length, int64_t offset, int64_t time_ns)
{
    size_t at = 0;
    while (length - at >= RSTI_DATA_HEADER_LENGTH) {
        rsti_frame_header_t header;
        memcpy(&header, datagram + at, sizeof header);
        if (header.frame_length < RSTI_DATA_HEADER_LENGTH
            || (size_t)header.frame_length > length - at) {
            return;
        }
        const int64_t payload = header.frame_length - RSTI_DATA_HEADER_LENGTH;
        if (header.type == RSTI_FRAME_DATA && (header.flags & RSTI_FLAG_BEGIN) != 0
            && offset >= RSTI_TIMESTAMP_RESERVED && offset <= payload - RSTI_TIMESTAMP_LENGTH) {
            rsti_put_i64(datagram + at + RSTI_DATA_HEADER_LENGTH + offset, time_ns);
        }
        const size_t span = ((size_t)header.frame_length + RSTI_FRAME_ALIGNMENT - 1)
            / RSTI_FRAME_ALIGNMENT * RSTI_FRAME_ALIGNMENT;
        at += span < length - at ? span : length - at;
    }
}
