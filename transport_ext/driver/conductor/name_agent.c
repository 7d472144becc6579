/* name_agent.c: see name_agent.h. */
#include "driver/conductor/name_agent.h"

#include "driver/base/counters.h"
#include "driver/base/key_refusals.h"
#include "driver/base/name_gossip.h"
#include "driver/base/socket_poll.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/group_keys.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/net_interface.h"
#include "util/netaddr.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Datagrams read in one pass, so that a flood of them does not hold the conductor. */
#define READS_MAX 16
/* A look-up of a bootstrap neighbor that is not finished is asked for again. */
#define LOOKUP_POLL_NS (10 * RSTI_NS_PER_MS)

typedef struct bootstrap_t {
    char text[RSTI_CHANNEL_HOST_MAX]; /* host:port */
    bool is_looked_up; /* the look-up is not finished */
    bool is_neighbor;
    int32_t counter_id;
} bootstrap_t;

typedef struct rsti_name_agent_t {
    rst_driver_t *driver;
    rsti_name_resolver_t next;
    rsti_socket_t *socket;
    rsti_group_keys_t *keys; /* resolver-key; NULL: plain */
    bool is_readable;
    sa_family_t family;
    int64_t bootstrap_due_ns;
    bootstrap_t bootstraps[RSTI_GOSSIP_BOOTSTRAPS_MAX];
    int32_t neighbors_id, names_id; /* counters */
    rsti_gossip_t gossip;
    uint8_t buffer[RSTI_DATAGRAM_MAX];
} rsti_name_agent_t;

/* The system's names come first: nobody who tells names can redirect them. */
static int resolve(void *arg, const char *host, int family, struct sockaddr_storage *address)
{
    const rsti_name_agent_t *agent = arg;
    const int result = agent->next.resolve(agent->next.arg, host, family, address);
    if (result == 0 || result == RSTI_LOOKUP_PENDING
        || !rsti_gossip_find(&agent->gossip, host, family, address)) {
        return result;
    }
    rsti_error_clear();
    return 0;
}

/* ---- opening ---- */

static int find_interface(const rst_driver_t *driver, struct sockaddr_storage *address)
{
    const char *text = driver->params.resolver_interface;
    rsti_net_interface_t found;
    if (text[0] == '\0') {
        return rsti_netaddr_resolve("0.0.0.0:0", address);
    }
    if (rsti_net_interface_find(&rsti_system_resolver, text, text[0] == '[' ? AF_INET6 : AF_INET,
            &found)
        < 0) {
        RST_APPEND_ERR("resolver-interface=%s", text);
        return -rst_last_error_code();
    }
    *address = found.address;
    return 0;
}

static int open_socket(rst_driver_t *driver, rsti_name_agent_t *agent,
    struct sockaddr_storage *local)
{
    const rsti_media_t *media = &driver->media;
    rsti_socket_params_t params = {
        .so_rcvbuf = (int32_t)driver->params.so_rcvbuf,
        .so_sndbuf = (int32_t)driver->params.so_sndbuf,
    };
    if (find_interface(driver, &params.bind_address) < 0) {
        return -rst_last_error_code();
    }
    if (rsti_group_keys_get(driver, driver->params.resolver_key, &agent->keys) < 0) {
        RST_APPEND_ERR("resolver-key");
        return -rst_last_error_code();
    }
    params.keys = rsti_group_keys_ring(agent->keys);
    if (media->table->open(media->arg, &params, &agent->socket) < 0) {
        RST_APPEND_ERR("resolver-interface=%s", driver->params.resolver_interface);
        return -rst_last_error_code();
    }
    media->table->local_address(media->arg, agent->socket, local);
    agent->family = local->ss_family;
    (void)rsti_driver_poll_add(driver, RSTI_AGENT_CONDUCTOR, agent->socket, &agent->is_readable);
    return 0;
}

static int start_gossip(rst_driver_t *driver, rsti_name_agent_t *agent,
    const struct sockaddr_storage *local)
{
    char name[RSTI_RESOLUTION_NAME_MAX + 1] = "";
    (void)rsti_netaddr_copy_text(name, sizeof name, driver->params.resolver_name,
        strlen(driver->params.resolver_name)); /* the option has the same limit */
    if (name[0] == '\0' && gethostname(name, sizeof name - 1) != 0) {
        return RST_SET_ERRNO("resolver-name: the host has no name");
    }
    rsti_gossip_params_t params = {
        .name = name,
        .local = *local,
        .self_interval_ns = driver->params.resolver_self_ns,
        .list_interval_ns = driver->params.resolver_list_ns,
        .timeout_ns = driver->params.resolver_timeout_ns,
    };
    rsti_secret_key(&driver->secret, RSTI_PURPOSE_NAMES, params.key);
    rsti_gossip_init(&agent->gossip, &params, driver->conductor->now_ns);
    return 0;
}

