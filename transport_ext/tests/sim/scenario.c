/* scenario.c: rolls a scenario: who takes part, over which channels, and what goes wrong when. */
#include "tests/sim/agenda.h"
#include "tests/sim/links.h"
#include "tests/sim/rolls.h"

#include <stdio.h>
#include <string.h>

#define TERM_LENGTH 65536
#define MESSAGES_MAX 1000

/* ---- drivers ---- */

static void roll_driver(int32_t host)
{
    static const int threadings[] = {RSTI_THREADING_INVOKER, RSTI_THREADING_INVOKER,
        RSTI_THREADING_SHARED, RSTI_THREADING_SHARED_NETWORK, RSTI_THREADING_DEDICATED,
        RSTI_THREADING_DEDICATED};
    sim_driver_t *driver = &cast.drivers[cast.driver_count];
    *driver = (sim_driver_t){.index = cast.driver_count++, .host = host};
    rst_driver_params_t *params = &driver->params;
    rsti_driver_params_init(params);
    char dir[sizeof cast.dir];
    memcpy(dir, cast.dir, sizeof dir);
    snprintf(params->dir, sizeof params->dir, "%s-%d", dir, driver->index);
    params->threading = threadings[between(0, 5)];
    params->idle = chance(0.8) ? RSTI_IDLE_BLOCK
        : chance(0.5)               ? RSTI_IDLE_BACKOFF
                                    : RSTI_IDLE_SLEEP;
    params->idle_spin_ns = chance(0.5) ? 0 : 5 * SIM_US;
    params->term_length = TERM_LENGTH;
    params->ipc_term_length = TERM_LENGTH;
    params->mtu = 32 * between(6, 44);
    params->ipc_mtu = 32 * between(6, 44);
    params->to_driver_length = 65536;
    params->to_clients_length = 65536;
    params->error_length = 65536;
    params->client_liveness_ns = 2 * SIM_S;
    params->unblock_timeout_ns = 3 * SIM_S;
    params->image_liveness_ns = 2 * SIM_S;
    params->connection_timeout_ns = 1 * SIM_S;
    params->fc_receiver_timeout_ns = 1 * SIM_S;
    params->linger_ns = 5 * SIM_S;
    params->untethered_window_limit_ns = between(51, 200) * SIM_MS;
    params->untethered_linger_ns = between(51, 200) * SIM_MS;
    params->untethered_resting_ns = 3 * SIM_S; /* longer than a process may be paused */
    params->timer_interval_ns = 50 * SIM_MS;
    params->counter_reuse_ns = 10 * SIM_MS;
    params->idle_exit_ns = 0;
    params->low_storage_warning = 0;
    params->max_messages_per_send = between(1, 16);
    sim_count(params->threading == RSTI_THREADING_INVOKER ? "driver: invoker"
            : params->threading == RSTI_THREADING_SHARED  ? "driver: shared"
            : params->threading == RSTI_THREADING_DEDICATED ? "driver: dedicated"
                                                            : "driver: shared network");
}

static sim_client_t *add_client(sim_driver_t *driver)
{
    for (int32_t i = 0; i < cast.client_count; i++) {
        if (cast.clients[i].driver == driver
            && (chance(0.4) || cast.client_count == SIM_CLIENTS_MAX)) {
            return &cast.clients[i];
        }
    }
    if (cast.client_count == SIM_CLIENTS_MAX) {
        sim_fail("more than %d clients", SIM_CLIENTS_MAX);
    }
    sim_client_t *client = &cast.clients[cast.client_count];
    *client = (sim_client_t){.index = cast.client_count++, .driver = driver};
    return client;
}

/* ---- streams ---- */

static int64_t roll_start(void)
{
    return SIM_S + (chance(0.6) ? between(0, 2 * SIM_MS) : between(0, 300 * SIM_MS));
}

