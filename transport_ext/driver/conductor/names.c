/* names.c: see names.h. */
#include "driver/conductor/names.h"

#include "driver/base/counters.h"
#include "driver/base/csv_resolver.h"
#include "driver/base/driver_state.h"
#include "driver/base/name_lookup.h"
#include "driver/base/proxies.h"
#include "driver/conductor/name_agent.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/sender/send_endpoint.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

/* The look-up thread wakes the conductor at its end. The poll covers a lost wake-up. */
#define LOOKUP_POLL_NS (10 * RSTI_NS_PER_MS)

static void note_time(rst_driver_t *driver, int64_t took_ns)
{
    const rsti_counters_t *counters = &driver->counters.counters;
    rsti_counter_propose_max(rsti_counter_address(counters, RSTI_SYSTEM_NAME_RESOLVER_MAX_TIME),
        took_ns);
    if (took_ns > driver->params.resolver_threshold_ns) {
        rsti_driver_count(driver, RSTI_SYSTEM_NAME_RESOLVER_TIME_EXCEEDED, 1);
    }
}

static void on_lookup_done(void *arg, int64_t took_ns)
{
    rst_driver_t *driver = arg;
    note_time(driver, took_ns);
    rsti_driver_wake_from_outside(driver, RSTI_AGENT_CONDUCTOR);
}

static int resolve_waiting(void *arg, const char *host, int family,
    struct sockaddr_storage *address)
{
    rst_driver_t *driver = arg;
    const int64_t begin_ns = rsti_clock_nano_time(&driver->clock);
    const int result = rsti_system_resolver.resolve(rsti_system_resolver.arg, host, family,
        address);
    note_time(driver, rsti_clock_nano_time(&driver->clock) - begin_ns);
    return result;
}

static int resolve_in_thread(void *arg, const char *host, int family,
    struct sockaddr_storage *address)
{
    rst_driver_t *driver = arg;
    const int result = rsti_name_lookup_resolve(driver->lookup, host, family, address);
    driver->conductor->is_looking_up |= result == RSTI_LOOKUP_PENDING;
    return result;
}

/* The table is asked before the system. Each row has a counter that switches it. */
static int use_table(rst_driver_t *driver)
{
    rsti_csv_resolver_t *table = rsti_alloc(sizeof *table);
    if (table == NULL) {
        return -RST_ENOMEM;
    }
    driver->name_table = table;
    if (rsti_csv_resolver_parse(table, driver->params.name_resolver_args) < 0) {
        return -rst_last_error_code();
    }
    for (int32_t i = 0; i < table->count; i++) {
        const int32_t id = rsti_channel_counter_allocate(driver, RSTI_COUNTER_NAME_ENTRY,
            "rs-name-entry", table->rows[i].name, i, -1);
        if (id < 0) {
            return id;
        }
        table->rows[i].choice = rsti_counter_address(&driver->counters.counters, id);
    }
    table->next = driver->resolver;
    driver->resolver = (rsti_name_resolver_t){rsti_csv_resolve, table};
    return 0;
}

static int use_thread(rst_driver_t *driver)
{
    const rsti_name_lookup_params_t params = {
        .inner = rsti_system_resolver,
        .clock = driver->clock,
        .on_done = on_lookup_done,
        .arg = driver,
    };
    driver->resolver.resolve = resolve_in_thread;
    return rsti_name_lookup_create(&driver->lookup, &params);
}

int rsti_names_init(rst_driver_t *driver)
{
    const char *kind = driver->params.name_resolver;
    driver->resolver = (rsti_name_resolver_t){resolve_waiting, driver};
    /* Without threads the caller runs the agents, and look-ups block it. */
    if (driver->thread_count > 0 && use_thread(driver) < 0) {
        return -rst_last_error_code();
    }
    if (strcmp(kind, "csv_table") == 0 && use_table(driver) < 0) {
        return -rst_last_error_code();
    }
    const bool is_told = strcmp(kind, "driver") == 0
        || driver->params.resolver_interface[0] != '\0';
    return is_told ? rsti_name_agent_open(driver) : 0;
}

void rsti_names_fini(rst_driver_t *driver)
{
    rsti_name_agent_close(driver);
    rsti_name_lookup_destroy(driver->lookup);
    rsti_free(driver->name_table);
}

