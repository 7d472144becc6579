/* receivers.c: see receivers.h. */
#include "driver/sender/receivers.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/base/reader_left.h"
#include "driver/sender/demand.h"
#include "driver/sender/destination_tracker.h"
#include "driver/sender/repair.h"
#include "driver/sender/resend.h"
#include "driver/sender/send_budget.h"
#include "driver/sender/send_endpoint.h"
#include "driver/sender/send_rate.h"
#include "driver/sender/setup.h"
#include "driver/sender/slowest_receiver.h"
#include "driver/sender/sm_items_in.h"
#include "util/fault.h"

#include <inttypes.h>
#include <stdio.h>

#define TAIL_ERROR_INTERVAL_NS RSTI_NS_PER_S

/* ssc=true: spies count as receivers. */
static bool has_connecting_spies(const rsti_network_publication_t *publication)
{
    return publication->base.is_ssc && rsti_load_acquire_i32(&publication->has_spies);
}

static void update_connected(rsti_sender_t *sender, rsti_network_publication_t *publication)
{
    rst_driver_t *driver = sender->driver;
    const rsti_log_t *log = &publication->base.file.log;
    const int32_t has_receivers = publication->receiver_count > 0;
    const bool is_heard = has_receivers
        && publication->flow.strategy->has_required_receivers(&publication->flow);
    const int32_t is_connected = !rsti_load_acquire_i32(&publication->is_revoked_shared)
        && (is_heard || has_connecting_spies(publication));
    bool has_changed = false;
    if (rsti_load_relaxed_i32(&publication->has_receivers) != has_receivers) {
        rsti_store_release_i32(&publication->has_receivers, has_receivers);
        has_changed = true;
    }
    if (rsti_load_relaxed_i32(&log->metadata->is_connected) != is_connected) {
        rsti_store_release_i32(&log->metadata->is_connected, is_connected);
        rsti_driver_wake_log(driver, log, RSTI_WAIT_LIMIT);
        has_changed = true;
    }
    if (has_changed) {
        rsti_driver_wake_agent(driver, RSTI_AGENT_CONDUCTOR);
    }
}

static void tell_refused(rsti_sender_t *sender, const rsti_network_publication_t *publication)
{
    char text[192];
    snprintf(text, sizeof text,
        "sender: flow control %s of stream %" PRId32 " session %" PRId32
        ": more than %d receivers, the others do not count",
        publication->flow.strategy->name, publication->base.stream_id, publication->base.session_id,
        RSTI_FLOW_RECEIVERS_MAX);
    rsti_driver_log_error(sender->driver, RST_EFULL, text);
}

/* Publishes the result of a call to the flow control strategy: its limit and receiver count. */
static void take_limit(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t limit)
{
    if (limit != publication->limit) {
        publication->limit = limit;
        rsti_store_release_i64(publication->snd_lmt, limit);
    }
    const rsti_flow_control_t *flow = &publication->flow;
    if (publication->fc_receivers != NULL
        && flow->receiver_count != rsti_load_relaxed_i64(publication->fc_receivers)) {
        rsti_store_release_i64(publication->fc_receivers, flow->receiver_count);
    }
    if (flow->refused_count > 0 && !publication->is_refused_told) {
        publication->is_refused_told = true;
        tell_refused(sender, publication);
    }
}

static void tell_consumed(rsti_network_publication_t *publication)
{
    int64_t least = INT64_MAX, window = INT64_MAX;
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        least = rsti_min_i64(least, publication->receivers[i].position);
        window = rsti_min_i64(window, publication->receivers[i].window);
    }
    publication->send_rate.buffer_bytes = window != INT64_MAX ? window : 0;
    if (least != INT64_MAX && least != rsti_load_relaxed_i64(publication->snd_consumed)) {
        rsti_store_release_i64(publication->snd_consumed, least);
    }
}

/* Keeps the last reader's last position readable after it has left. */
static void tell_last_consumed(rsti_network_publication_t *publication, int64_t position)
{
    if (position > rsti_load_relaxed_i64(publication->snd_consumed)) {
        rsti_store_release_i64(publication->snd_consumed, position);
    }
}

/* Recomputes or forgets all state that depends on the set of receivers. */
static void on_receivers_changed(rsti_sender_t *sender, rsti_network_publication_t *publication)
{
    rsti_network_publication_update_repair(publication);
    rsti_network_publication_forget_demand(sender, publication);
    rsti_send_budget_forget(publication);
    if (!publication->noop.is_dead) {
        rsti_noop_forget(&publication->noop, sender->now_ns);
    }
}

