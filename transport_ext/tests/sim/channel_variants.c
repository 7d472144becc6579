/* channel_variants.c: generates streams with less common channel parameters: ports of a range,
 * session ids and tags, control addresses, destinations inside the driver, spies that count as
 * receivers. */
#include "tests/sim/generator.h"
#include "tests/sim/links.h"

#include <stdio.h>
#include <string.h>

#define VARIANT_PORT (SIM_PORT + 500)
#define SESSION 4000
#define TAGS "|tags=301,302"

static sim_subscriber_t *reader(sim_driver_t *driver, const char *channel, int32_t number)
{
    return sim_generate_subscriber(driver, channel, 10 + number, true, true);
}

static sim_publisher_t *writer(sim_driver_t *driver, const char *channel, int32_t number,
    bool is_ipc)
{
    return sim_generate_publisher(driver, channel, 10 + number, is_ipc, false);
}

static void endpoint(const sim_driver_t *at, int32_t port, const char *more, char *text,
    size_t size)
{
    snprintf(text, size, "aeron:udp?endpoint=%s:%d%s", sim_host_address(at->host, false), port,
        more);
}

/* ---- ports ---- */

void sim_generate_any_ports(int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    sim_driver_t *source = sim_generate_any_driver();
    sim_driver_t *target = sim_generate_any_driver();
    snprintf(source->params.sender_ports, sizeof source->params.sender_ports, "48000 %d",
        (int)between(48040, 48100));
    snprintf(target->params.receiver_ports, sizeof target->params.receiver_ports, "47000 %d",
        (int)between(47008, 47020));
    sim_count("stream: any port of a range");
    for (int64_t i = between(1, 3); i > 0; i--) {
        snprintf(channel, sizeof channel, "aeron:udp?endpoint=%s:0",
            sim_host_address(target->host, chance(0.3)));
        sim_subscriber_t *subscriber = reader(target, channel, number);
        subscriber->is_any_port = true;
        subscriber->leave_ns = INT64_MAX;
        const bool is_ipv6 = strchr(channel, '[') != NULL;
        snprintf(channel, sizeof channel, "|control=%s:0", sim_host_address(source->host, is_ipv6));
        writer(source, chance(0.7) ? channel : "", number, false)->follows = subscriber;
    }
}

/* ---- sessions ---- */

/* Several publish, and some readers read only one of the sessions. */
void sim_generate_session_stream(int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    sim_driver_t *source = sim_generate_any_driver();
    sim_driver_t *target = sim_generate_any_driver();
    const bool is_ipc = chance(0.3);
    if (is_ipc) {
        target = source;
        snprintf(channel, sizeof channel, "aeron:ipc");
    } else {
        endpoint(target, VARIANT_PORT + 1, "", channel, sizeof channel);
    }
    for (int64_t count = between(1, 3), i = 0; i < count; i++) {
        sim_publisher_t *publisher = writer(source, channel, number, is_ipc);
        publisher->is_exclusive = true;
        publisher->session_base = i == 0 ? SESSION : 0;
    }
    if (chance(0.5)) {
        (void)reader(target, channel, number);
    }
    const size_t used = strlen(channel);
    snprintf(channel + used, sizeof channel - used, "%csession-id=%d", is_ipc ? '?' : '|', SESSION);
    if (!is_ipc && source == target && chance(0.4)) {
        char spy[SIM_CHANNEL_MAX];
        snprintf(spy, sizeof spy, "aeron-spy:%.200s", channel);
        reader(target, spy, number)->only_session = SESSION;
    }
    reader(target, channel, number)->only_session = SESSION;
    sim_count("stream: readers want one session");
}

/* ---- tags ---- */

/* One publication makes a socket and a session; others use them by tag while it exists. */
void sim_generate_tagged_streams(int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    sim_driver_t *source = sim_generate_any_driver();
    sim_driver_t *target = sim_generate_any_driver();
    endpoint(target, VARIANT_PORT + 2, TAGS, channel, sizeof channel);
    sim_publisher_t *leader = writer(source, channel, number, false);
    leader->is_exclusive = true;
    leader->pause_ns_max = SIM_MS; /* the others need time to find its tag */

    endpoint(target, VARIANT_PORT + 2, "", channel, sizeof channel);
    (void)reader(target, channel, number);
    sim_publisher_t *on_socket = writer(source, channel, number + 1, false);
    on_socket->leader = leader;
    snprintf(on_socket->led_channel, sizeof on_socket->led_channel, "aeron:udp?tags=301");
    (void)reader(target, channel, number + 1);

    endpoint(target, VARIANT_PORT + 3, "", channel, sizeof channel);
    sim_publisher_t *of_session = writer(source, channel, number + 2, false);
    of_session->leader = leader;
    snprintf(of_session->led_channel, sizeof of_session->led_channel, "%.200s|session-id=tag:302",
        channel);
    (void)reader(target, channel, number + 2);
    sim_count("stream: socket and session by tag");
}

/* ---- control addresses ---- */

/* The channel gives the publication's own address, and its reader may know it. Receivers are listed
 * as destinations. */
