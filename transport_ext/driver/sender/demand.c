/* demand.c: see demand.h. */
#include "driver/sender/demand.h"

#include "concurrent/sequence.h"
#include "driver/base/driver_state.h"

#define NOT_TOLD (-1)

static void tell(rsti_sender_t *sender, rsti_network_publication_t *publication, int64_t position,
    int64_t messages)
{
    rsti_log_ext_t *ext = &publication->base.file.log.metadata->ext;
    const rsti_log_demand_t demand = {position, messages};
    RSTI_MAILBOX_WRITE(&ext->demand, &demand);
    rsti_driver_wake_log(sender->driver, &publication->base.file.log, RSTI_WAIT_LIMIT);
}

void rsti_network_publication_on_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_demand_t *demand, int64_t now_ns)
{
    const rsti_log_ext_t *ext = &publication->base.file.log.metadata->ext;
    if (publication->is_group || publication->receiver_count != 1) {
        return;
    }
    publication->demand_position = rsti_load_relaxed_i64(&publication->position);
    publication->demand_ns = now_ns;
    /* Every additional status message carries the demand, and most repeat the last one. */
    if (rsti_load_relaxed_i64(&ext->demand.begin) == 0
        || rsti_load_relaxed_i64(&ext->demand.value.position) != demand->position
        || rsti_load_relaxed_i64(&ext->demand.value.messages) != demand->messages) {
        tell(sender, publication, demand->position, demand->messages);
    }
}

void rsti_network_publication_check_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns)
{
    const rsti_log_ext_t *ext = &publication->base.file.log.metadata->ext;
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    if (publication->is_group || rsti_load_relaxed_i64(&ext->demand.begin) == 0) {
        return;
    }
    if (publication->demand_position != snd_pos) {
        publication->demand_position = snd_pos;
        publication->demand_ns = now_ns;
        return;
    }
    const int64_t messages = rsti_load_relaxed_i64(&ext->demand.value.messages);
    if (messages != NOT_TOLD && messages != INT64_MAX
        && now_ns > publication->demand_ns + RSTI_ITEM_NS) {
        rsti_network_publication_forget_demand(sender, publication);
        publication->is_setup_elicited = true;
    }
}

void rsti_network_publication_forget_demand(rsti_sender_t *sender,
    rsti_network_publication_t *publication)
{
    const rsti_log_ext_t *ext = &publication->base.file.log.metadata->ext;
    if (rsti_load_relaxed_i64(&ext->demand.begin) != 0
        && rsti_load_relaxed_i64(&ext->demand.value.messages) != NOT_TOLD) {
        tell(sender, publication, 0, NOT_TOLD);
    }
}
