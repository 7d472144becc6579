/* network_sender.c: the sender's side of a network publication (wire reference 7 and 9.4). */
#include "driver/internal.h"

#include "logbuffer/reader.h"
#include "util/error.h"

static rst_driver_t *driver_of(rsti_sender_t *sender)
{
    return sender->driver;
}

/* Responses go to whoever asked for the set-up; until somebody did, nothing is to be sent. */
static bool is_waiting_for_address(const rsti_network_publication_t *publication)
{
    return publication->base.is_response && publication->response_address.ss_family == AF_UNSPEC;
}

static int32_t transmit(rsti_sender_t *sender, rsti_network_publication_t *publication,
    rsti_datagram_t *datagrams, int32_t count)
{
    if (is_waiting_for_address(publication)) {
        return count;
    }
    if (publication->base.is_response) {
        publication->endpoint->data_address = publication->response_address;
    }
    return rsti_send_endpoint_send(sender, publication->endpoint, datagrams, count);
}

bool rsti_network_publication_send_frame(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const void *frame, size_t length)
{
    rsti_datagram_t datagram;
    datagram.data = (uint8_t *)(uintptr_t)frame;
    datagram.length = length;
    return transmit(sender, publication, &datagram, 1) == 1;
}

static bool is_revoked(const rsti_network_publication_t *publication)
{
    return rsti_load_acquire_i32(&publication->is_revoked_shared) != 0;
}

static bool is_at_end(const rsti_network_publication_t *publication, int64_t snd_pos)
{
    return snd_pos >= rsti_load_acquire_i64(&publication->end_position);
}

static void check_setup(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t snd_pos, int64_t now_ns, int64_t *next_deadline_ns)
{
    const rsti_log_t *log = &publication->base.file.log;
    if ((publication->has_initial_connection && !publication->is_setup_elicited)
        || is_at_end(publication, snd_pos) || is_revoked(publication)
        || is_waiting_for_address(publication)) {
        return;
    }
    if (now_ns > publication->last_setup_ns + RSTI_SETUP_INTERVAL_NS) {
        const bool is_request = !publication->base.is_response
            && publication->base.response_correlation_id >= 0;
        const uint8_t flags = (uint8_t)(RSTI_SETUP_FLAG_RSTREAM
            | (publication->send_rate.is_limited ? RSTI_SETUP_FLAG_FILL : 0)
            | (publication->is_group ? RSTI_SETUP_FLAG_GROUP : 0)
            | (is_request ? RSTI_SETUP_FLAG_SEND_RESPONSE : 0));
        const rsti_setup_t setup = {
            .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
            .term_offset = rsti_position_offset(snd_pos, log->term_length),
            .session_id = publication->base.session_id,
            .stream_id = publication->base.stream_id,
            .initial_term_id = log->initial_term_id,
            .active_term_id = rsti_position_term_id(snd_pos, log->position_bits,
                log->initial_term_id),
            .term_length = log->term_length,
            .mtu = publication->base.options.mtu,
            .ttl = publication->endpoint->ttl,
        };
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

bool rsti_network_publication_send_heartbeat(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, uint8_t flags)
{
    const rsti_log_t *log = &publication->base.file.log;
    rsti_data_header_t heartbeat;
    memset(&heartbeat, 0, sizeof heartbeat);
    rsti_data_header_fill(&heartbeat, flags, RSTI_FRAME_DATA, publication->base.session_id,
        publication->base.stream_id,
        rsti_position_term_id(snd_pos, log->position_bits, log->initial_term_id),
        rsti_position_offset(snd_pos, log->term_length));
    heartbeat.frame.frame_length = 0;
    heartbeat.reserved_value = publication->noop.number;
    if (!rsti_network_publication_send_frame(sender, publication, &heartbeat, sizeof heartbeat)) {
        return false;
    }
    rsti_driver_count(driver_of(sender), RSTI_SYSTEM_HEARTBEATS_SENT, 1);
    return true;
}

static void check_heartbeat(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t snd_pos, int64_t now_ns, int64_t *next_deadline_ns)
{
    if (!publication->has_initial_connection) {
        return;
    }
    const bool has_revocation = is_revoked(publication);
    const bool is_eos = has_revocation
        || (publication->base.options.eos && is_at_end(publication, snd_pos));
    /* The first one that tells the end does not wait for the interval. */
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
    rsti_lower_deadline(next_deadline_ns,
        next_ns < RSTI_HEARTBEAT_INTERVAL_NS ? due_ns /* somebody may wait for a repair */
                                             : rsti_with_slack(due_ns, next_ns, now_ns));
}

static void count_blocked(rsti_sender_t *sender, rsti_network_publication_t *publication)
{
    if (!publication->is_blocked) {
        publication->is_blocked = true;
        rsti_add_single_writer_i64(publication->snd_bpe, 1);
        rsti_driver_count(driver_of(sender), RSTI_SYSTEM_SENDER_FLOW_CONTROL_LIMITS, 1);
    }
}

/* The scan stopped at a committed frame: for want of room, or because no producer makes such a one.
 * That would stop the stream for ever, and nobody would know. */
static bool is_impossible(uint8_t *term, int32_t offset, int32_t term_length, int32_t mtu)
{
    const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, offset));
    const int16_t type = ((const rsti_data_header_t *)(const void *)(term + offset))->frame.type;
    return length > 0
        && (!rsti_frame_fits(length, term_length - offset)
            || (type != RSTI_FRAME_PAD && rsti_frame_span(length) > mtu));
}

