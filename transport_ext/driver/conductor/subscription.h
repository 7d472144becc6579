/* subscription.h: the conductor's record of a client's subscription. subscriptions.h adds and
 * removes subscriptions. */
#ifndef RSTI_DRIVER_CONDUCTOR_SUBSCRIPTION_H
#define RSTI_DRIVER_CONDUCTOR_SUBSCRIPTION_H

#include "channel/channel.h"
#include "driver/base/subscribers.h"

typedef struct rsti_receive_endpoint_t rsti_receive_endpoint_t;

struct rsti_subscription_t {
    int64_t registration_id;
    int64_t client_id;
    /* 0: an ordinary subscription. Else an IPC or spy destination of the subscription with the
     * same registration id. The ordinary one has the endpoint, the destination has the links. */
    int64_t destination_id;
    int32_t stream_id;
    int32_t counter_id; /* rs-subscription; RSTI_NULL_COUNTER: a destination, or no counter free */
    bool is_ipc;
    bool is_spy;
    bool is_tethered;
    bool is_response; /* control-mode=response: matches no session until one is known */
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
    bool is_window_given; /* rcv-wnd */
    int32_t bound_id; /* counter rs-window-bound; RSTI_NULL_COUNTER: the window is as wished for */
    int64_t budget_bytes; /* rs-budget, for each image; 0: no limit */
    bool is_fill_window; /* rs-fill-window */
    char cc[32];
    rsti_tether_times_t tether_times; /* for images; logs of this driver have their own times */
    int64_t evict_ns; /* rs-evict; 0: off */
    int64_t evicted_ns; /* time of the eviction; INT64_MAX: not evicted */
    bool is_interest_over; /* evicted, and the receiver has been told */
    /* Spies only. */
    int64_t channel_tag;
    char *canonical;
};

static inline bool rsti_is_evicted(const rsti_subscription_t *subscription)
{
    return subscription->evicted_ns != INT64_MAX;
}
/* Whether a window that its socket's buffer cannot hold is bounded, and not refused: streams with a
 * name are rstream's own, others are as with Aeron's driver. */
static inline bool rsti_subscription_bounds_window(const rsti_subscription_t *subscription)
{
    return subscription->name[0] != '\0';
}
/* True when the subscription matches this session of the stream. */
static inline bool rsti_subscription_wants(const rsti_subscription_t *subscription,
    int32_t stream_id, int32_t session_id)
{
    return subscription->stream_id == stream_id
        && (subscription->has_session ? subscription->session_id == session_id
                                      : !subscription->is_response);
}

#endif
