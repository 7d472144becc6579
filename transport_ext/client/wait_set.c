/* wait_set.c: see wait_set.h. */
#include "client/wait_set.h"

#include "client/publication_demand.h"
#include "client/subscription_ready.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"

/* ---- one slot per log ---- */

static size_t find_slot(const rsti_wait_set_t *set, const rsti_shared_log_t *log)
{
    size_t free_index = set->slot_count;
    for (size_t i = 0; i < set->slot_count; i++) {
        if (set->slots[i].log == log) {
            return i;
        }
        if (set->slots[i].log == NULL && free_index == set->slot_count) {
            free_index = i;
        }
    }
    return free_index;
}

static int grow_slots(rsti_wait_set_t *set)
{
    const size_t capacity = set->slot_capacity > 0 ? 2 * set->slot_capacity : 8;
    rsti_log_slot_t *slots = rsti_realloc(set->slots, set->slot_capacity * sizeof *slots,
        capacity * sizeof *slots);
    if (slots == NULL) {
        return -RST_ENOMEM;
    }
    set->slots = slots;
    set->slot_capacity = capacity;
    return 0;
}

static int take_slot(rsti_wait_set_t *set, rsti_shared_log_t *log, size_t *index)
{
    *index = find_slot(set, log);
    if (*index == set->slot_capacity && grow_slots(set) < 0) {
        return -RST_ENOMEM;
    }
    rsti_log_slot_t *entry = &set->slots[*index];
    if (*index == set->slot_count) {
        set->slot_count++;
        *entry = (rsti_log_slot_t){0};
    }
    if (entry->uses++ > 0) {
        return 0;
    }
    entry->log = log;
    entry->kinds = 0;
    rsti_shared_log_ref(log);
    rsti_log_ext_t *ext = rsti_shared_log_ext(log);
    entry->slot = set->client->is_rstream && ext->magic == RSTI_EXT_MAGIC
        ? rsti_wake_slot_take(ext, set->client->client_id, set->waiter_id)
        : -1;
    return 0;
}

