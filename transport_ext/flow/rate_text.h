/* rate_text.h: a law of rate as text, in the form of fc=tagged,g:101,t:5s:
 *
 *     rs-rate=law[,key:value]*
 *
 *   unlimited
 *   fixed      r:bytes/s and p:datagrams/s, at least one of them
 *   adaptive   d:target delay                                       and i, l, m
 *   nak        w:window  t:triggers 50/75/87/100  c:cuts, one per trigger
 *              s:step (of H)                                        and i, l, m
 *   aimd       a:increase in bytes/s  b:factor                      and i, l, m
 *
 * i initial, l least, m most: bytes per second, whole, with k, m or g (1024) as other channel
 * parameters. d and w: durations (10ms). t, c, s and b in percent, decimals allowed. Missing
 * keys have the values of rsti_rate_defaults(). An i or m below least lowers least, unless l is
 * given. */
#ifndef RSTI_FLOW_RATE_TEXT_H
#define RSTI_FLOW_RATE_TEXT_H

#include "flow/rate.h"

#define RSTI_RATE_TEXT_MAX 255

typedef struct rsti_rate_choice_t {
    const rsti_rate_law_t *law;
    rsti_rate_params_t params;
} rsti_rate_choice_t;

/* 0, or -RST_ECHANNEL with a text that names the piece and the channel. channel is NULL for the
 * text of an option or a command; the error is then -RST_EINVAL. *choice is unchanged on error. */
int rsti_rate_choice_parse(rsti_rate_choice_t *choice, const char *text, const char *channel);

/* The choice of a channel without a law of its own. option: the driver's, RSTI_RATE_DEFAULT or a
 * text as above. is_stream: it is a named stream's publication, which then follows its readers. */
#define RSTI_RATE_DEFAULT "default"
int rsti_rate_choice_default(rsti_rate_choice_t *choice, const char *option, bool is_stream);

/* Whether both mean the same, even if written differently ("fixed,r:1k" and "fixed,r:1024"). */
bool rsti_rate_choice_equals(const rsti_rate_choice_t *a, const rsti_rate_choice_t *b);

#endif
