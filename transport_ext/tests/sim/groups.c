/* groups.c: generates streams to several receivers (multicast, dynamic and manual destinations,
 * each law of flow control) and subscriptions with several destinations. */
#include "tests/sim/generator.h"

#include <stdio.h>
#include <string.h>

#define GROUP_PORT (SIM_PORT + 1000)
#define CONTROL_PORT (SIM_PORT + 2000)
#define MEMBER_PORT (SIM_PORT + 3000)
#define MERGED_PORT (SIM_PORT + 4000)
#define TAG 101

typedef enum group_kind_t {
    GROUP_MULTICAST,
    GROUP_DYNAMIC,
    GROUP_MANUAL,
    GROUP_KINDS
} group_kind_t;

typedef enum law_t {
    LAW_MAX,
    LAW_MIN,
    LAW_TAGGED,
    LAWS,
    LAW_OWN = LAWS
} law_t;

/* The members of a group: at most one on each host. */
typedef struct group_t {
    int32_t number;
    group_kind_t kind;
    law_t law;
    bool is_whole; /* data wait until all members are there, and no member times out soon */
    sim_driver_t *source;
    int32_t member_count;
    bool is_ipv6;
} group_t;

static const char *const kind_names[GROUP_KINDS] = {
    "group: multicast", "group: dynamic destinations", "group: manual destinations"};
static const char *const law_names[LAWS + 1] = {
    "group: fc=max", "group: fc=min", "group: fc=tagged", ("group: fc=" SIM_STRATEGY)};

static void flow_control(const group_t *group, char *text, size_t size)
{
    const char *timeout = group->is_whole ? "3s" : "200ms";
    const int32_t least = group->is_whole ? group->member_count : 0;
    switch (group->law) {
    case LAW_MIN:
        snprintf(text, size, "|fc=min,g:/%d,t:%s", least, timeout);
        break;
    case LAW_TAGGED:
        snprintf(text, size, "|fc=tagged,g:%d/%d,t:%s", TAG, least, timeout);
        break;
    case LAW_OWN:
        snprintf(text, size, "|fc=" SIM_STRATEGY ",g:/%d,t:%s", least, timeout);
        break;
    default:
        snprintf(text, size, "%s", chance(0.5) ? "|fc=max" : "");
        break;
    }
}

/* Data addresses are odd; the next address is the control address. */
static void group_address(const group_t *group, char *text, size_t size)
{
    snprintf(text, size, group->is_ipv6 ? "[ff05::%d]:%d" : "224.20.30.%d:%d",
        2 * group->number + 1, GROUP_PORT + group->number);
}

static void channel_of_source(const group_t *group, char *text, size_t size)
{
    char law[48];
    char address[48];
    const char *host = sim_host_address(group->source->host, group->is_ipv6);
    flow_control(group, law, sizeof law);
    switch (group->kind) {
    case GROUP_MULTICAST:
        group_address(group, address, sizeof address);
        snprintf(text, size, "aeron:udp?endpoint=%s|interface=%s%s", address, host, law);
        break;
    case GROUP_DYNAMIC:
        snprintf(text, size, "aeron:udp?control=%s:%d|control-mode=dynamic%s", host,
            CONTROL_PORT + group->number, law);
        break;
    default:
        snprintf(text, size, "aeron:udp?control-mode=manual%s", law);
        break;
    }
}

static void channel_of_member(const group_t *group, const sim_driver_t *member, bool is_tagged,
    char *text, size_t size)
{
    char address[48];
    char tag[16] = "";
    const char *host = sim_host_address(member->host, group->is_ipv6);
    if (is_tagged) {
        snprintf(tag, sizeof tag, "|gtag=%d", TAG);
    }
    switch (group->kind) {
    case GROUP_MULTICAST:
        group_address(group, address, sizeof address);
        snprintf(text, size, "aeron:udp?endpoint=%s|interface=%s%s", address, host, tag);
        break;
    case GROUP_DYNAMIC:
        snprintf(text, size, "aeron:udp?endpoint=%s:%d|control=%s:%d|control-mode=dynamic%s", host,
            MEMBER_PORT + group->number, sim_host_address(group->source->host, group->is_ipv6),
            CONTROL_PORT + group->number, tag);
        break;
    default:
        snprintf(text, size, "aeron:udp?endpoint=%s:%d%s", host, MEMBER_PORT + group->number, tag);
        break;
    }
}

