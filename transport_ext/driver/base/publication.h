/* publication.h: the common part of IPC and network publications. Owner: conductor; the sender
 * reads fields that never change. */
#ifndef RSTI_DRIVER_BASE_PUBLICATION_H
#define RSTI_DRIVER_BASE_PUBLICATION_H

#include "rstream/driver.h"

#include "channel/channel.h"
#include "cnc/log_file.h"
#include "driver/base/subscribers.h"
#include "flow/rate_text.h"
#include "flow/slowest.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum rsti_life_t {
    RSTI_LIFE_ACTIVE = 0,
    RSTI_LIFE_DRAINING,
    RSTI_LIFE_LINGER,
    RSTI_LIFE_DONE
} rsti_life_t;

typedef struct rsti_publication_t {
    bool is_network;
    bool is_exclusive;
    bool is_revoked;
    rsti_life_t life;
    int32_t session_id;
    int32_t stream_id;
    int64_t registration_id;
    int64_t client_id; /* that opened it first */
    char *uri;
    size_t uri_length;
    char *name; /* "" when unnamed */
    int32_t ref_count;
    rsti_publication_options_t options;
    rsti_rate_choice_t rate; /* the rate when it was opened; later changes are not kept here */
    rsti_tether_times_t tether_times; /* of its untethered subscribers */
    bool is_ssc; /* spies simulate a connection */
    int64_t channel_tag, entity_tag; /* RSTI_CHANNEL_UNSET */
    bool is_response; /* control-mode=response: sends to the address that asks for its SETUP */
    /* For a request publication the id of the subscription for responses; for a response
     * publication the id of the image of the requests; -1: none, -2: prototype. */
    int64_t response_correlation_id;
    rsti_log_file_t file;
    int32_t pub_pos_id;
    int32_t pub_lmt_id;
    int64_t *pub_pos;
    int64_t *pub_lmt;
    bool is_limit_short; /* the limit is near the producer, because storage is reserved in steps */
    bool is_refusal_wanted; /* also while a small window holds producers */
    bool is_refusal_told; /* copy of the word in the log */
    int64_t limit; /* the value stored in pub_lmt; clients can overwrite that, so it is not read */
    int64_t limit_highest; /* that was ever told */
    int64_t end_position; /* INT64_MAX while there are producers */
    rsti_subscribers_t subscribers; /* IPC subscribers or spies */
    rsti_slowest_t slowest; /* of them; conductor/slowest_reader.h */
    int64_t slowest_since_ms;
    rsti_log_left_t left; /* reader_left.h. Written by: sender of a network publication, else
                           * conductor */
    int64_t clean_position;
    rsti_log_quiet_t quiet;
    int64_t blocked_position; /* consumer position at the last timer tick */
    int64_t blocked_since_ns;
    uint64_t dead_owners[4]; /* bits: claims of these owners are never committed */
    int64_t life_changed_ns;
} rsti_publication_t;

typedef struct rsti_publication_facts_t {
    const rsti_channel_t *channel;
    const rsti_publication_options_t *options;
    const rsti_rate_choice_t *rate;
    int64_t registration_id;
    int64_t client_id;
    int32_t session_id;
    int32_t stream_id;
    bool is_network;
    bool is_exclusive;
    int32_t socket_sndbuf;
    int32_t socket_rcvbuf;
} rsti_publication_facts_t;

#endif