sim_publisher_t *sim_roll_publisher(sim_driver_t *driver, const char *channel, int32_t stream_id,
    bool is_ipc, bool is_hot)
{
    const int64_t length_max = is_hot ? between(1000, 8000) : skewed(13);
    const int64_t total = SIM_BYTES_MAX / (length_max + 64) + 1;
    sim_publisher_t *publisher = &cast.publishers[cast.publisher_count];
    *publisher = (sim_publisher_t){
        .index = cast.publisher_count++,
        .client = add_client(driver),
        .stream_id = stream_id,
        .is_ipc = is_ipc,
        .is_exclusive = !is_hot && chance(0.5),
        .total = (int32_t)between(1, total < MESSAGES_MAX ? total : MESSAGES_MAX),
        .length_max = (int32_t)length_max,
        .methods = (uint32_t)between(1, (1 << METHOD_COUNT) - 1),
        .pause_ns_max = is_hot || chance(0.4) ? 0 : skewed(20),
        .abort_chance = chance(0.3) ? 0.2 : 0,
        .start_ns = roll_start(),
    };
    snprintf(publisher->channel, sizeof publisher->channel, "%s", channel);
    return publisher;
}

sim_subscriber_t *sim_roll_subscriber(sim_driver_t *driver, const char *channel,
    int32_t stream_id, bool is_reliable, bool is_sure)
{
    sim_subscriber_t *subscriber = &cast.subscribers[cast.subscriber_count];
    *subscriber = (sim_subscriber_t){
        .index = cast.subscriber_count++,
        .client = add_client(driver),
        .stream_id = stream_id,
        .is_reliable = is_reliable,
        .is_sure = is_sure,
        .start_ns = roll_start(),
        .leave_ns = chance(0.15) ? SIM_S + between(0, 500 * SIM_MS) : INT64_MAX,
        .pause_ns_max = skewed(22),
        .batch = (int32_t)skewed(8),
        .uses_waiter = chance(0.4),
        .holds_batches = chance(0.3),
        .uses_demand = chance(0.2),
    };
    if (chance(0.15)) {
        subscriber->stop_from_ns = SIM_S + between(0, 100 * SIM_MS);
        subscriber->stop_until_ns = subscriber->stop_from_ns + between(0, 600 * SIM_MS);
    }
    snprintf(subscriber->channel, sizeof subscriber->channel, "%s", channel);
    return subscriber;
}

sim_driver_t *sim_roll_any_driver(void)
{
    return &cast.drivers[between(0, cast.driver_count - 1)];
}

/* Where the first term's id is about to wrap, or somewhere inside a term. */
static void place(char *channel, size_t size)
{
    char rest[128];
    const int32_t first = INT32_MAX - (int32_t)between(0, 2);
    const int32_t terms = (int32_t)between(0, 2);
    snprintf(rest, sizeof rest, "%cterm-length=%d|init-term-id=%d|term-id=%d|term-offset=%d",
        strchr(channel, '?') == NULL ? '?' : '|', TERM_LENGTH, first,
        (int32_t)((uint32_t)first + (uint32_t)terms), (int32_t)(chance(0.5) ? 0 : between(0, 2000) * 32));
    strncat(channel, rest, size - strlen(channel) - 1);
    sim_count("stream: placed, term ids wrap");
}

static void roll_stream(int32_t number)
{
    char publish[SIM_CHANNEL_MAX];
    char subscribe[SIM_CHANNEL_MAX];
    sim_driver_t *source = sim_roll_any_driver();
    sim_driver_t *target = sim_roll_any_driver();
    const bool is_ipc = chance(0.35);
    const bool is_reliable = is_ipc || chance(0.85);
    if (is_ipc) {
        sim_count("stream: IPC");
        target = source;
        snprintf(publish, sizeof publish, "aeron:ipc");
        snprintf(subscribe, sizeof subscribe, "aeron:ipc");
    } else {
        const bool is_ipv6 = chance(0.2);
        sim_count(is_ipv6 ? "stream: unicast, IPv6" : "stream: unicast, IPv4");
        snprintf(publish, sizeof publish, "aeron:udp?endpoint=%s:%d",
            sim_host_address(target->host, is_ipv6), SIM_PORT + number / 2);
        static const char *const laws[] = {"", "", "|cc=static", "|cc=cubic", "|cc=auto"};
        const char *law = laws[between(0, 4)];
        sim_count(law[0] == '\0' ? "stream: congestion control by default" : law + 1);
        snprintf(subscribe, sizeof subscribe, "%.200s%s%s%s", publish,
            is_reliable ? "" : "|reliable=false", chance(0.3) ? "|rejoin=false" : "", law);
        sim_count(is_reliable ? "stream: reliable" : "stream: unreliable");
    }
    const bool is_placed = chance(0.2);
    if (is_placed) {
        place(publish, sizeof publish);
    }
    const bool is_hot = chance(0.15); /* many terms, and who is late is far behind */
    for (int64_t i = between(1 + is_hot, 3); i > 0; i--) {
        sim_publisher_t *publisher =
            sim_roll_publisher(source, publish, 10 + number, is_ipc, is_hot);
        publisher->is_exclusive = publisher->is_exclusive || is_placed;
        publisher->revokes = publisher->is_exclusive && chance(0.15);
        publisher->asks_session = publisher->is_exclusive && chance(0.3);
    }
    if (!is_ipc && chance(0.2)) {
        char spy[SIM_CHANNEL_MAX];
        snprintf(spy, sizeof spy, "aeron-spy:%.200s", publish);
        sim_count("stream: spied on");
        (void)sim_roll_subscriber(source, spy, 10 + number, true, true);
    }
    for (int64_t i = between(1, 2); i > 0; i--) {
        const bool is_tethered = chance(0.8);
        if (!is_tethered) {
            sim_count("subscriber: tether=false");
        }
        char channel[SIM_CHANNEL_MAX + 16];
        snprintf(channel, sizeof channel, "%s%s", subscribe,
            is_tethered ? "" : is_ipc ? "?tether=false" : "|tether=false");
        (void)sim_roll_subscriber(target, channel, 10 + number, is_reliable, is_tethered);
    }
}

