/* sender.c: see the header for the order. */
#include "lab/sender.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/int_math.h"

#define HEARTBEAT_NS (100 * RSTI_NS_PER_MS)
#define ENDLESS (INT64_C(1) << 60)
#define RESENDS_PER_STEP 8
#define DELAY_STEPS_MAX 200000
#define FEEDBACK_PER_IMAGE 24
#define FEEDBACK_LEAST 8192
#define TERM_LENGTH (64 << 20)

static const char *const law_names[] = {"adaptive", "nak", "fixed", "aimd", "unlimited"};
static const char *const fc_names[] = {"max", "min"};

static rsti_rate_params_t params_of(const rsti_lab_sender_spec_t *spec)
{
    rsti_rate_params_t params = rsti_rate_defaults();
    params.initial = spec->initial;
    params.most = spec->most > 0 ? spec->most : RSTI_RATE_MAX;
    params.floor_share = spec->floor_share;
    params.target_delay_ns = (int64_t)spec->target_delay_ns;
    params.detect_ns = (int64_t)spec->detect_ns;
    params.window_ns = (int64_t)spec->window_ns;
    params.step_share = spec->step_share;
    params.cuts[0] = spec->cut50;
    params.cuts[1] = spec->cut75;
    params.cuts[2] = spec->cut87;
    params.cuts[3] = spec->cut100;
    params.increase = spec->increase;
    params.decrease = spec->decrease;
    params.now_ns = (int64_t)spec->begins_ns;
    return params;
}

static bool is_fed(const rsti_lab_spec_t *spec, int32_t index)
{
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_CONSUMER]; i++) {
        if ((int32_t)spec->consumer[i].forward_to == index) {
            return true;
        }
    }
    return false;
}

static int init_link(rsti_lab_sender_t *sender, const rsti_lab_spec_t *spec)
{
    const double steps = sender->spec->rtt_ns / 2.0 / spec->run->step_ns + 0.5;
    if (steps > DELAY_STEPS_MAX) {
        return RST_SET_ERR(RST_EINVAL,
            "sender: rtt_ns %g is more than %d steps of %g; take a larger step_ns",
            sender->spec->rtt_ns, 2 * DELAY_STEPS_MAX, spec->run->step_ns);
    }
    const int64_t delay = rsti_max_i64(1, (int64_t)steps);
    return rsti_lab_link_init(&sender->link, delay, (delay + 2) * (RESENDS_PER_STEP + 2),
        FEEDBACK_LEAST + (int64_t)sender->image_count * FEEDBACK_PER_IMAGE);
}

int rsti_lab_sender_init(rsti_lab_sender_t *sender, const rsti_lab_spec_t *spec, int32_t index,
    rsti_lab_image_t **images, int32_t image_count)
{
    const rsti_lab_sender_spec_t *own = &spec->sender[index];
    *sender = (rsti_lab_sender_t){
        .spec = own,
        .images = images,
        .image_count = image_count,
        .is_fed = is_fed(spec, index),
        .step_ns = (int64_t)spec->run->step_ns,
        .sent_ns = (int64_t)own->begins_ns,
    };
    rsti_rate_params_t params = params_of(own);
    params.is_group = image_count > 1;
    const rsti_rate_law_t *law = rsti_rate_find(law_names[(int32_t)own->law]);
    rsti_rate_init(&sender->rate, law, &params);
    rsti_tokens_init(&sender->tokens, sender->rate.bytes_per_s, sender->rate.datagrams_per_s,
        (int32_t)own->mtu, params.now_ns);
    rsti_fill_truth_init(&sender->truth);
    rsti_standstill_init(&sender->standstill, params.now_ns);
    sender->supply = !sender->is_fed && !(own->app_rate > 0) ? ENDLESS : 0;
    int result = init_link(sender, spec);
    if (result < 0) {
        return result;
    }
    result = rsti_flow_control_init(&sender->flow,
        &(rsti_flow_params_t){
            .is_group = true,
            .default_name = fc_names[(int32_t)own->fc],
            .default_multiple = 4,
            .receiver_timeout_ns = (int64_t)own->timeout_ns,
            .channel = "lab",
        });
    if (result < 0) {
        rsti_lab_link_fini(&sender->link);
    }
    return result;
}

