/* appender.c: claims space in the active term and writes frames into it. */
#include "logbuffer/appender.h"

#include "logbuffer/appender_internal.h"
#include "util/error.h"

#include <inttypes.h>
#include <string.h>

/* Messages per claim in rsti_append_many: enough to make the claim cheap, few enough that a burst
 * does not delay the frames behind it for long. */
#define BATCH_MAX 256

void rsti_appender_init(rsti_appender_t *appender, rsti_log_t *log, const int64_t *limit,
    int32_t session_id, int32_t stream_id, bool is_exclusive)
{
    const int32_t count = rsti_load_acquire_i32(&log->metadata->active_term_count);
    const int64_t raw = rsti_load_acquire_i64(&log->metadata
            ->term_tail_counters[rsti_term_index(count)]);
    *appender = (rsti_appender_t){
        .log = log,
        .limit = limit,
        .session_id = session_id,
        .stream_id = stream_id,
        .max_payload = rsti_max_payload_length(log->mtu),
        .is_exclusive = is_exclusive,
        .term_id = rsti_tail_term_id(raw),
        .term_offset = rsti_tail_offset(raw, log->term_length)
            & ~(int32_t)(RSTI_FRAME_ALIGNMENT - 1),
    };
}

static int64_t refusal(const rsti_log_t *log, int64_t position, int32_t required)
{
    if (position + required >= rsti_max_position(log->term_length)) {
        return RST_MAX_POSITION_EXCEEDED;
    }
    return rsti_load_acquire_i32(&log->metadata->is_connected) != 0 ? RST_BACK_PRESSURED
                                                                    : RST_NOT_CONNECTED;
}

/* The position before the message, or the reason for refusing it. The limit is compared with that
 * position, so a message may overshoot the limit by its own length. */
static inline int64_t look(const rsti_appender_t *appender, int32_t required, rsti_tail_t *tail)
{
    const rsti_log_t *log = appender->log;
    if (appender->is_exclusive) {
        tail->term_id = appender->term_id;
        tail->offset = appender->term_offset;
        tail->index = rsti_term_index(rsti_wrap_sub_i32(appender->term_id, log->initial_term_id));
    } else {
        const int32_t count = rsti_load_acquire_i32(&log->metadata->active_term_count);
        tail->index = rsti_term_index(count);
        const int64_t raw = rsti_load_acquire_i64(&log->metadata->term_tail_counters[tail->index]);
        tail->term_id = rsti_tail_term_id(raw);
        tail->offset = rsti_tail_offset(raw, log->term_length);
        if (count < 0 || rsti_wrap_sub_i32(tail->term_id, log->initial_term_id) != count) {
            return RST_ADMIN_ACTION; /* another producer is rotating to the next term */
        }
    }
    const int64_t position = rsti_position(tail->term_id, tail->offset, log->position_bits,
        log->initial_term_id);
    if (position >= rsti_load_acquire_i64(appender->limit)) {
        return refusal(log, position, required);
    }
    return position;
}

static void rotate_exclusive(rsti_appender_t *appender, int32_t count)
{
    rsti_log_metadata_t *metadata = appender->log->metadata;
    appender->term_id = rsti_wrap_add_i32(appender->term_id, 1);
    appender->term_offset = 0;
    const int32_t next_count = rsti_wrap_add_i32(count, 1);
    rsti_store_relaxed_i64(&metadata->term_tail_counters[rsti_term_index(next_count)],
        rsti_tail_pack(appender->term_id, 0));
    rsti_store_release_i32(&metadata->active_term_count, next_count);
}

/* The claim did not fit. Only the producer whose claim crossed the end sees offset < term length,
 * and only it pads; every such producer helps to rotate. */
