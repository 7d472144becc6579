/* responses.h: sends responses to the clients through the broadcast buffer. A response that does
 * not fit is dropped, and the error log gets an entry. */
#ifndef RSTI_DRIVER_CONDUCTOR_RESPONSES_H
#define RSTI_DRIVER_CONDUCTOR_RESPONSES_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"
#include "protocol/command.h"

/* Encodes and sends one response. */
void rsti_respond(rst_driver_t *driver, const rsti_response_t *response);
/* Also writes the text to the error log, except for RSTI_DRIVER_TEMPORARILY_UNAVAILABLE. */
void rsti_respond_error(rst_driver_t *driver, int64_t correlation_id, int code, const char *text);
/* Sends the error trail of the thread as an error, and clears the trail. */
void rsti_respond_trail(rst_driver_t *driver, int64_t correlation_id);
/* The same for a command with a channel. The text ends with that channel, unless it names it
 * already. */
void rsti_respond_channel_trail(rst_driver_t *driver, const rsti_command_t *command);
/* OPERATION_SUCCESS. */
void rsti_respond_ok(rst_driver_t *driver, int64_t correlation_id);
/* A response about a counter, of the given type. */
void rsti_respond_counter(rst_driver_t *driver, int32_t type, int64_t correlation_id,
    int32_t counter_id);
/* AVAILABLE_IMAGE: path is the log file, source the identity of the source. */
void rsti_respond_available(rst_driver_t *driver, int64_t image_id, int32_t session_id,
    int32_t stream_id, const rsti_subscriber_t *subscriber, const char *path, const char *source);
/* UNAVAILABLE_IMAGE. */
void rsti_respond_unavailable(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription);
/* UNAVAILABLE_IMAGE with the time of the eviction. */
void rsti_respond_evicted(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription, int64_t evicted_ms);
/* UNAVAILABLE_IMAGE for an untethered subscriber that is too far behind. The data that it has not
 * read is cleaned after the linger time. */
void rsti_respond_let_go(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription);
/* UNAVAILABLE_IMAGE for an image that was overrun: the stream goes on at position. */
void rsti_respond_overrun(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription, int64_t position);
/* PUBLICATION_ERROR with the ids, code and text of *response, whose other fields are overwritten.
 * source NULL: the error does not come from the network. A rejection of an image counts as an error
 * and goes to the error log, at most once a second. */
void rsti_respond_publication_error(rst_driver_t *driver, rsti_response_t *response,
    const struct sockaddr_storage *source);

#endif
