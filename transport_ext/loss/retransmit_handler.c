/* retransmit_handler.c: a burst of NAKs for the same data causes one resend. */
#include "loss/retransmit_handler.h"

#include "loss/repair.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/int_math.h"

#define RETRY_NS INT64_C(50000)

int rsti_retransmit_init(rsti_retransmit_handler_t *handler, bool is_group, int32_t max_resend,
    int64_t delay_ns, int64_t linger_ns)
{
    RST_ASSERT(delay_ns >= 0);
    RST_ASSERT(linger_ns >= 0);
    const int32_t pool_size = is_group
        ? rsti_min_i32(rsti_max_i32(max_resend, 1), RSTI_RETRANSMIT_POOL_MAX)
        : 1;
    *handler = (rsti_retransmit_handler_t){
        .actions = rsti_alloc((size_t)(is_group ? pool_size : RSTI_RETRANSMIT_POOL_REPAIR)
            * sizeof(rsti_retransmit_action_t)),
        .pool_size = pool_size,
        .place_count = pool_size,
        .is_group = is_group,
        .delay_ns = delay_ns,
        .linger_ns = linger_ns,
        .standard_linger_ns = linger_ns,
        .next_due_ns = RSTI_NO_DEADLINE,
    };
    return handler->actions != NULL ? 0 : RST_APPEND_ERR("retransmit handler");
}

void rsti_retransmit_set_rtt(rsti_retransmit_handler_t *handler, int64_t rtt_ns)
{
    if (handler->is_group) {
        return;
    }
    handler->is_repairing = rtt_ns > 0;
    handler->pool_size = handler->is_repairing ? RSTI_RETRANSMIT_POOL_REPAIR : 1;
    handler->linger_ns = handler->is_repairing ? rsti_repair_linger_ns(rtt_ns)
                                               : handler->standard_linger_ns;
    handler->place_count = rsti_max_i32(handler->place_count, handler->pool_size);
}

void rsti_retransmit_fini(rsti_retransmit_handler_t *handler)
{
    rsti_free(handler->actions);
    *handler = (rsti_retransmit_handler_t){0};
}

static bool is_within(const rsti_retransmit_action_t *action, int32_t term_id, int32_t term_offset)
{
    return action->term_id == term_id && term_offset >= action->term_offset
        && term_offset < (int64_t)action->term_offset + action->length;
}

static bool is_served(const rsti_retransmit_action_t *action, int32_t term_id, int32_t term_offset)
{
#if RSTI_FAULT == RSTI_FAULT_LINGER
    if (action->state == RSTI_RETRANSMIT_LINGERING) {
        return false;
    }
#endif
    return action->state != RSTI_RETRANSMIT_INACTIVE && is_within(action, term_id, term_offset);
}

/* How often data from that position was lately asked for and resent, as far as the pool knows. */
static int32_t times_asked(const rsti_retransmit_handler_t *handler, int32_t term_id,
    int32_t term_offset)
{
    int32_t times = 0;
    for (int32_t i = 0; handler->is_repairing && i < handler->pool_size; i++) {
        const rsti_retransmit_action_t *action = &handler->actions[i];
        if (action->times > times && is_within(action, term_id, term_offset)) {
            times = action->times;
        }
    }
    return times;
}

/* The path or the socket had no room for it, or for a part. The next pass goes on with it. */
static bool is_waiting_for_room(const rsti_retransmit_handler_t *handler,
    const rsti_retransmit_action_t *action)
{
    return handler->delay_ns == 0 && action->state == RSTI_RETRANSMIT_DELAYED;
}

/* The action to use. Unicast replaces its only or oldest action, but none that waits for room: it
 * came first, and part of it may have left. A group takes a free action. NULL: there is none. */
static rsti_retransmit_action_t *find_action(rsti_retransmit_handler_t *handler)
{
    rsti_retransmit_action_t *oldest = NULL;
    const int32_t first = handler->is_repairing ? handler->next_place % handler->pool_size : 0;
    for (int32_t i = 0; i < handler->pool_size; i++) {
        const int32_t place = (first + i) % handler->pool_size;
        rsti_retransmit_action_t *action = &handler->actions[place];
        if (action->state == RSTI_RETRANSMIT_INACTIVE) {
            handler->next_place = place + 1;
            return action;
        }
        if (!is_waiting_for_room(handler, action)
            && (oldest == NULL || action->expiry_ns < oldest->expiry_ns)) {
            oldest = action;
        }
    }
    return handler->is_group ? NULL : oldest;
}

