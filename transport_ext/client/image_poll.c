/* image_poll.c: polls that call back (docs/reference/aeron/memory.md 7). A callback may run for
 * long and may close anything. So no lock is held while it runs; is_polling marks the subscription
 * instead. Afterwards the position is stored under the lock, and only while the image still belongs
 * to the subscription. */
#include "client/image_poll.h"

#include "client/noop.h"
#include "client/subscription_images.h"
#include "util/error.h"

#include <inttypes.h>

RST_API void rst_poll_params_init(rst_poll_params_t *params)
{
    if (params != NULL) {
        *params = (rst_poll_params_t){.limit = 10, .limit_position = INT64_MAX};
    }
}

/* ---- one at a time ---- */

static int check(const rst_subscription_t *subscription)
{
    if (subscription == NULL) {
        return RST_SET_ERR(RST_EINVAL, "image or subscription is NULL");
    }
    return rsti_is_forked(subscription->generation) ? rsti_set_forked_error("subscription") : 0;
}

static int begin_poll(rst_subscription_t *subscription)
{
    int result = 0;
    pthread_mutex_lock(&subscription->lock);
    if (rsti_load_relaxed_i32(&subscription->is_polling) != 0) {
        result = RST_SET_ERR(RST_EBUSY,
            "channel %s, stream %" PRId32
            " is being polled: by another thread, or this is a callback of the poll",
            subscription->channel, subscription->stream_id);
    } else if (rsti_load_relaxed_i32(&subscription->is_closed) != 0) {
        result = RST_SET_ERR(RST_ECLOSED,
            "subscription to channel %s, stream %" PRId32 " is closed", subscription->channel,
            subscription->stream_id);
    } else {
        rsti_store_relaxed_i32(&subscription->is_polling, 1);
        rsti_noop_answer(subscription);
        rsti_subscription_ref(subscription);
    }
    pthread_mutex_unlock(&subscription->lock);
    return result;
}

static void end_poll(rst_subscription_t *subscription)
{
    pthread_mutex_lock(&subscription->lock);
    rsti_store_relaxed_i32(&subscription->is_polling, 0);
    rsti_subscription_end_let_go(subscription);
    pthread_mutex_unlock(&subscription->lock);
    rsti_subscription_unref(subscription);
}

/* ---- walking one image ---- */

typedef struct walk_t {
    rst_image_t *image;
    const rst_poll_params_t *params;
    void *arg;
    rst_on_fragment_t on_fragment;
    int32_t version;       /* of the subscription's images, as last looked at */
    uint8_t *term;
    int32_t term_id;
    int64_t term_position; /* where the term begins */
    int32_t offset;        /* of the next frame */
    int32_t offset_end;    /* frames that begin here or later stay unread */
    int32_t read;
    bool is_corrupt;
} walk_t;

/* Begins at the image's position. False: the image may not be read. */
static bool begin_walk(walk_t *walk)
{
    rst_image_t *image = walk->image;
    rst_subscription_t *subscription = image->subscription;
    const rsti_log_t *log = &image->log->file.log;
    pthread_mutex_lock(&subscription->lock);
    const int64_t position = image->scan_position;
    const bool may_read = image->state != RSTI_IMAGE_GONE && !image->is_let_go && !image->is_corrupt
        && !rsti_image_is_evicted(image)
        && (image->state != RSTI_IMAGE_ACTIVE || rsti_image_has_counter(image)
            || rsti_client_state_now(subscription->client) != RST_CLIENT_OPEN);
    walk->version = rsti_load_relaxed_i32(&subscription->version);
    pthread_mutex_unlock(&subscription->lock);
    if (!may_read || position >= rsti_max_position(log->term_length)
        || position >= walk->params->limit_position) {
        return false;
    }
    walk->offset = rsti_position_offset(position, log->term_length);
    walk->term_position = position - walk->offset;
    walk->term = log->terms[rsti_position_index(position, log->position_bits)];
    walk->term_id = rsti_position_term_id(position, log->position_bits, log->initial_term_id);
    walk->offset_end = (int32_t)rsti_min_i64(log->term_length,
        walk->params->limit_position - walk->term_position);
    return true;
}

