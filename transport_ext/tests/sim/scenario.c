/* scenario.c: generates a scenario: the actors and their channels. */
#include "tests/sim/generator.h"
#include "tests/sim/hostile.h"
#include "tests/sim/keys.h"
#include "tests/sim/on_path.h"
#include "tests/sim/resource_faults.h"

#include <stdio.h>
#include <string.h>

#define TERM_LENGTH 65536
#define MESSAGES_MAX 1000

/* ---- drivers ---- */

sim_driver_t *sim_generate_driver(int32_t host)
{
    static const int threadings[] = {RSTI_THREADING_INVOKER, RSTI_THREADING_INVOKER,
        RSTI_THREADING_SHARED, RSTI_THREADING_SHARED_NETWORK, RSTI_THREADING_DEDICATED,
        RSTI_THREADING_DEDICATED};
    sim_driver_t *driver = &actors.drivers[actors.driver_count];
    *driver = (sim_driver_t){.index = actors.driver_count++, .host = host};
    rst_driver_params_t *params = &driver->params;
    rsti_driver_params_init(params);
    char dir[sizeof actors.dir];
    memcpy(dir, actors.dir, sizeof dir);
    snprintf(params->dir, sizeof params->dir, "%s/driver-%d", dir, driver->index);
    params->threading = threadings[between(0, 5)];
    params->idle = chance(0.8) ? RSTI_IDLE_BLOCK
        : chance(0.5)          ? RSTI_IDLE_BACKOFF
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
    params->untethered_resting_ns = 3 * SIM_S; /* longer than any pause of a process */
    params->timer_interval_ns = 50 * SIM_MS;
    params->counter_reuse_ns = 10 * SIM_MS;
    params->idle_exit_ns = 0;
    params->low_storage_warning = 0;
    params->max_messages_per_send = between(1, 16);
    sim_count(params->threading == RSTI_THREADING_INVOKER   ? "driver: invoker"
            : params->threading == RSTI_THREADING_SHARED    ? "driver: shared"
            : params->threading == RSTI_THREADING_DEDICATED ? "driver: dedicated"
                                                            : "driver: shared network");
    return driver;
}

sim_client_t *sim_generate_client(sim_driver_t *driver)
{
    for (int32_t i = 0; i < actors.client_count; i++) {
        if (actors.clients[i].driver == driver
            && (chance(0.4) || actors.client_count == SIM_CLIENTS_MAX)) {
            return &actors.clients[i];
        }
    }
    if (actors.client_count == SIM_CLIENTS_MAX) {
        sim_fail("more than %d clients", SIM_CLIENTS_MAX);
    }
    sim_client_t *client = &actors.clients[actors.client_count];
    *client = (sim_client_t){.index = actors.client_count++, .driver = driver};
    return client;
}

/* ---- streams ---- */

static int64_t generate_start(void)
{
    return SIM_S + (chance(0.6) ? between(0, 2 * SIM_MS) : between(0, 300 * SIM_MS));
}

sim_publisher_t *sim_generate_publisher(sim_driver_t *driver, const char *channel,
    int32_t stream_id, bool is_ipc, bool is_hot)
{
    const int64_t length_max = is_hot ? between(1000, 8000) : skewed(13);
    const int64_t total = SIM_BYTES_MAX / (length_max + 64) + 1;
    sim_publisher_t *publisher = &actors.publishers[actors.publisher_count];
    *publisher = (sim_publisher_t){
        .index = actors.publisher_count++,
        .client = sim_generate_client(driver),
        .stream_id = stream_id,
        .is_ipc = is_ipc,
        .is_exclusive = !is_hot && chance(0.5),
        .total = (int32_t)between(1, total < MESSAGES_MAX ? total : MESSAGES_MAX),
        .length_max = (int32_t)length_max,
        .methods = (uint32_t)between(1, (1 << METHOD_COUNT) - 1),
        .pause_ns_max = is_hot || chance(0.4) ? 0 : skewed(20),
        .abort_chance = chance(0.3) ? 0.2 : 0,
        .start_ns = generate_start(),
    };
    snprintf(publisher->channel, sizeof publisher->channel, "%s", channel);
    return publisher;
}

