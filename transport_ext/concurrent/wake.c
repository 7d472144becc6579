#include "concurrent/wake.h"

#define WAITER_BITS 16

static bool is_slot(int slot)
{
    return slot >= 0 && slot < RSTI_WAKE_SLOTS;
}

static bool make_owner(int64_t client_id, int32_t waiter_id, int64_t *owner)
{
    if (client_id < 1 || client_id > INT64_MAX >> WAITER_BITS || waiter_id < 0
        || waiter_id >= 1 << WAITER_BITS) {
        return false;
    }
    *owner = client_id << WAITER_BITS | waiter_id;
    return true;
}

int rsti_wake_slot_take(rsti_log_ext_t *ext, int64_t client_id, int32_t waiter_id)
{
    int64_t owner;
    if (!make_owner(client_id, waiter_id, &owner)) {
        return -1;
    }
    for (int i = 0; i < RSTI_WAKE_SLOTS; i++) {
        if (rsti_load_acquire_i64(&ext->slots[i].owner) == owner) {
            return i;
        }
    }
    for (int i = 0; i < RSTI_WAKE_SLOTS; i++) {
        rsti_wake_slot_t *slot = &ext->slots[i];
        if (rsti_load_relaxed_i64(&slot->owner) == 0 && rsti_cas_i64(&slot->owner, 0, owner)) {
            return i;
        }
    }
    return -1;
}

static void free_slot(rsti_wake_slot_t *slot)
{
    rsti_store_relaxed_i32(&slot->armed, 0);
    rsti_store_release_i64(&slot->owner, 0);
}

void rsti_wake_slot_release(rsti_log_ext_t *ext, int slot)
{
    if (is_slot(slot)) {
        free_slot(&ext->slots[slot]);
    }
}

void rsti_wake_slots_clear_client(rsti_log_ext_t *ext, int64_t client_id)
{
    for (int i = 0; i < RSTI_WAKE_SLOTS; i++) {
        int64_t owner = rsti_load_acquire_i64(&ext->slots[i].owner);
        if (owner != 0 && owner >> WAITER_BITS == client_id) {
            free_slot(&ext->slots[i]);
        }
    }
}

void rsti_wake_arm(rsti_log_ext_t *ext, int slot, int32_t kind)
{
    if (!is_slot(slot)) {
        rsti_fence();
        return;
    }
    /* The slot before its summary, and read-modify-writes for both. So a waker that clears the
     * summary sees every slot whose sleeper had set it, whichever sleeper was last. */
    (void)rsti_fetch_or_i32(&ext->slots[slot].armed, kind);
    if ((kind & RSTI_WAIT_DATA) != 0) {
        (void)rsti_exchange_i32(&ext->data_armed, 1);
    }
    if ((kind & RSTI_WAIT_LIMIT) != 0) {
        (void)rsti_exchange_i32(&ext->limit_armed, 1);
    }
    rsti_fence();
}

void rsti_wake_disarm(rsti_log_ext_t *ext, int slot)
{
    if (is_slot(slot)) {
        /* The summary stays set: at worst one waker scans in vain and clears it. */
        rsti_store_release_i32(&ext->slots[slot].armed, 0);
    }
}

void rsti_wake_arm_word(int32_t *armed)
{
    (void)rsti_exchange_i32(armed, 1);
    rsti_fence();
}

void rsti_wake_log(rsti_log_ext_t *ext, int32_t kind, rsti_on_wake_t on_wake, void *arg)
{
    if (!rsti_wake_is_log_armed(ext, kind)) {
        return;
    }
    int32_t *summary = kind == RSTI_WAIT_DATA ? &ext->data_armed : &ext->limit_armed;
    if (rsti_exchange_i32(summary, 0) == 0) {
        return; /* another waker was faster and wakes all of them */
    }
    for (int i = 0; i < RSTI_WAKE_SLOTS; i++) {
        rsti_wake_slot_t *slot = &ext->slots[i];
        /* The sleepers that the exchange disarmed must be woken, whatever their kind is now. */
        if ((rsti_load_acquire_i32(&slot->armed) & kind) == 0
            || rsti_exchange_i32(&slot->armed, 0) == 0) {
            continue;
        }
        /* Read after the exchange: this is the sleeper that was armed. */
        int64_t owner = rsti_load_acquire_i64(&slot->owner);
        if (owner > 0) {
            on_wake(arg, owner >> WAITER_BITS, (int32_t)(owner & ((1 << WAITER_BITS) - 1)));
        }
    }
}

bool rsti_wake_take_word(int32_t *armed)
{
    rsti_fence();
    return rsti_load_relaxed_i32(armed) != 0 && rsti_exchange_i32(armed, 0) != 0;
}
