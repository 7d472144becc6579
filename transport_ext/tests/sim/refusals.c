/* refusals.c: commands that the driver must refuse for the reason given beside each, and that leave
 * nothing behind. Some conflict with a resource that this client adds first. */
#include "tests/sim/generator.h"

#include <stdio.h>
#include <string.h>

#define REFUSAL_PORT (SIM_PORT + 6000)
#define STREAM 90
#define PROBES_MAX 24

typedef enum target_t {
    PUB,
    EXCLUSIVE,
    SUB,
    PUB_DEST,
    MANUAL_DEST,
    SUB_DEST,
    MERGED_DEST
} target_t;

/* Placeholders: H for the host's address, P to Z for ports of its own. */
typedef struct probe_t {
    target_t target;
    bool is_removal;
    const char *channel;
    const char *reason; /* part of it */
} probe_t;

static const probe_t probes[] = {
    /* session ids */
    {EXCLUSIVE, false, "aeron:udp?endpoint=H:P|session-id=4711", "clashes"},
    {PUB, false, "aeron:udp?endpoint=H:P|session-id=tag:555", "no publication has that entity tag"},
    {EXCLUSIVE, false, "aeron:udp?endpoint=H:P|session-id=tag:902|mtu=1024", "mtu=1024 differs"},
    {EXCLUSIVE, false, "aeron:udp?endpoint=H:P|session-id=tag:902|term-length=128k",
        "term-length=131072 differs"},
    {SUB, false, "aeron:udp?endpoint=H:Q|session-id=tag:902", "only a publication can take"},
    /* a publication that exists */
    {PUB, false, "aeron:udp?endpoint=H:R|mtu=1024", "mtu=1024 differs"},
    {PUB, false, "aeron:udp?endpoint=H:R|ssc=false", "ssc=false differs"},
    {PUB, false, "aeron:udp?endpoint=H:R|init-term-id=7|term-id=7|term-offset=0",
        "init-term-id=7 differs"},
    /* sockets */
    {PUB, false, "aeron:udp?endpoint=H:0", "needs a port other than 0"},
    {PUB, false, "aeron:udp?tags=999", "there is no socket with tags=999"},
    {PUB, false, "aeron:udp?endpoint=H:S|tags=901", "endpoint differs"},
    {PUB, false, "aeron:udp?tags=901|control=H:S|control-mode=dynamic", "control differs"},
    {PUB, false, "aeron:udp?endpoint=H:P|so-sndbuf=99999", "so-sndbuf=99999 differs"},
    {PUB, false, "aeron:udp?endpoint=H:P|so-rcvbuf=99999", "so-rcvbuf=99999 differs"},
    {PUB, false, "aeron:udp?endpoint=H:P|control=10.0.0.99:40000", "10.0.0.99:40000"},
    {PUB, false, "aeron:udp?endpoint=H:S|interface=192.168.77.0/24", "interface"},
    {PUB, false, "aeron:udp?endpoint=224.20.30.4:40000|interface=H", "must be odd"},
    {SUB, false, "aeron:udp?tags=998", "tags=998"},
    {SUB, false, "aeron:udp?endpoint=10.0.0.99:40000", "10.0.0.99:40000"},
    {SUB, false, "aeron:udp?endpoint=H:Q|reliable=false", "reliable=false existingChannel="},
    {SUB, false, "aeron:udp?endpoint=H:Q|rejoin=false", "rejoin=false existingChannel="},
    {SUB, false, "aeron:udp?endpoint=H:Q|so-rcvbuf=99999", "so-rcvbuf=99999 differs"},
    {SUB, false, "aeron:udp?endpoint=nowhere:40000", "nowhere"},
    {PUB, false, "aeron:udp?endpoint=nowhere:40000", "nowhere"},
    {SUB, false, "aeron-spy:aeron:ipc", "only aeron:udp publications can be spied on"},
    {PUB, false, "aeron-spy:aeron:udp?endpoint=H:P", "only a subscription can be a spy"},
    /* numbers */
    {EXCLUSIVE, false, "aeron:ipc?init-term-id=5|term-id=3|term-offset=0", "lies before"},
    {EXCLUSIVE, false, "aeron:ipc?init-term-id=5|term-id=5|term-offset=33", "term-offset=33"},
    {EXCLUSIVE, false, "aeron:ipc?pub-wnd=1", "pub-wnd=1"},
    {PUB, false, "aeron:udp?endpoint=H:P|bogus", "must be key=value"},
    {PUB, false, "aeron:udp?endpoint=H:P|mtu=1024|mtu=1024", "given twice"},
    {SUB, false, "aeron:ipc?rs-name=beta", "fall on the same IPC stream id"},
    {PUB, false, "aeron:ipc?rs-name=beta", "fall on the same IPC stream id"},
    /* laws of flow and congestion */
    {PUB, false, "aeron:udp?control=H:S|control-mode=dynamic|fc=sideways", "sideways"},
    /* responses */
    {PUB, false, "aeron:udp?control-mode=response|control=H:S", "no response-correlation-id set"},
    {PUB, false, "aeron:udp?control-mode=response|control=H:S|response-correlation-id=99",
        "there is no image whose publisher waits"},
    {PUB, false, "aeron:ipc?control-mode=response|response-correlation-id=99", "there is no image"},
    {PUB, false, "aeron:udp?endpoint=H:P|response-correlation-id=99",
        "there is no subscription with control-mode=response"},
    /* destinations */
    {PUB_DEST, false, "aeron:udp?endpoint=H:S", "only a publication with control-mode=manual"},
    {SUB_DEST, false, "aeron:udp?endpoint=H:S", "only a subscription with control-mode=manual"},
    {MANUAL_DEST, false, "aeron:ipc", "sends to aeron:udp only"},
    {MANUAL_DEST, false, "aeron:udp?control=H:S", "endpoint is missing"},
    {MANUAL_DEST, false, "aeron:udp?endpoint=H:0", "needs the port of its reader"},
    {MANUAL_DEST, false, "aeron:udp?endpoint=[fd00::1]:40000", "address family differs"},
    {MANUAL_DEST, false, "aeron:udp?endpoint=H:S|mtu=1024", "not to a destination"},
    {MANUAL_DEST, true, "aeron:udp?endpoint=H:0", "needs the port of its reader"},
    {MERGED_DEST, false, "aeron:udp?tags=5", "endpoint is missing"},
    {MERGED_DEST, false, "aeron:udp?control-mode=manual", "not for a destination"},
    {MERGED_DEST, false, "aeron-spy:aeron:ipc", "only aeron:udp publications can be spied on"},
    {MERGED_DEST, false, "aeron:udp?endpoint=10.0.0.99:40000", "10.0.0.99:40000"},
    {MERGED_DEST, true, "aeron:udp?endpoint=H:S", "has no destination"},
    {MERGED_DEST, true, "aeron:ipc", "has no destination"},
};