static int64_t end_of_log(rsti_appender_t *appender, int32_t index, int32_t term_id, int64_t offset)
{
    rsti_log_t *log = appender->log;
    const int32_t term_length = log->term_length;
    if ((offset & (RSTI_FRAME_ALIGNMENT - 1)) != 0) {
        (void)RST_SET_ERR(RST_ECORRUPT,
            "log: tail %" PRId64 " of term %" PRId32
            " is no frame boundary: somebody wrote into the log",
            offset, term_id);
        return RST_ERROR;
    }
    if (offset < term_length) {
        const int32_t at = (int32_t)offset;
        if (appender->is_exclusive) {
            appender->term_offset = term_length;
            rsti_store_release_i64(&log->metadata->term_tail_counters[index],
                rsti_tail_pack(term_id, term_length));
        }
        uint8_t *frame = log->terms[index] + at;
        rsti_frame_begin(frame, appender, term_length - at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD,
            term_id, at, 0);
        rsti_frame_commit(frame, term_length - at);
    }
    const int64_t end = rsti_position(term_id, term_length, log->position_bits,
        log->initial_term_id);
    if (end >= rsti_max_position(term_length)) {
        return RST_MAX_POSITION_EXCEEDED;
    }
    const int32_t count = rsti_wrap_sub_i32(term_id, log->initial_term_id);
    if (appender->is_exclusive) {
        rotate_exclusive(appender, count);
    } else {
        (void)rsti_log_rotate(log->metadata, count, term_id);
    }
    return RST_ADMIN_ACTION;
}

/* False: claimed->position is the reason. */
static inline bool claim(rsti_appender_t *appender, const rsti_tail_t *tail, int32_t required,
    rsti_claim_t *claimed)
{
    rsti_log_t *log = appender->log;
    int64_t *counter = &log->metadata->term_tail_counters[tail->index];
    int32_t term_id = tail->term_id;
    int64_t offset = tail->offset;
    if (appender->is_exclusive) {
        if (offset + required > log->term_length) {
            claimed->position = end_of_log(appender, tail->index, term_id, offset);
            return false;
        }
        appender->term_offset = (int32_t)offset + required;
        rsti_store_release_i64(counter, rsti_tail_pack(term_id, appender->term_offset));
    } else {
        /* A full term gets no further claims: callers that retry at the end of the stream would
         * count the offset up into the term id. */
        if (offset >= log->term_length) {
            claimed->position = end_of_log(appender, tail->index, term_id, offset);
            return false;
        }
        const int64_t raw = rsti_fetch_add_i64(counter, required);
        term_id = rsti_tail_term_id(raw);
        offset = raw & INT64_C(0xFFFFFFFF);
        if (offset + required > log->term_length || (offset & (RSTI_FRAME_ALIGNMENT - 1)) != 0) {
            claimed->position = end_of_log(appender, tail->index, term_id, offset);
            return false;
        }
    }
    claimed->term_id = term_id;
    claimed->term_offset = (int32_t)offset;
    claimed->frame = log->terms[tail->index] + offset;
    claimed->position = rsti_position(term_id, (int32_t)offset + required, log->position_bits,
        log->initial_term_id);
    return true;
}

int64_t rsti_appender_look(const rsti_appender_t *appender, int32_t required, rsti_tail_t *tail)
{
    return look(appender, required, tail);
}

bool rsti_appender_claim(rsti_appender_t *appender, const rsti_tail_t *tail, int32_t required,
    rsti_claim_t *claimed)
{
    return claim(appender, tail, required, claimed);
}

/* Copies the parts of a message in order, across their borders. */
typedef struct gather_t {
    const rsti_iovec_t *part;
    size_t offset;
} gather_t;

static void gather(gather_t *from, uint8_t *to, size_t length)
{
    while (length > 0) {
        size_t piece = from->part->length - from->offset;
        if (piece > length) {
            piece = length;
        }
        if (piece > 0) {
            memcpy(to, (const uint8_t *)from->part->data + from->offset, piece);
        }
        to += piece;
        from->offset += piece;
        length -= piece;
        if (from->offset == from->part->length) {
            from->part++;
            from->offset = 0;
        }
    }
}

