/* responses.h: answers to clients by the broadcast. */
#ifndef RSTI_DRIVER_CONDUCTOR_RESPONSES_H
#define RSTI_DRIVER_CONDUCTOR_RESPONSES_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"
#include "protocol/command.h"

void rsti_respond(rst_driver_t *driver, const rsti_response_t *response);
void rsti_respond_error(rst_driver_t *driver, int64_t correlation_id, int code, const char *text);
/* From the thread's error trail. */
void rsti_respond_trail(rst_driver_t *driver, int64_t correlation_id);
void rsti_respond_ok(rst_driver_t *driver, int64_t correlation_id);
void rsti_respond_counter(rst_driver_t *driver, int32_t type, int64_t correlation_id,
    int32_t counter_id);
void rsti_respond_available(rst_driver_t *driver, int64_t image_id, int32_t session_id,
    int32_t stream_id, const rsti_subscriber_t *subscriber, const char *path, const char *source);
void rsti_respond_unavailable(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription);
/* The same, with since when the stream goes on without it. */
void rsti_respond_evicted(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription, int64_t evicted_ms);
/* The same, of an untethered one: what it has not read is cleaned after the linger. */
void rsti_respond_let_go(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription);
/* The ids, code and text of response; source NULL: nobody on the network. */
void rsti_respond_publication_error(rst_driver_t *driver, rsti_response_t *response,
    const struct sockaddr_storage *source);

#endif