static void generate_sources(const group_t *group, const char *channel)
{
    for (int64_t i = between(1, group->kind == GROUP_MANUAL ? 1 : 2); i > 0; i--) {
        sim_publisher_t *publisher = sim_generate_publisher(group->source, channel,
            10 + group->number, false, chance(0.1));
        publisher->total = publisher->total / 2 + 1; /* each receiver adds the same work */
        if (group->kind != GROUP_MANUAL) {
            continue;
        }
        for (int32_t m = 0; m < group->member_count; m++) {
            sim_destination_t *destination = &publisher->destinations
                                                  .items[publisher->destinations.count++];
            snprintf(destination->channel, sizeof destination->channel, "aeron:udp?endpoint=%s:%d",
                sim_host_address(actors.drivers[m].host, group->is_ipv6),
                MEMBER_PORT + group->number);
        }
        publisher->destinations.churn = group->is_whole ? 0 : 0.1 / (double)skewed(5);
    }
}

static group_t group_of(int32_t number, group_kind_t kind, law_t law)
{
    group_t group = {
        .number = number,
        .kind = kind,
        .law = law,
        .source = sim_generate_any_driver(),
        .member_count = (int32_t)between(1, actors.driver_count),
        .is_ipv6 = chance(0.2),
    };
    group.is_whole = chance(0.5);
    return group;
}

static void generate_group(group_t group)
{
    char channel[SIM_CHANNEL_MAX];
    const int32_t number = group.number;
    if (group.is_whole && group.law != LAW_MAX) {
        sim_count("group: each must get all");
    }
    sim_count(kind_names[group.kind]);
    sim_count(law_names[group.law]);
    channel_of_source(&group, channel, sizeof channel);
    generate_sources(&group, channel);
    for (int32_t m = 0; m < group.member_count; m++) {
        sim_driver_t *member = &actors.drivers[m];
        const bool is_tagged = group.law == LAW_TAGGED && (group.is_whole || chance(0.6));
        const bool is_sure = group.is_whole && group.law != LAW_MAX;
        channel_of_member(&group, member, is_tagged, channel, sizeof channel);
        for (int64_t i = between(1, chance(0.2) ? 2 : 1); i > 0; i--) {
            sim_subscriber_t *subscriber = sim_generate_subscriber(member, channel, 10 + number,
                true, is_sure);
            subscriber->is_in_group = true;
            if (is_sure) {
                subscriber->leave_ns = INT64_MAX; /* without it the group is not whole */
            }
        }
    }
}

void sim_generate_group_stream(int32_t number)
{
    const group_kind_t kind = (group_kind_t)between(0, GROUP_KINDS - 1);
    const law_t law = (law_t)between(0, LAWS - 1);
    generate_group(group_of(number, kind, law));
}

void sim_generate_custom_group(int32_t number)
{
    sim_strategy_register();
    generate_group(group_of(number, (group_kind_t)between(0, GROUP_KINDS - 1), LAW_OWN));
}

/* A subscription with its own destinations: several sources that send to different ports of its
 * host, or one source that sends to both, whose two copies form one image. */
void sim_generate_merged_stream(int32_t number)
{
    char channel[SIM_CHANNEL_MAX];
    sim_driver_t *source = sim_generate_any_driver();
    sim_driver_t *target = sim_generate_any_driver();
    const bool is_twin = chance(0.5);
    const int32_t places = (int32_t)between(1 + is_twin, 3);
    sim_destinations_t destinations = {
        .count = places, .churn = chance(0.5) ? 0 : 0.1 / (double)skewed(5)};
    for (int32_t i = 0; i < places; i++) {
        snprintf(destinations.items[i].channel, sizeof destinations.items[i].channel,
            "aeron:udp?endpoint=%s:%d", sim_host_address(target->host, false),
            MERGED_PORT + 4 * number + i);
    }
    sim_count(is_twin ? "merged: one source at several places" : "merged: several sources");
    if (is_twin) {
        sim_publisher_t *publisher = sim_generate_publisher(source, "aeron:udp?control-mode=manual",
            10 + number, false, false);
        publisher->destinations = destinations;
        publisher->destinations.churn = 0;
    } else {
        for (int32_t i = 0; i < places; i++) {
            (void)sim_generate_publisher(sim_generate_any_driver(), destinations.items[i].channel,
                10 + number, false, false);
        }
    }
    snprintf(channel, sizeof channel, "aeron:udp?control-mode=manual");
    sim_subscriber_t *subscriber = sim_generate_subscriber(target, channel, 10 + number, true,
        destinations.churn == 0 && !is_twin);
    subscriber->destinations = destinations;
}

bool sim_actors_have_destinations(int32_t stream_id)
{
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        if (actors.publishers[i].stream_id == stream_id
            && strstr(actors.publishers[i].channel, "control-mode=") != NULL) {
            return true;
        }
    }
    return false;
}
