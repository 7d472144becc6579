/* fuzz_refusal.c: what claims to be a refusal. What is taken for one is as long as one, is no
 * sealed datagram and no frame, and names the key that it is written with. */
#include "fuzz/check.h"
#include "protocol/frame.h"
#include "seal/refusal.h"
#include "seal/sealed.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    uint8_t *copy = fuzz_exact_copy(input, size);
    uint32_t key_id = 0;
    rsti_sealed_t sealed;
    if (rsti_refusal_decode(&key_id, copy, size)) {
        uint8_t again[RSTI_REFUSAL_BYTES];
        rsti_refusal_encode(key_id, again);
        FUZZ_CHECK(size == RSTI_REFUSAL_BYTES);
        FUZZ_CHECK(memcmp(copy, again, 12) == 0); /* what follows is for later */
        FUZZ_CHECK(rsti_sealed_is_claimed(copy, size));
        FUZZ_CHECK(!rsti_sealed_decode(&sealed, copy, size));
        FUZZ_CHECK(((const rsti_frame_header_t *)(const void *)copy)->type != RSTI_FRAME_DATA);
    } else if (rsti_sealed_decode(&sealed, copy, size)) {
        FUZZ_CHECK(rsti_sealed_is_claimed(copy, size) && size > RSTI_SEALED_OVERHEAD);
    }
    return 0;
}
