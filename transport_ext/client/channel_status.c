/* channel_status.c: see channel_status.h. */
#include "client/channel_status.h"

#include "concurrent/counters.h"
#include "protocol/command.h"
#include "util/bits.h"

#include <stdio.h>

int64_t rsti_client_channel_status(const rst_client_t *client, int32_t channel_status_id)
{
    if (channel_status_id < 0) {
        return RST_CHANNEL_ACTIVE; /* shared memory needs no endpoint */
    }
    if (channel_status_id > client->counters.max_counter_id) {
        return RST_CHANNEL_ERRORED;
    }
    return rsti_load_acquire_i64(rsti_counter_address(&client->counters, channel_status_id));
}

typedef struct address_search_t {
    int32_t channel_status_id;
    int skip;
    char *text;
    size_t size;
    int found;
} address_search_t;

static bool match_address(void *arg, const rsti_counter_view_t *view)
{
    address_search_t *search = arg;
    if (view->type_id != RSTI_COUNTER_LOCAL_SOCKADDR || view->value != RST_CHANNEL_ACTIVE
        || rsti_get_i32(view->key) != search->channel_status_id) {
        return true;
    }
    const int32_t length = rsti_get_i32(view->key + 4);
    if (length < 1 || length > RSTI_COUNTER_KEY_MAX - 8 || search->skip-- > 0) {
        return true;
    }
    search->found = 1;
    (void)snprintf(search->text, search->size, "%.*s", (int)length, (const char *)view->key + 8);
    return false;
}

int rsti_client_local_address(const rst_client_t *client, int32_t channel_status_id, int index,
    char *text, size_t size)
{
    if (channel_status_id < 0 || index < 0) {
        return 0;
    }
    address_search_t search = {
        .channel_status_id = channel_status_id, .skip = index, .text = text, .size = size};
    rsti_counters_for_each(&client->counters, match_address, &search);
    return search.found;
}
