/* send_publication.c: see send_publication.h. */
#include "driver/sender/send_publication.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/sender/noop.h"
#include "driver/sender/receivers.h"
#include "driver/sender/resend.h"
#include "driver/sender/send_budget.h"
#include "driver/sender/send_endpoint.h"
#include "driver/sender/send_rate.h"
#include "driver/sender/setup.h"
#include "driver/sender/tail.h"
#include "driver/sender/transmit.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_revoked(const rsti_network_publication_t *publication)
{
    return rsti_load_acquire_i32(&publication->is_revoked_shared) != 0;
}

static bool is_at_end(const rsti_network_publication_t *publication, int64_t snd_pos)
{
    return snd_pos >= rsti_load_acquire_i64(&publication->end_position);
}

static void check_setup(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    if ((publication->has_initial_connection && !publication->is_setup_elicited)
        || !rsti_network_publication_has_setup(publication)
        || rsti_network_publication_is_waiting(publication)) {
        return;
    }
    if (now_ns > publication->last_setup_ns + RSTI_SETUP_INTERVAL_NS) {
        const rsti_setup_t setup = rsti_network_publication_setup(publication);
        if (publication->is_setup_elicited) {
            publication->flow.strategy->on_setup(&publication->flow, publication->limit, now_ns);
        }
        (void)rsti_network_publication_send_frame(sender, publication, &setup, sizeof setup);
        publication->last_setup_ns = now_ns;
        if (publication->receiver_count > 0) {
            publication->is_setup_elicited = false;
        }
    }
    rsti_lower_deadline(next_deadline_ns, publication->last_setup_ns + RSTI_SETUP_INTERVAL_NS + 1);
}

/* From then on heartbeats may tell the end. An Aeron client needs time to find the image before it
 * ends, because an image that has ended takes no subscribers. */
static int64_t eos_due_ns(const rsti_network_publication_t *publication)
{
    return publication->last_data_ns + RSTI_HEARTBEAT_INTERVAL_NS + 1;
}

static void check_heartbeat(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t snd_pos, int64_t now_ns, int64_t *next_deadline_ns)
{
    if (!publication->has_initial_connection) {
        return;
    }
    const bool has_revocation = is_revoked(publication);
    const bool is_ending = publication->base.options.eos && is_at_end(publication, snd_pos);
    const bool is_eos = has_revocation || (is_ending && now_ns >= eos_due_ns(publication));
    /* The first heartbeat that may tell the end does not wait for the interval. */
    const int64_t interval_ns = rsti_network_publication_heartbeat_ns(publication);
    if (now_ns > publication->last_send_ns + interval_ns
        || (is_eos && !publication->has_sent_eos)) {
        const uint8_t flags = (uint8_t)(RSTI_FLAG_UNFRAGMENTED | (is_eos ? RSTI_FLAG_EOS : 0)
            | (has_revocation ? RSTI_FLAG_REVOKED : 0));
        if (rsti_network_publication_send_heartbeat(sender, publication, snd_pos, flags)) {
            publication->has_sent_eos = is_eos;
        }
        publication->last_send_ns = now_ns;
        rsti_network_publication_on_tail(publication, false);
    }
    const int64_t next_ns = rsti_network_publication_heartbeat_ns(publication);
    const int64_t due_ns = publication->last_send_ns + next_ns + 1;
    if (is_ending && !is_eos) {
        rsti_lower_deadline(next_deadline_ns, eos_due_ns(publication));
    }
    rsti_lower_deadline(next_deadline_ns,
        next_ns < RSTI_HEARTBEAT_INTERVAL_NS ? due_ns /* a receiver may wait for a repair */
                                             : rsti_with_slack(due_ns, next_ns, now_ns));
}

void rsti_network_publication_tell_end(rsti_sender_t *sender,
    rsti_network_publication_t *publication)
{
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    if (publication->base.options.eos && publication->receiver_count > 0
        && !publication->has_sent_eos && is_at_end(publication, snd_pos)) {
        publication->has_sent_eos = rsti_network_publication_send_heartbeat(sender, publication,
            snd_pos, RSTI_FLAG_UNFRAGMENTED | RSTI_FLAG_EOS);
    }
}

static void count_blocked(rsti_sender_t *sender, rsti_network_publication_t *publication)
{
    if (!publication->is_blocked) {
        publication->is_blocked = true;
        rsti_add_single_writer_i64(publication->snd_bpe, 1);
        rsti_driver_count(sender->driver, RSTI_SYSTEM_SENDER_FLOW_CONTROL_LIMITS, 1);
    }
}

