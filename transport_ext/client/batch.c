/* batch.c: see batch.h. */
#include "client/batch.h"

#include "client/demand.h"
#include "client/parts.h"
#include "client/segments.h"
#include "cnc/map_guard.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_CAPACITY_MAX (1 << 20)
#define LEASES_AT_FIRST 8
#define SPARE_LENGTH_MAX ((size_t)4 << 20)

RST_API int rst_batch_create(rst_batch_t **batch, int32_t capacity)
{
    if (batch == NULL || capacity < 1 || capacity > BATCH_CAPACITY_MAX) {
        return RST_SET_ERR(RST_EINVAL, "batch capacity %" PRId32 ": must be 1 to %d", capacity,
            BATCH_CAPACITY_MAX);
    }
    *batch = NULL;
    rsti_fork_guard_init();
    rst_batch_t *created = rsti_alloc(sizeof *created);
    if (created == NULL) {
        return -RST_ENOMEM;
    }
    created->generation = rsti_load_relaxed_i32(&rsti_fork_generation);
    created->capacity = capacity;
    created->messages = rsti_alloc((size_t)capacity * sizeof *created->messages);
    if (created->messages == NULL || rsti_batch_prepare(created, LEASES_AT_FIRST) < 0) {
        rst_batch_destroy(created);
        return -RST_ENOMEM;
    }
    *batch = created;
    return 0;
}

static void free_batch(rst_batch_t *batch)
{
    for (int32_t i = 0; i < batch->owned_count; i++) {
        rsti_free(batch->owned[i].data);
    }
    for (int32_t i = 0; i < batch->spare_count; i++) {
        rsti_free(batch->spare[i].data);
    }
    rsti_free(batch->owned);
    rsti_free(batch->large);
    rsti_free(batch->leases);
    rsti_free(batch->messages);
    rsti_free(batch);
}

RST_API void rst_batch_destroy(rst_batch_t *batch)
{
    if (batch != NULL) {
        rst_batch_release(batch); /* in a forked child this only clears the fields */
        free_batch(batch);
    }
}

RST_API const rst_message_t *rst_batch_messages(const rst_batch_t *batch, int32_t *count)
{
    const bool is_usable = batch != NULL && !rsti_is_forked(batch->generation);
    if (count != NULL) {
        *count = is_usable ? batch->count : 0;
    }
    return is_usable ? batch->messages : NULL;
}

RST_API bool rst_batch_is_intact(const rst_batch_t *batch)
{
    if (batch == NULL || rsti_is_forked(batch->generation)) {
        return false;
    }
    rst_subscription_t *subscription = batch->subscription;
    if (subscription == NULL) {
        return true; /* it holds nothing */
    }
    rsti_fence(); /* everything that the user copied is copied before this point */
    bool is_intact = true;
    pthread_mutex_lock(&subscription->lock);
    for (int32_t i = 0; is_intact && i < batch->lease_count; i++) {
        is_intact = rsti_image_is_kept(batch->leases[i].image);
    }
    pthread_mutex_unlock(&subscription->lock);
    return is_intact;
}

/* ---- leases ---- */

int rsti_batch_prepare(rst_batch_t *batch, size_t image_count)
{
    RST_ASSERT(batch->lease_count == 0);
    batch->damaged = rsti_map_guard_damaged();
    batch->given = INT32_MAX;
    if (image_count <= (size_t)batch->lease_capacity) {
        return 0;
    }
    const size_t capacity = image_count + image_count / 2;
    rsti_lease_t *leases = rsti_alloc(capacity * sizeof *leases);
    if (leases == NULL) {
        return -RST_ENOMEM;
    }
    rsti_free(batch->leases);
    batch->leases = leases;
    batch->lease_capacity = (int32_t)capacity;
    return 0;
}

