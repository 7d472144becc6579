/* rebuilder.c: writes a datagram into the log. */
#include "logbuffer/rebuilder.h"

#include <string.h>

/* The gap scanner of another thread may read lengths inside the bytes being copied. A wrong value
 * only moves the end of a gap until its next scan. Atomic words tell the thread sanitizer so. */
static inline void copy_payload(uint8_t *to, const uint8_t *from, size_t length)
{
#if defined(__SANITIZE_THREAD__)
    rsti_copy_to_shared(to, from, length);
#else
    memcpy(to, from, length);
#endif
}

bool rsti_term_insert(uint8_t *term, int32_t offset, const uint8_t *datagram, size_t length)
{
    RST_ASSERT(offset >= 0 && (offset & (RSTI_FRAME_ALIGNMENT - 1)) == 0);
    RST_ASSERT(length >= RSTI_DATA_HEADER_LENGTH);
    uint8_t *frame = term + offset;
    if (rsti_load_relaxed_i32(rsti_frame_length_address(frame, 0)) != 0) {
        return false;
    }
    copy_payload(frame + RSTI_DATA_HEADER_LENGTH, datagram + RSTI_DATA_HEADER_LENGTH,
        length - RSTI_DATA_HEADER_LENGTH);
    int64_t *words = (int64_t *)(void *)frame;
    rsti_store_relaxed_i64(&words[3], rsti_get_i64(datagram + 24));
    rsti_store_relaxed_i64(&words[2], rsti_get_i64(datagram + 16));
    rsti_store_relaxed_i64(&words[1], rsti_get_i64(datagram + 8));
    /* A swap instead of a store: a gap filler may have padded this place meanwhile. Some readers
     * have then passed the padding, and later readers must not find a shorter frame. */
    return rsti_cas_i64(&words[0], 0, rsti_get_i64(datagram));
}