static void drop_slot(rsti_wait_set_t *set, size_t index)
{
    rsti_log_slot_t *entry = &set->slots[index];
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

static void drop_images(rsti_wait_set_t *set, rsti_attached_t *attached)
{
    for (size_t i = 0; i < attached->image_count; i++) {
        drop_slot(set, attached->images[i].slot);
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

static int refresh_one(rsti_wait_set_t *set, rsti_attached_t *attached)
{
    rsti_attached_t copy = *attached;
    copy.images = NULL;
    int result = copy_images(attached->subscription, &copy);
    if (result < 0) {
        return result;
    }
    size_t taken = 0;
    while (result == 0 && taken < copy.image_count) {
        result = take_slot(set, copy.images[taken].image->log, &copy.images[taken].slot);
        taken += result == 0 ? 1 : 0;
    }
    for (size_t i = taken; i < copy.image_count; i++) {
        rsti_image_unref(copy.images[i].image);
    }
    copy.image_count = taken;
    if (result < 0) {
        copy.seen_version--; /* incomplete: copy again at the next wait */
    }
    drop_images(set, attached); /* after taking the new slots, so a log that stays keeps its slot */
    *attached = copy;
    return result;
}

int rsti_wait_set_refresh(rsti_wait_set_t *set)
{
    int result = 0;
    for (size_t i = 0; i < set->attached_count; i++) {
        rsti_attached_t *attached = &set->attached[i];
        if (attached->subscription != NULL
            && attached->seen_version != rsti_load_acquire_i32(&attached->subscription->version)) {
            const int refreshed = refresh_one(set, attached);
            result = result < 0 ? result : refreshed;
        }
    }
    return result;
}

/* ---- attaching ---- */

static rsti_attached_t *find_attached(const rsti_wait_set_t *set,
    const rst_subscription_t *subscription, const rst_publication_t *publication, bool is_demand)
{
    for (size_t i = 0; i < set->attached_count; i++) {
        if (set->attached[i].subscription == subscription
            && set->attached[i].publication == publication
            && set->attached[i].is_demand == is_demand) {
            return &set->attached[i];
        }
    }
    return NULL;
}

static int grow_attached(rsti_wait_set_t *set)
{
    if (set->attached_count < set->attached_capacity) {
        return 0;
    }
    const size_t capacity = set->attached_capacity > 0 ? 2 * set->attached_capacity : 4;
    rsti_attached_t *attached = rsti_realloc(set->attached,
        set->attached_capacity * sizeof *attached, capacity * sizeof *attached);
    if (attached == NULL) {
        return -RST_ENOMEM;
    }
    set->attached = attached;
    set->attached_capacity = capacity;
    return 0;
}

int rsti_wait_set_attach(rsti_wait_set_t *set, rst_subscription_t *subscription,
    rst_publication_t *publication, bool is_demand)
{
    if (find_attached(set, subscription, publication, is_demand) != NULL) {
        return 0;
    }
    rsti_attached_t attached = {
        .subscription = subscription, .publication = publication, .is_demand = is_demand};
    int result = grow_attached(set);
    if (result == 0 && publication != NULL) {
        result = take_slot(set, publication->log, &attached.slot);
    }
    if (result < 0) {
        return result;
    }
    if (publication != NULL) {
        rsti_publication_ref(publication);
    } else {
        rsti_subscription_ref(subscription);
        /* A version that differs makes the next wait copy the images. */
        attached.seen_version = rsti_wrap_sub_i32(rsti_load_acquire_i32(&subscription->version), 1);
        pthread_mutex_lock(&subscription->lock);
        /* events already in the ring count as new */
        attached.events_told = subscription->events_head;
        pthread_mutex_unlock(&subscription->lock);
    }
    set->attached[set->attached_count++] = attached;
    return 0;
}

static void detach_at(rsti_wait_set_t *set, size_t index)
{
    rsti_attached_t attached = set->attached[index];
    set->attached[index] = set->attached[--set->attached_count];
    if (attached.publication != NULL) {
        drop_slot(set, attached.slot);
        rsti_publication_unref(attached.publication);
    } else {
        drop_images(set, &attached);
        rsti_subscription_unref(attached.subscription);
    }
}

void rsti_wait_set_detach(rsti_wait_set_t *set, const rst_subscription_t *subscription,
    const rst_publication_t *publication, bool is_demand)
{
    const rsti_attached_t *found = find_attached(set, subscription, publication, is_demand);
    if (found != NULL) {
        detach_at(set, (size_t)(found - set->attached));
    }
}

void rsti_wait_set_clear(rsti_wait_set_t *set)
{
    while (set->attached_count > 0) {
        detach_at(set, set->attached_count - 1);
    }
}

void rsti_wait_set_free(rsti_wait_set_t *set)
{
    rsti_free(set->attached);
    rsti_free(set->slots);
}

/* ---- readiness ---- */

static bool is_attached_ready(const rsti_attached_t *attached, uint32_t *told)
{
    if (attached->publication == NULL) {
        return rsti_subscription_is_ready(attached->subscription, told);
    }
    return attached->is_demand ? rst_publication_has_new_demand(attached->publication)
                               : rsti_publication_is_ready(attached->publication);
}

bool rsti_wait_set_is_ready(rsti_wait_set_t *set, bool is_told)
{
    for (size_t i = 0; i < set->attached_count; i++) {
        rsti_attached_t *attached = &set->attached[i];
        uint32_t told = attached->events_told;
        if (is_attached_ready(attached, &told)) {
            attached->events_told = is_told ? told : attached->events_told;
            return true;
        }
    }
    return false;
}

/* ---- arming ---- */

static void choose_kinds(rsti_wait_set_t *set, const rsti_attached_t *attached)
{
    if (attached->publication != NULL) {
        set->slots[attached->slot].kinds |= RSTI_WAIT_LIMIT;
        return;
    }
    rst_subscription_t *subscription = attached->subscription;
    pthread_mutex_lock(&subscription->lock);
    for (size_t i = 0; i < attached->image_count; i++) {
        if (rsti_subscription_awaits_frame(subscription, attached->images[i].image)) {
            set->slots[attached->images[i].slot].kinds |= RSTI_WAIT_DATA;
        }
    }
    pthread_mutex_unlock(&subscription->lock);
}

bool rsti_wait_set_arm(rsti_wait_set_t *set)
{
    bool needs_polling = !set->client->is_rstream;
    const bool has_foreign_peers = rsti_load_acquire_i32(&set->client->has_foreign_peers) != 0;
    for (size_t i = 0; i < set->slot_count; i++) {
        set->slots[i].kinds = 0;
    }
    for (size_t i = 0; i < set->attached_count; i++) {
        const rsti_attached_t *attached = &set->attached[i];
        choose_kinds(set, attached);
        if (attached->is_demand && rsti_publication_is_demand_polled(attached->publication)) {
            needs_polling = true;
        }
    }
    for (size_t i = 0; i < set->slot_count; i++) {
        const rsti_log_slot_t *entry = &set->slots[i];
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

void rsti_wait_set_disarm(rsti_wait_set_t *set)
{
    for (size_t i = 0; i < set->slot_count; i++) {
        const rsti_log_slot_t *entry = &set->slots[i];
        if (entry->log != NULL && entry->slot >= 0 && entry->kinds != 0) {
            rsti_wake_disarm(rsti_shared_log_ext(entry->log), entry->slot);
        }
    }
}