void sim_generate_control_stream(int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    char control[64];
    sim_driver_t *source = sim_generate_any_driver();
    sim_driver_t *target = sim_generate_any_driver();
    const bool is_manual = chance(0.5);
    snprintf(control, sizeof control, "control=%s:%d", sim_host_address(source->host, false),
        VARIANT_PORT + 4);
    sim_count(is_manual ? "stream: control address, destinations"
                        : "stream: control address, one endpoint");
    if (is_manual) {
        snprintf(channel, sizeof channel, "aeron:udp?%s|control-mode=manual", control);
        sim_publisher_t *publisher = writer(source, channel, number, false);
        publisher->must_send_all = true;
        publisher->destinations.count = 1;
        endpoint(target, VARIANT_PORT + 5, "", publisher->destinations.items[0].channel,
            sizeof publisher->destinations.items[0].channel);
    } else {
        endpoint(target, VARIANT_PORT + 5, "|", channel, sizeof channel);
        strncat(channel, control, sizeof channel - strlen(channel) - 1);
        writer(source, channel, number, false)->must_send_all = true;
    }
    endpoint(target, VARIANT_PORT + 5, chance(0.5) ? "|" : "", channel, sizeof channel);
    if (channel[strlen(channel) - 1] == '|') {
        strncat(channel, control, sizeof channel - strlen(channel) - 1);
    }
    reader(target, channel, number)->leave_ns = INT64_MAX;
}

/* ---- inside the driver ---- */

/* One subscription for IPC, for a network publication of the same driver, for a group, and for an
 * endpoint. */
void sim_generate_local_destinations(int32_t number)
{
    char group[SIM_CHANNEL_MAX];
    char away[SIM_CHANNEL_MAX];
    char here[SIM_CHANNEL_MAX];
    sim_driver_t *target = sim_generate_any_driver();
    sim_driver_t *other = sim_generate_any_driver();
    endpoint(other, VARIANT_PORT + 6, "", away, sizeof away);
    endpoint(target, VARIANT_PORT + 7, "", here, sizeof here);
    snprintf(group, sizeof group, "aeron:udp?endpoint=224.20.31.1:%d|interface=%s",
        VARIANT_PORT + 8, sim_host_address(target->host, false));
    /* Readers do not leave: a returning reader would join in the middle of the log, and the model
     * knows one image per session. */
    sim_destinations_t destinations = {.count = 4};
    snprintf(destinations.items[0].channel, sizeof destinations.items[0].channel, "aeron:ipc");
    snprintf(destinations.items[1].channel, sizeof destinations.items[1].channel, "%.95s", group);
    snprintf(destinations.items[2].channel, sizeof destinations.items[2].channel, "%.95s", here);
    snprintf(destinations.items[3].channel, sizeof destinations.items[3].channel, "aeron-spy:%.80s",
        away);

    (void)writer(target, "aeron:ipc", number, true);
    strncat(away, chance(0.5) ? "|ssc=true" : "", sizeof away - strlen(away) - 1);
    (void)writer(target, away, number, false);
    (void)writer(other, here, number, false);
    if (other == target || chance(0.3)) {
        (void)writer(target, group, number, false);
    } else {
        snprintf(group, sizeof group, "aeron:udp?endpoint=224.20.31.1:%d|interface=%s",
            VARIANT_PORT + 8, sim_host_address(other->host, false));
        (void)writer(other, group, number, false);
    }
    sim_subscriber_t *subscriber = reader(target, "aeron:udp?control-mode=manual", number);
    subscriber->is_sure = destinations.churn == 0;
    subscriber->destinations = destinations;
    sim_count("merged: IPC, a spy, a group and an endpoint");
}

/* The endpoint has no receiver: spies alone let the publication advance. */
void sim_generate_spied_stream(int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    char spy[SIM_CHANNEL_MAX + 16];
    sim_driver_t *driver = sim_generate_any_driver();
    endpoint(driver, VARIANT_PORT + 9, "", channel, sizeof channel);
    snprintf(spy, sizeof spy, "aeron-spy:%.200s", channel);
    for (int64_t i = between(1, 2); i > 0; i--) {
        reader(driver, spy, number)->leave_ns = INT64_MAX;
    }
    strncat(channel, "|ssc=true", sizeof channel - strlen(channel) - 1);
    sim_publisher_t *publisher = writer(driver, channel, number, false);
    publisher->must_send_all = true;
    sim_count("stream: spies are the receivers");
}

/* ---- all streams ---- */

/* The readers' drivers limit the sessions of a stream. The requests of all askers are one stream,
 * and so are the answers to the askers of one driver. An asker beyond the limit gets no answer,
 * while a gentle run requires one. */
void sim_generate_session_limit(void)
{
    const int64_t limit = between(1, 2);
    const int64_t needed = actors.is_gentle ? sim_service_sessions() : 0;
    sim_generate_any_driver()->params.stream_session_limit = limit > needed ? limit : needed;
    sim_count("run: few sessions per stream");
}

void sim_generate_long_delay(void)
{
    for (int32_t from = 0; from < actors.driver_count; from++) {
        for (int32_t to = 0; to < actors.driver_count; to++) {
            sim_link_t *link = sim_link(actors.drivers[from].host, actors.drivers[to].host);
            link->delay_ns += between(3, 15) * SIM_MS;
            link->loss = link->loss > 0 ? link->loss : 0.02;
        }
    }
    sim_count("run: a long delay");
}
