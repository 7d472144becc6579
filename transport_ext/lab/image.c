/* image.c: see the header for the laws. */
#include "lab/image.h"

#include "flow/fair_share.h"
#include "flow/sm_due.h"
#include "util/clock.h"
#include "util/int_math.h"

#include <math.h>

#define STATUS_TIMEOUT_NS (200 * RSTI_NS_PER_MS)
#define NAK_RETRY_LEAST_NS (20 * RSTI_NS_PER_MS)
#define NAKS_PER_STEP 8
#define NAK_BYTES_MAX (512 * 1024) /* the most that a sender resends at once */
#define TERM_LENGTH (1 << 30)
#define TERM_BITS 30

static const char *const congestion_names[] = {"static", "cubic", "auto"};

static const rsti_lab_liar_spec_t *liar_of(const rsti_lab_spec_t *spec, int32_t index)
{
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_LIAR]; i++) {
        if ((int32_t)spec->liar[i].image == index) {
            return &spec->liar[i];
        }
    }
    return NULL;
}

int rsti_lab_image_init(rsti_lab_image_t *image, const rsti_lab_spec_t *spec, int32_t index)
{
    const rsti_lab_image_spec_t *own = &spec->image[index];
    const rsti_lab_consumer_spec_t *consumer = &spec->consumer[(int32_t)own->consumer];
    const double end_ns = spec->run->duration_ns;
    *image = (rsti_lab_image_t){
        .spec = own,
        .sender = &spec->sender[(int32_t)own->sender],
        .index = index,
        .receiver_id = index + 1,
        .reports = own->reports > 0,
        .survives = consumer->dies_ns >= end_ns && consumer->hangs_ns >= end_ns,
        .buffer_bytes = (int64_t)own->buffer_bytes,
        .status_window = -1,
        .status_ns = -STATUS_TIMEOUT_NS,
        .liar = liar_of(spec, index),
        .unmasked_ns = RSTI_NO_DEADLINE,
    };
    rsti_fill_init(&image->fill, (int64_t)own->target_delay_ns);
    rsti_fill_suppress_init(&image->suppress);
    rsti_rng_init(&image->dice,
        (uint64_t)spec->run->seed * UINT64_C(0xD1342543DE82EF95) + (uint64_t)index + 1);
    const rsti_congestion_params_t params = {
        .default_text = congestion_names[(int32_t)own->congestion],
        .window = (int32_t)own->buffer_bytes,
        .term_length = TERM_LENGTH,
        .mtu = (int32_t)image->sender->mtu,
        .cubic_measure_rtt = true,
        .cubic_tcp_mode = own->cubic_tcp > 0,
        .cubic_initial_rtt_ns = (int64_t)own->cubic_rtt_ns,
    };
    return rsti_congestion_init(&image->congestion, &params);
}

int64_t rsti_lab_image_ready(const rsti_lab_image_t *image)
{
    return image->gaps.count > 0 ? image->gaps.gaps[0].from : image->furthest;
}

static int64_t ask_ns(rsti_lab_image_t *image, int64_t now_ns)
{
    const double most_ns = image->sender->nak_delay_ns;
    return most_ns > 0 ? now_ns + (int64_t)(most_ns * rsti_rng_unit(&image->dice)) : now_ns;
}

static void miss(rsti_lab_image_t *image, int64_t from, int64_t to, int64_t now_ns)
{
    if (to > from) {
        image->has_loss = true;
        rsti_lab_gaps_append(&image->gaps, from, to, ask_ns(image, now_ns));
    }
}

/* New data beyond furthest, all of it within the buffer. */
static void append(rsti_lab_image_t *image, int64_t from, int64_t to, int64_t now_ns)
{
    miss(image, image->furthest, from, now_ns);
    image->furthest = to;
}

static void accept(rsti_lab_image_t *image, int64_t from, int64_t to, int64_t now_ns)
{
    const int64_t limit = image->consumed + image->buffer_bytes;
    const int64_t end = rsti_min_i64(to, limit);
    if (to == from) {
        return;
    }
    if (to > limit) {
        image->overrun_bytes += to - rsti_max_i64(from, limit);
        image->overrun_until = rsti_max_i64(image->overrun_until, limit);
    }
    if (end <= from) {
        /* All data before it was sent. */
        if (limit > image->furthest) {
            append(image, limit, limit, now_ns);
        }
        return;
    }
    if (from < image->furthest) {
        (void)rsti_lab_gaps_remove(&image->gaps, from, end);
    }
    if (end > image->furthest) {
        append(image, rsti_max_i64(from, image->furthest), end, now_ns);
    }
}

