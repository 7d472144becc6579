/* sender_state.h: the state of the sender agent. Written by: sender. */
#ifndef RSTI_DRIVER_SENDER_SENDER_STATE_H
#define RSTI_DRIVER_SENDER_SENDER_STATE_H

#include "driver/base/driver_state.h"
#include "media/media.h"

#define RSTI_CONTROL_BURST 16
#define RSTI_CONTROL_BUFFER 2048

typedef struct rsti_network_publication_t rsti_network_publication_t;
typedef struct rsti_send_endpoint_t rsti_send_endpoint_t;

struct rsti_sender_t {
    rst_driver_t *driver;
    rsti_network_publication_t *publications;
    rsti_network_publication_t *start; /* first publication of this pass */
    rsti_send_endpoint_t *endpoints;
    rsti_datagram_t datagrams[RSTI_MEDIA_BURST_MAX];
    int64_t ends[RSTI_MEDIA_BURST_MAX]; /* position behind each datagram */
    rsti_datagram_t control[RSTI_CONTROL_BURST];
    uint8_t *control_buffers;
    uint64_t secret[2]; /* key of the stamps: challenge.h */
    int64_t now_ns; /* of this pass */
    int64_t names_due_ns; /* next check for names whose addresses are silent */
    bool has_names;       /* result of the last check */
    int64_t last_status_poll_ns;
    int32_t passes_since_poll;
    bool is_short;
};

#endif