#define PROBE_COUNT ((int32_t)(sizeof probes / sizeof probes[0]))

/* The client's own resources, with which the probes conflict. */
typedef struct own_t {
    rst_publication_t *tagged, *shared, *manual, *named;
    rst_subscription_t *plain, *merged;
} own_t;

static int32_t chosen[PROBES_MAX];
static int32_t chosen_count;

/* ---- channels ---- */

static const char *write_channel(const sim_part_t *self, const char *text, char *channel,
    size_t size)
{
    size_t used = 0;
    for (char before = '\0'; *text != '\0' && used < size - 1; before = *text++) {
        const bool is_value = before == '=' || before == ':';
        char value[32];
        if (is_value && *text == 'H') {
            snprintf(value, sizeof value, "%s",
                sim_host_address(self->client->driver->host, false));
        } else if (is_value && *text >= 'P' && *text <= 'Z') {
            snprintf(value, sizeof value, "%d", REFUSAL_PORT + *text - 'P');
        } else {
            snprintf(value, sizeof value, "%c", *text);
        }
        used += (size_t)snprintf(channel + used, size - used, "%s", value);
    }
    return channel;
}

static int64_t command(const sim_part_t *self, const own_t *own, const probe_t *probe,
    const char *channel)
{
    rst_client_t *client = self->client->client;
    rst_publication_t *publication = probe->target == PUB_DEST ? own->tagged : own->manual;
    rst_subscription_t *subscription = probe->target == SUB_DEST ? own->plain : own->merged;
    switch (probe->target) {
    case PUB:
    case EXCLUSIVE:
        return rst_client_add_publication(client, channel, STREAM, probe->target == EXCLUSIVE);
    case SUB:
        return rst_client_add_subscription(client, channel, STREAM);
    case PUB_DEST:
    case MANUAL_DEST:
        return probe->is_removal ? rst_publication_remove_destination(publication, channel)
                                 : rst_publication_add_destination(publication, channel);
    default:
        return probe->is_removal ? rst_subscription_remove_destination(subscription, channel)
                                 : rst_subscription_add_destination(subscription, channel);
    }
}

/* ---- asking ---- */

