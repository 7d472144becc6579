/* subscription.h: the state and the life of a subscription. Its images are in image.h, and coming
 * and going in subscription_images.h.
 *
 * One thread polls at a time. Batches may be released, and demand requested, by any thread. */
#ifndef RSTI_CLIENT_SUBSCRIPTION_H
#define RSTI_CLIENT_SUBSCRIPTION_H

#include "client/client_state.h"
#include "rstream/image.h"

#define RSTI_EVENTS_MAX 256
#define RSTI_GAPS_MAX 256

typedef struct rsti_kept_event_t {
    int64_t number; /* events and gaps are taken in this order */
    rst_image_event_t event;
} rsti_kept_event_t;

struct rst_subscription_t {
    int32_t refs; /* atomic */
    int32_t generation;
    int32_t is_closed;  /* atomic */
    int32_t is_polling; /* atomic: a thread is inside a poll (for -RST_EBUSY); written under lock */
    rst_client_t *client;
    int64_t registration_id;
    int32_t stream_id;
    int32_t channel_status_id;
    char *channel;
    int64_t demand; /* atomic: requested and not yet delivered; see demand.h */
    int64_t requested; /* atomic: the sum of all requests */
    int64_t lent; /* delivered for demand and not yet released. Under lock */
    int64_t told_requested; /* as last written for publishers; -1: an image is new. Under lock */
    int64_t told_remaining; /* likewise */
    int32_t is_demanded; /* atomic: the user has called request() or polls by demand */
    int32_t is_telling; /* atomic: publishers are told its demand, which limits no poll */
    bool may_hold; /* its demand may hold publishers back */
    int64_t mean_bytes; /* of a message with its header; 0: none came yet. Under lock */
    bool sets_aside; /* a batch of it was set aside. Under lock */
    int32_t version; /* atomic: changes with the list of images */

    pthread_mutex_t lock;
    rsti_ptr_array_t images; /* rst_image_t, one reference each */
    rsti_ptr_array_t heirs; /* likewise: images that wait for the end of their session's last one */
    size_t round_robin;
    int pending_error; /* an image was corrupt or could not be mapped; the next poll reports it */
    char pending_error_text[256];
    int64_t event_number;
    rsti_kept_event_t *events; /* a ring of RSTI_EVENTS_MAX, see image_events.h */
    uint32_t events_head, events_tail;
    int64_t events_lost;
    rsti_kept_event_t *gaps; /* a ring of RSTI_GAPS_MAX, allocated at the first gap; image_gaps.h */
    uint32_t gaps_head, gaps_tail;
    /* Messages in parts, see parts.h. Under lock. The memory's functions and argument belong to a
     * higher floor: the Python binding gives bytes objects, so that no message is copied twice. */
    bool takes_parts;
    rst_parts_params_t parts;
};

typedef struct rsti_subscription_params_t {
    const char *channel;
    int64_t registration_id;
    int32_t stream_id;
    int32_t channel_status_id;
    bool is_on_demand; /* it wants nothing before it is asked to */
} rsti_subscription_params_t;

/* Makes the client's side of a subscription that the driver has announced; the caller owns the one
 * reference. The caller holds client->lock. NULL with a trail. */
rst_subscription_t *rsti_subscription_create(rst_client_t *client,
    const rsti_subscription_params_t *params);
void rsti_subscription_ref(rst_subscription_t *subscription);
void rsti_subscription_unref(rst_subscription_t *subscription);

static inline bool rsti_subscription_is_usable(const rst_subscription_t *subscription)
{
    return subscription != NULL && !rsti_is_forked(subscription->generation)
        && rsti_load_acquire_i32(&subscription->is_closed) == 0;
}

#endif
