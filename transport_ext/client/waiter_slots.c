/* waiter_slots.c: in which logs a waiter has to be armed, and for what. */
#include "client/internal.h"

#include "util/alloc.h"
#include "util/error.h"

/* ---- one slot per log ---- */

static size_t find_slot(const rst_waiter_t *waiter, const rsti_shared_log_t *log)
{
    size_t free_index = waiter->slot_count;
    for (size_t i = 0; i < waiter->slot_count; i++) {
        if (waiter->slots[i].log == log) {
            return i;
        }
        if (waiter->slots[i].log == NULL && free_index == waiter->slot_count) {
            free_index = i;
        }
    }
    return free_index;
}

static int grow_slots(rst_waiter_t *waiter)
{
    const size_t capacity = waiter->slot_capacity > 0 ? 2 * waiter->slot_capacity : 8;
    rsti_log_slot_t *slots = rsti_realloc(waiter->slots, waiter->slot_capacity * sizeof *slots,
        capacity * sizeof *slots);
    if (slots == NULL) {
        return -RST_ENOMEM;
    }
    waiter->slots = slots;
    waiter->slot_capacity = capacity;
    return 0;
}

int rsti_waiter_take_slot(rst_waiter_t *waiter, rsti_shared_log_t *log, size_t *index)
{
    *index = find_slot(waiter, log);
    if (*index == waiter->slot_capacity && grow_slots(waiter) < 0) {
        return -RST_ENOMEM;
    }
    rsti_log_slot_t *entry = &waiter->slots[*index];
    if (*index == waiter->slot_count) {
        waiter->slot_count++;
        *entry = (rsti_log_slot_t){0};
    }
    if (entry->uses++ > 0) {
        return 0;
    }
    entry->log = log;
    entry->kinds = 0;
    rsti_shared_log_ref(log);
    rsti_log_ext_t *ext = rsti_shared_log_ext(log);
    entry->slot = waiter->client->is_rstream && ext->magic == RSTI_EXT_MAGIC
        ? rsti_wake_slot_take(ext, waiter->client->client_id, waiter->waiter_id)
        : -1;
    return 0;
}

void rsti_waiter_drop_slot(rst_waiter_t *waiter, size_t index)
{
    rsti_log_slot_t *entry = &waiter->slots[index];
    RST_ASSERT(entry->uses > 0);
    if (--entry->uses > 0) {
        return;
    }
    if (entry->slot >= 0) {
        rsti_wake_slot_release(rsti_shared_log_ext(entry->log), entry->slot);
    }
    rsti_shared_log_unref(entry->log);
    entry->log = NULL;
}

/* ---- images that came or went ---- */

void rsti_waiter_drop_images(rst_waiter_t *waiter, rsti_attached_t *attached)
{
    for (size_t i = 0; i < attached->image_count; i++) {
        rsti_waiter_drop_slot(waiter, attached->images[i].slot);
        rsti_image_unref(attached->images[i].image);
    }
    rsti_free(attached->images);
    attached->images = NULL;
    attached->image_count = 0;
}

static int copy_images(rst_subscription_t *subscription, rsti_attached_t *copy)
{
    int result = 0;
    pthread_mutex_lock(&subscription->lock);
    copy->seen_version = rsti_load_relaxed_i32(&subscription->version);
    copy->image_count = subscription->images.count;
    if (copy->image_count > 0) {
        copy->images = rsti_alloc(copy->image_count * sizeof *copy->images);
        result = copy->images != NULL ? 0 : -RST_ENOMEM;
    }
    for (size_t i = 0; result == 0 && i < copy->image_count; i++) {
        copy->images[i].image = subscription->images.items[i];
        rsti_image_ref(copy->images[i].image);
    }
    pthread_mutex_unlock(&subscription->lock);
    return result;
}

static int refresh_one(rst_waiter_t *waiter, rsti_attached_t *attached)
{
    rsti_attached_t copy = *attached;
    copy.images = NULL;
    int result = copy_images(attached->subscription, &copy);
    if (result < 0) {
        return result;
    }
    size_t taken = 0;
    while (result == 0 && taken < copy.image_count) {
        result = rsti_waiter_take_slot(waiter, copy.images[taken].image->log,
            &copy.images[taken].slot);
        taken += result == 0 ? 1 : 0;
    }
    for (size_t i = taken; i < copy.image_count; i++) {
        rsti_image_unref(copy.images[i].image);
    }
    copy.image_count = taken;
    if (result < 0) {
        copy.seen_version--; /* incomplete: try again next time */
    }
    rsti_waiter_drop_images(waiter, attached); /* after taking: a log that stays keeps its slot */
    *attached = copy;
    return result;
}

int rsti_waiter_refresh(rst_waiter_t *waiter)
{
    int result = 0;
    for (size_t i = 0; i < waiter->attached_count; i++) {
        rsti_attached_t *attached = &waiter->attached[i];
        if (attached->subscription != NULL
            && attached->seen_version != rsti_load_acquire_i32(&attached->subscription->version)) {
            const int refreshed = refresh_one(waiter, attached);
            result = result < 0 ? result : refreshed;
        }
    }
    return result;
}

/* ---- arming ---- */

static void choose_kinds(rst_waiter_t *waiter, const rsti_attached_t *attached)
{
    if (attached->publication != NULL) {
        waiter->slots[attached->slot].kinds |= RSTI_WAIT_LIMIT;
        return;
    }
    rst_subscription_t *subscription = attached->subscription;
    pthread_mutex_lock(&subscription->lock);
    for (size_t i = 0; i < attached->image_count; i++) {
        if (rsti_subscription_awaits_frame(subscription, attached->images[i].image)) {
            waiter->slots[attached->images[i].slot].kinds |= RSTI_WAIT_DATA;
        }
    }
    pthread_mutex_unlock(&subscription->lock);
}

bool rsti_waiter_arm_slots(rst_waiter_t *waiter)
{
    bool needs_polling = !waiter->client->is_rstream;
    const bool has_foreign_peers = rsti_load_acquire_i32(&waiter->client->has_foreign_peers) != 0;
    for (size_t i = 0; i < waiter->slot_count; i++) {
        waiter->slots[i].kinds = 0;
    }
    for (size_t i = 0; i < waiter->attached_count; i++) {
        const rsti_attached_t *attached = &waiter->attached[i];
        choose_kinds(waiter, attached);
        if (attached->is_demand && rsti_publication_is_demand_polled(attached->publication)) {
            needs_polling = true;
        }
    }
    for (size_t i = 0; i < waiter->slot_count; i++) {
        const rsti_log_slot_t *entry = &waiter->slots[i];
        if (entry->log == NULL || entry->kinds == 0) {
            continue;
        }
        if (entry->slot < 0 || (has_foreign_peers && (entry->kinds & RSTI_WAIT_DATA) != 0)) {
            needs_polling = true;
        }
        if (entry->slot >= 0) {
            rsti_wake_arm(rsti_shared_log_ext(entry->log), entry->slot, entry->kinds);
        }
    }
    return needs_polling;
}

void rsti_waiter_disarm_slots(rst_waiter_t *waiter)
{
    for (size_t i = 0; i < waiter->slot_count; i++) {
        const rsti_log_slot_t *entry = &waiter->slots[i];
        if (entry->log != NULL && entry->slot >= 0 && entry->kinds != 0) {
            rsti_wake_disarm(rsti_shared_log_ext(entry->log), entry->slot);
        }
    }
}