/* Datagrams that start at position, as many as limit, most, burst and mtu allow. */
static int32_t collect(rsti_sender_t *sender, const rsti_network_publication_t *publication,
    int64_t position, int64_t limit, int32_t most, bool *is_blocked, bool *is_corrupt)
{
    const rsti_log_t *log = &publication->base.file.log;
    most = rsti_min_i32(most, (int32_t)driver_of(sender)->params.max_messages_per_send);
    int32_t count = 0;
    while (count < most && position < limit) {
        const int32_t offset = rsti_position_offset(position, log->term_length);
        uint8_t *term = log->terms[rsti_position_index(position, log->position_bits)];
        const int32_t room = (int32_t)rsti_min_i64(limit - position, publication->base.options.mtu);
        int32_t padding = 0;
        const int32_t length = rsti_term_scan(term, log->term_length, offset, room, &padding);
        if (length <= 0) {
            *is_blocked = length < 0;
            *is_corrupt = is_impossible(term, offset, log->term_length,
                publication->base.options.mtu);
            break;
        }
        position += length + padding;
        sender->datagrams[count].data = term + offset;
        sender->datagrams[count].length = (size_t)length;
        sender->ends[count] = position;
        count++;
    }
    return count;
}

/* A burst is cut at whole datagrams of the mtu; before there is room for one, nothing goes out. */
static int64_t paced_limit(rsti_network_publication_t *publication, int64_t snd_pos, int64_t limit,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    const int64_t room = rsti_pacer_room(&publication->pacer, now_ns);
    const int32_t mtu = publication->base.options.mtu;
    if (room >= limit - snd_pos) {
        return limit;
    }
    if (room >= mtu) {
        return snd_pos + room - room % mtu; /* when that is used up the next pass asks again */
    }
    rsti_lower_deadline(next_deadline_ns,
        rsti_pacer_due_ns(&publication->pacer, rsti_max_i64(mtu, RSTI_PACE_BURST_MIN / 2), now_ns));
    return snd_pos;
}

static int32_t most_datagrams(const rsti_network_publication_t *publication)
{
    return publication->send_rate.is_limited ? rsti_send_rate_datagrams(&publication->send_rate)
                                             : INT32_MAX;
}

