/* interference.h: receivers that lie and strangers that forge, among real agents. It is a guard
 * of the wire (wire.h) between receivers and their senders. It sees their status messages, drops
 * some and adds others. The drivers do not know of it.
 *
 *   liar     while it lies, the fill NAKs of its receiver are dropped. Every period_ns one gets
 *            through, with the allowed rate and fill of the record and drain_share of the drain.
 *            Its other values are true, and so are all plain status messages
 *   forger   every period_ns it adds a datagram that seems to come from the host of the record's
 *            image. The receiver id is that image's, an unused one, or a new one each time. A
 *            replay is a copy of the strongest report that the image sent before from_ns; if there
 *            is none, nothing is sent. A forgery agrees with what the forger can see: the position
 *            is the sender's less the claimed queue; window, round trip and session are those of
 *            the image
 *
 * The same as forger.c and image.c of the queue engine. One thread. */
#ifndef RSTI_LAB_INTERFERENCE_H
#define RSTI_LAB_INTERFERENCE_H

#include "lab/spec.h"
#include "protocol/frame.h"
#include "protocol/sm_items.h"

#include <stdbool.h>
#include <sys/socket.h>

/* The newest messages of an image to its sender, and their addresses. */
typedef struct rsti_lab_overheard_t {
    bool is_known; /* a plain status message went by */
    struct sockaddr_storage source, target;
    rsti_sm_t status;             /* the newest plain one */
    int64_t rtt_ns, arrival_rate; /* of the newest items */
    int64_t lie_due_ns;
} rsti_lab_overheard_t;

/* A forger record at work. */
typedef struct rsti_lab_forgery_at_work_t {
    int64_t due_ns;
    int64_t allowed; /* of the bytes that it replays */
    size_t length;   /* 0: none were heard */
    uint8_t bytes[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX];
} rsti_lab_forgery_at_work_t;

typedef struct rsti_lab_interference_t {
    int64_t now_ns; /* since the beginning; -1: images are still to come */
    int64_t fresh_count;
    rsti_lab_overheard_t *images;
    rsti_lab_forgery_at_work_t *forgers;
} rsti_lab_interference_t;

struct rsti_lab_agents_t;

/* Once the wire is there. Without liars and forgers in the records it does nothing, here and below.
 * 0 or -RST_ENOMEM with a text. */
int rsti_lab_interference_init(struct rsti_lab_agents_t *agents);
void rsti_lab_interference_fini(rsti_lab_interference_t *interference);
/* At the beginning of a step: what is due gets on the wire. */
void rsti_lab_interference_step(struct rsti_lab_agents_t *agents, int64_t now_ns);

#endif