void rsti_batch_lease(rst_batch_t *batch, rst_image_t *image, int64_t begin)
{
    RST_ASSERT(batch->lease_count < batch->lease_capacity);
    rsti_lease_t *lease = &batch->leases[batch->lease_count];
    *lease = (rsti_lease_t){.image = image, .begin = begin, .prev = image->youngest_lease};
    if (image->youngest_lease != NULL) {
        image->youngest_lease->next = lease;
    } else {
        image->oldest_lease = lease;
    }
    image->youngest_lease = lease;
    image->lease_index = batch->lease_count++;
    rsti_image_ref(image);
}

static void unlink_lease(rsti_lease_t *lease)
{
    rst_image_t *image = lease->image;
    if (lease->prev != NULL) {
        lease->prev->next = lease->next;
    } else {
        image->oldest_lease = lease->next;
    }
    if (lease->next != NULL) {
        lease->next->prev = lease->prev;
    } else {
        image->youngest_lease = lease->prev;
    }
    lease->prev = NULL;
    lease->next = NULL;
}

bool rsti_batch_unlease(rst_batch_t *batch)
{
    bool must_wake = false;
    for (int32_t i = 0; i < batch->lease_count; i++) {
        unlink_lease(&batch->leases[i]);
        must_wake = rsti_image_move_position(batch->leases[i].image) || must_wake;
    }
    return must_wake;
}

static void spare_buffers(rst_batch_t *batch)
{
    const int32_t spare_max = (int32_t)(sizeof batch->spare / sizeof batch->spare[0]);
    for (int32_t i = 0; i < batch->owned_count; i++) {
        if (batch->spare_count < spare_max && batch->owned[i].capacity <= SPARE_LENGTH_MAX) {
            batch->spare[batch->spare_count++] = batch->owned[i];
        } else {
            rsti_free(batch->owned[i].data);
        }
    }
    batch->owned_count = 0;
}

void rsti_batch_drop_images(rst_batch_t *batch)
{
    const int32_t count = batch->lease_count;
    batch->lease_count = 0;
    for (int32_t i = 0; i < count; i++) {
        rsti_image_unref(batch->leases[i].image);
    }
}

int rsti_batch_own(rst_batch_t *batch, rsti_assembler_t *assembler, const uint8_t **data)
{
    if (batch->owned_count == batch->owned_capacity) {
        const int32_t capacity = batch->owned_capacity > 0 ? 2 * batch->owned_capacity : 8;
        rsti_buffer_t *owned = rsti_realloc(batch->owned,
            (size_t)batch->owned_capacity * sizeof *owned, (size_t)capacity * sizeof *owned);
        if (owned == NULL) {
            return -RST_ENOMEM;
        }
        batch->owned = owned;
        batch->owned_capacity = capacity;
    }
    batch->owned[batch->owned_count++] = assembler->buffer;
    *data = assembler->buffer.data;
    assembler->buffer = (rsti_buffer_t){0};
    if (batch->spare_count > 0) {
        assembler->buffer = batch->spare[--batch->spare_count];
    }
    rsti_assembler_reset(assembler);
    return 0;
}

int rsti_batch_own_large(rst_batch_t *batch, void *owner)
{
    if (batch->large_count == batch->large_capacity) {
        const int32_t capacity = batch->large_capacity > 0 ? 2 * batch->large_capacity : 4;
        void **large = rsti_realloc(batch->large, (size_t)batch->large_capacity * sizeof *large,
            (size_t)capacity * sizeof *large);
        if (large == NULL) {
            return -RST_ENOMEM;
        }
        batch->large = large;
        batch->large_capacity = capacity;
    }
    batch->large[batch->large_count++] = owner;
    return 0;
}

static void free_large(rst_batch_t *batch, const rst_memory_t *memory)
{
    for (int32_t i = 0; i < batch->large_count; i++) {
        memory->free(memory->arg, batch->large[i]);
    }
    batch->large_count = 0;
}

/* Tells the messages whose segment was cut short since they were handed out: perhaps zeros were
 * read. A message lies at the beginning of its segment. */
