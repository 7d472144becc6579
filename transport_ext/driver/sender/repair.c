/* repair.c: see repair.h. */
#include "driver/sender/repair.h"

void rsti_network_publication_update_repair(rsti_network_publication_t *publication)
{
    int64_t rtt_ns = 0, rate = INT64_MAX;
    bool is_known = true;
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        is_known = is_known && publication->receivers[i].rtt_ns > 0;
        rtt_ns = rsti_max_i64(rtt_ns, publication->receivers[i].rtt_ns);
        rate = rsti_min_i64(rate, publication->receivers[i].arrival_rate);
    }
    publication->send_rate.rtt_ns = rtt_ns;
    publication->rtt_ns = publication->retransmit.is_group || !is_known ? 0 : rtt_ns;
    rsti_pacer_set(&publication->pacer, publication->rtt_ns > 0 ? rate : 0, publication->rtt_ns);
    rsti_retransmit_set_rtt(&publication->retransmit, publication->rtt_ns);
}
