/* blocked_readers.c: see blocked_readers.h. */
#include "driver/conductor/blocked_readers.h"

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/subscription.h"

static bool is_of_reader(const rsti_publication_t *publication,
    const rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (rsti_tether_is_working(&subscriber->tether)
            && subscriber->subscription->client_id == publication->client_id) {
            return true;
        }
    }
    return false;
}

static bool has_blocked(const rsti_ptr_array_t *publications, const rsti_subscribers_t *subscribers)
{
    for (size_t i = 0; i < publications->count; i++) {
        const rsti_publication_t *publication = publications->items[i];
        if (publication->life == RSTI_LIFE_ACTIVE
            && rsti_log_producer_position(&publication->file.log) >= publication->limit
            && rsti_load_relaxed_i32(&publication->file.log.metadata->is_connected) != 0
            && is_of_reader(publication, subscribers)) {
            return true;
        }
    }
    return false;
}

bool rsti_readers_are_blocked(const rst_driver_t *driver, const rsti_subscribers_t *subscribers)
{
    return has_blocked(&driver->conductor->ipc_publications, subscribers)
        || has_blocked(&driver->conductor->publications, subscribers);
}