/* For the publisher, whose limit stays near the sender under a law of rate. */
static void tell_holder(const rsti_network_publication_t *publication, int32_t holder)
{
    int32_t *told = &publication->base.file.log.metadata->ext.held_by;
    if (rsti_load_relaxed_i32(told) != holder) {
        rsti_store_release_i32(told, holder);
    }
}

/* What flow control and the budgets let through. */
static int64_t budgeted_limit(rsti_sender_t *sender, const rsti_network_publication_t *publication,
    int64_t snd_pos)
{
    const int64_t most = driver_of(sender)->params.max_messages_per_send
        * publication->base.options.mtu;
    const int64_t limit = rsti_send_budget_limit(publication, snd_pos, publication->limit, most);
    if (limit <= snd_pos && publication->limit > snd_pos) {
        tell_holder(publication, RSTI_HELD_BY_BUDGET);
    } else if (publication->budget.number != 0 && !publication->send_rate.is_limited) {
        tell_holder(publication, RSTI_HELD_BY_WINDOW);
    }
    return limit;
}

/* What the law of rate lets through of that. Its steps are no reason to wake while nothing waits to
 * be sent: it does not grow then. */
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
    }
    return rated;
}

static int64_t send_data(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t snd_pos, int64_t now_ns, int64_t *next_deadline_ns)
{
    const int64_t granted = budgeted_limit(sender, publication, snd_pos);
    const int64_t paced = paced_limit(publication, snd_pos, granted, now_ns, next_deadline_ns);
    const int64_t limit = rated_limit(publication, snd_pos, paced, now_ns, next_deadline_ns);
    if (limit == snd_pos && granted > snd_pos) {
        return 0;
    }
    bool is_blocked = limit <= snd_pos && publication->has_initial_connection;
    bool is_corrupt = false;
    const int32_t count = collect(sender, publication, snd_pos, limit, most_datagrams(publication),
        &is_blocked, &is_corrupt);
    if (count == 0) {
        if (is_corrupt && !rsti_load_relaxed_i32(&publication->is_corrupt)) {
            rsti_store_release_i32(&publication->is_corrupt, 1);
            rsti_driver_wake_agent(driver_of(sender), RSTI_AGENT_CONDUCTOR);
        } else if (is_blocked && !is_corrupt) {
            count_blocked(sender, publication);
        }
        return 0;
    }
    const int32_t sent = transmit(sender, publication, sender->datagrams, count);
    if (sent == 0) {
        return 0;
    }
    /* What was accepted counts, even when the rest was not: it goes out in the next pass. */
    const int64_t position = sender->ends[sent - 1];
    int64_t bytes = 0;
    for (int32_t i = 0; i < sent; i++) {
        bytes += (int64_t)sender->datagrams[i].length;
    }
    publication->is_blocked = false;
    publication->last_send_ns = now_ns;
    rsti_network_publication_on_tail(publication, true);
    rsti_pacer_on_sent(&publication->pacer, bytes);
    rsti_send_rate_on_sent(&publication->send_rate, bytes, sent, now_ns);
    rsti_send_budget_on_sent(publication, position - snd_pos);
    rsti_bucket_add(&publication->resend_bytes, (double)bytes);
    rsti_store_release_i64(&publication->position, position);
    rsti_store_release_i64(publication->snd_pos, position);
    if (position >= rsti_load_acquire_i64(&publication->limit_wake_position)
        || is_at_end(publication, position)) {
        rsti_driver_wake_agent(driver_of(sender), RSTI_AGENT_CONDUCTOR);
    }
    return bytes;
}

typedef struct resend_t {
    rsti_sender_t *sender;
    rsti_network_publication_t *publication;
    int64_t now_ns;
} resend_t;

/* A NAK of 28 bytes may ask for megabytes, and anybody can write one. Law: the bytes sent again in
 * any time are at most those sent once plus RSTI_RESEND_BYTES_PER_S, plus a term that was saved up
 * (flow/bucket.h). A receiver that loses less than half of the stream never meets it. */