/* Bytes until the next datagram that the link loses; all datagrams are alike and independent. */
static int64_t next_loss(rsti_lab_image_t *image)
{
    const double loss = image->sender->loss;
    const double mtu = image->sender->mtu;
    if (!(loss > 0)) {
        return INT64_MAX;
    }
    const double skipped = floor(log(1.0 - rsti_rng_unit(&image->dice)) / log(1.0 - loss));
    return (int64_t)(skipped * mtu < 1e15 ? skipped * mtu : 1e15);
}

void rsti_lab_image_on_data(rsti_lab_image_t *image, const rsti_lab_chunk_t *chunk, int64_t now_ns)
{
    if (chunk->from == chunk->to) {
        const int64_t limit = image->consumed + image->buffer_bytes;
        append(image, rsti_max_i64(image->furthest, rsti_min_i64(chunk->to, limit)),
            rsti_max_i64(image->furthest, rsti_min_i64(chunk->to, limit)), now_ns);
        return;
    }
    const int64_t mtu = (int64_t)image->sender->mtu;
    int64_t from = chunk->from;
    while (from < chunk->to) {
        const int64_t left = chunk->to - from;
        const int64_t good = rsti_min_i64(next_loss(image), left);
        accept(image, from, from + good, now_ns);
        const int64_t lost = rsti_min_i64(mtu, left - good);
        image->lost_bytes += lost;
        from += good + lost;
    }
}

void rsti_lab_image_forget(rsti_lab_image_t *image, int64_t oldest)
{
    if (rsti_lab_image_ready(image) >= oldest || image->gaps.count == 0) {
        return;
    }
    image->given_up_bytes += rsti_lab_gaps_remove(&image->gaps, 0, oldest);
}

void rsti_lab_image_consume(rsti_lab_image_t *image, int64_t bytes, int64_t now_ns)
{
    image->consumed += bytes;
    if (bytes > 0 || rsti_lab_image_ready(image) <= image->consumed) {
        image->moved_ns = now_ns;
    }
}

static bool is_lost(rsti_lab_image_t *image)
{
    const double loss = image->sender->control_loss;
    return loss > 0 && rsti_rng_unit(&image->dice) < loss;
}

static void post(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step,
    rsti_lab_feedback_t *feedback)
{
    feedback->image = image->index;
    rsti_lab_link_send_feedback(link, step, feedback, is_lost(image));
}

static int32_t window_of(rsti_lab_image_t *image, int64_t now_ns, bool *force)
{
    const int64_t ready = rsti_lab_image_ready(image);
    const rsti_rebuild_facts_t facts = {
        .now_ns = now_ns,
        .consumed = image->consumed,
        .last_sm_position = image->status_position,
        .hwm = image->furthest,
        .from = ready,
        .to = ready,
        .rtt_ns = (int64_t)image->sender->rtt_ns,
        .rtt_least_ns = (int64_t)image->sender->rtt_ns,
        .has_loss = image->has_loss,
    };
    image->has_loss = false;
    return image->congestion.law->on_rebuild(&image->congestion, &facts, force);
}

static void say_status(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step, int64_t now_ns)
{
    bool is_forced = false;
    const int32_t window = window_of(image, now_ns, &is_forced);
    const rsti_sm_due_t due = {
        .consumed = image->consumed,
        .position = image->status_position,
        .last_window = image->status_window,
        .window = window,
        .position_bits = TERM_BITS,
        .is_forced = is_forced,
    };
    if (!rsti_sm_is_due(&due) && now_ns - image->status_ns < STATUS_TIMEOUT_NS) {
        return;
    }
    image->status_ns = now_ns;
    image->status_position = image->consumed;
    image->status_window = window;
    image->status_count++;
    post(image, link, step,
        &(rsti_lab_feedback_t){.kind = RSTI_LAB_STATUS, .from = image->consumed, .to = window});
}

static bool is_lying(const rsti_lab_image_t *image, int64_t now_ns)
{
    return image->liar != NULL && (double)now_ns >= image->liar->from_ns
        && (double)now_ns < image->liar->to_ns;
}

