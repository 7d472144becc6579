/* congestion.c: which law an image follows, and its largest window. */
#include "flow/congestion.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"

#include <string.h>

int rsti_congestion_init(rsti_congestion_t *congestion, const char *cc_text, int32_t window,
    int32_t term_length, int32_t mtu)
{
    RST_ASSERT(window >= 0);
    RST_ASSERT(rsti_is_power_of_two(term_length));
    (void)mtu; /* laws that count in packets will need it */
    if (cc_text != NULL && strcmp(cc_text, "cubic") == 0) {
        return RST_SET_ERR(RST_ENOTSUP, "cc=cubic: only static is there so far");
    }
    if (cc_text != NULL && *cc_text != '\0' && strcmp(cc_text, "static") != 0) {
        return RST_SET_ERR(
            RST_ECHANNEL, "cc=%s: unknown law, there are static and cubic", cc_text);
    }
    const int32_t max_window = rsti_min_i32(window, term_length / 2);
    *congestion = (rsti_congestion_t){
        .law = &rsti_congestion_static,
        .window = max_window,
        .max_window = max_window,
        .rtt_ns = 0,
    };
    return 0;
}