static int64_t allow_resend(rsti_network_publication_t *publication, int64_t now_ns)
{
    rsti_bucket_fill(&publication->resend_bytes, now_ns);
    return rsti_bucket_room(&publication->resend_bytes);
}

/* The conductor cleans what lies more than a term behind what was sent, as it last saw it. Aeron
 * sends half of that again, for no window is longer; but under fc=max whose buffer of half a term
 * is full lacks what is under way besides. */
bool rsti_network_publication_holds(const rsti_network_publication_t *publication, int64_t position,
    int64_t snd_pos)
{
    const int64_t bottom = snd_pos - publication->base.options.term_length;
    return position >= rsti_max_i64(bottom, 0) && position < snd_pos;
}

/* Whether a frame of this publication begins there. A NAK may name any multiple of 32: inside a
 * frame lies payload, and that must never be sent as if it were a header. The header has to name
 * its own place, so that one of another place that was published as payload is not taken for it. */
static bool is_frame_at(const rsti_network_publication_t *publication, int32_t term_id,
    int32_t term_offset)
{
    const rsti_log_t *log = &publication->base.file.log;
    const int64_t position = rsti_position(term_id, term_offset, log->position_bits,
        log->initial_term_id);
    uint8_t *term = log->terms[rsti_position_index(position, log->position_bits)];
    const int32_t length = rsti_load_acquire_i32(rsti_frame_length_address(term, term_offset));
    const rsti_data_header_t *header = (const void *)(term + term_offset);
    return length > 0 && rsti_frame_fits(length, log->term_length - term_offset)
        && (header->frame.type == RSTI_FRAME_DATA || header->frame.type == RSTI_FRAME_PAD)
        && header->term_offset == term_offset && header->term_id == term_id
        && header->session_id == publication->base.session_id
        && header->stream_id == publication->base.stream_id;
}

/* What was not sent yet or is too old is not asked of anybody: such a NAK is late, not wrong. */
typedef enum nak_kind_t {
    NAK_ANSWERABLE,
    NAK_LATE,
    NAK_WRONG
} nak_kind_t;

static nak_kind_t judge_nak(const rsti_network_publication_t *publication, const rsti_nak_t *nak)
{
    const rsti_log_t *log = &publication->base.file.log;
    if (!rsti_nak_is_valid(nak, log->term_length)) {
        return NAK_WRONG;
    }
    const int64_t position = rsti_position(nak->term_id, nak->term_offset, log->position_bits,
        log->initial_term_id);
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    if (nak->length == 0 || !rsti_network_publication_holds(publication, position, snd_pos)) {
        return NAK_LATE;
    }
    return is_frame_at(publication, nak->term_id, nak->term_offset) ? NAK_ANSWERABLE : NAK_WRONG;
}

