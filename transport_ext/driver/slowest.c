/* slowest.c: tells who holds a publication back: the sender about receivers with every status
 * message (no message of the stream costs anything), the conductor about local readers with its
 * timer. */
#include "driver/internal.h"

#include "concurrent/holder.h"

/* The record around a counter's value. */
static rsti_counter_value_t *record_of(int64_t *value)
{
    return (rsti_counter_value_t *)(void *)value;
}

void rsti_slowest_on_sm(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t receiver_id, const struct sockaddr_storage *source, int64_t now_ns)
{
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        if (publication->receivers[i].receiver_id == receiver_id) {
            publication->receivers[i].source = rsti_netaddr_pack(source);
        }
    }
    rsti_slowest_on_receivers(sender, publication, now_ns);
}

void rsti_slowest_on_receivers(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns)
{
    rsti_slowest_t *slowest = &publication->slowest;
    rsti_slowest_round_t round = {0};
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        const rsti_live_receiver_t *receiver = &publication->receivers[i];
        rsti_slowest_see(slowest, &round, receiver->receiver_id, receiver->position, i);
    }
    const bool has_changed = rsti_slowest_close(slowest, &round, now_ns);
    const rsti_live_receiver_t *holder = &publication->receivers[round.index];
    if (!has_changed && (!round.is_any || holder->window == publication->slowest_window)) {
        return;
    }
    if (has_changed) {
        publication->slowest_since_ms = rsti_clock_epoch_ms(&sender->driver->clock);
    }
    rsti_holder_t told = {.client_id = -1};
    if (round.is_any) {
        publication->slowest_window = holder->window;
        told.id = holder->receiver_id;
        told.since_ms = publication->slowest_since_ms;
        told.position = holder->position;
        told.window = holder->window;
        rsti_holder_set_address(&told, &holder->source);
    }
    rsti_holder_write(record_of(publication->snd_consumed), &told);
}

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
        base->slowest_since_ms = driver->conductor.epoch.now_ms;
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
    rsti_holder_write(record_of(base->pub_lmt), &told);
}

void rsti_slowest_on_timer(rst_driver_t *driver, int64_t now_ns)
{
    const rsti_conductor_t *conductor = &driver->conductor;
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        check_local(driver, &publication->base, now_ns);
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        check_local(driver, &publication->base, now_ns);
    }
}
