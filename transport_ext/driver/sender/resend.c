/* resend.c: see resend.h. */
#include "driver/sender/resend.h"

#include "driver/base/driver_state.h"
#include "driver/sender/send_rate.h"
#include "driver/sender/slowest_receiver.h"
#include "driver/sender/transmit.h"

typedef struct resend_t {
    rsti_sender_t *sender;
    rsti_network_publication_t *publication;
    int64_t now_ns;
    bool is_held; /* by the path, until held_ns */
    int64_t held_ns;
} resend_t;

/* A NAK of 28 bytes can ask for megabytes, and any host can send one. Law for every interval:
 *
 *     retransmitted bytes <= new bytes + RSTI_RESEND_BYTES_PER_S * interval + one term
 *
 * (flow/bucket.h). A receiver that loses less than half of the stream never reaches this limit. */
static int64_t allow_resend(rsti_network_publication_t *publication, int64_t now_ns)
{
    rsti_bucket_fill(&publication->resend_bytes, now_ns);
    return rsti_bucket_room(&publication->resend_bytes);
}

/* The conductor cleans the log up to one term behind the sent position. Aeron resends only the last
 * half of that term, because no window is longer. rstream resends the whole term: under fc=max a
 * receiver with a full buffer can miss more than half a term, namely its window and the data in
 * flight. */
bool rsti_network_publication_holds(const rsti_network_publication_t *publication, int64_t position,
    int64_t snd_pos)
{
    const int64_t bottom = snd_pos - publication->base.options.term_length;
    return position >= rsti_max_i64(bottom, 0) && position < snd_pos;
}

/* Whether a frame of this publication begins there. A NAK may name any multiple of 32, also one
 * inside a frame, and payload must never be sent as a header. The header must therefore name its
 * own term and offset: payload may hold a copy of a header, but one of another place. */
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

/* A NAK for data that was not sent yet, or is no longer in the log, is late but not invalid. */
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

/* Where resends up to that position have to end for now: the path has room for no more. */
static int64_t path_end(resend_t *context, int64_t position, int64_t end)
{
    const int64_t room = rsti_send_path_room(&context->publication->send_path, context->now_ns,
        &context->held_ns);
    context->is_held = room < end - position;
    return context->is_held ? position + room : end;
}

static int resend(void *arg, int32_t term_id, int32_t term_offset, int32_t length)
{
    resend_t *context = arg;
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
    const int64_t allowed = rsti_min_i64(wanted,
        position + allow_resend(publication, context->now_ns));
    const int64_t end = path_end(context, position, allowed);
    const int64_t begin = position;
    int64_t bytes = 0, datagrams = 0;
    bool is_full = context->is_held;
    if (allowed < wanted) {
        rsti_driver_count(sender->driver, RSTI_SYSTEM_RETRANSMIT_OVERFLOW, 1);
    }
    while (position < end) {
        bool is_blocked = false, is_corrupt = false;
        const int32_t count = rsti_network_publication_collect(sender, publication, position, end,
            INT32_MAX, &is_blocked, &is_corrupt);
        const int32_t sent = count == 0
            ? 0
            : rsti_network_publication_transmit(sender, publication, sender->datagrams, count);
        for (int32_t i = 0; i < sent; i++) {
            bytes += (int64_t)sender->datagrams[i].length;
        }
        datagrams += sent;
        is_full = is_full || sent < count;
        position = sent > 0 ? sender->ends[sent - 1] : position;
        if (count == 0 || sent < count) {
            break;
        }
    }
    if (bytes > 0) {
        rsti_bucket_spend(&publication->resend_bytes, (double)bytes);
        rsti_pacer_on_sent(&publication->pacer, bytes);
        rsti_send_path_on_sent(&publication->send_path, position, bytes, context->now_ns);
        rsti_send_rate_on_sent(&publication->send_rate, bytes, datagrams, context->now_ns);
        rsti_driver_count(sender->driver, RSTI_SYSTEM_RETRANSMITS_SENT, 1);
        rsti_driver_count(sender->driver, RSTI_SYSTEM_RETRANSMITTED_BYTES, bytes);
    }
    if (bytes == 0) {
        return is_full ? RSTI_RESEND_BLOCKED : -1;
    }
    /* Padding takes the room of its header alone, so all of it may have left. */
    return context->is_held && position < allowed ? (int)(position - begin) : 0;
}

/* Retransmissions leave before new data. Otherwise new data could fill the socket in every pass,
 * and the receiver could deliver nothing behind the gap. */
void rsti_network_publication_send_again(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns)
{
    if (publication->retransmit.active_count > 0) {
        resend_t context = {
            .sender = sender, .publication = publication, .now_ns = now_ns, .held_ns = now_ns};
        int64_t due_ns = RSTI_NO_DEADLINE;
        (void)rsti_retransmit_process(&publication->retransmit, now_ns, resend, &context, &due_ns);
        rsti_lower_deadline(next_deadline_ns, context.is_held ? context.held_ns : due_ns);
    }
}

void rsti_network_publication_on_nak(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_nak_t *nak, int64_t now_ns)
{
    rst_driver_t *driver = sender->driver;
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
    const rsti_log_t *log = &publication->base.file.log;
    rsti_slowest_on_nak(publication,
        rsti_position(nak->term_id, nak->term_offset, log->position_bits, log->initial_term_id),
        now_ns);
    rsti_pacer_on_loss(&publication->pacer, now_ns);
    const int32_t length = rsti_retransmit_length(&publication->flow, term_length, nak->term_offset,
        nak->length);
    resend_t context = {.sender = sender, .publication = publication, .now_ns = now_ns};
    if (rsti_retransmit_on_nak(&publication->retransmit, nak->term_id, nak->term_offset,
            nak->length, length, now_ns, resend, &context)
        < 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_RETRANSMIT_OVERFLOW, 1);
    }
}