/* ---- repeated look-ups ---- */

void rsti_on_reresolve(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (int32_t i = 0; i < conductor->reresolution_count; i++) {
        if (conductor->reresolutions[i].endpoint == command->endpoint
            && conductor->reresolutions[i].registration_id == command->registration_id) {
            return; /* the look-up is already running */
        }
    }
    if (conductor->reresolution_count < RSTI_RERESOLUTIONS_MAX) {
        conductor->reresolutions[conductor->reresolution_count++] = (rsti_reresolution_t){
            command->endpoint, command->registration_id};
    }
}

/* The name to look up and its last known address. NULL when the endpoint or destination is gone. */
static const char *subject(const rst_driver_t *driver, const rsti_reresolution_t *wanted,
    struct sockaddr_storage **address)
{
    const rsti_ptr_array_t *endpoints = &driver->conductor->send_endpoints;
    for (size_t i = 0; i < endpoints->count; i++) {
        rsti_send_endpoint_t *endpoint = endpoints->items[i];
        if (endpoint != wanted->endpoint || endpoint->is_closing) {
            continue;
        }
        if (endpoint->destinations == NULL) {
            *address = &endpoint->udp.remote_data;
            return endpoint->endpoint_text;
        }
        for (size_t k = 0; k < endpoint->manual.count; k++) {
            rsti_manual_destination_t *destination = endpoint->manual.items[k];
            if (destination->registration_id == wanted->registration_id) {
                *address = &destination->address;
                return destination->endpoint;
            }
        }
    }
    return NULL;
}

/* False: the look-up is not finished. */
static bool reresolve(rst_driver_t *driver, const rsti_reresolution_t *wanted)
{
    struct sockaddr_storage *known, found;
    const char *text = subject(driver, wanted, &known);
    if (text == NULL) {
        return true;
    }
    const rsti_send_endpoint_t *endpoint = wanted->endpoint;
    const int family = endpoint->udp.local_data.ss_family;
    const int result = rsti_netaddr_resolve_with(&driver->resolver, text, family, &found);
    if (result == RSTI_LOOKUP_PENDING) {
        return false;
    }
    if (result < 0) {
        rsti_driver_log_trail(driver, "looking up a silent peer again");
        return true;
    }
    if (found.ss_family != family || rsti_netaddr_equal(&found, known)) {
        return true;
    }
    const rsti_agent_command_t moved = {
        .endpoint = wanted->endpoint,
        .registration_id = wanted->registration_id,
        .address = found,
    };
    *known = found;
    rsti_driver_count(driver, RSTI_SYSTEM_RESOLUTION_CHANGES, 1);
    rsti_tell_sender(driver, RSTI_AGENT_RESOLVED, &moved);
    return true;
}

void rsti_reresolutions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    int32_t kept = 0;
    rsti_name_agent_poll(driver, now_ns, next_deadline_ns);
    for (int32_t i = 0; i < conductor->reresolution_count; i++) {
        const rsti_reresolution_t wanted = conductor->reresolutions[i];
        if (!reresolve(driver, &wanted)) {
            conductor->reresolutions[kept++] = wanted;
        }
    }
    conductor->reresolution_count = kept;
    if (conductor->is_looking_up) {
        rsti_lower_deadline(next_deadline_ns, now_ns + LOOKUP_POLL_NS);
    }
}

void rsti_on_resolve_control(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const rsti_receive_endpoint_t *endpoint = command->endpoint;
    rsti_receive_transport_t *transport = command->object;
    if (endpoint->is_closing || transport->is_closing) {
        return;
    }
    rsti_agent_command_t set = {.endpoint = command->endpoint, .object = transport};
    const int result = rsti_netaddr_resolve_with(&driver->resolver, transport->control_name,
        transport->resolved_control.ss_family, &set.address);
    if (result < 0) {
        rsti_driver_log_trail(driver, "control address of a subscription");
    }
    if (result != 0 || rsti_netaddr_equal(&set.address, &transport->resolved_control)) {
        return; /* an unfinished look-up is repeated at the next check */
    }
    transport->resolved_control = set.address;
    rsti_driver_count(driver, RSTI_SYSTEM_RESOLUTION_CHANGES, 1);
    rsti_tell_receiver(driver, RSTI_AGENT_SET_CONTROL, &set);
}