/* Returns the limit of the pacer: a whole number of mtus, or snd_pos until one datagram has room.
 */
static int64_t paced_limit(rsti_network_publication_t *publication, int64_t snd_pos, int64_t limit,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    const int64_t room = rsti_pacer_room(&publication->pacer, now_ns);
    const int32_t mtu = publication->base.options.mtu;
    if (room >= limit - snd_pos) {
        return limit;
    }
    if (room >= mtu) {
        return snd_pos + room - room % mtu; /* the next pass asks for more */
    }
    rsti_lower_deadline(next_deadline_ns,
        rsti_pacer_due_ns(&publication->pacer, rsti_max_i64(mtu, RSTI_PACE_BURST_MIN / 2), now_ns));
    return snd_pos;
}

/* Tells the publisher the cause of its limit. Under a law of rate that limit is near the sender. */
static void tell_holder(const rsti_network_publication_t *publication, int32_t holder)
{
    int32_t *told = &publication->base.file.log.metadata->ext.held_by;
    if (rsti_load_relaxed_i32(told) != holder) {
        rsti_store_release_i32(told, holder);
    }
}

/* Returns limit, lowered by the law of the path. Without data that waits there is no deadline. */
static int64_t path_limit(rsti_network_publication_t *publication, int64_t snd_pos, int64_t limit,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    int64_t due_ns = RSTI_NO_DEADLINE;
    const int64_t room = rsti_send_path_room(&publication->send_path, now_ns, &due_ns);
    const int64_t pending = rsti_log_producer_position(&publication->base.file.log) - snd_pos;
    if (room >= rsti_min_i64(limit - snd_pos, pending)) {
        return room >= limit - snd_pos ? limit : snd_pos + room;
    }
    if (room == 0) {
        rsti_lower_deadline(next_deadline_ns, due_ns);
    }
    return snd_pos + room - room % publication->base.options.mtu;
}

/* is_least: of all limits that of the path is the one in the way of data. Each datagram waits a
 * moment for its pace; the path holds a publisher that is never rid of its data. */
static void tell_path(rsti_network_publication_t *publication, bool is_least, int64_t now_ns)
{
    rsti_send_path_t *send_path = &publication->send_path;
    const bool is_told = rsti_load_relaxed_i32(&publication->base.file.log.metadata->ext.held_by)
        == RSTI_HELD_BY_PATH;
    if (!is_least) {
        send_path->least_since_ns = RSTI_NO_DEADLINE;
        if (is_told) {
            tell_holder(publication, RSTI_HELD_BY_WINDOW);
        }
    } else if (send_path->least_since_ns == RSTI_NO_DEADLINE) {
        send_path->least_since_ns = now_ns;
    } else if (now_ns - send_path->least_since_ns >= RSTI_PATH_HELD_NS) {
        tell_holder(publication, RSTI_HELD_BY_PATH);
    }
}

static int32_t most_datagrams(const rsti_network_publication_t *publication)
{
    return publication->send_rate.is_limited ? rsti_send_rate_datagrams(&publication->send_rate)
                                             : INT32_MAX;
}

/* The limit of flow control. A window that follows its reader may be shorter than the next frame: a
 * reader that has consumed everything gets that none the less. */
static int64_t granted_limit(const rsti_network_publication_t *publication, int64_t snd_pos)
{
    const rsti_send_path_t *send_path = &publication->send_path;
    if (!send_path->is_wanted || publication->receiver_count == 0) {
        return publication->limit;
    }
    const rsti_live_receiver_t *receiver = &publication->receivers[0];
    const rsti_log_t *log = &publication->base.file.log;
    const int64_t limit = rsti_send_path_limit(send_path, publication->limit, receiver->position,
        receiver->window);
    if (!rsti_send_path_holds(send_path) || receiver->position < snd_pos
        || snd_pos >= rsti_log_producer_position(log)) {
        return limit;
    }
    const int32_t offset = rsti_position_offset(snd_pos, log->term_length);
    const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(
        log->terms[rsti_position_index(snd_pos, log->position_bits)], offset));
    return length > 0 && rsti_frame_fits(length, log->term_length - offset)
        ? rsti_max_i64(limit, snd_pos + rsti_frame_span(length))
        : limit;
}

