/* receiver_state.h: the state of the receiver agent. Written by: receiver. */
#ifndef RSTI_DRIVER_RECEIVER_RECEIVER_STATE_H
#define RSTI_DRIVER_RECEIVER_RECEIVER_STATE_H

#include "driver/base/driver_state.h"
#include "driver/receiver/candidates.h"
#include "media/media.h"

typedef struct rsti_receive_endpoint_t rsti_receive_endpoint_t;
typedef struct rsti_image_t rsti_image_t;

struct rsti_receiver_t {
    rst_driver_t *driver;
    rsti_receive_endpoint_t *endpoints;
    rsti_image_t *images;
    rsti_candidates_t candidates;
    int64_t admission_due_ns; /* no unproven image is asked for before */
    int32_t named_count; /* transports whose control address is a name */
    int64_t names_due_ns;
    rsti_datagram_t datagrams[RSTI_MEDIA_BURST_MAX];
    uint8_t *buffers;
    rsti_image_t *touched[RSTI_MEDIA_BURST_MAX];
    int32_t touched_count;
    /* Bytes on the wire of data that found no room. The system counter also counts heartbeats and
     * padding from beyond the window. */
    int64_t overrun_bytes;
};

#endif