static void write_fragments(const rsti_appender_t *appender, const rsti_claim_t *claimed,
    const rsti_iovec_t *parts, int32_t length, int64_t reserved_value)
{
    gather_t from = {.part = parts, .offset = 0};
    uint8_t *frame = claimed->frame;
    int32_t term_offset = claimed->term_offset;
    int32_t remaining = length;
    uint8_t flags = RSTI_FLAG_BEGIN;
    while (remaining > 0) {
        const int32_t payload = rsti_min_i32(remaining, appender->max_payload);
        if (payload == remaining) {
            flags |= RSTI_FLAG_END;
        }
        const int32_t frame_length = payload + RSTI_DATA_HEADER_LENGTH;
        rsti_frame_begin(frame, appender, frame_length, flags, RSTI_FRAME_DATA, claimed->term_id,
            term_offset, reserved_value);
        gather(&from, frame + RSTI_DATA_HEADER_LENGTH, (size_t)payload);
        rsti_frame_commit(frame, frame_length);
        frame += rsti_frame_span(frame_length);
        term_offset += rsti_frame_span(frame_length);
        remaining -= payload;
        flags = 0;
    }
}

static inline void write_whole(const rsti_appender_t *appender, const rsti_claim_t *claimed,
    const rsti_iovec_t *parts, size_t part_count, size_t length, int64_t reserved_value)
{
    const int32_t frame_length = (int32_t)length + RSTI_DATA_HEADER_LENGTH;
    rsti_frame_begin(claimed->frame, appender, frame_length, RSTI_FLAG_UNFRAGMENTED,
        RSTI_FRAME_DATA, claimed->term_id, claimed->term_offset, reserved_value);
    uint8_t *payload = claimed->frame + RSTI_DATA_HEADER_LENGTH;
    if (part_count == 1 && length > 0) {
        memcpy(payload, parts[0].data, length);
    } else {
        gather(&(gather_t){.part = parts, .offset = 0}, payload, length);
    }
    rsti_frame_commit(claimed->frame, frame_length);
}

int64_t rsti_append(rsti_appender_t *appender, const rsti_iovec_t *parts, size_t part_count,
    size_t length, int64_t reserved_value)
{
    RST_ASSERT(length <= (size_t)rsti_max_message_length(appender->log->term_length));
    const bool is_whole = length <= (size_t)appender->max_payload;
    const int32_t frame_length = (int32_t)length + RSTI_DATA_HEADER_LENGTH;
    const int32_t required = is_whole ? rsti_frame_span(frame_length)
                                      : rsti_framed_length((int32_t)length, appender->max_payload);
    rsti_tail_t tail;
    const int64_t before = look(appender, required, &tail);
    if (before < 0) {
        return before;
    }
    rsti_claim_t claimed;
    if (!claim(appender, &tail, required, &claimed)) {
        return claimed.position;
    }
    if (is_whole) {
        write_whole(appender, &claimed, parts, part_count, length, reserved_value);
    } else {
        write_fragments(appender, &claimed, parts, (int32_t)length, reserved_value);
    }
    return claimed.position;
}

int64_t rsti_append_control(rsti_appender_t *appender, const rsti_iovec_t *part,
    int64_t reserved_value)
{
    RST_ASSERT(appender->is_exclusive);
    const rsti_log_t *log = appender->log;
    RST_ASSERT(part->length <= (size_t)rsti_max_control_length(log->term_length, log->mtu));
    const int32_t required = rsti_frame_span((int32_t)part->length + RSTI_DATA_HEADER_LENGTH);
    rsti_tail_t tail;
    const int64_t before = look(appender, required, &tail);
    if (before == RST_BACK_PRESSURED) {
        const int64_t position = rsti_position(tail.term_id, tail.offset, log->position_bits,
            log->initial_term_id);
        const int64_t limit = rsti_load_acquire_i64(appender->limit);
        if (position - limit >= rsti_limit_overshoot(log->term_length, log->mtu)) {
            return RST_BACK_PRESSURED;
        }
    } else if (before < 0) {
        return before;
    }
    rsti_claim_t claimed;
    if (claim(appender, &tail, required, &claimed)) {
        write_whole(appender, &claimed, part, 1, part->length, reserved_value);
    }
    return claimed.position;
}

int64_t rsti_append_claim(rsti_appender_t *appender, size_t length, int64_t reserved_value,
    rsti_data_header_t **frame)
{
    RST_ASSERT(length <= (size_t)appender->max_payload);
    const int32_t frame_length = (int32_t)length + RSTI_DATA_HEADER_LENGTH;
    const int32_t required = rsti_frame_span(frame_length);
    rsti_tail_t tail;
    const int64_t before = look(appender, required, &tail);
    if (before < 0) {
        return before;
    }
    rsti_claim_t claimed;
    if (!claim(appender, &tail, required, &claimed)) {
        return claimed.position;
    }
    rsti_frame_begin(claimed.frame, appender, frame_length, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA,
        claimed.term_id, claimed.term_offset, reserved_value);
    *frame = (rsti_data_header_t *)(void *)claimed.frame;
    (*frame)->frame.version = (int8_t)appender->owner;
    return claimed.position;
}

