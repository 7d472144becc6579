/* fair_share.c: see the header for the law. */
#include "flow/fair_share.h"

double rsti_fair_share(const rsti_fair_sender_t *senders, int32_t count)
{
    double capacity = 0;
    for (int32_t i = 0; i < count; i++) {
        capacity += senders[i].rate;
    }
    double share = count > 0 ? capacity / count : 0;
    /* The level only rises, and with each round at least one more sender lies below it. */
    for (int32_t round = 0; round < count; round++) {
        double left = capacity;
        int32_t sharing = 0;
        for (int32_t i = 0; i < count; i++) {
            const bool is_below = !senders[i].is_limited && senders[i].rate < share;
            left -= is_below ? senders[i].rate : 0;
            sharing += !is_below;
        }
        const double level = sharing > 0 ? left / sharing : share;
        if (!(level > share)) {
            break;
        }
        share = level;
    }
    return share;
}