/* The result is that of the first copy. */
static int resend_copies(int32_t times, int32_t term_id, int32_t term_offset, int32_t length,
    rsti_on_resend_t on_resend, void *arg)
{
    const int result = on_resend(arg, term_id, term_offset, length);
    const int32_t sent = result > 0 ? result : length;
    for (int32_t i = 1; result >= 0 && i <= times && i < RSTI_RETRANSMIT_COPIES_MAX; i++) {
        (void)on_resend(arg, term_id, term_offset, sent);
    }
    return result;
}

int rsti_retransmit_on_nak(rsti_retransmit_handler_t *handler, int32_t term_id, int32_t term_offset,
    int32_t length, int32_t resend_length, int64_t now_ns, rsti_on_resend_t on_resend, void *arg)
{
    if (length <= 0 || resend_length <= 0) {
        return 0;
    }
    for (int32_t i = 0; i < handler->place_count; i++) {
        if (is_served(&handler->actions[i], term_id, term_offset)) {
            return 0;
        }
    }
    rsti_retransmit_action_t *action = find_action(handler);
    if (action == NULL) {
        return handler->is_group ? -1 : 0;
    }
    const int32_t times = times_asked(handler, term_id, term_offset);
    const int result = handler->delay_ns == 0
        ? resend_copies(times, term_id, term_offset, resend_length, on_resend, arg)
        : RSTI_RESEND_BLOCKED;
    if (result < 0 && result != RSTI_RESEND_BLOCKED) {
        return 0; /* the action in this place stays */
    }
    handler->active_count += action->state == RSTI_RETRANSMIT_INACTIVE;
    action->term_id = term_id;
    action->term_offset = term_offset;
    action->length = resend_length;
    action->times = times + 1;
    action->done = rsti_max_i32(result, 0);
    if (result == RSTI_RESEND_BLOCKED || result > 0) {
        action->state = RSTI_RETRANSMIT_DELAYED;
        action->expiry_ns = rsti_saturating_add_i64(now_ns, handler->delay_ns);
    } else {
        action->state = RSTI_RETRANSMIT_LINGERING;
        action->expiry_ns = rsti_saturating_add_i64(now_ns, handler->linger_ns);
    }
    handler->next_due_ns = rsti_min_i64(handler->next_due_ns,
        rsti_saturating_add_i64(action->expiry_ns, 1));
    return 1;
}

int rsti_retransmit_process(rsti_retransmit_handler_t *handler, int64_t now_ns,
    rsti_on_resend_t on_resend, void *arg, int64_t *next_due_ns)
{
    *next_due_ns = handler->active_count > 0 ? handler->next_due_ns : RSTI_NO_DEADLINE;
    if (handler->active_count == 0 || now_ns < handler->next_due_ns) {
        return 0;
    }
    *next_due_ns = RSTI_NO_DEADLINE;
    int resent = 0;
    for (int32_t i = 0; i < handler->place_count && handler->active_count > 0; i++) {
        rsti_retransmit_action_t *action = &handler->actions[i];
        if (action->state == RSTI_RETRANSMIT_INACTIVE) {
            continue;
        }
        if (now_ns > action->expiry_ns) {
            if (action->state == RSTI_RETRANSMIT_LINGERING) {
                action->state = RSTI_RETRANSMIT_INACTIVE;
                handler->active_count--;
                continue;
            }
            const int result = resend_copies(action->times - 1, action->term_id,
                action->term_offset + action->done, action->length - action->done, on_resend, arg);
            if (result == RSTI_RESEND_BLOCKED || result > 0) {
                action->done += rsti_max_i32(result, 0);
                /* The next one would be blocked too. Every pass tries again, the next one at the
                 * latest after RETRY_NS. */
                action->expiry_ns = now_ns;
                handler->next_due_ns = rsti_saturating_add_i64(now_ns, 1);
                *next_due_ns = rsti_saturating_add_i64(now_ns, RETRY_NS);
                return resent;
            }
            if (result < 0) {
                action->state = RSTI_RETRANSMIT_INACTIVE;
                handler->active_count--;
                continue;
            }
            action->state = RSTI_RETRANSMIT_LINGERING;
            action->expiry_ns = rsti_saturating_add_i64(now_ns, handler->linger_ns);
            resent++;
        }
        /* A timer is due when its expiry has passed, one nanosecond later. */
        *next_due_ns = rsti_min_i64(*next_due_ns, rsti_saturating_add_i64(action->expiry_ns, 1));
    }
    handler->next_due_ns = *next_due_ns;
    return resent;
}
