/* outbox.h: commands that found the driver's ring full, in order, until there is room. Bounded: a
 * driver that reads nothing for so long is given up before long. All under client->lock. */
#ifndef RSTI_CLIENT_OUTBOX_H
#define RSTI_CLIENT_OUTBOX_H

#include "concurrent/mpsc_rb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_OUTBOX_MAX 1024

typedef struct rsti_outgoing_t rsti_outgoing_t;
typedef struct rsti_outbox_t {
    rsti_outgoing_t *first, *last;
    int32_t count;
} rsti_outbox_t;

void rsti_outbox_fini(rsti_outbox_t *outbox);
/* Writes to the ring, or keeps a copy when it is full or others wait before it. 0, -RST_EFULL when
 * RSTI_OUTBOX_MAX wait, -RST_ETOOLARGE, -RST_ENOMEM; with a trail. */
int rsti_outbox_send(rsti_outbox_t *outbox, rsti_mpsc_rb_t *ring, int32_t type,
    const uint8_t *bytes, size_t length);
/* Writes what there is room for; how many went. */
int32_t rsti_outbox_flush(rsti_outbox_t *outbox, rsti_mpsc_rb_t *ring);

#endif
