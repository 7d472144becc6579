/* wait_set.h: what a waiter waits for, and where it has to be armed.
 *
 * A set keeps the attached subscriptions and publications, and one slot per log: a log may serve
 * several attached images and publications. The caller of every function holds waiter->lock. */
#ifndef RSTI_CLIENT_WAIT_SET_H
#define RSTI_CLIENT_WAIT_SET_H

#include "client/image.h"
#include "client/publication.h"
#include "client/subscription.h"

typedef struct rsti_attached_image_t {
    rst_image_t *image; /* a reference */
    size_t slot;        /* index into the set's slots */
} rsti_attached_image_t;

/* A subscription or a publication, one reference. */
typedef struct rsti_attached_t {
    rst_subscription_t *subscription; /* or */
    rst_publication_t *publication;
    bool is_demand;       /* waits for the readers' demand instead of room */
    int32_t seen_version; /* of the subscription's images, when they were copied */
    uint32_t events_told; /* see rsti_subscription_is_ready */
    rsti_attached_image_t *images;
    size_t image_count;
    size_t slot; /* the publication's */
} rsti_attached_t;

typedef struct rsti_log_slot_t {
    rsti_shared_log_t *log; /* a reference; NULL: the entry is free */
    int32_t uses;
    int32_t kinds; /* RSTI_WAIT_… to arm */
    int slot;      /* in the log's table of sleepers; -1: none was free, poll instead */
} rsti_log_slot_t;

typedef struct rsti_wait_set_t {
    rst_client_t *client;
    int32_t waiter_id;
    rsti_attached_t *attached;
    size_t attached_count, attached_capacity;
    rsti_log_slot_t *slots;
    size_t slot_count, slot_capacity;
} rsti_wait_set_t;

/* Frees the set's memory, without the references in it: in a forked child they must stay. */
void rsti_wait_set_free(rsti_wait_set_t *set);
/* Detaches everything. */
void rsti_wait_set_clear(rsti_wait_set_t *set);

/* Attaches a subscription or a publication; the other is NULL. A second time it does nothing. 0, or
 * -RST_ENOMEM. */
int rsti_wait_set_attach(rsti_wait_set_t *set, rst_subscription_t *subscription,
    rst_publication_t *publication, bool is_demand);
/* An object that is not attached changes nothing. */
void rsti_wait_set_detach(rsti_wait_set_t *set, const rst_subscription_t *subscription,
    const rst_publication_t *publication, bool is_demand);

/* Whether anything attached may be ready. is_told: the answer goes to the user, which then knows of
 * the image events. */
bool rsti_wait_set_is_ready(rsti_wait_set_t *set, bool is_told);
/* Copies the images of subscriptions that have changed. 0, or -RST_ENOMEM: try again later. */
int rsti_wait_set_refresh(rsti_wait_set_t *set);
/* Arms the waiter in every log. True: something attached cannot wake it, so sleep in slices. */
bool rsti_wait_set_arm(rsti_wait_set_t *set);
void rsti_wait_set_disarm(rsti_wait_set_t *set);

#endif
