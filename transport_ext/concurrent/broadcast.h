/* broadcast.h: one transmitter, any number of receivers, no back pressure. A receiver that was
 * overtaken learns of it (docs/reference/aeron/memory.md 12). */
#ifndef RSTI_CONCURRENT_BROADCAST_H
#define RSTI_CONCURRENT_BROADCAST_H

#include <stddef.h>
#include <stdint.h>

#define RSTI_BROADCAST_TRAILER_LENGTH 128

typedef struct rsti_broadcast_trailer_t {
    int64_t tail_intent;
    int64_t tail;
    int64_t latest;
    uint8_t pad[104];
} rsti_broadcast_trailer_t;
_Static_assert(sizeof(rsti_broadcast_trailer_t) == RSTI_BROADCAST_TRAILER_LENGTH, "trailer");

typedef struct rsti_broadcast_tx_t {
    uint8_t *buffer;
    rsti_broadcast_trailer_t *trailer;
    size_t capacity;
    size_t max_message_length; /* capacity / 8 */
} rsti_broadcast_tx_t;

int rsti_broadcast_tx_init(rsti_broadcast_tx_t *tx, void *buffer, size_t length);
int rsti_broadcast_transmit(rsti_broadcast_tx_t *tx, int32_t type, const void *record,
    size_t length); /* 0 or -RST_EINVAL / -RST_ETOOLARGE */

typedef struct rsti_broadcast_rx_t {
    uint8_t *buffer;
    rsti_broadcast_trailer_t *trailer;
    size_t capacity;
    int64_t next;       /* position of the next record to read */
    uint8_t *scratch;   /* a private copy of the record delivered */
    size_t scratch_capacity;
} rsti_broadcast_rx_t;

/* Starts at the latest record, which may be an old one. Allocates scratch. */
int rsti_broadcast_rx_init(rsti_broadcast_rx_t *rx, void *buffer, size_t length);
void rsti_broadcast_rx_fini(rsti_broadcast_rx_t *rx);
/* Delivers at most one record, copied and validated. 1: delivered; 0: nothing; -RST_EFULL:
 * overtaken; -RST_ECORRUPT: impossible length. After both errors the caller must give up: records
 * are lost. */
int rsti_broadcast_receive(rsti_broadcast_rx_t *rx,
    void (*on_record)(void *arg, int32_t type, const void *record, size_t length), void *arg);

#endif
