/* publication_lists.c: see publication_lists.h. */
#include "driver/conductor/publication_lists.h"

#include "driver/conductor/clients.h"
#include "driver/conductor/responses.h"
#include "driver/sender/network_publication.h"

#include <inttypes.h>
#include <stdio.h>

rsti_ptr_array_t *rsti_publication_list(rst_driver_t *driver, bool is_network)
{
    return is_network ? &driver->conductor->publications : &driver->conductor->ipc_publications;
}

const rsti_send_endpoint_t *rsti_publication_endpoint(const rsti_publication_t *publication)
{
    return publication->is_network
        ? ((const rsti_network_publication_t *)(const void *)publication)->endpoint
        : NULL;
}

rsti_publication_t *rsti_publication_of_id(const rst_driver_t *driver, int64_t registration_id)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (int is_network = 0; is_network <= 1; is_network++) {
        const rsti_ptr_array_t *list = is_network != 0 ? &conductor->publications
                                                       : &conductor->ipc_publications;
        for (size_t i = 0; i < list->count; i++) {
            rsti_publication_t *publication = list->items[i];
            if (publication->registration_id == registration_id) {
                return publication;
            }
        }
    }
    for (size_t i = 0; i < conductor->clients.count; i++) {
        const rsti_driver_client_t *client = conductor->clients.items[i];
        for (int32_t k = 0; k < client->publication_count; k++) {
            if (client->publications[k].registration_id == registration_id) {
                return client->publications[k].publication;
            }
        }
    }
    return NULL;
}

void rsti_respond_unknown_publication(rst_driver_t *driver, const rsti_command_t *command)
{
    char text[96];
    snprintf(text, sizeof text, "unknown publication, registration id %" PRId64,
        command->registration_id);
    rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_UNKNOWN_PUBLICATION, text);
}
