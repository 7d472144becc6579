/* clients.h: the clients of this driver, and what each of them owns. */
#ifndef RSTI_DRIVER_CONDUCTOR_CLIENTS_H
#define RSTI_DRIVER_CONDUCTOR_CLIENTS_H

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
    int64_t heartbeat_ms; /* as last seen, and when it changed by our own clock */
    int64_t heartbeat_changed_ns;
    bool is_closed; /* by command */
    rsti_publication_link_t *publications;
    int32_t publication_count, publication_capacity;
    rsti_counter_link_t *counters;
    int32_t counter_count, counter_capacity;
} rsti_driver_client_t;

rsti_driver_client_t *rsti_client_find(rst_driver_t *driver, int64_t client_id);
/* It says so in its heartbeat counter. */
bool rsti_client_is_rstream(rst_driver_t *driver, int64_t client_id);
/* Makes it, with its heartbeat counter, at the first command; NULL with a trail. */
rsti_driver_client_t *rsti_client_get(rst_driver_t *driver, int64_t client_id);
/* Room for one more link: then linking cannot fail. */
int rsti_client_reserve_link(rsti_driver_client_t *client);
void rsti_client_link_publication(rsti_driver_client_t *client, int64_t registration_id,
    rsti_publication_t *publication);
void rsti_client_destroy(rsti_driver_client_t *client);
/* Those that sleep, when they were told something since. */
void rsti_clients_wake(rst_driver_t *driver);

#endif
