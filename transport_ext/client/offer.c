/* offer.c: publishing messages, in the caller's thread. No lock and no allocation; the only system
 * call is the write that wakes a sleeper. */
#include "client/publication.h"

#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>

#define PARTS_ON_STACK 16
/* Term rotations retried in one call: the thread that filled the term may be slower than this
 * one. */
#define ADMIN_RETRIES_MAX 4

/* ---- before and after ---- */

static int64_t refuse_length(const rst_publication_t *publication, size_t length, int32_t most,
    const char *what)
{
    (void)RST_SET_ERR(RST_ETOOLARGE,
        "message of %zu bytes on channel %s, stream %" PRId32 ": the longest %s is %" PRId32
        " bytes",
        length, publication->channel, publication->appender.stream_id, what, most);
    return RST_ERROR;
}

static int64_t refuse_null(const char *what)
{
    (void)RST_SET_ERR(RST_EINVAL, "%s is NULL", what);
    return RST_ERROR;
}

/* Wakes the readers of an IPC log, or the sender and the spies of a network log. */
static inline void wake(rst_publication_t *publication)
{
    if (!publication->is_rstream) {
        return;
    }
    if (!publication->is_ipc) {
        rsti_client_wake_agent(publication->client, RSTI_AGENT_SENDER);
        /* rsti_client_wake_agent() has made the fence that this load needs. */
        if (rsti_load_relaxed_i32(&publication->ext->data_armed) != 0) {
            rsti_wake_log(publication->ext, RSTI_WAIT_DATA, rsti_client_on_wake,
                publication->client);
        }
    } else if (rsti_wake_is_log_armed(publication->ext, RSTI_WAIT_DATA)) {
        rsti_wake_log(publication->ext, RSTI_WAIT_DATA, rsti_client_on_wake, publication->client);
    }
}

/* A rate holds the limit of an IPC log, or the limit follows the publisher, and nothing else wakes
 * the conductor then: a publisher does not while there is room, and a reader cannot pass the
 * publisher. */
static void ask_for_room(rst_publication_t *publication)
{
    if (publication->is_rstream
        && (rsti_load_relaxed_i32(&publication->ext->is_limit_short) != 0
            || (publication->is_ipc
                && rsti_load_relaxed_i32(&publication->ext->held_by) == RSTI_HELD_BY_RATE))) {
        rsti_client_wake_agent(publication->client, RSTI_AGENT_CONDUCTOR);
    }
}

static inline int64_t finish(rst_publication_t *publication, int64_t result)
{
    if (result > 0) {
        rsti_store_relaxed_i64(&publication->sent_position, result);
        wake(publication);
    } else if (result == RST_BACK_PRESSURED || result == RST_NOT_CONNECTED) {
        rsti_store_relaxed_i32(&publication->last_reason, (int32_t)result);
        ask_for_room(publication);
    }
    return result;
}

/* ---- one message ---- */

RST_API int64_t rst_publication_offer(rst_publication_t *publication, const void *data,
    size_t length, int64_t reserved_value)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (length > (size_t)publication->max_message_length) {
        return refuse_length(publication, length, publication->max_message_length, "message");
    }
    if (data == NULL && length > 0) {
        return refuse_null("data");
    }
    const rsti_iovec_t part = {.data = data, .length = length};
    return finish(publication,
        rsti_append(&publication->appender, &part, 1, length, reserved_value));
}

static int64_t append_parts(rst_publication_t *publication, const rst_message_part_t *parts,
    rsti_iovec_t *vectors, size_t part_count, int64_t reserved_value)
{
    size_t length = 0;
    for (size_t i = 0; i < part_count; i++) {
        if (parts[i].data == NULL && parts[i].length > 0) {
            return refuse_null("data of a part");
        }
        if (__builtin_add_overflow(length, parts[i].length, &length)
            || length > (size_t)publication->max_message_length) {
            return refuse_length(publication, length, publication->max_message_length, "message");
        }
        vectors[i] = (rsti_iovec_t){.data = parts[i].data, .length = parts[i].length};
    }
    return finish(publication,
        rsti_append(&publication->appender, vectors, part_count, length, reserved_value));
}

