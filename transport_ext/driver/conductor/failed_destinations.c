/* failed_destinations.c: see failed_destinations.h. */
#include "driver/conductor/failed_destinations.h"

#include "driver/base/counters.h"
#include "driver/sender/send_endpoint.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <stdio.h>

typedef struct failed_destination_t {
    const rsti_send_endpoint_t *endpoint;
    struct sockaddr_storage address;
    int32_t counter_id;
    int64_t last_ns;
} failed_destination_t;

static failed_destination_t *find(const rst_driver_t *driver, const void *endpoint,
    const struct sockaddr_storage *address)
{
    const rsti_ptr_array_t *all = &driver->conductor->failed_destinations;
    for (size_t i = 0; i < all->count; i++) {
        failed_destination_t *failed = all->items[i];
        if (failed->endpoint == endpoint && rsti_netaddr_equal(&failed->address, address)) {
            return failed;
        }
    }
    return NULL;
}

/* NULL with a trail: no memory or no counter is left. */
static failed_destination_t *make(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const rsti_send_endpoint_t *endpoint = command->endpoint;
    char address[RSTI_NETADDR_TEXT_MAX];
    char text[RSTI_NETADDR_TEXT_MAX + sizeof endpoint->udp.canonical]; /* a label cuts it */
    (void)snprintf(text, sizeof text, "%s %s",
        rsti_netaddr_format(&command->address, address, sizeof address), endpoint->udp.canonical);
    failed_destination_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    *made = (failed_destination_t){.endpoint = endpoint, .address = command->address};
    made->counter_id = rsti_channel_counter_allocate(driver, RSTI_COUNTER_DESTINATION_FAILED,
        "snd-dest-failed", text, command->registration_id, -1);
    if (made->counter_id < 0
        || rsti_ptr_array_add(&driver->conductor->failed_destinations, made) < 0) {
        rsti_counter_release(driver, &made->counter_id);
        rsti_free(made);
        return NULL;
    }
    return made;
}

void rsti_on_destination_failed(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const rsti_send_endpoint_t *endpoint = command->endpoint;
    failed_destination_t *failed = find(driver, endpoint, &command->address);
    if (endpoint->is_closing
        || (failed == NULL
            && driver->conductor->failed_destinations.count >= RSTI_FAILED_DESTINATIONS_MAX)) {
        return;
    }
    if (failed == NULL) {
        failed = make(driver, command);
    }
    if (failed == NULL) {
        rsti_driver_log_trail(driver, "counter of a destination");
        return;
    }
    failed->last_ns = driver->conductor->now_ns;
    rsti_counter_store(driver, failed->counter_id, command->count);
}

static void remove_at(rst_driver_t *driver, size_t index)
{
    failed_destination_t *failed = driver->conductor->failed_destinations.items[index];
    rsti_ptr_array_remove_at(&driver->conductor->failed_destinations, index);
    rsti_counter_release(driver, &failed->counter_id);
    rsti_free(failed);
}

void rsti_failed_destinations_expire(rst_driver_t *driver, int64_t now_ns)
{
    const rsti_ptr_array_t *all = &driver->conductor->failed_destinations;
    for (size_t i = all->count; i > 0; i--) {
        const failed_destination_t *failed = all->items[i - 1];
        if (now_ns > failed->last_ns + RSTI_FAILED_DESTINATION_NS) {
            remove_at(driver, i - 1);
        }
    }
}

void rsti_failed_destinations_forget(rst_driver_t *driver, const void *endpoint)
{
    const rsti_ptr_array_t *all = &driver->conductor->failed_destinations;
    for (size_t i = all->count; i > 0; i--) {
        const failed_destination_t *failed = all->items[i - 1];
        if (failed->endpoint == endpoint) {
            remove_at(driver, i - 1);
        }
    }
}