static bool is_from(const rsti_live_receiver_t *receiver, const struct sockaddr_storage *source)
{
    const struct sockaddr_storage known = rsti_netaddr_unpack(&receiver->source);
    return rsti_netaddr_equal(&known, source);
}

/* A unicast publication has one receiver. Another one takes its place when it has the address of
 * the data or of the first one, which means that it was started again, or when the first one is
 * silent. Until then its frames count for nothing: a second receiver must not change the demand,
 * the budget or the limit of the first one. */
static bool is_bound_to_other(const rsti_network_publication_t *publication,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    return RSTI_FAULT != RSTI_FAULT_BINDING && !publication->is_group
        && publication->receiver_count > 0 && !is_from(&publication->receivers[0], source)
        && !rsti_netaddr_equal(&publication->endpoint->data_address, source)
        && now_ns <= publication->receivers[0].last_sm_ns + RSTI_RECEIVER_BINDING_NS;
}

/* In a group a receiver beyond the capacity replaces the receiver that was silent longest. The
 * publication stays connected, and the consumed position is that of the receivers in the list. */
static void touch_receiver(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_sm_facts_t *facts, const struct sockaddr_storage *source, int64_t now_ns)
{
    int32_t oldest = 0;
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        rsti_live_receiver_t *receiver = &publication->receivers[i];
        if (receiver->receiver_id == facts->receiver_id) {
            receiver->last_sm_ns = now_ns;
            receiver->position = facts->position;
            receiver->window = facts->window;
            receiver->source = rsti_netaddr_pack(source);
            return;
        }
        if (receiver->last_sm_ns < publication->receivers[oldest].last_sm_ns) {
            oldest = i;
        }
    }
    if (publication->receiver_count < publication->receiver_capacity) {
        oldest = publication->receiver_count++;
    }
    if (publication->receiver_count == 1) {
        rsti_reader_joined(&publication->base, facts->position);
    }
    publication->receivers[oldest] = (rsti_live_receiver_t){
        .receiver_id = facts->receiver_id,
        .last_sm_ns = now_ns,
        .position = facts->position,
        .window = facts->window,
        .source = rsti_netaddr_pack(source),
    };
    rsti_send_path_on_joined(&publication->send_path, now_ns);
    on_receivers_changed(sender, publication);
}

/* Of a group only the last reader is told: there is no state for each of its readers. */
static void remove_receiver_at(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int32_t index)
{
    const rsti_live_receiver_t gone = publication->receivers[index];
    publication->receivers[index] = publication->receivers[--publication->receiver_count];
    if (publication->receiver_count == 0) {
        const struct sockaddr_storage source = rsti_netaddr_unpack(&gone.source);
        char address[RSTI_NETADDR_TEXT_MAX];
        rsti_netaddr_format(&source, address, sizeof address);
        const int64_t sent = rsti_load_relaxed_i64(&publication->position);
        rsti_log_left_who_t who = {.sent = sent};
        (void)snprintf(who.name, sizeof who.name, "%s", address);
        rsti_reader_left(&publication->base, rsti_min_i64(gone.position, sent), -1,
            rsti_clock_epoch_ms(&sender->driver->clock), &who);
    }
    on_receivers_changed(sender, publication);
}

/* position: what its last message says, or -1. False: there is no such receiver, or the frame came
 * from another address. */
static bool remove_receiver(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t receiver_id, const struct sockaddr_storage *source, int64_t position)
{
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        rsti_live_receiver_t *receiver = &publication->receivers[i];
        if (receiver->receiver_id == receiver_id && is_from(receiver, source)) {
            receiver->position = rsti_max_i64(receiver->position, position);
            remove_receiver_at(sender, publication, i);
            return true;
        }
    }
    return false;
}

static void expire_receivers(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns)
{
    const int64_t timeout_ns = sender->driver->params.connection_timeout_ns;
    for (int32_t i = publication->receiver_count; i > 0; i--) {
        if (now_ns > publication->receivers[i - 1].last_sm_ns + timeout_ns) {
            remove_receiver_at(sender, publication, i - 1);
            rsti_slowest_on_receivers(sender, publication, now_ns);
        }
    }
    update_connected(sender, publication);
}

/* With spies and no receiver, the position follows the fastest spy (docs/reference/aeron/wire.md
 * 7.1). Returns the limit to pass to flow control. */