/* Returns the limit of flow control and the budgets. */
static int64_t budgeted_limit(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t snd_pos)
{
    const int64_t most = sender->driver->params.max_messages_per_send
        * publication->base.options.mtu;
    const int64_t granted = granted_limit(publication, snd_pos);
    const int64_t limit = rsti_send_budget_limit(publication, snd_pos, granted, most);
    if (limit <= snd_pos && granted > snd_pos) {
        tell_holder(publication, RSTI_HELD_BY_BUDGET);
        rsti_send_budget_check(publication);
    } else if (granted <= snd_pos && publication->limit > snd_pos) {
        tell_holder(publication, RSTI_HELD_BY_WINDOW); /* it has got smaller */
    } else if (publication->budget.number != 0 && !publication->send_rate.is_limited) {
        tell_holder(publication, RSTI_HELD_BY_WINDOW);
    }
    return limit;
}

/* Returns limit, lowered by the law of rate. The steps of the law set no deadline while no data
 * waits, because the rate does not grow then. */
static int64_t rated_limit(rsti_network_publication_t *publication, int64_t snd_pos, int64_t limit,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_send_rate_t *send_rate = &publication->send_rate;
    if (!send_rate->is_limited) {
        return limit;
    }
    const int64_t step_ns = rsti_send_rate_on_cycle(send_rate, now_ns);
    if (limit <= snd_pos) {
        if (publication->limit <= snd_pos) {
            tell_holder(publication, RSTI_HELD_BY_WINDOW);
        }
        return limit;
    }
    const int64_t pending = rsti_log_producer_position(&publication->base.file.log) - snd_pos;
    int64_t due_ns = RSTI_NO_DEADLINE;
    const int64_t rated = rsti_send_rate_limit(send_rate, snd_pos, limit, pending, now_ns, &due_ns);
    if (pending > 0) {
        rsti_lower_deadline(next_deadline_ns, rsti_min_i64(due_ns, step_ns));
    }
    if (rated < limit) {
        tell_holder(publication,
            send_rate->standstill.is_holding ? RSTI_HELD_BY_WINDOW : RSTI_HELD_BY_RATE);
    } else if (limit - snd_pos < rsti_min_i64(pending, send_rate->mtu)) {
        tell_holder(publication, RSTI_HELD_BY_WINDOW); /* no whole frame fits */
    }
    return rated;
}

/* A named stream keeps for the next reader what it has not sent to the last one. A raw one sends on
 * to the end of its window, as Aeron's does. */
static bool waits_for_reader(const rsti_network_publication_t *publication)
{
    return publication->receiver_count == 0 && publication->base.name[0] != '\0';
}

static int64_t send_data(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t snd_pos, int64_t now_ns, int64_t *next_deadline_ns)
{
    if (waits_for_reader(publication)) {
        return 0;
    }
    const int64_t granted = budgeted_limit(sender, publication, snd_pos);
    const bool has_path = rsti_send_path_holds(&publication->send_path);
    const int64_t paced = has_path
        ? path_limit(publication, snd_pos, granted, now_ns, next_deadline_ns)
        : paced_limit(publication, snd_pos, granted, now_ns, next_deadline_ns);
    const int64_t limit = rated_limit(publication, snd_pos, paced, now_ns, next_deadline_ns);
    if (publication->send_path.is_wanted) {
        const int64_t pending = rsti_log_producer_position(&publication->base.file.log) - snd_pos;
        const int64_t wanted = rsti_min_i64(granted - snd_pos, pending);
        tell_path(publication, has_path && limit == paced && paced - snd_pos < wanted, now_ns);
    }
    if (limit == snd_pos && granted > snd_pos) {
        return 0;
    }
    bool is_blocked = limit <= snd_pos && publication->has_initial_connection;
    bool is_corrupt = false;
    const int32_t count = rsti_network_publication_collect(sender, publication, snd_pos, limit,
        most_datagrams(publication), &is_blocked, &is_corrupt);
    if (count == 0) {
        if (is_corrupt && !rsti_load_relaxed_i32(&publication->is_corrupt)) {
            rsti_store_release_i32(&publication->is_corrupt, 1);
            rsti_driver_wake_agent(sender->driver, RSTI_AGENT_CONDUCTOR);
        } else if (is_blocked && !is_corrupt) {
            count_blocked(sender, publication);
        }
        return 0;
    }
    const int32_t sent = rsti_network_publication_transmit(sender, publication, sender->datagrams,
        count);
    if (sent == 0) {
        return 0;
    }
    /* The accepted datagrams count as sent. The next pass sends the rest. */
    const int64_t position = sender->ends[sent - 1];
    int64_t bytes = 0;
    for (int32_t i = 0; i < sent; i++) {
        bytes += (int64_t)sender->datagrams[i].length;
    }
    publication->is_blocked = false;
    publication->last_send_ns = now_ns;
    publication->last_data_ns = now_ns;
    rsti_network_publication_on_tail(publication, true);
    rsti_pacer_on_sent(&publication->pacer, bytes);
    rsti_send_path_on_sent(&publication->send_path, position, bytes, now_ns);
    rsti_send_rate_on_sent(&publication->send_rate, bytes, sent, now_ns);
    rsti_send_budget_on_sent(publication, position - snd_pos);
    rsti_bucket_add(&publication->resend_bytes, (double)bytes);
    rsti_store_release_i64(&publication->position, position);
    rsti_store_release_i64(publication->snd_pos, position);
    if (position >= rsti_load_acquire_i64(&publication->limit_wake_position)
        || is_at_end(publication, position)) {
        rsti_driver_wake_agent(sender->driver, RSTI_AGENT_CONDUCTOR);
    }
    return bytes;
}

