/* image_facts.h: the parameters of a new image. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_FACTS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_FACTS_H

#include "driver/conductor/subscription.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/frame.h"

typedef struct rsti_image_facts_t {
    rsti_receive_endpoint_t *endpoint;
    const rsti_setup_t *setup;
    rsti_receive_transport_t *transport; /* received the SETUP */
    const struct sockaddr_storage *source;
    bool is_proven; /* the source has echoed a stamp of ours (receiver/admission.h) */
    rsti_subscription_t *subscription; /* first match: its URI parameters apply */
    bool is_resumed; /* the image goes on for one that was left behind */
} rsti_image_facts_t;

#endif