/* "host:port,host:port" */
static int take_bootstraps(const rst_driver_t *driver, rsti_name_agent_t *agent)
{
    const char *text = driver->params.resolver_bootstrap;
    int32_t *count = &agent->gossip.bootstrap_count;
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (*count == RSTI_GOSSIP_BOOTSTRAPS_MAX || length == 0
            || !rsti_netaddr_copy_text(agent->bootstraps[*count].text,
                sizeof agent->bootstraps[*count].text, at, length)) {
            return RST_SET_ERR(RST_EINVAL,
                "resolver-bootstrap-neighbor=%s: must be host:port, %d at most, apart by commas",
                text, RSTI_GOSSIP_BOOTSTRAPS_MAX);
        }
        agent->bootstraps[(*count)++].counter_id = RSTI_NULL_COUNTER;
        at += length + (at[length] == ',');
    }
    return 0;
}

static void bootstrap_label(const rsti_name_agent_t *agent, int32_t i, char *label, size_t size)
{
    char text[RSTI_NETADDR_TEXT_MAX] = "";
    const rsti_packed_address_t *packed = &agent->gossip.bootstraps[i];
    if (packed->family != AF_UNSPEC) {
        const struct sockaddr_storage address = rsti_netaddr_unpack(packed);
        rsti_netaddr_format(&address, text, sizeof text);
    }
    (void)snprintf(label, size, "Bootstrap neighbor: name=%s resolved=%s",
        agent->bootstraps[i].text, text);
}

/* The counters are those of Aeron's drivers. */
static int allocate_counters(rst_driver_t *driver, rsti_name_agent_t *agent,
    const struct sockaddr_storage *local)
{
    char address[RSTI_NETADDR_TEXT_MAX];
    char label[RSTI_COUNTER_LABEL_MAX + 1];
    (void)snprintf(label, sizeof label, "Resolver neighbors: bound %s",
        rsti_netaddr_format(local, address, sizeof address));
    agent->neighbors_id = rsti_driver_counter_allocate(driver, RSTI_COUNTER_RESOLVER_NEIGHBORS,
        NULL, label);
    (void)snprintf(label, sizeof label, "Resolver cache entries: name=%s", agent->gossip.self.name);
    agent->names_id = rsti_driver_counter_allocate(driver, RSTI_COUNTER_RESOLVER_NAMES, NULL,
        label);
    bool is_full = agent->neighbors_id < 0 || agent->names_id < 0;
    for (int32_t i = 0; i < agent->gossip.bootstrap_count && !is_full; i++) {
        bootstrap_label(agent, i, label, sizeof label);
        agent->bootstraps[i].counter_id = rsti_driver_counter_allocate(driver,
            RSTI_COUNTER_RESOLVER_BOOTSTRAP, &i, label);
        is_full = agent->bootstraps[i].counter_id < 0;
    }
    return is_full ? -rst_last_error_code() : 0;
}

int rsti_name_agent_open(rst_driver_t *driver)
{
    rsti_name_agent_t *agent = rsti_alloc(sizeof *agent);
    struct sockaddr_storage local;
    if (agent == NULL) {
        return -RST_ENOMEM;
    }
    driver->name_agent = agent;
    agent->driver = driver;
    agent->next = driver->resolver;
    if (open_socket(driver, agent, &local) < 0 || start_gossip(driver, agent, &local) < 0
        || take_bootstraps(driver, agent) < 0 || allocate_counters(driver, agent, &local) < 0) {
        return -rst_last_error_code();
    }
    agent->bootstrap_due_ns = driver->conductor->now_ns;
    driver->resolver = (rsti_name_resolver_t){resolve, agent};
    return 0;
}

void rsti_name_agent_close(rst_driver_t *driver)
{
    rsti_name_agent_t *agent = driver->name_agent;
    if (agent != NULL && agent->socket != NULL) {
        rsti_driver_poll_remove(driver, RSTI_AGENT_CONDUCTOR, agent->socket);
        driver->media.table->close(driver->media.arg, agent->socket);
    }
    if (agent != NULL) {
        rsti_group_keys_put(driver, agent->keys);
    }
    rsti_free(agent);
    driver->name_agent = NULL;
}

/* ---- each pass ---- */

static void send_datagram(void *arg, const uint8_t *bytes, size_t length,
    const struct sockaddr_storage *to)
{
    rsti_name_agent_t *agent = arg;
    const rsti_media_t *media = &agent->driver->media;
    const rsti_datagram_t datagram = {
        .data = (uint8_t *)(uintptr_t)bytes,
        .length = length,
        .address = *to,
    };
    const int sent = media->table->send(media->arg, agent->socket, &datagram, 1);
    if (sent < 0) {
        rsti_driver_log_trail(agent->driver, "name resolver");
    } else if (sent == 0) {
        rsti_driver_count(agent->driver, RSTI_SYSTEM_SHORT_SENDS, 1);
    }
}