/* ---- faults ---- */

static void roll_link(sim_link_t *link)
{
    link->delay_ns = skewed(21);
    link->jitter_ns = chance(0.5) ? 0 : skewed(20);
    if (chance(0.3)) {
        link->rate = between(1, 50) * 1000000;
        link->queue_bytes = 2000 + skewed(18);
    }
    link->loss = chance(0.4) ? 0.2 / (double)skewed(6) : 0;
    if (chance(0.15)) {
        link->burst_begin = 0.02;
        link->burst_end = 0.3;
    }
    link->period = chance(0.1) ? (int32_t)between(2, 40) : 0;
    link->gap_stride = chance(0.1) ? (int32_t)between(1, 16) * 1024 : 0;
    link->duplicate = chance(0.25) ? 0.1 : 0;
    link->reorder = chance(0.25) ? 0.1 : 0;
    link->reorder_ns = skewed(22);
    link->corrupt = chance(0.15) ? 0.03 : 0;
    link->forge = chance(0.15) ? 0.03 : 0;
    link->is_data_only = chance(0.2);
    link->is_to_aeron = chance(0.3);
}

static void cut(void *arg, int64_t is_cut)
{
    sim_link_t *link = arg;
    link->is_cut = is_cut != 0 && !world.is_calm;
    sim_event("a link is %s", link->is_cut ? "cut" : "whole");
}

static void pause_process(void *arg, int64_t ns)
{
    sim_process_t **process = arg;
    if (*process != NULL && !world.is_calm) {
        sim_event("%s is paused for %lld us", (*process)->name, (long long)ns / 1000);
        sim_count("fault: paused");
        (*process)->paused_until_ns = world.now_ns + ns;
    }
}

static void start_driver(void *arg, int64_t number)
{
    (void)number;
    sim_driver_start(arg);
}

static void start_client(void *arg, int64_t number)
{
    (void)number;
    sim_client_start(arg);
}

static void kill_driver(void *arg, int64_t restart_after_ns)
{
    sim_driver_t *driver = arg;
    const int32_t deaths = driver->deaths;
    if (!world.is_calm) {
        sim_driver_kill(driver);
    }
    if (driver->deaths > deaths) {
        sim_agenda_add(world.now_ns + restart_after_ns, start_driver, driver, 0);
    }
}

static void kill_client(void *arg, int64_t restart_after_ns)
{
    sim_client_t *client = arg;
    const int32_t deaths = client->deaths;
    if (!world.is_calm) {
        sim_client_kill(client);
    }
    if (client->deaths > deaths) {
        sim_agenda_add(world.now_ns + restart_after_ns, start_client, client, 0);
    }
}