/* False: the client or the driver is lost. */
static bool is_refused(const sim_part_t *self, const own_t *own, const probe_t *probe)
{
    char channel[SIM_CHANNEL_MAX];
    write_channel(self, probe->channel, channel, sizeof channel);
    sim_event("refusals %d asks for %s", self->number, channel);
    const int64_t id = command(self, own, probe, channel);
    const int result = id < 0 ? -1 : rst_client_await(self->client->client, id, 4 * SIM_S);
    if (result == 1) {
        sim_fail("the driver takes %s", channel);
    }
    const int code = rst_last_error_code();
    const bool has_right_reason = strstr(rst_last_error_text(), probe->reason) != NULL;
    if (!has_right_reason
        && (actors.is_gentle || code == RST_ECHANNEL || code == RST_EREGISTRATION
            || code == RST_EINVAL)) {
        sim_fail("%s is refused because \"%s\", not because \"%s\"", channel, rst_last_error_text(),
            probe->reason);
    }
    if (id >= 0) {
        rst_client_cancel(self->client->client, id);
    }
    sim_count(has_right_reason ? "refusals: for the right reason" : "refusals: no answer");
    return rst_client_state(self->client->client) == RST_CLIENT_OPEN;
}

/* Removes ids that do not exist. */
static void remove_unknown(const sim_part_t *self, const own_t *own)
{
    const int64_t ids[] = {
        rst_publication_remove_destination_by_id(own->manual, 123456789),
        rst_subscription_remove_destination_by_id(own->merged, 123456789),
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (ids[i] >= 0 && sim_part_await(self, ids[i]) == 1) {
            sim_fail("a destination that does not exist is taken away");
        }
    }
}

static bool add_own(const sim_part_t *self, own_t *own)
{
    char channel[SIM_CHANNEL_MAX];
    own->tagged = sim_part_publish(self,
        write_channel(self,
            "aeron:udp?endpoint=H:P|tags=901,902|session-id=4711|mtu=1408|term-length=64k"
            "|so-sndbuf=65536|so-rcvbuf=65536",
            channel, sizeof channel),
        STREAM, true);
    own->shared = sim_part_publish(self,
        write_channel(self,
            "aeron:udp?endpoint=H:R|mtu=1408|ssc=true|init-term-id=3|term-id=3"
            "|term-offset=0",
            channel, sizeof channel),
        STREAM, false);
    own->manual = sim_part_publish(self,
        write_channel(self, "aeron:udp?control-mode=manual|control=H:T", channel, sizeof channel),
        STREAM, true);
    own->plain = sim_part_subscribe(self,
        write_channel(self,
            "aeron:udp?endpoint=H:Q|so-rcvbuf=65536|rcv-wnd=65536|reliable=true|rejoin=true",
            channel, sizeof channel),
        STREAM);
    own->merged = sim_part_subscribe(self, "aeron:udp?control-mode=manual", STREAM);
    own->named = sim_part_publish(self, "aeron:ipc?rs-name=alpha", STREAM, false);
    return own->named != NULL && own->tagged != NULL && own->shared != NULL && own->manual != NULL
        && own->plain != NULL && own->merged != NULL;
}

static void close_own(own_t *own)
{
    rst_publication_t *publications[] = {own->tagged, own->shared, own->manual, own->named};
    rst_subscription_t *subscriptions[] = {own->plain, own->merged};
    for (size_t i = 0; i < sizeof publications / sizeof publications[0]; i++) {
        if (publications[i] != NULL) {
            rst_publication_close(publications[i]);
        }
    }
    for (size_t i = 0; i < sizeof subscriptions / sizeof subscriptions[0]; i++) {
        if (subscriptions[i] != NULL) {
            rst_subscription_close(subscriptions[i]);
        }
    }
}

static bool probe_all(sim_part_t *self)
{
    own_t own = {0};
    bool is_open = add_own(self, &own);
    if (is_open) {
        for (int32_t i = 0; i < chosen_count && is_open; i++) {
            is_open = is_refused(self, &own, &probes[chosen[i]]);
        }
        remove_unknown(self, &own);
    }
    close_own(&own);
    return is_open;
}

static const sim_part_kind_t refusals_kind = {"refusals", true, probe_all};

void sim_generate_refusals(void)
{
    chosen_count = (int32_t)between(1, PROBES_MAX);
    for (int32_t i = 0; i < chosen_count; i++) {
        chosen[i] = (int32_t)between(0, PROBE_COUNT - 1);
    }
    sim_generate_part(&refusals_kind, 0, sim_generate_any_driver());
}
