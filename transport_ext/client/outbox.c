/* outbox.c: see outbox.h. */
#include "client/outbox.h"

#include "util/alloc.h"
#include "util/error.h"

#include <string.h>

struct rsti_outgoing_t {
    rsti_outgoing_t *next;
    int32_t type;
    size_t length;
    uint8_t bytes[];
};

static void drop_first(rsti_outbox_t *outbox)
{
    rsti_outgoing_t *first = outbox->first;
    outbox->first = first->next;
    if (first->next == NULL) {
        outbox->last = NULL;
    }
    outbox->count--;
    rsti_free(first);
}

void rsti_outbox_fini(rsti_outbox_t *outbox)
{
    while (outbox->first != NULL) {
        drop_first(outbox);
    }
}

static int keep(rsti_outbox_t *outbox, int32_t type, const uint8_t *bytes, size_t length)
{
    if (outbox->count >= RSTI_OUTBOX_MAX) {
        return RST_SET_ERR(RST_EFULL,
            "the media driver does not read its commands: its ring is "
            "full, and %d commands wait already",
            RSTI_OUTBOX_MAX);
    }
    rsti_outgoing_t *outgoing = rsti_alloc(sizeof *outgoing + length);
    if (outgoing == NULL) {
        return -RST_ENOMEM;
    }
    outgoing->type = type;
    outgoing->length = length;
    memcpy(outgoing->bytes, bytes, length);
    if (outbox->last != NULL) {
        outbox->last->next = outgoing;
    } else {
        outbox->first = outgoing;
    }
    outbox->last = outgoing;
    outbox->count++;
    return 0;
}

int rsti_outbox_send(rsti_outbox_t *outbox, rsti_mpsc_rb_t *ring, int32_t type,
    const uint8_t *bytes, size_t length)
{
    (void)rsti_outbox_flush(outbox, ring);
    if (outbox->count > 0) {
        return keep(outbox, type, bytes, length);
    }
    const int result = rsti_mpsc_rb_write(ring, type, bytes, length);
    if (result == RSTI_RB_FULL) {
        return keep(outbox, type, bytes, length);
    }
    return result == RSTI_RB_OK
        ? 0
        : RST_SET_ERR(RST_ETOOLARGE, "command of %zu bytes is too long for the driver's ring",
              length);
}

int32_t rsti_outbox_flush(rsti_outbox_t *outbox, rsti_mpsc_rb_t *ring)
{
    int32_t sent = 0;
    while (outbox->first != NULL) {
        const rsti_outgoing_t *first = outbox->first;
        if (rsti_mpsc_rb_write(ring, first->type, first->bytes, first->length) == RSTI_RB_FULL) {
            break;
        }
        drop_first(outbox);
        sent++;
    }
    return sent;
}
