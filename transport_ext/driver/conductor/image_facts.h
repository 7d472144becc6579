/* image_facts.h: what a new image is made of. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_FACTS_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_FACTS_H

#include "driver/conductor/subscription.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/frame.h"

typedef struct rsti_image_facts_t {
    rsti_receive_endpoint_t *endpoint;
    const rsti_setup_t *setup;
    rsti_receive_transport_t *transport; /* that brought the SETUP */
    const struct sockaddr_storage *source;
    const rsti_subscription_t *subscription; /* first that matches: its URI parameters count */
} rsti_image_facts_t;

#endif