static void on_datagram(rsti_name_agent_t *agent, const rsti_datagram_t *datagram, int64_t now_ns)
{
    rst_driver_t *driver = agent->driver;
    switch (rsti_gossip_on_datagram(&agent->gossip, datagram->data, datagram->length,
        &datagram->address, now_ns, send_datagram, agent)) {
    case RSTI_GOSSIP_OK:
        break;
    case RSTI_GOSSIP_INVALID:
        rsti_driver_count(driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        break;
    case RSTI_GOSSIP_FULL:
        (void)RST_SET_ERR(RST_EFULL,
            "drivers told more than %d names or %d neighbors: others stay unknown",
            RSTI_GOSSIP_NAMES_MAX, RSTI_GOSSIP_NEIGHBORS_MAX);
        rsti_driver_log_trail(driver, "name resolver");
        break;
    }
}

static void read_socket(rsti_name_agent_t *agent, int64_t now_ns, int64_t *next_deadline_ns)
{
    rst_driver_t *driver = agent->driver;
    const rsti_media_t *media = &driver->media;
    if (rsti_driver_should_poll(driver, RSTI_AGENT_CONDUCTOR, agent->socket, agent->is_readable,
            now_ns)) {
        int32_t read = 0;
        int count = 1;
        while (read < READS_MAX && count == 1) {
            rsti_datagram_t datagram = {.data = agent->buffer, .length = sizeof agent->buffer};
            count = media->table->receive(media->arg, agent->socket, &datagram, 1);
            rsti_refuse_sources(&driver->sources, &datagram, count);
            if (count == 1) {
                on_datagram(agent, &datagram, now_ns);
                read++;
            } else if (count < 0) {
                rsti_driver_log_trail(driver, "name resolver");
            }
        }
        agent->is_readable = count == 1;
    }
    if (agent->is_readable) {
        *next_deadline_ns = now_ns;
    }
    rsti_lower_deadline(next_deadline_ns,
        media->table->next_deadline_ns(media->arg, agent->socket));
}

static void set_bootstrap(rsti_name_agent_t *agent, int32_t i, const rsti_packed_address_t *address)
{
    char label[RSTI_COUNTER_LABEL_MAX + 1];
    agent->gossip.bootstraps[i] = *address;
    bootstrap_label(agent, i, label, sizeof label);
    rsti_counters_set_label(&agent->driver->counters.counters, agent->bootstraps[i].counter_id,
        label);
}

/* False: ask again. */
static bool look_up(rsti_name_agent_t *agent, int32_t i)
{
    struct sockaddr_storage found;
    rsti_packed_address_t address = {.family = AF_UNSPEC};
    const int result = rsti_netaddr_resolve_with(&agent->next, agent->bootstraps[i].text,
        agent->family, &found);
    if (result == RSTI_LOOKUP_PENDING) {
        return false;
    }
    if (result < 0) {
        RST_APPEND_ERR("resolver-bootstrap-neighbor=%s", agent->bootstraps[i].text);
        rsti_driver_log_trail(agent->driver, "name resolver");
    } else if (found.ss_family == agent->family) {
        address = rsti_netaddr_pack(&found);
    }
    if (!rsti_netaddr_packed_equal(&address, &agent->gossip.bootstraps[i])) {
        set_bootstrap(agent, i, &address);
        agent->gossip.self_due_ns = INT64_MIN; /* it hears of us at once */
    }
    return true;
}

static void check_bootstraps(rsti_name_agent_t *agent, int64_t now_ns, int64_t *next_deadline_ns)
{
    const bool is_due = now_ns >= agent->bootstrap_due_ns;
    for (int32_t i = 0; i < agent->gossip.bootstrap_count; i++) {
        bootstrap_t *bootstrap = &agent->bootstraps[i];
        const bool is_neighbor = rsti_gossip_is_neighbor(&agent->gossip,
            &agent->gossip.bootstraps[i]);
        if (is_neighbor != bootstrap->is_neighbor) {
            bootstrap->is_neighbor = is_neighbor;
            rsti_counter_store(agent->driver, bootstrap->counter_id, is_neighbor);
        }
        if (bootstrap->is_looked_up || (is_due && !is_neighbor)) {
            bootstrap->is_looked_up = !look_up(agent, i);
        }
        if (bootstrap->is_looked_up) {
            rsti_lower_deadline(next_deadline_ns, now_ns + LOOKUP_POLL_NS);
        }
    }
    if (is_due) {
        agent->bootstrap_due_ns = now_ns + agent->driver->params.resolver_bootstrap_ns;
    }
    if (agent->gossip.bootstrap_count > 0) {
        rsti_lower_deadline(next_deadline_ns, agent->bootstrap_due_ns);
    }
}

void rsti_name_agent_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_name_agent_t *agent = driver->name_agent;
    if (agent == NULL) {
        return;
    }
    read_socket(agent, now_ns, next_deadline_ns);
    check_bootstraps(agent, now_ns, next_deadline_ns);
    rsti_gossip_run(&agent->gossip, now_ns, send_datagram, agent, next_deadline_ns);
    rsti_counter_store(driver, agent->neighbors_id, agent->gossip.neighbor_count);
    rsti_counter_store(driver, agent->names_id, agent->gossip.name_count);
}
