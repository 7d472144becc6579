/* parts.c: see parts.h. */
#include "client/parts.h"

#include "client/image_gaps.h"
#include "protocol/part.h"
#include "util/alloc.h"
#include "util/error.h"

#include <stdlib.h>
#include <string.h>

/* atomic: bytes of partial messages in this process */
static int64_t partial_bytes;

/* ---- memory ---- */

/* Not rsti_alloc(), which writes zeros: memory that is not written needs no page. */
static void *heap_alloc(void *arg, size_t length, void **owner)
{
    (void)arg;
    *owner = malloc(length);
    return *owner;
}

static void heap_free(void *arg, void *owner)
{
    (void)arg;
    free(owner);
}

RST_API int rst_subscription_take_parts(rst_subscription_t *subscription,
    const rst_parts_params_t *params)
{
    if (subscription == NULL || params == NULL || params->length_max < 1
        || (params->memory.alloc != NULL && params->memory.free == NULL)) {
        return RST_SET_ERR(RST_EINVAL,
            "subscription or params is NULL, length_max below 1, or memory.free NULL");
    }
    if (rsti_is_forked(subscription->generation)) {
        return rsti_set_forked_error("subscription");
    }
    if (!rsti_subscription_is_usable(subscription)) {
        return RST_SET_ERR(RST_ECLOSED, "the subscription is closed");
    }
    pthread_mutex_lock(&subscription->lock);
    const bool is_again = subscription->takes_parts;
    if (!is_again) {
        subscription->parts = *params;
        if (params->memory.alloc == NULL) {
            subscription->parts.memory = (rst_memory_t){.alloc = heap_alloc, .free = heap_free};
        }
        subscription->takes_parts = true;
    }
    pthread_mutex_unlock(&subscription->lock);
    return is_again ? RST_SET_ERR(RST_EINVAL, "the subscription takes parts already") : 0;
}

RST_API int64_t rst_subscription_partial_bytes(const rst_subscription_t *subscription)
{
    int64_t bytes = 0;
    if (rsti_subscription_is_usable(subscription)) {
        pthread_mutex_t *lock = (pthread_mutex_t *)&subscription->lock;
        pthread_mutex_lock(lock);
        for (size_t i = 0; i < subscription->images.count; i++) {
            const rst_image_t *image = subscription->images.items[i];
            bytes += image->parts.data != NULL ? image->parts.received : 0;
        }
        pthread_mutex_unlock(lock);
    }
    return bytes;
}

/* ---- the end of a message ---- */

static void tell(rst_image_t *image, rst_skip_reason_t reason, int64_t position)
{
    const rsti_parts_t *parts = &image->parts;
    const rst_image_event_t event = {
        .kind = RST_IMAGE_SKIPPED,
        .position = parts->begin_position,
        .end_position = position,
        .received_position = parts->received,
        .message_length = parts->total,
        .skip_reason = (int32_t)reason,
        .segment = -1,
    };
    rsti_image_gaps_keep(image, &event);
}

void rsti_parts_hand_over(rst_image_t *image)
{
    rsti_parts_t *parts = &image->parts;
    (void)rsti_fetch_add_i64(&partial_bytes, -parts->received);
    parts->data = NULL;
    parts->owner = NULL;
    parts->next_position = -1;
}

void rsti_parts_drop(rst_image_t *image)
{
    const rst_memory_t *memory = &image->subscription->parts.memory;
    if (image->parts.data != NULL) {
        memory->free(memory->arg, image->parts.owner);
        rsti_parts_hand_over(image);
    }
}

static void skip(rst_image_t *image, rst_skip_reason_t reason, int64_t position)
{
    tell(image, reason, position);
    rsti_parts_drop(image);
    image->parts.next_position = -1;
}

void rsti_parts_end(rst_image_t *image)
{
    if (image->parts.data != NULL) {
        skip(image, RST_SKIP_ENDED, image->scan_position);
    }
}

