/* names.c: replaces getaddrinfo(): hosts have names, look-ups take time or fail, and some names
 * move from one host to another. */
#include "tests/sim/names.h"

#include "concurrent/atomics.h"
#include "driver/base/csv_resolver.h"
#include "tests/sim/agenda.h"
#include "tests/sim/generator.h"
#include "util/netaddr.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_PORT (SIM_PORT + 6500) /* separate from the ports of channel_variants.c */
#define NOBODYS_HOST (SIM_HOSTS_MAX - 1)
#define MOVER "mover"

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **found);
void __wrap_freeaddrinfo(struct addrinfo *found);

static struct {
    int64_t delay_ns_max;
    double fail_chance;
    int32_t from_host, to_host; /* of the moving name */
    int64_t moves_ns;
    int64_t off_ns; /* how long the moving name has no address */
} names;

/* ---- looking up ---- */

/* Returns the host of that name; -1: unknown. */
static int32_t host_of(const char *name)
{
    int32_t number;
    if (strcmp(name, MOVER) == 0) {
        return world.now_ns < names.moves_ns ? names.from_host : names.to_host;
    }
    return sscanf(name, "host%d", &number) == 1 && number > 0 && number <= SIM_HOSTS_MAX
        ? number - 1
        : -1;
}

typedef struct answer_t {
    struct addrinfo info; /* what the caller holds */
    struct sockaddr_storage address;
} answer_t;

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **found)
{
    char text[64];
    (void)service;
    if (names.delay_ns_max > 0) {
        sim_fiber_sleep((int64_t)sim_below(RNG_ACTOR, (uint64_t)names.delay_ns_max));
    }
    if (!world.is_calm && sim_chance(RNG_ACTOR, names.fail_chance)) {
        sim_count("names: look-up fails");
        return EAI_AGAIN;
    }
    const int32_t host = host_of(name);
    sim_event("%s is host %d", name, host);
    if (host < 0) {
        sim_count("names: unknown");
        return EAI_NONAME;
    }
    answer_t *answer = calloc(1, sizeof *answer);
    if (answer == NULL) {
        return EAI_MEMORY;
    }
    snprintf(text, sizeof text, "%s:0", sim_host_address(host, hints->ai_family == AF_INET6));
    (void)rsti_netaddr_resolve(text, &answer->address);
    answer->info.ai_family = answer->address.ss_family;
    answer->info.ai_addr = (struct sockaddr *)&answer->address;
    answer->info.ai_addrlen = (socklen_t)rsti_netaddr_length(&answer->address);
    *found = &answer->info;
    sim_count("names: looked up");
    return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *found)
{
    free(found);
}

/* ---- tables ---- */

static void set_choice(const sim_driver_t *driver)
{
    if (driver->driver == NULL || driver->driver->name_table == NULL) {
        return;
    }
    const int64_t choice = world.now_ns < names.moves_ns ? 0
        : world.now_ns < names.moves_ns + names.off_ns   ? 2
                                                         : 1;
    const rsti_csv_resolver_t *table = driver->driver->name_table;
    for (int32_t i = 0; i < table->count; i++) {
        rsti_store_release_i64((int64_t *)(uintptr_t)table->rows[i].choice, choice);
    }
}

static void switch_tables(void *arg, int64_t number)
{
    (void)arg;
    (void)number;
    for (int32_t i = 0; i < actors.driver_count; i++) {
        set_choice(&actors.drivers[i]);
    }
}

void sim_names_on_open(const sim_driver_t *driver)
{
    set_choice(driver);
}

static void use_table(sim_driver_t *driver)
{
    rst_driver_params_t *params = &driver->params;
    sim_count("names: a table");
    snprintf(params->name_resolver, sizeof params->name_resolver, "csv_table");
    snprintf(params->name_resolver_args, sizeof params->name_resolver_args,
        "unused,10.9.9.9,10.9.9.8|" MOVER ",%s,%s", sim_host_address(names.from_host, false),
        sim_host_address(names.to_host, false));
}

/* ---- generators ---- */

static void generate_move(sim_driver_t *asks, int32_t to_host)
{
    names.from_host = NOBODYS_HOST;
    names.to_host = to_host;
    names.moves_ns = chance(0.3) ? 0 : SIM_S + between(0, actors.calm_ns - SIM_S);
    asks->params.reresolution_interval_ns = between(50, 1000) * SIM_MS;
    if (chance(0.4)) {
        use_table(asks);
        names.off_ns = chance(0.5) ? 0 : between(1, 500) * SIM_MS;
        sim_agenda_add(names.moves_ns, switch_tables, NULL, 0);
        sim_agenda_add(names.moves_ns + names.off_ns, switch_tables, NULL, 0);
    }
    sim_count("names: one moves");
}

static sim_publisher_t *publisher(sim_driver_t *driver, const char *channel, int32_t number)
{
    sim_publisher_t *made = sim_generate_publisher(driver, channel, 10 + number, false, false);
    made->must_send_all = true;
    return made;
}

static void subscriber(sim_driver_t *driver, const char *channel, int32_t number)
{
    sim_subscriber_t *made = sim_generate_subscriber(driver, channel, 10 + number, true, true);
    made->leave_ns = INT64_MAX;
}

static void generate_fixed(sim_driver_t *source, sim_driver_t *target, int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=host%d:%d", target->host + 1, NAMED_PORT);
    (void)publisher(source, channel, number);
    subscriber(target, channel, number);
}

/* The reader's name, as the publication's endpoint or as one of its destinations. */
static void generate_moving_endpoint(sim_driver_t *source, sim_driver_t *target, int32_t number)
{
    char channel[96];
    generate_move(source, target->host);
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=%s:%d",
        sim_host_address(target->host, false), NAMED_PORT);
    subscriber(target, channel, number);
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=" MOVER ":%d", NAMED_PORT);
    if (chance(0.5)) {
        (void)publisher(source, channel, number);
        return;
    }
    sim_publisher_t *made = publisher(source, "aeron:udp?control-mode=manual", number);
    made->destinations.count = 1;
    memcpy(made->destinations.items[0].channel, channel, sizeof channel);
}

/* The publisher's name, which readers use as the control address. */
static void generate_moving_control(sim_driver_t *source, sim_driver_t *target, int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    generate_move(target, source->host);
    snprintf(channel, sizeof channel, "aeron:udp?control=%s:%d|control-mode=dynamic",
        sim_host_address(source->host, false), NAMED_PORT + 1);
    (void)publisher(source, channel, number);
    snprintf(channel, sizeof channel,
        "aeron:udp?endpoint=%s:%d|control=" MOVER ":%d|control-mode=dynamic",
        sim_host_address(target->host, false), NAMED_PORT, NAMED_PORT + 1);
    subscriber(target, channel, number);
}

void sim_generate_named_stream(int32_t number)
{
    sim_driver_t *source = sim_generate_any_driver();
    sim_driver_t *target = sim_generate_any_driver();
    names.delay_ns_max = chance(0.3) ? 0 : skewed(28);
    names.fail_chance = chance(0.5) ? 0 : 0.3;
    switch (between(0, 2)) {
    case 0:
        generate_fixed(source, target, number);
        break;
    case 1:
        generate_moving_endpoint(source, target, number);
        break;
    default:
        generate_moving_control(source, target, number);
        break;
    }
}