RST_API int64_t rst_publication_offer_parts(rst_publication_t *publication,
    const rst_message_part_t *parts, size_t part_count, int64_t reserved_value)
{
    rsti_iovec_t on_stack[PARTS_ON_STACK];
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (parts == NULL && part_count > 0) {
        return refuse_null("parts");
    }
    if (part_count <= PARTS_ON_STACK) {
        return append_parts(publication, parts, on_stack, part_count, reserved_value);
    }
    if (part_count > SIZE_MAX / sizeof(rsti_iovec_t)) {
        return refuse_length(publication, part_count, publication->max_message_length, "message");
    }
    rsti_iovec_t *on_heap = rsti_alloc(part_count * sizeof *on_heap);
    if (on_heap == NULL) {
        return RST_ERROR;
    }
    const int64_t result = append_parts(publication, parts, on_heap, part_count, reserved_value);
    rsti_free(on_heap);
    return result;
}

/* ---- many messages ---- */

typedef struct source_t {
    const rst_message_part_t *messages; /* or */
    const uint8_t *block;
    size_t size;
    size_t first; /* index 0 of next_message() means this message */
} source_t;

static void next_message(void *arg, size_t index, const void **data, size_t *length)
{
    const source_t *source = arg;
    const size_t at = source->first + index;
    if (source->messages != NULL) {
        *data = source->messages[at].data;
        *length = source->messages[at].length;
    } else {
        *data = source->size > 0 ? source->block + at * source->size : NULL;
        *length = source->size;
    }
}

/* Appends one message if it needs several fragments, otherwise as many as fit one claim. */
static int64_t append_some(rst_publication_t *publication, source_t *source, size_t count,
    int64_t reserved_value, size_t *taken)
{
    const void *data;
    size_t length;
    *taken = 0;
    next_message(source, 0, &data, &length);
    if (length > (size_t)publication->max_message_length) {
        return refuse_length(publication, length, publication->max_message_length, "message");
    }
    if (data == NULL && length > 0) {
        return refuse_null("data of a message");
    }
    if (length <= (size_t)publication->appender.max_payload) {
        return rsti_append_many(&publication->appender, count, next_message, source, reserved_value,
            taken);
    }
    const rsti_iovec_t part = {.data = data, .length = length};
    const int64_t result = rsti_append(&publication->appender, &part, 1, length, reserved_value);
    *taken = result > 0 ? 1 : 0;
    return result;
}

static int64_t append_all(rst_publication_t *publication, source_t *source, size_t count,
    int64_t reserved_value, size_t *taken)
{
    int64_t position = 0;
    int64_t reason = 0;
    int retries = 0;
    *taken = 0;
    while (*taken < count) {
        size_t some = 0;
        source->first = *taken;
        const int64_t result = append_some(publication, source, count - *taken, reserved_value,
            &some);
        *taken += some;
        if (result > 0) {
            position = result;
            retries = 0;
        } else if (result != RST_ADMIN_ACTION || ++retries > ADMIN_RETRIES_MAX) {
            reason = result;
            break;
        }
    }
    if (reason != 0 && *taken > 0) {
        (void)finish(publication, reason); /* stores the reason for waiters */
    }
    return *taken > 0 ? finish(publication, position) : finish(publication, reason);
}

static bool has_null_message(const rst_message_part_t *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (messages[i].data == NULL && messages[i].length > 0) {
            return true;
        }
    }
    return false;
}

RST_API int64_t rst_publication_offer_many(rst_publication_t *publication,
    const rst_message_part_t *messages, size_t count, int64_t reserved_value, size_t *taken)
{
    size_t unused;
    size_t *counted = taken != NULL ? taken : &unused;
    *counted = 0;
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (count == 0) {
        return rsti_log_producer_position(&publication->log->file.log);
    }
    if (messages == NULL || has_null_message(messages, count)) {
        return refuse_null("messages, or the data of one");
    }
    source_t source = {.messages = messages};
    return append_all(publication, &source, count, reserved_value, counted);
}

