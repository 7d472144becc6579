/* clients.h: the clients of this driver and their publications and counters. */
#ifndef RSTI_DRIVER_CONDUCTOR_CLIENTS_H
#define RSTI_DRIVER_CONDUCTOR_CLIENTS_H

#include "cnc/death_watch.h"
#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"

typedef struct rsti_publication_link_t {
    int64_t registration_id; /* correlation id of this client's add command */
    rsti_publication_t *publication;
} rsti_publication_link_t;

typedef struct rsti_counter_link_t {
    int64_t registration_id;
    int32_t counter_id;
} rsti_counter_link_t;

typedef struct rsti_driver_client_t {
    int64_t client_id;
    int32_t heartbeat_id;
    /* last value seen; the next field is the time of its last change by our clock */
    int64_t heartbeat_ms;
    int64_t heartbeat_changed_ns;
    int64_t made_ns;
    bool is_closed; /* the client sent CLIENT_CLOSE */
    bool is_dead; /* its process is gone; removed when its last commands are carried out */
    bool is_asked; /* it has told its process; see watched */
    rsti_watched_t watched;
    int watch_fd; /* -1: none */
    rsti_publication_link_t *publications;
    int32_t publication_count, publication_capacity;
    rsti_counter_link_t *counters;
    int32_t counter_count, counter_capacity;
} rsti_driver_client_t;

/* NULL when there is no such client. */
rsti_driver_client_t *rsti_client_find(rst_driver_t *driver, int64_t client_id);
/* What an rstream client tells about itself, in shared memory; NULL: an Aeron client, or one that
 * has not told it yet. */
rsti_heartbeat_ext_t *rsti_client_ext(rst_driver_t *driver, const rsti_driver_client_t *client);
/* True when the client's heartbeat counter carries the mark of an rstream client. */
bool rsti_client_is_rstream(rst_driver_t *driver, int64_t client_id);
/* Finds the client, or makes it with its heartbeat counter. The first command of a client does
 * this. NULL with an error trail on failure. */
rsti_driver_client_t *rsti_client_get(rst_driver_t *driver, int64_t client_id);
/* Makes room for one more link, so that rsti_client_link_publication cannot fail. Returns 0 or
 * -RST_ENOMEM. */
int rsti_client_reserve_link(rsti_driver_client_t *client);
/* Adds a link and counts a reference. The caller has reserved the link. */
void rsti_client_link_publication(rsti_driver_client_t *client, int64_t registration_id,
    rsti_publication_t *publication);
/* Frees the client only. The caller has released its publications and counters. */
void rsti_client_destroy(rst_driver_t *driver, rsti_driver_client_t *client);
/* Wakes sleeping rstream clients if a response was sent since the last call. */
void rsti_clients_wake(rst_driver_t *driver);

#endif
