/* subscription.h: a subscription of a client, as the conductor keeps it. subscriptions.h adds and
 * removes them. */
#ifndef RSTI_DRIVER_CONDUCTOR_SUBSCRIPTION_H
#define RSTI_DRIVER_CONDUCTOR_SUBSCRIPTION_H

#include "channel/channel.h"
#include "driver/base/subscribers.h"

typedef struct rsti_receive_endpoint_t rsti_receive_endpoint_t;

struct rsti_subscription_t {
    int64_t registration_id;
    int64_t client_id;
    /* 0: an ordinary one. Else it stands for an IPC or spy destination of the subscription with
     * the same registration id: that one has the endpoint, this one has the links. */
    int64_t destination_id;
    int32_t stream_id;
    bool is_ipc;
    bool is_spy;
    bool is_tethered;
    bool is_response; /* control-mode=response: wants nothing until a session is told */
    bool has_session;
    int32_t session_id;
    char *uri;
    size_t uri_length;
    char *name;
    rsti_receive_endpoint_t *endpoint; /* UDP only */
    bool is_reliable;
    bool is_rejoin;
    bool is_sparse;
    rsti_tristate_t group;
    int64_t nak_delay_ns;
    int32_t window;
    int64_t budget_bytes; /* rs-budget: of each of its images; 0: no limit */
    bool is_fill_window;  /* rs-fill-window */
    char cc[32];
    rsti_tether_times_t tether_times; /* of images; logs of this driver bring their own */
    int64_t evict_ns;     /* rs-evict; 0: not asked for */
    int64_t evicted_ns;   /* when it was let go; INT64_MAX: it was not */
    bool is_interest_over; /* evicted, and its endpoint knows it */
    /* Spies only. */
    int64_t channel_tag;
    char *canonical;
};

static inline bool rsti_is_evicted(const rsti_subscription_t *subscription)
{
    return subscription->evicted_ns != INT64_MAX;
}
/* Whether it wants that session of the stream. */
static inline bool rsti_subscription_wants(const rsti_subscription_t *subscription,
    int32_t stream_id, int32_t session_id)
{
    return subscription->stream_id == stream_id
        && (subscription->has_session ? subscription->session_id == session_id
                                      : !subscription->is_response);
}

#endif
