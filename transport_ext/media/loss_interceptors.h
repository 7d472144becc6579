/* loss_interceptors.h: the loss generators of Aeron's C driver by their names and arguments, as one
 * drop function of the interceptor.
 *
 *   loss            rate=0.2|seed=7|recv-msg-mask=0x2
 *                   each datagram whose frame type has its bit in the mask (bit n: type n; without
 *                   a mask: data) is lost with that probability
 *   fixed-loss      term-id=5|term-offset=1024|length=2048
 *                   the first transmission of that range of a term is lost
 *   multi-gap-loss  term-id=5|gap-radix=4096|gap-length=1408|total-gaps=8
 *                   the first transmission of [k × radix, k × radix + length) is lost for
 *                   k = 1 … total-gaps; the radix is rounded up to a power of two
 *
 * They lose what is received. Gaps are told apart by socket, stream and session. */
#ifndef RSTI_MEDIA_LOSS_INTERCEPTORS_H
#define RSTI_MEDIA_LOSS_INTERCEPTORS_H

#include "media/fault_target.h"

/* Names of interceptors, apart by commas, and the arguments of each. */
typedef struct rsti_loss_texts_t {
    const char *names;
    const char *loss_args;
    const char *fixed_args;
    const char *multi_gap_args;
} rsti_loss_texts_t;

typedef struct rsti_loss_interceptors_t {
    bool has_loss, has_fixed, has_multi_gap;
    double rate;
    uint64_t seed;
    uint32_t type_mask;
    int64_t rolled; /* written by: all agents, atomically */
    rsti_fault_gaps_t fixed; /* written by: receiver */
    rsti_fault_gaps_t multi_gap; /* written by: receiver */
} rsti_loss_interceptors_t;

/* 0, or -RST_EINVAL with a trail that names the option and the key. Arguments of an interceptor
 * that is not named are not read. */
int rsti_loss_interceptors_init(rsti_loss_interceptors_t *losses, const rsti_loss_texts_t *texts);
/* The drop function: arg is the struct. The n-th roll of the dice depends on seed and n alone. */
bool rsti_loss_interceptors_drop(void *arg, const rsti_fault_view_t *datagram);

#endif
