/* slowest_reader.c: see slowest_reader.h. */
#include "driver/conductor/slowest_reader.h"

#include "concurrent/holder.h"
#include "driver/base/tether.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/subscription.h"
#include "driver/sender/network_publication.h"

static void check_local(rst_driver_t *driver, rsti_publication_t *base, int64_t now_ns)
{
    rsti_slowest_round_t round = {0};
    for (int32_t i = 0; i < base->subscribers.count; i++) {
        const rsti_subscriber_t *subscriber = &base->subscribers.items[i];
        if (rsti_tether_is_working(&subscriber->tether)) {
            rsti_slowest_see(&base->slowest, &round, subscriber->subscription->registration_id,
                subscriber->accepted, i);
        }
    }
    if (!round.is_any && !base->slowest.is_known) {
        return;
    }
    if (rsti_slowest_close(&base->slowest, &round, now_ns)) {
        base->slowest_since_ms = driver->epoch.now_ms;
    }
    rsti_holder_t told = {.client_id = -1};
    if (round.is_any) {
        told = (rsti_holder_t){
            .id = round.id,
            .client_id = base->subscribers.items[round.index].subscription->client_id,
            .since_ms = base->slowest_since_ms,
            .position = round.position,
            .window = base->options.publication_window,
        };
    }
    rsti_holder_write((rsti_counter_value_t *)(void *)base->pub_lmt, &told);
}

void rsti_slowest_on_timer(rst_driver_t *driver, int64_t now_ns)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        check_local(driver, &publication->base, now_ns);
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        check_local(driver, &publication->base, now_ns);
    }
}