static int resend(void *arg, int32_t term_id, int32_t term_offset, int32_t length)
{
    const resend_t *context = arg;
    rsti_sender_t *sender = context->sender;
    rsti_network_publication_t *publication = context->publication;
    const rsti_log_t *log = &publication->base.file.log;
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    int64_t position = rsti_position(term_id, term_offset, log->position_bits,
        log->initial_term_id);
    if (!rsti_network_publication_holds(publication, position, snd_pos)
        || !is_frame_at(publication, term_id, term_offset)) {
        return -1;
    }
    const int64_t term_end = (position / log->term_length + 1) * log->term_length;
    const int64_t wanted = rsti_min_i64(rsti_min_i64(position + length, snd_pos), term_end);
    const int64_t end = rsti_min_i64(wanted, position + allow_resend(publication, context->now_ns));
    int64_t bytes = 0, datagrams = 0;
    bool is_full = false;
    if (end < wanted) {
        rsti_driver_count(driver_of(sender), RSTI_SYSTEM_RETRANSMIT_OVERFLOW, 1);
    }
    while (position < end) {
        bool is_blocked = false, is_corrupt = false;
        const int32_t count = collect(sender, publication, position, end, INT32_MAX, &is_blocked,
            &is_corrupt);
        const int32_t sent = count == 0 ? 0
                                        : transmit(sender, publication, sender->datagrams, count);
        for (int32_t i = 0; i < sent; i++) {
            bytes += (int64_t)sender->datagrams[i].length;
        }
        datagrams += sent;
        is_full = sent < count;
        if (count == 0 || is_full) {
            break;
        }
        position = sender->ends[count - 1];
    }
    if (bytes > 0) {
        rsti_bucket_spend(&publication->resend_bytes, (double)bytes);
        rsti_pacer_on_sent(&publication->pacer, bytes);
        rsti_send_rate_on_sent(&publication->send_rate, bytes, datagrams, context->now_ns);
        rsti_driver_count(driver_of(sender), RSTI_SYSTEM_RETRANSMITS_SENT, 1);
        rsti_driver_count(driver_of(sender), RSTI_SYSTEM_RETRANSMITTED_BYTES, bytes);
    }
    return bytes > 0 ? 0 : is_full ? RSTI_RESEND_BLOCKED : -1;
}

/* Before new data: an interface that is busy with those would have no room for these, pass after
 * pass, and the receiver nothing that it can hand out. */
static void send_again(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    if (publication->retransmit.active_count > 0) {
        resend_t context = {sender, publication, now_ns};
        int64_t due_ns = RSTI_NO_DEADLINE;
        (void)rsti_retransmit_process(&publication->retransmit, now_ns, resend, &context, &due_ns);
        rsti_lower_deadline(next_deadline_ns, due_ns);
    }
}

int64_t rsti_network_publication_send(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns)
{
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    check_setup(sender, publication, snd_pos, now_ns, next_deadline_ns);
    send_again(sender, publication, now_ns, next_deadline_ns);
    /* What was not sent is given up. Receivers drop their images when they hear of a revocation:
     * data behind it would have them ask for a set-up and read the rest as another stream. */
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

void rsti_network_publication_on_nak(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_nak_t *nak, int64_t now_ns)
{
    rst_driver_t *driver = driver_of(sender);
    const int32_t term_length = publication->base.file.log.term_length;
    const nak_kind_t kind = judge_nak(publication, nak);
    if (kind == NAK_WRONG) {
        rsti_driver_count(driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        return;
    }
    if (nak->length == 0) {
        return;
    }
    rsti_driver_count(driver, RSTI_SYSTEM_NAKS_RECEIVED, 1);
    rsti_add_single_writer_i64(publication->snd_naks, 1);
    if (kind == NAK_LATE) {
        return;
    }
    rsti_pacer_on_loss(&publication->pacer, now_ns);
    const int32_t length = rsti_retransmit_length(&publication->flow, term_length, nak->term_offset,
        nak->length);
    resend_t context = {sender, publication, now_ns};
    if (rsti_retransmit_on_nak(&publication->retransmit, nak->term_id, nak->term_offset,
            nak->length, length, now_ns, resend, &context)
        < 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_RETRANSMIT_OVERFLOW, 1);
    }
}

void rsti_network_publication_on_rttm(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_rttm_t *rttm)
{
    if ((rttm->frame.flags & RSTI_RTTM_FLAG_REPLY) == 0) {
        return;
    }
    rsti_rttm_t answer = *rttm;
    answer.frame = (rsti_frame_header_t){RSTI_RTTM_LENGTH, 0, 0, RSTI_FRAME_RTTM};
    answer.reception_delta = 0;
    (void)rsti_network_publication_send_frame(sender, publication, &answer, sizeof answer);
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
    (void)rsti_tell_conductor(driver_of(sender), RSTI_AGENT_RESPONSE_SETUP, &command);
}
