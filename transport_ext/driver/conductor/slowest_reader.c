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

/* The reader whose queue lowers the rate of an IPC publication; none while it does not. */
static void check_followed(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns)
{
    rsti_ipc_rate_t *rate = &publication->rate;
    const rsti_subscribers_t *subscribers = &publication->base.subscribers;
    const bool is_lowered = rate->is_listening && rate->rate.report_count > 0
        && rate->rate.bytes_per_s < RSTI_RATE_MAX;
    rsti_slowest_round_t round = {0};
    for (int32_t i = 0; is_lowered && i < subscribers->count; i++) {
        const rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (rsti_tether_is_working(&subscriber->tether) && subscriber->tether.is_followed) {
            rsti_slowest_see(&rate->followed, &round, subscriber->subscription->registration_id,
                subscriber->accepted, i);
        }
    }
    if (rate->made.at.rate == NULL || (!round.is_any && !rate->followed.is_known)) {
        return;
    }
    if (rsti_slowest_close(&rate->followed, &round, now_ns)) {
        rate->followed_since_ms = driver->epoch.now_ms;
    }
    rsti_holder_t told = {.client_id = -1};
    if (round.is_any) {
        told = (rsti_holder_t){
            .id = round.id,
            .client_id = subscribers->items[round.index].subscription->client_id,
            .since_ms = rate->followed_since_ms,
            .position = (int64_t)rate->fill.allowed,
            .window = (int64_t)rate->fill.drain,
        };
    }
    rsti_holder_write((rsti_counter_value_t *)(void *)rate->made.at.rate, &told);
}

void rsti_slowest_on_timer(rst_driver_t *driver, int64_t now_ns)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        check_local(driver, &publication->base, now_ns);
        check_followed(driver, publication, now_ns);
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        check_local(driver, &publication->base, now_ns);
    }
}