void rsti_lab_sender_fini(rsti_lab_sender_t *sender)
{
    if (sender->flow.strategy != NULL) {
        rsti_flow_control_fini(&sender->flow);
    }
    rsti_lab_link_fini(&sender->link);
}

static void on_status(rsti_lab_sender_t *sender, const rsti_lab_feedback_t *feedback,
    int64_t now_ns)
{
    const rsti_sm_facts_t facts = {
        .position = feedback->from,
        .window = (int32_t)feedback->to,
        .receiver_id = feedback->image + 1,
        .is_eos = feedback->is_eos,
    };
    sender->window = feedback->to;
    sender->limit = sender->flow.strategy->on_status_message(&sender->flow, &facts, sender->limit,
        now_ns);
    (void)rsti_fill_truth_on_status(&sender->truth, facts.receiver_id, feedback->from, facts.window,
        now_ns);
}

/* Echoes the report to all receivers but its own. */
static void let_hear(rsti_lab_sender_t *sender, const rsti_lab_echo_t *echo)
{
    const double loss = sender->spec->loss;
    for (int32_t i = 0; i < sender->image_count; i++) {
        rsti_lab_image_t *image = sender->images[i];
        if (image->index != echo->image && image->reports && !image->is_gone
            && !(loss > 0 && rsti_rng_unit(&image->dice) < loss)) {
            rsti_fill_suppress_on_heard(&image->suppress, &image->fill, echo->allowed);
        }
    }
}

static void send_echo(rsti_lab_sender_t *sender, const rsti_lab_feedback_t *feedback,
    int64_t now_ns)
{
    if (sender->image_count <= 1 || sender->echo_count == RSTI_LAB_ECHOES
        || feedback->report.is_clear
        || !rsti_fill_echo_is_due(&sender->echo, feedback->report.allowed,
            rsti_rate_period_ns(&sender->rate), now_ns)) {
        return;
    }
    const int32_t last = (sender->echo_first + sender->echo_count++) % RSTI_LAB_ECHOES;
    sender->echoes[last] = (rsti_lab_echo_t){
        .arrives_ns = now_ns + (int64_t)(sender->spec->rtt_ns / 2.0),
        .image = feedback->image,
        .allowed = feedback->report.allowed,
    };
}

static void deliver_echoes(rsti_lab_sender_t *sender, int64_t now_ns)
{
    while (sender->echo_count > 0 && sender->echoes[sender->echo_first].arrives_ns <= now_ns) {
        let_hear(sender, &sender->echoes[sender->echo_first]);
        sender->echo_first = (sender->echo_first + 1) % RSTI_LAB_ECHOES;
        sender->echo_count--;
    }
}

static void on_fill_nak(rsti_lab_sender_t *sender, const rsti_lab_feedback_t *feedback,
    int64_t now_ns)
{
    const rsti_fill_report_t *report = &feedback->report;
    const int32_t slack = (int32_t)sender->spec->mtu;
    sender->report_count++;
    sender->forged_count += feedback->image < 0;
    if (!rsti_fill_truth_on_status(&sender->truth, report->receiver_id, feedback->from,
            report->buffer_bytes, now_ns)) {
        sender->stale_count++;
        return;
    }
    if (rsti_fill_truth_is_believed(&sender->truth, report, sender->sent, slack, now_ns)) {
        rsti_rate_on_report(&sender->rate, report, now_ns);
        rsti_standstill_on_report(&sender->standstill, &sender->truth, report, now_ns);
        send_echo(sender, feedback, now_ns);
        return;
    }
    for (int32_t i = 0; i < sender->image_count; i++) {
        rsti_lab_image_t *image = sender->images[i];
        if (image->receiver_id == report->receiver_id) {
            image->unmasked_ns = rsti_min_i64(image->unmasked_ns, now_ns);
        }
    }
}