RST_API int64_t rst_publication_offer_block(rst_publication_t *publication, const void *data,
    size_t size, size_t count, int64_t reserved_value, size_t *taken)
{
    size_t unused;
    size_t *counted = taken != NULL ? taken : &unused;
    *counted = 0;
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (count == 0) {
        return rsti_log_producer_position(&publication->log->file.log);
    }
    if (data == NULL && size > 0) {
        return refuse_null("data");
    }
    source_t source = {.block = data, .size = size};
    return append_all(publication, &source, count, reserved_value, counted);
}

/* ---- what only an exclusive publication may do ---- */

static int64_t refuse_shared(const rst_publication_t *publication, const char *what)
{
    (void)RST_SET_ERR(RST_EINVAL,
        "%s on channel %s, stream %" PRId32 ": only an exclusive publication can", what,
        publication->channel, publication->appender.stream_id);
    return RST_ERROR;
}

RST_API int64_t rst_publication_offer_frames(rst_publication_t *publication, const void *frames,
    size_t length)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (!publication->appender.is_exclusive) {
        return refuse_shared(publication, "frames offered");
    }
    if (frames == NULL) {
        return refuse_null("frames");
    }
    return finish(publication, rsti_append_frames(&publication->appender, frames, length));
}

RST_API int64_t rst_publication_append_padding(rst_publication_t *publication, size_t length)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (!publication->appender.is_exclusive) {
        return refuse_shared(publication, "padding");
    }
    if (length > (size_t)publication->max_message_length) {
        return refuse_length(publication, length, publication->max_message_length, "padding");
    }
    return finish(publication, rsti_append_padding(&publication->appender, length));
}

RST_API int64_t rst_publication_offer_control(rst_publication_t *publication, const void *data,
    size_t length, int64_t reserved_value)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (!publication->appender.is_exclusive) {
        return refuse_shared(publication, "a control message");
    }
    const rsti_log_t *log = &publication->log->file.log;
    const int32_t most = rsti_max_control_length(log->term_length, log->mtu);
    if (length > (size_t)most) {
        return refuse_length(publication, length, most, "control message");
    }
    if (data == NULL && length > 0) {
        return refuse_null("data");
    }
    const rsti_iovec_t part = {.data = data, .length = length};
    int64_t result = rsti_append_control(&publication->appender, &part, reserved_value);
    if (result == RST_ADMIN_ACTION) { /* the log has turned to its next term */
        result = rsti_append_control(&publication->appender, &part, reserved_value);
    }
    return finish(publication, result);
}

/* ---- claims ---- */

RST_API int64_t rst_publication_try_claim(rst_publication_t *publication, size_t length,
    int64_t reserved_value, rst_claim_t *claim)
{
    if (claim == NULL) {
        return refuse_null("claim");
    }
    *claim = (rst_claim_t){0};
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (length > (size_t)publication->appender.max_payload) {
        return refuse_length(publication, length, publication->appender.max_payload, "claim");
    }
    rsti_data_header_t *frame = NULL;
    const int64_t result = rsti_append_claim(&publication->appender, length, reserved_value,
        &frame);
    if (result <= 0) {
        return finish(publication, result);
    }
    /* The claim keeps the log mapped even if the publication is closed before it is committed. */
    rsti_publication_ref(publication);
    *claim = (rst_claim_t){
        .data = (uint8_t *)frame + RSTI_DATA_HEADER_LENGTH,
        .length = length,
        .position = result,
        .frame = frame,
        .publication = publication,
    };
    return result;
}

static int end_claim(rst_claim_t *claim, void (*end)(rsti_data_header_t *frame))
{
    if (claim == NULL || claim->frame == NULL || claim->publication == NULL) {
        return RST_SET_ERR(RST_EINVAL, "the claim is not open: committed or aborted already?");
    }
    rst_publication_t *publication = claim->publication;
    if (rsti_is_forked(publication->generation)) {
        *claim = (rst_claim_t){0};
        return rsti_set_forked_error("claim");
    }
    end(claim->frame);
    wake(publication);
    *claim = (rst_claim_t){0};
    rsti_publication_unref(publication);
    return 0;
}

RST_API int rst_claim_commit(rst_claim_t *claim)
{
    return end_claim(claim, rsti_append_commit);
}

RST_API int rst_claim_abort(rst_claim_t *claim)
{
    return end_claim(claim, rsti_append_abort);
}