sim_subscriber_t *sim_generate_subscriber(sim_driver_t *driver, const char *channel,
    int32_t stream_id, bool is_reliable, bool is_sure)
{
    sim_subscriber_t *subscriber = &actors.subscribers[actors.subscriber_count];
    *subscriber = (sim_subscriber_t){
        .index = actors.subscriber_count++,
        .client = sim_generate_client(driver),
        .stream_id = stream_id,
        .is_reliable = is_reliable,
        .is_sure = is_sure,
        .held_ns_max = INT64_MAX,
        .start_ns = generate_start(),
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

sim_driver_t *sim_generate_any_driver(void)
{
    return &actors.drivers[between(0, actors.driver_count - 1)];
}

/* The first term id is about to wrap, or the stream starts inside a term. */
static void place(char *channel, size_t size)
{
    char rest[128];
    const int32_t first = INT32_MAX - (int32_t)between(0, 2);
    const int32_t terms = (int32_t)between(0, 2);
    snprintf(rest, sizeof rest, "%cterm-length=%d|init-term-id=%d|term-id=%d|term-offset=%d",
        strchr(channel, '?') == NULL ? '?' : '|', TERM_LENGTH, first,
        (int32_t)((uint32_t)first + (uint32_t)terms),
        (int32_t)(chance(0.5) ? 0 : between(0, 2000) * 32));
    strncat(channel, rest, size - strlen(channel) - 1);
    sim_count("stream: placed, term ids wrap");
}

static void generate_stream(int32_t number)
{
    char publish[SIM_CHANNEL_MAX];
    char subscribe[SIM_CHANNEL_MAX];
    sim_driver_t *source = sim_generate_any_driver();
    sim_driver_t *target = sim_generate_any_driver();
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
            is_reliable ? "" : "|reliable=false", chance(0.5) ? "|rejoin=false" : "", law);
        sim_count(is_reliable ? "stream: reliable" : "stream: unreliable");
        if ((number + is_ipv6 + (law[0] == '\0')) % 2 == 0) { /* draws nothing: seeds stay */
            strncat(publish, "|cc=path", sizeof publish - strlen(publish) - 1);
            sim_count("stream: cc=path");
        }
    }
    const bool is_placed = chance(0.2);
    if (is_placed) {
        place(publish, sizeof publish);
    }
    const bool is_hot = chance(0.15); /* many terms, so that a late reader is far behind */
    for (int64_t i = between(1 + is_hot, 3); i > 0; i--) {
        sim_publisher_t *publisher = sim_generate_publisher(source, publish, 10 + number, is_ipc,
            is_hot);
        publisher->is_exclusive = publisher->is_exclusive || is_placed;
        publisher->revokes = publisher->is_exclusive && chance(0.15);
        publisher->asks_session = publisher->is_exclusive && chance(0.3);
    }
    if (!is_ipc && chance(0.2)) {
        char spy[SIM_CHANNEL_MAX];
        snprintf(spy, sizeof spy, "aeron-spy:%.200s", publish);
        sim_count("stream: spied on");
        (void)sim_generate_subscriber(source, spy, 10 + number, true, true);
    }
    for (int64_t i = between(1, 2); i > 0; i--) {
        const bool is_tethered = chance(0.8);
        const bool is_evicting = !is_tethered && (number + i) % 2 == 0;
        const char *key = is_evicting ? "rs-evict=60ms" : "tether=false";
        char channel[SIM_CHANNEL_MAX + 24];
        snprintf(channel, sizeof channel, "%s", subscribe);
        if (!is_tethered) {
            sim_count(is_evicting ? "subscriber: rs-evict" : "subscriber: tether=false");
            snprintf(channel, sizeof channel, "%s%c%s", subscribe, is_ipc ? '?' : '|', key);
        }
        sim_subscriber_t *subscriber = sim_generate_subscriber(target, channel, 10 + number,
            is_reliable, is_tethered);
        if (!is_tethered) {
            subscriber->held_ns_max = is_evicting ? 0 : target->params.untethered_linger_ns;
            subscriber->is_evicting = is_evicting;
        }
    }
}

/* ---- all of it ---- */

/* Producers of one log are preempted for several terms during an offer while readers keep up: a
 * late rotation by such a producer must not undo newer ones. */
static void generate_race(void)
{
    static const char channel[] = "aeron:ipc";
    (void)sim_generate_driver(0);
    for (int i = 0; i < 3; i++) {
        sim_publisher_t *publisher = sim_generate_publisher(&actors.drivers[0], channel, 10, true,
            true);
        publisher->total = (int32_t)between(40, 160);
        publisher->length_max = 8000;
        publisher->methods = 1U << METHOD_OFFER;
        publisher->start_ns = SIM_S;
        publisher->abort_chance = 0;
    }
    sim_subscriber_t *subscriber = sim_generate_subscriber(&actors.drivers[0], channel, 10, true,
        true);
    subscriber->start_ns = SIM_S;
    subscriber->leave_ns = INT64_MAX;
    subscriber->stop_from_ns = subscriber->stop_until_ns = 0;
    subscriber->pause_ns_max = 1;
    subscriber->uses_demand = false;
    actors.is_gentle = true;
    actors.calm_ns = SIM_S + 400 * SIM_MS;
    sim_fibers_set_preemption(between(1, 4));
    sim_fibers_set_absence(0.02 / (double)skewed(3), between(1, 10) * SIM_MS);
    sim_count("run: a race of rotation");
}

static void generate_world(void)
{
    static const int64_t preemption[] = {0, 2000, 200, 30, 4, 1};
    for (int64_t hosts = between(1, 3), host = 0; host < hosts; host++) {
        (void)sim_generate_driver((int32_t)host);
    }
    for (int64_t streams = skewed(2), i = 0; i < streams; i++) {
        const int64_t kind = between(0, 9);
        if (kind < 6) {
            generate_stream((int32_t)i);
        } else if (kind < 9) {
            sim_generate_group_stream((int32_t)i);
        } else {
            sim_generate_merged_stream((int32_t)i);
        }
    }
    actors.is_gentle = chance(0.5);
    sim_count(actors.is_gentle ? "run: gentle" : "run: rough");
    actors.calm_ns = SIM_S + (10 + skewed(11)) * SIM_MS;
    sim_generate_faults();
    sim_fibers_set_preemption(preemption[actors.is_gentle ? between(0, 5) : between(2, 5)]);
    if (chance(0.3)) {
        sim_fibers_set_absence(0.3 / (double)skewed(10), skewed(25));
    }
    sim_generate_extra_streams();
}

void sim_scenario_write(void)
{
    if (sim_chance(RNG_FAULTS, 0.04)) {
        sim_generate_dead_claim();
    } else if (chance(0.05)) {
        generate_race();
    } else {
        generate_world();
    }
    sim_generate_api_usage();
    sim_generate_resource_faults();
    sim_generate_rates();
    sim_generate_budgets();
    sim_generate_hostile();
    sim_generate_keys();
    sim_generate_on_path();
    for (int32_t i = 0; i < actors.driver_count; i++) {
        sim_driver_start(&actors.drivers[i]);
    }
    for (int32_t i = 0; i < actors.client_count; i++) {
        sim_client_start(&actors.clients[i]);
    }
}