/* A length that is no longer negative became a PAD by the unblocker, because this producer took too
 * long. Readers have passed it and the frame is lost. */
void rsti_append_commit(rsti_data_header_t *frame)
{
    int32_t *length = rsti_frame_length_address((uint8_t *)frame, 0);
    const int32_t claimed = rsti_load_relaxed_i32(length);
    if (claimed < 0) {
        frame->frame.version = 0;
        rsti_store_release_i32(length, rsti_wrap_sub_i32(0, claimed));
    }
}

/* Then the type is not ours to write either: another message may already be there. */
void rsti_append_abort(rsti_data_header_t *frame)
{
    if (rsti_load_relaxed_i32(rsti_frame_length_address((uint8_t *)frame, 0)) < 0) {
        frame->frame.type = RSTI_FRAME_PAD;
        rsti_append_commit(frame);
    }
}

typedef struct batch_t {
    size_t count;
    int32_t required;
    rsti_iovec_t messages[BATCH_MAX];
} batch_t;

/* Takes messages while the position before each is below the limit and it fits the term. It always
 * takes the first: if that does not fit, the claim fails and rotates the log. */
static void fill_batch(const rsti_appender_t *appender, const rsti_tail_t *tail,
    int64_t room_to_limit, size_t count,
    void (*next)(void *arg, size_t index, const void **data, size_t *length), void *arg,
    batch_t *batch)
{
    const int32_t room = appender->log->term_length - tail->offset;
    const size_t count_max = count < BATCH_MAX ? count : BATCH_MAX;
    int32_t required = 0;
    size_t taken = 0;
    while (taken < count_max && required < room_to_limit) {
        rsti_iovec_t *message = &batch->messages[taken];
        next(arg, taken, &message->data, &message->length);
        if (message->length > (size_t)appender->max_payload) {
            break;
        }
        const int32_t span = rsti_frame_span((int32_t)message->length + RSTI_DATA_HEADER_LENGTH);
        if (taken > 0 && required + span > room) {
            break;
        }
        required += span;
        taken++;
    }
    batch->count = taken;
    batch->required = required;
}

int64_t rsti_append_many(rsti_appender_t *appender, size_t count,
    void (*next)(void *arg, size_t index, const void **data, size_t *length), void *arg,
    int64_t reserved_value, size_t *taken)
{
    *taken = 0;
    rsti_tail_t tail;
    const int64_t position = look(appender, RSTI_FRAME_ALIGNMENT, &tail);
    if (position < 0) {
        return position;
    }
    const int64_t limit = rsti_load_acquire_i64(appender->limit);
    batch_t batch; /* each message is read once: its bytes may change meanwhile */
    fill_batch(appender, &tail, rsti_max_i64(limit - position, 1), count, next, arg, &batch);
    if (batch.count == 0) {
        return count == 0 ? position : RST_ERROR;
    }
    rsti_claim_t claimed;
    if (!claim(appender, &tail, batch.required, &claimed)) {
        return claimed.position;
    }
    uint8_t *frame = claimed.frame;
    int32_t term_offset = claimed.term_offset;
    for (size_t i = 0; i < batch.count; i++) {
        const rsti_iovec_t *message = &batch.messages[i];
        const int32_t frame_length = (int32_t)message->length + RSTI_DATA_HEADER_LENGTH;
        rsti_frame_begin(frame, appender, frame_length, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA,
            claimed.term_id, term_offset, reserved_value);
        if (message->length > 0) {
            memcpy(frame + RSTI_DATA_HEADER_LENGTH, message->data, message->length);
        }
        rsti_frame_commit(frame, frame_length);
        frame += rsti_frame_span(frame_length);
        term_offset += rsti_frame_span(frame_length);
    }
    *taken = batch.count;
    return claimed.position;
}