static int64_t follow_spies(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t snd_pos)
{
    if (publication->receiver_count > 0 || !has_connecting_spies(publication)) {
        return publication->limit;
    }
    const int64_t position = rsti_max_i64(snd_pos,
        rsti_load_acquire_i64(&publication->spy_position));
    if (position > snd_pos) {
        rsti_store_release_i64(&publication->position, position);
        rsti_store_release_i64(publication->snd_pos, position);
        rsti_driver_wake_agent(sender->driver, RSTI_AGENT_CONDUCTOR);
    }
    return position;
}

void rsti_network_publication_on_idle(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns)
{
    const int64_t limit = follow_spies(sender, publication, snd_pos);
    take_limit(sender, publication,
        publication->flow.strategy->on_idle(&publication->flow, limit, now_ns));
    expire_receivers(sender, publication, now_ns);
}

/* To the conductor, which writes it into the log. */
static void tell_why(rsti_sender_t *sender, const rsti_network_publication_t *publication,
    const rsti_sm_items_t *items)
{
    rsti_agent_command_t command = {
        .registration_id = publication->base.registration_id,
        .err.error_length = items->why_length,
    };
    memcpy(command.text, items->why, items->why_length);
    (void)rsti_tell_conductor(sender->driver, RSTI_AGENT_READER_WHY, &command);
}

static void note_receiver(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_sm_t *sm, const rsti_sm_items_t *items, const rsti_sm_facts_t *facts,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!facts->is_eos) {
        touch_receiver(sender, publication, facts, source, now_ns);
        rsti_send_rate_on_status(&publication->send_rate, facts->receiver_id, facts->position,
            facts->window, now_ns);
        rsti_send_budget_on_consumed(publication, facts->position);
        rsti_network_publication_on_items(sender, publication, sm, items, now_ns);
        tell_consumed(publication);
        rsti_store_release_i32(&publication->has_unicast_eos, 0);
        return;
    }
    const bool has_left = remove_receiver(sender, publication, facts->receiver_id, source,
        facts->position);
    if (has_left && items->why_length > 0 && publication->receiver_count == 0) {
        tell_why(sender, publication, items);
    }
    if (publication->receiver_count == 0) {
        tell_last_consumed(publication, facts->position);
        /* A group may have further receivers that this sender does not know yet. */
        rsti_store_release_i32(&publication->has_unicast_eos, !publication->is_group);
        rsti_driver_wake_agent(sender->driver, RSTI_AGENT_CONDUCTOR);
    }
}

/* A known tail is empty, a tag of 8 bytes, or rstream's items behind the place of the tag. */
static bool is_tail_known(const rsti_sm_t *sm, bool has_items)
{
    const int32_t length = sm->frame.frame_length;
    return length == RSTI_SM_LENGTH || length == RSTI_SM_TAGGED_LENGTH || has_items;
}

/* Logs a status message with an unknown tail, which counts as one without a tag. The log interval
 * is long, so that a peer that sends many cannot fill the error log. */
static void check_tail(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_sm_t *sm, bool has_items, int64_t now_ns)
{
    if (!publication->flow.strategy->reads_group_tag || now_ns < publication->tail_error_due_ns
        || is_tail_known(sm, has_items)) {
        return;
    }
    publication->tail_error_due_ns = now_ns + TAIL_ERROR_INTERVAL_NS;
    char text[256];
    snprintf(text, sizeof text,
        "sender: flow control %s of stream %" PRId32 " session %" PRId32
        ": a status message ends in %" PRId32
        " bytes that are neither a group tag (of 8 bytes) nor "
        "items; it counts as one without a tag",
        publication->flow.strategy->name, publication->base.stream_id, publication->base.session_id,
        sm->frame.frame_length - RSTI_SM_LENGTH);
    rsti_driver_log_error(sender->driver, RST_EINVAL, text);
}

/* A receiver that left a NOOP (noop.h) unanswered is ignored until it answers one. */
static bool is_given_up(rsti_network_publication_t *publication, int64_t receiver_id,
    const rsti_sm_items_t *items, int64_t now_ns)
{
    rsti_noop_t *noop = &publication->noop;
    if (noop->interval_ns == 0) {
        return false;
    }
    if (noop->is_dead && receiver_id != publication->noop_receiver_id) {
        rsti_noop_forget(noop, now_ns); /* another receiver has taken its place */
    } else if (items->has_noop) {
        rsti_noop_on_answer(noop, items->noop.heard, items->noop.answered);
    }
    return noop->is_dead;
}

