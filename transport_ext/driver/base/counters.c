/* counters.c: labels and keys of the driver's counters (docs/reference/aeron/memory.md 16-18). */
#include "driver/base/counters.h"

#include "util/error.h"
#include "util/format.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>

static int32_t allocate(rst_driver_t *driver, int32_t type_id, const void *key, size_t key_length,
    const char *label)
{
    size_t label_length = strlen(label);
    if (label_length > RSTI_COUNTER_LABEL_MAX) {
        label_length = RSTI_COUNTER_LABEL_MAX;
    }
    return rsti_counters_allocate(&driver->counters, type_id, key, key_length, label, label_length,
        driver->epoch.now_ms);
}

/* The text behind the fixed label of some system counters; empty for the others. */
static void label_suffix(const rst_driver_t *driver, rsti_system_counter_t counter, char *text,
    size_t size)
{
    static const char *const modes[] = {
        [RSTI_THREADING_AUTO] = "AUTO",
        [RSTI_THREADING_SHARED] = "SHARED",
        [RSTI_THREADING_SHARED_NETWORK] = "SHARED_NETWORK",
        [RSTI_THREADING_DEDICATED] = "DEDICATED",
        [RSTI_THREADING_INVOKER] = "INVOKER",
    };
    const rst_driver_params_t *params = &driver->params;
    const char *mode = modes[driver->threading];
    int64_t threshold_ns = 0;
    char duration[RSTI_DURATION_TEXT_MAX];
    text[0] = '\0';
    switch (counter) {
    case RSTI_SYSTEM_RESOLUTION_CHANGES:
        (void)snprintf(text, size, ": driverName=null");
        return;
    case RSTI_SYSTEM_CONDUCTOR_MAX_CYCLE_TIME:
    case RSTI_SYSTEM_SENDER_MAX_CYCLE_TIME:
    case RSTI_SYSTEM_RECEIVER_MAX_CYCLE_TIME:
        (void)snprintf(text, size, ": %s", mode);
        return;
    case RSTI_SYSTEM_CONDUCTOR_CYCLE_TIME_EXCEEDED:
        threshold_ns = params->conductor_cycle_threshold_ns;
        break;
    case RSTI_SYSTEM_SENDER_CYCLE_TIME_EXCEEDED:
        threshold_ns = params->sender_cycle_threshold_ns;
        break;
    case RSTI_SYSTEM_RECEIVER_CYCLE_TIME_EXCEEDED:
        threshold_ns = params->receiver_cycle_threshold_ns;
        break;
    case RSTI_SYSTEM_NAME_RESOLVER_TIME_EXCEEDED:
        threshold_ns = params->resolver_threshold_ns;
        mode = "";
        break;
    default:
        return;
    }
    rsti_format_duration(duration, sizeof duration, threshold_ns);
    (void)snprintf(text, size, ": threshold=%s%s%s", duration, mode[0] != '\0' ? " " : "", mode);
}

int rsti_system_counters_init(rst_driver_t *driver)
{
    static const char *const labels[] = {
#define SYSTEM_LABEL(name, label) label,
        RSTI_SYSTEM_COUNTERS(SYSTEM_LABEL)
#undef SYSTEM_LABEL
    };
    for (int32_t i = 0; i < RSTI_SYSTEM_COUNTER_COUNT; i++) {
        char suffix[64];
        char label[RSTI_COUNTER_LABEL_MAX + 1];
        label_suffix(driver, (rsti_system_counter_t)i, suffix, sizeof suffix);
        (void)snprintf(label, sizeof label, "%s%s", labels[i], suffix);
        const int32_t id = allocate(driver, RSTI_COUNTER_SYSTEM, &i, sizeof i, label);
        if (id != i) {
            return RST_SET_ERR(RST_EFULL, "system counter %" PRId32 " got id %" PRId32, i, id);
        }
        rsti_counters_set_ids(&driver->counters, id, i, -1, 0);
    }
    rsti_counter_store(driver, RSTI_SYSTEM_CONTROL_PROTOCOL_VERSION, 65536);
    rsti_counter_store(driver, RSTI_SYSTEM_VERSION, 0x000100);
    return 0;
}

int rsti_datagram_counters_init(rst_driver_t *driver)
{
    static const struct {
        int32_t type_id;
        const char *label;
    } wanted[] = {
        {RSTI_COUNTER_DATAGRAMS_SENT, "rs-datagrams-sent"},
        {RSTI_COUNTER_DATAGRAMS_RECEIVED, "rs-datagrams-received"},
    };
    int64_t *address[2];
    for (size_t i = 0; i < 2; i++) {
        const int32_t id = allocate(driver, wanted[i].type_id, NULL, 0, wanted[i].label);
        if (id < 0) {
            return id;
        }
        rsti_counters_set_ids(&driver->counters, id, 0, -1, 0);
        address[i] = rsti_counter_address(&driver->counters.counters, id);
    }
    rsti_media_udp_count(&driver->udp_media, address[0], address[1]);
    return 0;
}

