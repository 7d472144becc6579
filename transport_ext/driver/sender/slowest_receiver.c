/* slowest_receiver.c: see slowest_receiver.h. */
#include "driver/sender/slowest_receiver.h"

#include "concurrent/holder.h"

/* How often the numbers of one governor are written. */
#define GOVERNOR_INTERVAL_NS (100 * RSTI_NS_PER_MS)
/* A receiver asks again for its first gap, each round trip or so. A gap that is not asked for again
 * for so long, and two round trips, is closed. */
#define GAP_LIFE_NS (250 * RSTI_NS_PER_MS)

/* The record around a counter's value. */
static rsti_counter_value_t *record_of(int64_t *value)
{
    return (rsti_counter_value_t *)(void *)value;
}

static bool is_gap_open(const rsti_network_publication_t *publication, int64_t now_ns)
{
    return publication->gap > 0
        && now_ns <= publication->gap_ns + GAP_LIFE_NS + 2 * publication->rtt_ns;
}

/* A later gap does not count while the first one is open: the reader can take nothing behind it. */
void rsti_slowest_on_nak(rsti_network_publication_t *publication, int64_t position, int64_t now_ns)
{
    if (!publication->is_group
        && (position <= publication->gap || !is_gap_open(publication, now_ns))) {
        publication->gap = position;
        publication->gap_ns = now_ns;
    }
}

/* Where a receiver at position waits for data to be sent again; 0: it does not. */
static int64_t gap_of(const rsti_network_publication_t *publication, int64_t position,
    int64_t now_ns)
{
    return publication->gap >= position && is_gap_open(publication, now_ns) ? publication->gap : 0;
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
    const int64_t gap = round.is_any ? gap_of(publication, round.position, now_ns) : 0;
    if (!has_changed
        && (!round.is_any
            || (holder->window == publication->slowest_window
                && gap == publication->slowest_gap))) {
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
        told.gap = publication->slowest_gap = gap;
        rsti_holder_set_address(&told, &holder->source);
    }
    rsti_holder_write(record_of(publication->snd_consumed), &told);
}

void rsti_slowest_on_report(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns)
{
    rsti_send_rate_t *send_rate = &publication->send_rate;
    const rsti_fill_report_t *report = rsti_rate_governor(&send_rate->rate);
    const bool has_changed = report != NULL && report->receiver_id != send_rate->governor_told;
    if (report == NULL || send_rate->told.rate == NULL
        || (!has_changed && now_ns < send_rate->governor_due_ns)) {
        return;
    }
    if (has_changed) {
        send_rate->governor_since_ms = rsti_clock_epoch_ms(&sender->driver->clock);
        send_rate->governor_told = report->receiver_id;
    }
    send_rate->governor_due_ns = now_ns + GOVERNOR_INTERVAL_NS;
    rsti_holder_t told = {
        .id = report->receiver_id,
        .client_id = -1,
        .since_ms = send_rate->governor_since_ms,
        .position = (int64_t)report->allowed,
        .window = (int64_t)report->drain,
    };
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        if (publication->receivers[i].receiver_id == report->receiver_id) {
            rsti_holder_set_address(&told, &publication->receivers[i].source);
        }
    }
    rsti_holder_write(record_of(send_rate->told.rate), &told);
}

void rsti_slowest_forget_report(rsti_network_publication_t *publication)
{
    rsti_send_rate_t *send_rate = &publication->send_rate;
    if (send_rate->governor_told != 0) {
        send_rate->governor_told = 0;
        rsti_holder_write(record_of(send_rate->told.rate), &(rsti_holder_t){.client_id = -1});
    }
}