static bool was_resent(const rsti_lab_sender_t *sender, int64_t from, int64_t to, int64_t now_ns)
{
    for (int32_t i = 0; i < RSTI_LAB_RESENDS; i++) {
        const rsti_lab_resend_t *done = &sender->done[i];
        if (done->until_ns > now_ns && done->from <= from && to <= done->to) {
            return true;
        }
    }
    for (int32_t i = 0; i < sender->waiting_count; i++) {
        if (sender->waiting[i].from <= from && to <= sender->waiting[i].to) {
            return true;
        }
    }
    return false;
}

static void on_nak(rsti_lab_sender_t *sender, const rsti_lab_feedback_t *feedback, int64_t now_ns)
{
    const int64_t oldest = sender->sent - (int64_t)sender->spec->history_bytes;
    const int64_t from = rsti_max_i64(feedback->from, oldest);
    const int64_t length = rsti_min_i64(rsti_min_i64(feedback->to, sender->sent) - from, INT32_MAX);
    for (int32_t i = 0; feedback->from < oldest && i < sender->image_count; i++) {
        if (sender->images[i]->index == feedback->image) {
            rsti_lab_image_forget(sender->images[i], oldest);
        }
    }
    if (length <= 0 || sender->waiting_count == RSTI_LAB_RESENDS
        || was_resent(sender, from, from + length, now_ns)) {
        return;
    }
    const int64_t answered = rsti_retransmit_length(&sender->flow, TERM_LENGTH, 0, (int32_t)length);
    sender->waiting[sender->waiting_count++] = (rsti_lab_resend_t){
        .from = from, .to = from + answered};
}

static void read_feedback(rsti_lab_sender_t *sender, int64_t step, int64_t now_ns)
{
    const rsti_lab_feedback_t *feedback;
    deliver_echoes(sender, now_ns);
    while ((feedback = rsti_lab_link_receive_feedback(&sender->link, step)) != NULL) {
        if (feedback->kind == RSTI_LAB_STATUS) {
            on_status(sender, feedback, now_ns);
        } else if (feedback->kind == RSTI_LAB_FILL_NAK) {
            on_fill_nak(sender, feedback, now_ns);
        } else {
            on_nak(sender, feedback, now_ns);
        }
    }
}

static int64_t datagrams_of(const rsti_lab_sender_t *sender, int64_t bytes)
{
    const int64_t mtu = (int64_t)sender->spec->mtu;
    return (bytes + mtu - 1) / mtu;
}

/* Bytes that the link can still take. */
static int64_t resend(rsti_lab_sender_t *sender, int64_t room, int64_t step, int64_t now_ns)
{
    int32_t taken = 0;
    while (taken < sender->waiting_count && taken < RESENDS_PER_STEP && room > 0) {
        rsti_lab_resend_t *wanted = &sender->waiting[taken];
        const int64_t bytes = rsti_min_i64(wanted->to - wanted->from, room);
        rsti_lab_link_send_data(&sender->link, step, wanted->from, wanted->from + bytes, true);
        rsti_tokens_spend(&sender->tokens, bytes, datagrams_of(sender, bytes), now_ns);
        sender->done[sender->done_next] = (rsti_lab_resend_t){.from = wanted->from,
            .to = wanted->from + bytes,
            .until_ns = now_ns + (int64_t)sender->spec->rtt_ns};
        sender->done_next = (sender->done_next + 1) % RSTI_LAB_RESENDS;
        sender->resent_bytes += bytes;
        sender->sent_ns = now_ns;
        room -= bytes;
        wanted->from += bytes;
        if (wanted->from < wanted->to) {
            break;
        }
        taken++;
    }
    for (int32_t i = taken; i < sender->waiting_count; i++) {
        sender->waiting[i - taken] = sender->waiting[i];
    }
    sender->waiting_count -= taken;
    return room;
}