/* Whether the image may be read on. It is checked only when the version has changed. */
static bool may_go_on(walk_t *walk)
{
    rst_subscription_t *subscription = walk->image->subscription;
    const int32_t version = rsti_load_acquire_i32(&subscription->version);
    if (version == walk->version) {
        return true;
    }
    pthread_mutex_lock(&subscription->lock);
    const bool goes_on = walk->image->state != RSTI_IMAGE_GONE && !walk->image->is_let_go;
    pthread_mutex_unlock(&subscription->lock);
    walk->version = version;
    return goes_on;
}

static void store_position(rst_image_t *image, int64_t position, bool is_corrupt)
{
    rst_subscription_t *subscription = image->subscription;
    bool must_wake = false;
    pthread_mutex_lock(&subscription->lock);
    if (image->state != RSTI_IMAGE_GONE) {
        image->scan_position = position;
        image->delivered_position = position;
        image->is_corrupt = image->is_corrupt || is_corrupt;
        must_wake = rsti_image_move_position(image);
    }
    pthread_mutex_unlock(&subscription->lock);
    if (must_wake) {
        rsti_client_wake_agent(subscription->client, RSTI_AGENT_CONDUCTOR);
    }
}

/* The kind of the frame at the offset: 1 data, 0 padding, -1 no frame or a corrupt one. */
static int next_frame(walk_t *walk, const rsti_data_header_t **header, int32_t *length)
{
    const int32_t term_length = walk->image->log->file.log.term_length;
    if (walk->offset >= walk->offset_end) {
        return -1;
    }
    *length = rsti_load_acquire_i32(rsti_frame_length_address(walk->term, walk->offset));
    if (*length <= 0) {
        return -1;
    }
    *header = (const rsti_data_header_t *)(const void *)(walk->term + walk->offset);
    const int16_t type = (*header)->frame.type;
    walk->is_corrupt = !rsti_frame_fits(*length, term_length - walk->offset)
        || (type != RSTI_FRAME_DATA && type != RSTI_FRAME_PAD)
        || (type == RSTI_FRAME_DATA
            && ((*header)->term_id != walk->term_id || (*header)->term_offset != walk->offset));
    return walk->is_corrupt ? -1 : type == RSTI_FRAME_DATA ? 1 : 0;
}

/* ---- handing out ---- */

static rst_fragment_t fragment_of(const walk_t *walk, const rsti_data_header_t *header,
    int32_t length)
{
    return (rst_fragment_t){
        .data = (const uint8_t *)header + RSTI_DATA_HEADER_LENGTH,
        .length = length - RSTI_DATA_HEADER_LENGTH,
        .session_id = walk->image->session_id,
        .stream_id = header->stream_id,
        .term_id = walk->term_id,
        .term_offset = walk->offset,
        .flags = header->frame.flags,
        .reserved_value = header->reserved_value,
        .position = walk->term_position + walk->offset + rsti_frame_span(length),
    };
}

/* Hands out a message with its last fragment. After an ABORT the state is as if that fragment had
 * not been read. */
static int hand_out_assembled(walk_t *walk, rst_fragment_t *fragment, int32_t total)
{
    rsti_assembler_t *assembler = &walk->image->assembler;
    const int32_t length_before = total - fragment->length;
    const int64_t position = walk->term_position + walk->offset;
    rst_fragment_t message = *fragment;
    message.data = assembler->buffer.data;
    message.length = total;
    message.flags |= RSTI_FLAG_BEGIN;
    message.term_id = assembler->term_id;
    message.term_offset = assembler->term_offset;
    message.reserved_value = assembler->reserved_value;
    const rst_poll_action_t action = walk->on_fragment(walk->arg, &message);
    if (action == RST_POLL_ABORT) {
        assembler->length = length_before;
        assembler->next_position = position;
    } else {
        rsti_assembler_reset(assembler);
    }
    return (int)action;
}