static void tell_damaged(rst_batch_t *batch)
{
    const int32_t end = rsti_min_i32(batch->count, batch->given);
    for (int32_t i = 0; batch->lease_count > 0 && i < end; i++) {
        const rst_message_t *message = &batch->messages[i];
        if (rsti_map_guard_is_damaged(message->data)) {
            rst_image_t *image = batch->leases[message->image_index].image;
            rsti_segments_skip(image, message->position, message->length,
                rsti_shared_log_number_of(image->log, message->data), RST_SKIP_CUT);
        }
    }
}

static void end_leases(rst_batch_t *batch, rst_subscription_t *subscription)
{
    pthread_mutex_lock(&subscription->lock);
    if (batch->damaged != rsti_map_guard_damaged()) {
        tell_damaged(batch);
    }
    if (batch->lent > 0) { /* before the position moves, see rsti_position_ext_t */
        subscription->lent -= batch->lent;
        batch->lent = 0;
        rsti_demand_cross(subscription);
    }
    const bool must_wake = rsti_batch_unlease(batch);
    pthread_mutex_unlock(&subscription->lock);
    if (must_wake) {
        rsti_client_wake_agent(subscription->client, RSTI_AGENT_CONDUCTOR);
    }
    rsti_batch_drop_images(batch);
}

RST_API void rst_batch_release(rst_batch_t *batch)
{
    if (batch == NULL) {
        return;
    }
    rst_subscription_t *subscription = batch->subscription;
    batch->subscription = NULL;
    if (rsti_is_forked(batch->generation)) {
        batch->lease_count = 0;
        subscription = NULL;
    } else {
        spare_buffers(batch);
    }
    if (subscription != NULL) {
        free_large(batch, &subscription->parts.memory);
        end_leases(batch, subscription);
        rsti_subscription_unref(subscription);
    }
    batch->count = 0;
    batch->consumed = 0;
}

RST_API void rst_batch_keep_owned(rst_batch_t *batch)
{
    if (batch != NULL && !rsti_is_forked(batch->generation) && batch->subscription != NULL) {
        free_large(batch, &batch->subscription->parts.memory);
        end_leases(batch, batch->subscription);
    }
}

/* ---- a part of a batch ---- */

RST_API void rst_batch_consume(rst_batch_t *batch, int32_t count)
{
    if (batch == NULL || rsti_is_forked(batch->generation) || batch->subscription == NULL) {
        return;
    }
    rst_subscription_t *subscription = batch->subscription;
    const int32_t end = rsti_min_i32(count, batch->count);
    bool must_wake = false;
    pthread_mutex_lock(&subscription->lock);
    for (int32_t i = batch->consumed; i < end; i++) {
        batch->leases[batch->messages[i].image_index].begin = batch->messages[i].position;
    }
    /* Before the position moves, see rsti_position_ext_t. A message that cost no demand counts too:
     * publishers then know of less demand than there is, until the release. */
    const int64_t paid = rsti_min_i64(rsti_max_i32(end - batch->consumed, 0), batch->lent);
    if (paid > 0) {
        batch->lent -= paid;
        subscription->lent -= paid;
        rsti_demand_cross(subscription);
    }
    batch->consumed = rsti_max_i32(batch->consumed, end);
    for (int32_t i = 0; i < batch->lease_count; i++) {
        must_wake = rsti_image_move_position(batch->leases[i].image) || must_wake;
    }
    pthread_mutex_unlock(&subscription->lock);
    if (must_wake) {
        rsti_client_wake_agent(subscription->client, RSTI_AGENT_CONDUCTOR);
    }
}

/* Where the first of these messages begins that is of the image; under the lock. */
static int64_t unread_from(const rst_batch_t *batch, int32_t lease, int32_t first)
{
    int64_t position = batch->leases[lease].begin;

    for (int32_t i = 0; i < first; i++) {
        if (batch->messages[i].image_index == lease) {
            position = rsti_max_i64(position, batch->messages[i].position);
        }
    }
    return position;
}