static int64_t send_new(rsti_lab_sender_t *sender, int64_t room, int64_t step, int64_t now_ns)
{
    const int64_t mtu = (int64_t)sender->spec->mtu;
    const int64_t had = sender->supply - sender->sent;
    const int64_t limit = sender->rate.law == &rsti_rate_adaptive
        ? rsti_standstill_limit(&sender->standstill, &sender->truth, sender->sent, sender->limit,
              (int32_t)mtu, now_ns)
        : sender->limit;
    int64_t bytes = rsti_min_i64(rsti_min_i64(room, limit - sender->sent), had);
    bytes = rsti_min_i64(bytes, rsti_tokens_room(&sender->tokens, now_ns));
    if (bytes < had || had > mtu) {
        bytes -= bytes % mtu; /* the end of all data may be a short datagram */
    }
    if (bytes <= 0) {
        if (now_ns - sender->sent_ns >= HEARTBEAT_NS) {
            rsti_lab_link_send_data(&sender->link, step, sender->sent, sender->sent, false);
            sender->sent_ns = now_ns;
        }
        return room;
    }
    rsti_lab_link_send_data(&sender->link, step, sender->sent, sender->sent + bytes, false);
    rsti_tokens_spend(&sender->tokens, bytes, datagrams_of(sender, bytes), now_ns);
    sender->sent += bytes;
    sender->sent_ns = now_ns;
    return room - bytes;
}

static void produce(rsti_lab_sender_t *sender, int64_t passed_ns, int64_t now_ns)
{
    const rsti_lab_sender_spec_t *spec = sender->spec;
    if (!sender->has_ended && (double)now_ns >= spec->ends_ns) {
        sender->has_ended = true;
        sender->supply = sender->is_fed ? sender->supply : sender->sent;
    }
    if (sender->has_ended || sender->is_fed || !(spec->app_rate > 0)) {
        return;
    }
    sender->supply_rest += spec->app_rate * (double)passed_ns / 1e9;
    const int64_t whole = (int64_t)sender->supply_rest;
    sender->supply_rest -= (double)whole;
    rsti_lab_sender_feed(sender, rsti_min_i64(whole, rsti_lab_sender_room(sender)));
}

void rsti_lab_sender_step(rsti_lab_sender_t *sender, int64_t step, int64_t now_ns)
{
    const rsti_lab_sender_spec_t *spec = sender->spec;
    const int64_t passed_ns = sender->step_ns;
    read_feedback(sender, step, now_ns);
    if ((double)now_ns < spec->begins_ns) {
        return;
    }
    produce(sender, passed_ns, now_ns);
    sender->limit = sender->flow.strategy->on_idle(&sender->flow, sender->limit, now_ns);
    const double before = sender->rate.bytes_per_s;
    (void)rsti_rate_on_cycle(&sender->rate,
        &(rsti_rate_use_t){
            .now_ns = now_ns,
            .sent_bytes = sender->sent + sender->resent_bytes,
            .rtt_ns = (int64_t)spec->rtt_ns,
            .buffer_bytes = sender->window,
        });
    if (sender->rate.bytes_per_s != before || sender->tokens.bytes.rate != before) {
        rsti_tokens_set(&sender->tokens, sender->rate.bytes_per_s, sender->rate.datagrams_per_s,
            now_ns);
    }
    sender->link_rest += spec->link_rate * (double)passed_ns / 1e9;
    const int64_t room = (int64_t)sender->link_rest;
    int64_t left = resend(sender, room, step, now_ns);
    left = send_new(sender, left, step, now_ns);
    /* Unused capacity of the link is lost, except for less than a datagram. */
    const double rest = (double)left + sender->link_rest - (double)room;
    sender->link_rest = rest < spec->mtu ? rest : spec->mtu;
}

int64_t rsti_lab_sender_room(const rsti_lab_sender_t *sender)
{
    const int64_t backlog = sender->supply - sender->sent;
    return rsti_max_i64(0, (int64_t)sender->spec->backlog_bytes - backlog);
}

void rsti_lab_sender_feed(rsti_lab_sender_t *sender, int64_t bytes)
{
    sender->supply += bytes;
}