static void tell_silence(rsti_sender_t *sender, rsti_network_publication_t *publication)
{
    char text[256];
    snprintf(text, sizeof text,
        "sender: cc=path of stream %" PRId32 " session %" PRId32
        ": its receiver does not tell what arrives (it is Aeron's, or of an older rstream): only"
        " its window limits the stream",
        publication->base.stream_id, publication->base.session_id);
    rsti_driver_log_error(sender->driver, RST_ENOTSUP, text);
    publication->send_path.is_silence_told = true;
}

static void check_path(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    if (!publication->send_path.is_wanted) {
        return;
    }
    const int64_t last_sm_ns = publication->receiver_count > 0
        ? publication->receivers[0].last_sm_ns
        : INT64_MIN;
    rsti_lower_deadline(next_deadline_ns,
        rsti_send_path_on_cycle(&publication->send_path, last_sm_ns, now_ns));
    if (publication->send_path.receiver == RSTI_PATH_RECEIVER_SILENT
        && !publication->send_path.is_silence_told) {
        tell_silence(sender, publication);
    }
}

int64_t rsti_network_publication_send(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns)
{
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    check_setup(sender, publication, now_ns, next_deadline_ns);
    check_path(sender, publication, now_ns, next_deadline_ns);
    rsti_network_publication_send_again(sender, publication, now_ns, next_deadline_ns);
    /* A revocation discards unsent data. Receivers drop their images when they get it. After later
     * data they would ask for a SETUP and read the rest as a new stream. */
    const int64_t bytes = is_revoked(publication)
        ? 0
        : send_data(sender, publication, snd_pos, now_ns, next_deadline_ns);
    if (bytes == 0) {
        check_heartbeat(sender, publication, snd_pos, now_ns, next_deadline_ns);
        rsti_network_publication_on_idle(sender, publication, snd_pos, now_ns);
    }
    rsti_network_publication_check_noop(sender, publication, snd_pos, now_ns, next_deadline_ns);
    return bytes;
}

/* With several destinations the asker alone gets the answer. With manual ones it must be one of
 * them, or proven. */
void rsti_network_publication_on_rttm(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_rttm_t *rttm,
    const struct sockaddr_storage *source)
{
    const rsti_send_endpoint_t *endpoint = publication->endpoint;
    if ((rttm->frame.flags & RSTI_RTTM_FLAG_REPLY) == 0) {
        return;
    }
    rsti_rttm_t answer = *rttm;
    answer.frame = (rsti_frame_header_t){RSTI_RTTM_LENGTH, 0, 0, RSTI_FRAME_RTTM};
    answer.reception_delta = 0;
    if (endpoint->destinations == NULL && !rsti_send_endpoint_is_open(endpoint)) {
        (void)rsti_network_publication_send_frame(sender, publication, &answer, sizeof answer);
        return;
    }
    /* A receiver may have another address than the destination: a host may have several. */
    rsti_send_endpoint_send_to(sender, endpoint, &answer, sizeof answer, source);
}

void rsti_network_publication_on_response_setup(rsti_sender_t *sender,
    const rsti_network_publication_t *publication, const rsti_rsp_setup_t *setup)
{
    const rsti_publication_t *base = &publication->base;
    if (base->is_response || base->response_correlation_id < 0) {
        return;
    }
    const rsti_agent_command_t command = {
        .registration_id = base->response_correlation_id,
        .session_id = setup->response_session_id,
    };
    (void)rsti_tell_conductor(sender->driver, RSTI_AGENT_RESPONSE_SETUP, &command);
}