static rsti_sm_facts_t facts_of(const rsti_network_publication_t *publication, const rsti_sm_t *sm)
{
    const rsti_log_t *log = &publication->base.file.log;
    rsti_sm_facts_t facts = {
        .position = rsti_position(sm->consumption_term_id, sm->consumption_term_offset,
            log->position_bits, log->initial_term_id),
        .window = sm->receiver_window,
        .receiver_id = sm->receiver_id,
        .is_eos = (sm->frame.flags & RSTI_SM_FLAG_EOS) != 0,
    };
    facts.has_group_tag = rsti_sm_group_tag(sm, &facts.group_tag);
    return facts;
}

bool rsti_network_publication_is_seen_by(const rsti_network_publication_t *publication,
    const rsti_sm_t *sm)
{
    return rsti_proven_by(facts_of(publication, sm).position,
        rsti_load_relaxed_i64(&publication->position), publication->base.options.term_length);
}

void rsti_network_publication_on_setup_asked(rsti_network_publication_t *publication,
    const rsti_sm_t *sm, int64_t now_ns)
{
    if (rsti_network_publication_has_setup(publication)) {
        const rsti_sm_facts_t facts = facts_of(publication, sm);
        publication->is_setup_elicited = true;
        publication->flow.strategy->on_setup_elicited(&publication->flow, &facts, now_ns);
    }
}

/* A status message that is not accepted: from too far away, or not from the receiver. */
static rsti_sm_result_t reject(rsti_sender_t *sender, const rsti_network_publication_t *publication,
    const rsti_sm_t *sm)
{
    rsti_driver_count(sender->driver, RSTI_SYSTEM_SM_REJECTED, 1);
    return publication->is_group && rsti_network_publication_is_seen_by(publication, sm)
        ? RSTI_SM_LATE
        : RSTI_SM_REJECTED;
}

rsti_sm_result_t rsti_network_publication_on_sm(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    const rsti_log_t *log = &publication->base.file.log;
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    rsti_sm_items_t items;
    if (is_bound_to_other(publication, source, now_ns)) {
        return reject(sender, publication, sm);
    }
    check_tail(sender, publication, sm, rsti_sm_items_decode(&items, sm), now_ns);
    rsti_sm_facts_t facts = facts_of(publication, sm);
    if (!rsti_sm_is_in_window(facts.position, snd_pos, log->term_length)) {
        if (rsti_network_publication_holds(publication, facts.position, snd_pos)) {
            rsti_network_publication_on_laggard(sender, publication, sm, &items, &facts, now_ns);
        }
        return reject(sender, publication, sm);
    }
    /* Nobody has consumed what was not sent. */
    facts.position = rsti_min_i64(facts.position, snd_pos);
    if (is_given_up(publication, sm->receiver_id, &items, now_ns)) {
        return RSTI_SM_REJECTED;
    }
    if (!publication->is_group && publication->receiver_count > 0
        && publication->receivers[0].receiver_id != facts.receiver_id && !facts.is_eos) {
        remove_receiver_at(sender, publication, 0); /* it takes the place of the former one */
    }
    note_receiver(sender, publication, sm, &items, &facts, source, now_ns);
    publication->has_initial_connection = true;
    take_limit(sender, publication,
        publication->flow.strategy->on_status_message(&publication->flow, &facts,
            publication->limit, now_ns));
    if (publication->receiver_count > 0
        && rsti_send_path_on_window(&publication->send_path, facts.window,
            facts.position + facts.window)) {
        rsti_driver_wake_agent(sender->driver, RSTI_AGENT_CONDUCTOR);
    }
    update_connected(sender, publication);
    rsti_store_release_i32(&publication->is_given_up, 0); /* after has_receivers rose */
    return RSTI_SM_ACCEPTED;
}

void rsti_network_publication_drop(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const char *text, const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!remove_receiver(sender, publication, err->receiver_id, source, -1)) {
        return;
    }
    publication->flow.strategy->on_error(&publication->flow, err->receiver_id, now_ns);
    update_connected(sender, publication);
    rsti_agent_command_t command = {
        .registration_id = publication->base.registration_id,
        .session_id = err->session_id,
        .stream_id = err->stream_id,
        .address = *source,
        .err = *err,
        .destination_id = -1,
    };
    const rsti_destination_tracker_t *destinations = publication->endpoint->destinations;
    if (destinations != NULL) {
        command.destination_id = rsti_destinations_find(destinations, err->receiver_id, source);
    }
    memcpy(command.text, text, (size_t)err->error_length);
    (void)rsti_tell_conductor(sender->driver, RSTI_AGENT_PUBLICATION_ERROR, &command);
}

void rsti_network_publication_on_err(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_network_publication_drop(sender, publication, err, (const char *)err + RSTI_ERR_LENGTH,
        source, now_ns);
}
