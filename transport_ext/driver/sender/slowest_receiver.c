/* slowest_receiver.c: see slowest_receiver.h. */
#include "driver/sender/slowest_receiver.h"

#include "concurrent/holder.h"

/* The record around a counter's value. */
static rsti_counter_value_t *record_of(int64_t *value)
{
    return (rsti_counter_value_t *)(void *)value;
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