RST_API void rst_batch_unread(rst_batch_t *batch, int32_t first)
{
    if (batch == NULL || rsti_is_forked(batch->generation) || batch->subscription == NULL) {
        return;
    }
    rst_subscription_t *subscription = batch->subscription;
    pthread_mutex_lock(&subscription->lock);
    const int32_t from = rsti_min_i32(rsti_max_i32(first, batch->consumed), batch->count);
    batch->given = from;
    for (int32_t i = from; i < batch->count; i++) {
        if (batch->messages[i].owner != NULL) {
            rsti_parts_given_back(batch->leases[batch->messages[i].image_index].image,
                &batch->messages[i]);
        }
    }
    for (int32_t i = 0; i < batch->lease_count; i++) {
        rst_image_t *image = batch->leases[i].image;
        if (batch->leases[i].next == NULL) { /* no later batch has read on */
            const int64_t position = unread_from(batch, i, from);
            image->scan_position = position;
            image->delivered_position = position;
            rsti_assembler_reset(&image->assembler);
        }
    }
    pthread_mutex_unlock(&subscription->lock);
}

RST_API void rst_batch_give_back(rst_batch_t *batch)
{
    rst_batch_unread(batch, 0);
    rst_batch_release(batch);
}

/* ---- a loan beside the polls that follow ---- */

static void move_leases(rst_batch_t *from, rst_batch_t *to)
{
    for (int32_t i = 0; i < from->lease_count; i++) {
        rsti_lease_t *lease = &to->leases[i];
        rst_image_t *image = from->leases[i].image;
        *lease = from->leases[i];
        if (lease->prev != NULL) {
            lease->prev->next = lease;
        } else {
            image->oldest_lease = lease;
        }
        if (lease->next != NULL) {
            lease->next->prev = lease;
        } else {
            image->youngest_lease = lease;
        }
    }
    to->lease_count = from->lease_count;
    from->lease_count = 0;
}

static rst_batch_t *create_fitting(int32_t messages, int32_t leases)
{
    rst_batch_t *batch = rsti_alloc(sizeof *batch);
    if (batch == NULL) {
        return NULL;
    }
    batch->capacity = messages;
    batch->messages = rsti_alloc((size_t)messages * sizeof *batch->messages);
    batch->leases = rsti_alloc((size_t)leases * sizeof *batch->leases);
    batch->lease_capacity = leases;
    if (batch->messages == NULL || batch->leases == NULL) {
        free_batch(batch);
        return NULL;
    }
    return batch;
}

RST_API int rst_batch_set_aside(rst_batch_t *batch, rst_batch_t **aside)
{
    if (batch == NULL || aside == NULL) {
        return RST_SET_ERR(RST_EINVAL, "%s is NULL", batch == NULL ? "batch" : "aside");
    }
    *aside = NULL;
    if (rsti_is_forked(batch->generation)) {
        return rsti_set_forked_error("batch");
    }
    rst_subscription_t *subscription = batch->subscription;
    if (subscription == NULL) {
        return RST_SET_ERR(RST_EINVAL, "the batch is released");
    }
    rst_batch_t *to = create_fitting(batch->count, batch->lease_count);
    if (to == NULL) {
        return -RST_ENOMEM;
    }
    to->generation = batch->generation;
    to->count = batch->count;
    to->consumed = batch->consumed;
    to->damaged = batch->damaged;
    to->given = batch->given;
    memcpy(to->messages, batch->messages, (size_t)batch->count * sizeof *to->messages);
    to->large = batch->large;
    to->large_count = batch->large_count;
    to->large_capacity = batch->large_capacity;
    batch->large = NULL;
    batch->large_count = 0;
    batch->large_capacity = 0;
    pthread_mutex_lock(&subscription->lock);
    rsti_demand_set_aside(subscription);
    to->lent = batch->lent;
    to->subscription = subscription;
    batch->lent = 0;
    batch->subscription = NULL;
    move_leases(batch, to);
    pthread_mutex_unlock(&subscription->lock);
    rst_batch_release(batch); /* it lends nothing any more */
    *aside = to;
    return 0;
}