int32_t rsti_stream_counter_allocate(rst_driver_t *driver, const rsti_stream_counter_t *facts,
    int64_t **address)
{
    uint8_t key[RSTI_COUNTER_KEY_MAX];
    char label[RSTI_COUNTER_LABEL_MAX + 1];
    const size_t key_length = rsti_stream_key_encode(key, facts->registration_id, facts->session_id,
        facts->stream_id, facts->uri, strlen(facts->uri));
    int used = snprintf(label, sizeof label, "%s: %" PRId64 " %" PRId32 " %" PRId32 " %s",
        facts->name, facts->registration_id, facts->session_id, facts->stream_id, facts->uri);
    if (facts->has_join_position && used > 0 && (size_t)used < sizeof label) {
        snprintf(label + used, sizeof label - (size_t)used, " @%" PRId64, facts->value);
    }
    const int32_t id = allocate(driver, facts->type_id, key, key_length, label);
    if (id < 0) {
        return id;
    }
    rsti_counters_set_ids(&driver->counters, id, facts->registration_id, facts->client_id,
        facts->reference_id);
    *address = rsti_counter_address(&driver->counters.counters, id);
    rsti_store_release_i64(*address, facts->value);
    return id;
}

int32_t rsti_channel_counter_allocate(rst_driver_t *driver, int32_t type_id, const char *name,
    const char *uri, int64_t registration_id, int64_t client_id)
{
    uint8_t key[RSTI_COUNTER_KEY_MAX];
    char label[RSTI_COUNTER_LABEL_MAX + 1];
    const size_t key_length = rsti_channel_key_encode(key, uri, strlen(uri));
    snprintf(label, sizeof label, "%s: %s", name, uri);
    const int32_t id = allocate(driver, type_id, key, key_length, label);
    if (id >= 0) {
        rsti_counters_set_ids(&driver->counters, id, registration_id, client_id, 0);
    }
    return id;
}

void rsti_channel_status_bound(rst_driver_t *driver, int32_t channel_status_id,
    rsti_socket_t *socket)
{
    char address[RSTI_NETADDR_TEXT_MAX];
    char text[RSTI_NETADDR_TEXT_MAX + 1];
    struct sockaddr_storage bound;
    driver->media.table->local_address(driver->media.arg, socket, &bound);
    rsti_netaddr_format(&bound, address, sizeof address);
    snprintf(text, sizeof text, " %s", address);
    rsti_counters_append_label(&driver->counters.counters, channel_status_id, text);
    rsti_counter_store(driver, channel_status_id, RSTI_CHANNEL_ACTIVE);
}

int32_t rsti_sockaddr_counter_allocate(rst_driver_t *driver, const char *name,
    int32_t channel_status_id, const char *bound_address, int64_t registration_id,
    int64_t client_id)
{
    uint8_t key[RSTI_COUNTER_KEY_MAX];
    char label[RSTI_COUNTER_LABEL_MAX + 1];
    const size_t key_length = rsti_sockaddr_key_encode(key, channel_status_id, bound_address);
    snprintf(label, sizeof label, "%s: %" PRId32 " %s", name, channel_status_id, bound_address);
    const int32_t id = allocate(driver, RSTI_COUNTER_LOCAL_SOCKADDR, key, key_length, label);
    if (id >= 0) {
        rsti_counters_set_ids(&driver->counters, id, registration_id, client_id, 0);
        rsti_counter_store(driver, id, RSTI_CHANNEL_ACTIVE);
    }
    return id;
}

int32_t rsti_driver_counter_allocate(rst_driver_t *driver, int32_t type_id, const int32_t *key,
    const char *label)
{
    const int32_t id = allocate(driver, type_id, key, key == NULL ? 0 : sizeof *key, label);
    if (id >= 0) {
        rsti_counters_set_ids(&driver->counters, id, 0, -1, 0);
    }
    return id;
}

void rsti_counter_release(rst_driver_t *driver, int32_t *counter_id)
{
    if (*counter_id >= 0) {
        rsti_counters_free(&driver->counters, *counter_id, driver->epoch.now_ms);
        *counter_id = RSTI_NULL_COUNTER;
    }
}

void rsti_counter_store(rst_driver_t *driver, int32_t counter_id, int64_t value)
{
    rsti_store_release_i64(rsti_counter_address(&driver->counters.counters, counter_id), value);
}