/* Returns the action, or a negative error. */
static int hand_out(walk_t *walk, const rsti_data_header_t *header, rst_fragment_t *fragment)
{
    rsti_assembler_t *assembler = &walk->image->assembler;
    if (!walk->params->is_assembling
        || (fragment->flags & RSTI_FLAG_UNFRAGMENTED) == RSTI_FLAG_UNFRAGMENTED) {
        if (walk->params->is_assembling) {
            rsti_assembler_reset(assembler);
        }
        return (int)walk->on_fragment(walk->arg, fragment);
    }
    const int64_t position = walk->term_position + walk->offset;
    const int32_t total = rsti_assembler_would_be(assembler, (uint8_t)fragment->flags,
        fragment->length, position);
    if (total < 0) {
        rsti_assembler_reset(assembler); /* this reader never saw its beginning */
        return RST_POLL_CONTINUE;
    }
    const int result = rsti_assembler_append(assembler, (uint8_t)fragment->flags, fragment->data,
        fragment->length, position, fragment->position);
    if (result < 0) {
        return result;
    }
    if ((fragment->flags & RSTI_FLAG_BEGIN) != 0) {
        rsti_assembler_begin(assembler, header);
    }
    return (fragment->flags & RSTI_FLAG_END) == 0 ? RST_POLL_CONTINUE
                                                  : hand_out_assembled(walk, fragment, total);
}

/* 1: go on; 0: end; negative: error. walk->offset moves behind the frames that were taken. */
static int take(walk_t *walk, const rsti_data_header_t *header, int32_t length)
{
    rst_fragment_t fragment = fragment_of(walk, header, length);
    const int32_t span = rsti_frame_span(length);
    const int action = hand_out(walk, header, &fragment);
    if (action == RST_POLL_ABORT || action < 0) {
        return action < 0 ? action : 0;
    }
    walk->read++;
    walk->offset += span;
    if (action == RST_POLL_COMMIT) {
        store_position(walk->image, fragment.position, false);
    }
    return action == RST_POLL_BREAK ? 0 : 1;
}

static int walk_image(walk_t *walk)
{
    int goes_on = 1;
    if (!begin_walk(walk)) {
        return 0;
    }
    const int32_t begin = walk->offset;
    while (goes_on > 0 && walk->read < walk->params->limit) {
        const rsti_data_header_t *header = NULL;
        int32_t length = 0;
        const int kind = next_frame(walk, &header, &length);
        if (kind < 0) {
            break;
        }
        if (kind == 0) {
            walk->offset += rsti_frame_span(length);
            continue;
        }
        goes_on = take(walk, header, length);
        if (!may_go_on(walk)) {
            break; /* the callback closed the image: store nothing */
        }
    }
    if (walk->offset != begin || walk->is_corrupt) {
        store_position(walk->image, walk->term_position + walk->offset, walk->is_corrupt);
    }
    if (walk->is_corrupt) {
        return RST_SET_ERR(RST_ECORRUPT,
            "session %" PRId32 ": the log holds an impossible frame at position %" PRId64,
            walk->image->session_id, walk->term_position + walk->offset);
    }
    return goes_on < 0 ? goes_on : 0;
}

static int check_params(const rst_poll_params_t *params, rst_on_fragment_t on_fragment)
{
    if (params == NULL || on_fragment == NULL) {
        return RST_SET_ERR(RST_EINVAL, "params or on_fragment is NULL");
    }
    return params->limit >= 1
        ? 0
        : RST_SET_ERR(RST_EINVAL, "limit %" PRId32 ": must be at least 1", params->limit);
}

/* ---- the polls ---- */

RST_API int rst_image_poll(rst_image_t *image, const rst_poll_params_t *params, void *arg,
    rst_on_fragment_t on_fragment)
{
    int result = check_params(params, on_fragment);
    if (result == 0) {
        result = check(image != NULL ? image->subscription : NULL);
    }
    if (result == 0) {
        result = begin_poll(image->subscription);
    }
    if (result < 0) {
        return result;
    }
    rst_subscription_t *subscription = image->subscription;
    rsti_image_ref(image); /* the callback may release it */
    walk_t walk = {.image = image, .params = params, .arg = arg, .on_fragment = on_fragment};
    result = walk_image(&walk);
    rsti_image_unref(image);
    end_poll(subscription);
    return result < 0 && walk.read == 0 ? result : walk.read;
}

/* The image at an index, with a reference. */
static rst_image_t *image_at(rst_subscription_t *subscription, size_t index)
{
    rst_image_t *image = NULL;
    pthread_mutex_lock(&subscription->lock);
    if (index < subscription->images.count) {
        image = subscription->images.items[index];
        rsti_image_ref(image);
    }
    pthread_mutex_unlock(&subscription->lock);
    return image;
}

static size_t turn(rst_subscription_t *subscription, size_t *count)
{
    pthread_mutex_lock(&subscription->lock);
    *count = subscription->images.count;
    const size_t first = *count > 0 ? subscription->round_robin++ % *count : 0;
    pthread_mutex_unlock(&subscription->lock);
    return first;
}

