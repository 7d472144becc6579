/* sender.h: a publication without payload: window (flow_control.h), rate and tokens, the data of
 * the application, resends. In each step, in this order:
 *
 *   feedback   status messages move the limit; fill NAKs are believed or not (fill_truth.h) and go
 *             to the law of rate; NAKs become resends, once per round trip and range
 *   resends   at once, spending tokens into debt, within what the link takes
 *   new data  whole datagrams: min(limit, tokens, application, link)
 *   silence   after HEARTBEAT_NS a heartbeat
 *
 * A believed fill NAK is echoed to the group (flow/fill_echo.h). The other receivers hear it half a
 * round trip later. */
#ifndef RSTI_LAB_SENDER_H
#define RSTI_LAB_SENDER_H

#include "flow/fill_echo.h"
#include "flow/fill_truth.h"
#include "flow/flow_control.h"
#include "flow/rate.h"
#include "flow/standstill.h"
#include "flow/tokens.h"
#include "lab/image.h"
#include "lab/link.h"
#include "lab/spec.h"

#define RSTI_LAB_RESENDS 256

typedef struct rsti_lab_resend_t {
    int64_t from, to;
    int64_t until_ns; /* sent: the same range is not sent again before */
} rsti_lab_resend_t;

#define RSTI_LAB_ECHOES 64

/* A fill NAK on its link back to the group. */
typedef struct rsti_lab_echo_t {
    int64_t arrives_ns;
    int32_t image; /* the receiver that sent it */
    double allowed;
} rsti_lab_echo_t;

typedef struct rsti_lab_sender_t {
    const rsti_lab_sender_spec_t *spec;
    rsti_lab_image_t **images; /* of this sender */
    int32_t image_count;
    bool is_fed;            /* a consumer publishes here */
    bool has_ended;
    int64_t step_ns;
    rsti_rate_t rate;
    rsti_tokens_t tokens;
    rsti_flow_control_t flow;
    rsti_fill_truth_t truth;
    rsti_standstill_t standstill;
    rsti_lab_link_t link;
    int64_t limit;
    int64_t window;         /* of the newest status message */
    int64_t sent;           /* position */
    int64_t resent_bytes;
    int64_t supply;         /* position up to which the application has data */
    double supply_rest, link_rest; /* parts of bytes */
    int64_t sent_ns;        /* something, for the heartbeat */
    rsti_lab_resend_t waiting[RSTI_LAB_RESENDS];
    int32_t waiting_count;
    rsti_lab_resend_t done[RSTI_LAB_RESENDS];
    int32_t done_next;
    rsti_fill_echo_t echo;
    rsti_lab_echo_t echoes[RSTI_LAB_ECHOES]; /* ring, in their order */
    int32_t echo_first, echo_count;
    int64_t report_count;   /* genuine and forged, arrived */
    int64_t forged_count;
    int64_t stale_count;    /* replayed or overtaken */
} rsti_lab_sender_t;

/* images: room for those of this sender, filled in. 0 or a negative code with a text. */
int rsti_lab_sender_init(rsti_lab_sender_t *sender, const rsti_lab_spec_t *spec, int32_t index,
    rsti_lab_image_t **images, int32_t image_count);
void rsti_lab_sender_fini(rsti_lab_sender_t *sender);
void rsti_lab_sender_step(rsti_lab_sender_t *sender, int64_t step, int64_t now_ns);
/* Data that a consumer publishes. Room: bytes until the backlog is full. */
int64_t rsti_lab_sender_room(const rsti_lab_sender_t *sender);
void rsti_lab_sender_feed(rsti_lab_sender_t *sender, int64_t bytes);

#endif