/* As driver/conductor/image_fill.c: the images of a consumer share what it takes. */
static double fair_drain(const rsti_lab_image_t *image)
{
    rsti_fair_sender_t senders[RSTI_FAIR_SENDERS_MAX] = {{image->fill.drain, true}};
    int32_t count = 1;
    for (int32_t i = 0; i < image->sibling_count && count < RSTI_FAIR_SENDERS_MAX; i++) {
        const rsti_lab_image_t *other = image->siblings[i];
        const bool reports = other->fill.is_reporting;
        if (other != image && other->furthest > 0) {
            senders[count++] = (rsti_fair_sender_t){
                reports ? other->fill.drain : other->fill.taking, reports};
        }
    }
    return rsti_fair_share(senders, count);
}

static void say_fill(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step, int64_t now_ns)
{
    /* Until data lost to a full buffer is repaired, the buffer counts as full up to there. Else a
     * slow reader that waits for repairs with an empty queue would never slow the sender down. */
    const int64_t ready = rsti_lab_image_ready(image);
    const rsti_fill_facts_t facts = {
        .now_ns = now_ns,
        .received = ready < image->overrun_until ? image->furthest : ready,
        .consumed = image->consumed,
        .buffer_bytes = image->buffer_bytes,
        .rtt_ns = (int64_t)image->sender->rtt_ns,
        .mtu = (int32_t)image->sender->mtu,
    };
    const rsti_fill_due_t due = rsti_fill_update(&image->fill, &facts);
    const bool is_due = due == RSTI_FILL_REPORT;
    const double unit = is_due && !image->suppress.is_waiting ? rsti_rng_unit(&image->dice) : 0;
    bool is_said = rsti_fill_suppress_is_due(&image->suppress, &image->fill, is_due,
        image->group_size, unit);
    const bool lies = is_lying(image, now_ns);
    const bool is_clear = !is_said && due == RSTI_FILL_CLEAR;
    is_said |= is_clear;
    if (!is_said && !lies) {
        return;
    }
    rsti_lab_feedback_t feedback = {.kind = RSTI_LAB_FILL_NAK, .from = image->status_position};
    rsti_fill_report(&image->fill, fair_drain(image), is_clear, &feedback.report);
    feedback.report.receiver_id = image->receiver_id;
    if (lies) {
        is_said = now_ns >= image->lie_due_ns;
        feedback.report.is_clear = false;
        feedback.report.allowed = image->liar->allowed;
        feedback.report.fill = image->liar->fill;
        feedback.report.drain *= image->liar->drain_share;
        image->lie_due_ns = is_said ? now_ns + (int64_t)image->liar->period_ns : image->lie_due_ns;
    }
    if (is_said) {
        rsti_fill_on_sent(&image->fill);
        image->report_count++;
        post(image, link, step, &feedback);
    }
}

static int64_t ask(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step, int64_t from,
    int64_t to)
{
    const int64_t end = rsti_min_i64(to, from + NAK_BYTES_MAX);
    image->nak_count++;
    post(image, link, step, &(rsti_lab_feedback_t){.kind = RSTI_LAB_NAK, .from = from, .to = end});
    return end;
}

static void say_naks(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step, int64_t now_ns)
{
    const int64_t limit = image->consumed + image->buffer_bytes;
    const int64_t retry_ns = rsti_max_i64(2 * (int64_t)image->sender->rtt_ns, NAK_RETRY_LEAST_NS);
    int32_t left = NAKS_PER_STEP;
    for (int32_t i = 0; i < image->gaps.count && left > 0; i++) {
        rsti_lab_gap_t *gap = &image->gaps.gaps[i];
        const int64_t to = rsti_min_i64(gap->to, limit);
        if (now_ns < gap->ask_ns || to <= gap->from) {
            continue;
        }
        gap->ask_ns = now_ns + retry_ns;
        for (int64_t from = gap->from; from < to && left > 0; left--) {
            from = ask(image, link, step, from, to);
        }
    }
}

void rsti_lab_image_speak(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step,
    int64_t now_ns)
{
    say_status(image, link, step, now_ns);
    if (image->reports) {
        say_fill(image, link, step, now_ns);
    }
    if (image->gaps.count > 0) {
        say_naks(image, link, step, now_ns);
    }
}

void rsti_lab_image_leave(rsti_lab_image_t *image, rsti_lab_link_t *link, int64_t step)
{
    post(image, link, step,
        &(rsti_lab_feedback_t){.kind = RSTI_LAB_STATUS,
            .from = image->consumed,
            .to = image->status_window,
            .is_eos = true});
}
