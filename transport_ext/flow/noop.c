/* noop.c: see noop.h. */
#include "flow/noop.h"

#include "flow/saturate.h"

void rsti_noop_init(rsti_noop_t *noop, int64_t interval_ns)
{
    *noop = (rsti_noop_t){
        .interval_ns = interval_ns,
        .due_ns = interval_ns > 0 ? INT64_MIN : INT64_MAX,
    };
}

void rsti_noop_forget(rsti_noop_t *noop, int64_t now_ns)
{
    noop->heard = 0;
    noop->answered = noop->number;
    noop->is_dead = false;
    noop->due_ns = noop->interval_ns > 0 ? now_ns : INT64_MAX;
}

rsti_noop_action_t rsti_noop_on_cycle(rsti_noop_t *noop, int64_t now_ns)
{
    if (noop->interval_ns <= 0 || now_ns < noop->due_ns) {
        return RSTI_NOOP_WAIT;
    }
    const bool dies = !noop->is_dead && noop->heard > 0 && noop->answered < noop->number;
    noop->is_dead = noop->is_dead || dies;
    noop->number++;
    noop->due_ns = rsti_later_ns(now_ns, now_ns) + noop->interval_ns;
    return dies ? RSTI_NOOP_DIED : RSTI_NOOP_SEND;
}

void rsti_noop_on_answer(rsti_noop_t *noop, int64_t heard, int64_t answered)
{
    if (heard > noop->number || answered > heard) {
        return;
    }
    noop->heard = rsti_max_i64(noop->heard, heard);
    noop->answered = rsti_max_i64(noop->answered, answered);
    noop->is_dead = noop->is_dead && noop->answered < noop->number;
}