RST_API int rst_subscription_poll_each(rst_subscription_t *subscription,
    const rst_poll_params_t *params, void *arg, rst_on_fragment_t on_fragment)
{
    size_t count = 0;
    int32_t read = 0;
    int result = check_params(params, on_fragment);
    if (result == 0) {
        result = check(subscription);
    }
    if (result == 0) {
        result = begin_poll(subscription);
    }
    if (result < 0) {
        return result;
    }
    const size_t first = turn(subscription, &count);
    for (size_t i = 0; i < count && result >= 0 && read < params->limit; i++) {
        rst_image_t *image = image_at(subscription, (first + i) % count);
        if (image == NULL) {
            continue; /* an image has gone meanwhile */
        }
        rst_poll_params_t rest = *params;
        rest.limit -= read;
        walk_t walk = {.image = image, .params = &rest, .arg = arg, .on_fragment = on_fragment};
        result = walk_image(&walk);
        read += walk.read;
        rsti_image_unref(image);
    }
    pthread_mutex_lock(&subscription->lock);
    rsti_subscription_settle(subscription);
    pthread_mutex_unlock(&subscription->lock);
    end_poll(subscription);
    return result < 0 && read == 0 ? result : read;
}

/* ---- blocks ---- */

int32_t rsti_image_block(const rst_image_t *image, int32_t bytes_max, const uint8_t **frames,
    bool *is_corrupt)
{
    const rst_poll_params_t params = {.limit_position = INT64_MAX};
    const rsti_log_t *log = &image->log->file.log;
    const int32_t begin = rsti_position_offset(image->scan_position, log->term_length);
    walk_t walk = {.image = (rst_image_t *)image,
        .params = &params,
        .offset = begin,
        .offset_end = log->term_length,
        .term = log->terms[rsti_position_index(image->scan_position, log->position_bits)],
        .term_id = rsti_position_term_id(image->scan_position, log->position_bits,
            log->initial_term_id)};
    *frames = walk.term + begin;
    *is_corrupt = false;
    if (image->scan_position >= rsti_max_position(log->term_length)) {
        return 0;
    }
    for (;;) {
        const rsti_data_header_t *header = NULL;
        int32_t length = 0;
        const int kind = next_frame(&walk, &header, &length);
        const int32_t span = kind >= 0 ? rsti_frame_span(length) : 0;
        if (kind == 0 && walk.offset == begin) {
            return span; /* a block of padding holds nothing else */
        }
        if (kind <= 0 || span > bytes_max - (walk.offset - begin)) {
            *is_corrupt = walk.is_corrupt && walk.offset == begin;
            return walk.offset - begin;
        }
        walk.offset += span;
    }
}

RST_API int64_t rst_image_poll_block(rst_image_t *image, int32_t bytes_max, void *arg,
    void (*on_block)(void *arg, const void *frames, size_t length, int32_t session_id,
        int32_t term_id))
{
    int result = check(image != NULL ? image->subscription : NULL);
    if (result == 0 && (on_block == NULL || bytes_max < RSTI_FRAME_ALIGNMENT)) {
        result = RST_SET_ERR(RST_EINVAL, "on_block must not be NULL, and bytes_max at least %d",
            RSTI_FRAME_ALIGNMENT);
    }
    if (result == 0) {
        result = begin_poll(image->subscription);
    }
    if (result < 0) {
        return result;
    }
    rst_subscription_t *subscription = image->subscription;
    const rst_poll_params_t params = {.limit_position = INT64_MAX};
    rsti_image_ref(image);
    walk_t walk = {.image = image, .params = &params};
    int32_t length = 0;
    if (begin_walk(&walk)) {
        const uint8_t *frames = NULL;
        length = rsti_image_block(image, bytes_max, &frames, &walk.is_corrupt);
        if (length > 0) {
            on_block(arg, frames, (size_t)length, image->session_id, walk.term_id);
        }
        if (length > 0 || walk.is_corrupt) {
            store_position(image, walk.term_position + walk.offset + length, walk.is_corrupt);
        }
    }
    rsti_image_unref(image);
    end_poll(subscription);
    return walk.is_corrupt
        ? RST_SET_ERR(RST_ECORRUPT, "session %" PRId32 ": the log holds an impossible frame",
              image->session_id)
        : length;
}