void rsti_parts_given_back(rst_image_t *image, const rst_message_t *message)
{
    const rst_image_event_t event = {
        .kind = RST_IMAGE_SKIPPED,
        .position = message->position,
        .end_position = message->position,
        .received_position = message->length,
        .message_length = message->length,
        .skip_reason = RST_SKIP_GIVEN_BACK,
        .segment = -1,
    };
    rsti_image_gaps_keep(image, &event);
}

/* ---- parts ---- */

static void begin_message(rst_image_t *image, const rsti_part_t *part, int64_t position)
{
    rsti_parts_t *parts = &image->parts;
    const rst_parts_params_t *params = &image->subscription->parts;
    const bool is_first = parts->id == 0;
    parts->id = part->id;
    parts->total = part->total;
    parts->received = 0;
    parts->begin_position = position;
    if (part->offset == RSTI_PART_ABANDONED) {
        return; /* nothing of it was seen */
    }
    if (part->offset > 0) {
        if (!is_first) { /* the first one may have begun before this reader joined */
            tell(image, RST_SKIP_PART_LOST, position);
        }
        return;
    }
    if (part->total > params->length_max) {
        tell(image, RST_SKIP_TOO_LONG, position);
        return;
    }
    parts->data = params->memory.alloc(params->memory.arg, (size_t)part->total, &parts->owner);
    if (parts->data == NULL) {
        tell(image, RST_SKIP_NO_MEMORY, position);
        return;
    }
    rsti_prefer_large_pages(parts->data, (size_t)part->total);
}

void rsti_parts_begin(rst_image_t *image, const uint8_t *payload, int32_t length, int64_t position)
{
    rsti_parts_t *parts = &image->parts;
    rsti_part_t part;
    parts->next_position = -1;
    if (!rsti_part_decode(payload, (size_t)length, &part)) {
        if (parts->data == NULL) {
            *parts = (rsti_parts_t){
                .id = parts->id, .next_position = -1, .begin_position = position};
        }
        skip(image, RST_SKIP_INVALID, position);
        return;
    }
    if (part.id != parts->id) {
        if (parts->data != NULL) { /* on an unreliable stream its last part may be lost */
            skip(image, image->gaps.is_watched ? RST_SKIP_PART_LOST : RST_SKIP_ABANDONED, position);
        }
        begin_message(image, &part, position);
    }
    if (parts->data == NULL) {
        return; /* skipped, and told */
    }
    if (part.offset == RSTI_PART_ABANDONED) {
        skip(image, RST_SKIP_ABANDONED, position);
    } else if (part.total != parts->total) {
        skip(image, RST_SKIP_INVALID, position);
    } else if (part.offset > parts->received) {
        skip(image, RST_SKIP_PART_LOST, position);
    } else {
        parts->at = part.offset;
        parts->next_position = position;
    }
}

int64_t rsti_parts_would_be(rst_image_t *image, int32_t length, int64_t position)
{
    rsti_parts_t *parts = &image->parts;
    if (parts->data == NULL || parts->next_position != position) {
        parts->next_position = -1; /* a fragment is missing: the next part tells it */
        return -1;
    }
    if (length > parts->total - parts->at) {
        skip(image, RST_SKIP_INVALID, position);
        return -1;
    }
    const int64_t more = parts->at + length - parts->received;
    if (more > 0 && !rsti_parts_fit(rsti_load_relaxed_i64(&partial_bytes), more)) {
        skip(image, RST_SKIP_NO_MEMORY, position);
        return -1;
    }
    return parts->at + length;
}

void rsti_parts_copy(rst_image_t *image, const uint8_t *bytes, int32_t length, int64_t end_position)
{
    rsti_parts_t *parts = &image->parts;
    RST_ASSERT(parts->data != NULL && length <= parts->total - parts->at);
    memcpy(parts->data + parts->at, bytes, (size_t)length);
    parts->at += length;
    if (parts->at > parts->received) {
        (void)rsti_fetch_add_i64(&partial_bytes, parts->at - parts->received);
        parts->received = parts->at;
    }
    parts->next_position = end_position;
}