void sim_scenario_on_turn(const sim_fiber_t *fiber)
{
    if (fiber->activity == ACTIVITY_NONE || fiber->state != FIBER_READY || world.is_calm) {
        return;
    }
    for (int32_t i = 0; i < cast.client_count; i++) {
        sim_client_t *client = &cast.clients[i];
        if (client->process == fiber->process && client->doom == fiber->activity
            && client->doom_turns-- == 0) {
            sim_count(client->doom == ACTIVITY_COMMAND ? "fault: client killed in a command"
                    : client->doom == ACTIVITY_PUBLISH ? "fault: client killed while publishing"
                                                       : "fault: client killed while polling");
            client->doom = ACTIVITY_NONE;
            kill_client(client, SIM_S);
            return;
        }
    }
}

static void roll_faults(void)
{
    const int64_t end_ns = cast.calm_ns - SIM_S;
    if (chance(0.7)) {
        for (int32_t from = 0; from < cast.driver_count; from++) {
            for (int32_t to = 0; to < cast.driver_count; to++) {
                roll_link(sim_link(cast.drivers[from].host, cast.drivers[to].host));
            }
        }
    }
    for (int64_t i = chance(0.3) ? between(1, 3) : 0; i > 0; i--) {
        sim_link_t *link = sim_link(sim_roll_any_driver()->host, sim_roll_any_driver()->host);
        const int64_t at_ns = SIM_S + between(0, end_ns);
        sim_agenda_add(at_ns, cut, link, 1);
        sim_agenda_add(at_ns + between(0, cast.is_gentle ? 300 * SIM_MS : end_ns), cut, link, 0);
    }
    for (int64_t i = chance(0.3) ? between(1, 4) : 0; i > 0; i--) {
        sim_process_t **process = chance(0.5)
            ? &sim_roll_any_driver()->process
            : &cast.clients[between(0, cast.client_count - 1)].process;
        sim_agenda_add(SIM_S + between(0, end_ns), pause_process, process,
            between(0, cast.is_gentle ? 300 * SIM_MS : 2500 * SIM_MS));
    }
    if (cast.is_gentle) {
        return;
    }
    for (int64_t i = between(0, 2); i > 0; i--) {
        sim_client_t *client = &cast.clients[between(0, cast.client_count - 1)];
        sim_agenda_add(SIM_S + between(0, end_ns), kill_client, client, between(0, SIM_S));
    }
    for (int32_t i = 0; i < cast.client_count; i++) {
        if (chance(0.5)) {
            cast.clients[i].doom = (sim_activity_t)between(ACTIVITY_COMMAND, ACTIVITY_POLL);
            cast.clients[i].doom_turns =
                cast.clients[i].doom == ACTIVITY_COMMAND ? between(0, 30) : skewed(6);
        }
    }
    const bool has_rejects = chance(0.4);
    for (int32_t i = 0; has_rejects && i < cast.subscriber_count; i++) {
        cast.subscribers[i].reject_chance = chance(0.6) ? 0.1 / (double)skewed(6) : 0;
    }
    if (chance(0.4)) {
        sim_agenda_add(SIM_S + between(0, end_ns), kill_driver, sim_roll_any_driver(), between(0, SIM_S));
    }
}

/* ---- all of it ---- */

void sim_scenario_write(void)
{
    static const int64_t preemption[] = {0, 2000, 200, 30, 4, 1};
    for (int64_t hosts = between(1, 3), host = 0; host < hosts; host++) {
        roll_driver((int32_t)host);
    }
    for (int64_t streams = skewed(2), i = 0; i < streams; i++) {
        const int64_t kind = between(0, 9);
        if (kind < 6) {
            roll_stream((int32_t)i);
        } else if (kind < 9) {
            sim_roll_group_stream((int32_t)i);
        } else {
            sim_roll_merged_stream((int32_t)i);
        }
    }
    cast.is_gentle = chance(0.5);
    sim_count(cast.is_gentle ? "run: gentle" : "run: rough");
    cast.calm_ns = SIM_S + (10 + skewed(11)) * SIM_MS;
    roll_faults();
    sim_fibers_set_preemption(preemption[cast.is_gentle ? between(0, 5) : between(2, 5)]);
    if (chance(0.3)) {
        sim_fibers_set_absence(0.3 / (double)skewed(10), skewed(25));
    }
    for (int32_t i = 0; i < cast.driver_count; i++) {
        sim_driver_start(&cast.drivers[i]);
    }
    for (int32_t i = 0; i < cast.client_count; i++) {
        sim_client_start(&cast.clients[i]);
    }
}
