/* publication_errors.c: see publication_errors.h. The ring is allocated at the first error. */
#include "client/publication_errors.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <stdio.h>
#include <string.h>

static void format_source(char *text, size_t size, const rsti_response_t *response)
{
    rsti_packed_address_t packed = {.port = (uint16_t)response->port};
    text[0] = '\0';
    if (response->address_kind == RSTI_ADDRESS_IPV4) {
        packed.family = AF_INET;
    } else if (response->address_kind == RSTI_ADDRESS_IPV6) {
        packed.family = AF_INET6;
    } else {
        return; /* a local subscriber has no address */
    }
    memcpy(packed.bytes, response->address, sizeof packed.bytes);
    const struct sockaddr_storage address = rsti_netaddr_unpack(&packed);
    (void)rsti_netaddr_format(&address, text, size);
}

static void push(rst_publication_t *publication, const rst_publication_error_t *error)
{
    if (publication->errors == NULL) {
        publication->errors = rsti_alloc(RSTI_PUBLICATION_ERRORS_MAX * sizeof *publication->errors);
        if (publication->errors == NULL) {
            publication->errors_lost++;
            return;
        }
    }
    if (publication->errors_tail - publication->errors_head == RSTI_PUBLICATION_ERRORS_MAX) {
        publication->errors_head++;
        publication->errors_lost++;
    }
    publication->errors[publication->errors_tail++ % RSTI_PUBLICATION_ERRORS_MAX] = *error;
}

typedef struct delivery_t {
    int64_t registration_id;
    const rst_publication_error_t *error;
} delivery_t;

static void deliver(void *arg, int64_t key, void *value)
{
    const delivery_t *delivery = arg;
    rst_publication_t *publication = value;
    (void)key;
    if (publication->registration_id == delivery->registration_id) {
        push(publication, delivery->error);
    }
}

void rsti_client_on_publication_error(rst_client_t *client, const rsti_response_t *response)
{
    rst_publication_error_t error = {
        .code = response->error_code,
        .session_id = response->session_id,
        .receiver_id = response->receiver_id,
        .group_tag = response->group_tag,
        .destination_id = response->destination_id,
    };
    format_source(error.source, sizeof error.source, response);
    (void)snprintf(error.text, sizeof error.text, "%.*s", (int)response->log_file.length,
        response->log_file.text != NULL ? response->log_file.text : "");
    delivery_t delivery = {.registration_id = response->registration_id, .error = &error};
    rsti_hash_map_for_each(&client->publications, deliver, &delivery);
    rsti_client_kick_waiters(client);
}

RST_API int rst_publication_next_error(rst_publication_t *publication,
    rst_publication_error_t *error)
{
    if (publication == NULL || error == NULL) {
        return RST_SET_ERR(RST_EINVAL, "publication or error is NULL");
    }
    if (rsti_is_forked(publication->generation)) {
        return rsti_set_forked_error("publication");
    }
    pthread_mutex_lock(&publication->client->lock);
    const bool found = publication->errors_head != publication->errors_tail;
    if (found) {
        *error = publication->errors[publication->errors_head++ % RSTI_PUBLICATION_ERRORS_MAX];
    }
    pthread_mutex_unlock(&publication->client->lock);
    return found ? 1 : 0;
}

RST_API int64_t rst_publication_errors_lost(const rst_publication_t *publication)
{
    if (publication == NULL || rsti_is_forked(publication->generation)) {
        return 0;
    }
    pthread_mutex_lock(&publication->client->lock);
    const int64_t lost = publication->errors_lost;
    pthread_mutex_unlock(&publication->client->lock);
    return lost;
}
