/* key_refusals.c: see key_refusals.h. */
#include "driver/base/key_refusals.h"

#include "driver/base/proxies.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>

/* What the peer does, and what it should. */
static void describe(const rsti_refusal_t *refusal, char *text, size_t size)
{
    switch (refusal->why) {
    case RSTI_REFUSED_PLAIN:
        (void)snprintf(text, size, "sends plain datagrams");
        break;
    case RSTI_REFUSED_KEY:
    case RSTI_REFUSED_SEALED:
        (void)snprintf(text, size, "seals with key %08" PRIx32, refusal->key_id);
        break;
    case RSTI_REFUSED_BY_PEER:
        if (refusal->key_id == 0) {
            (void)snprintf(text, size, "takes plain datagrams only");
        } else {
            (void)snprintf(text, size, "asks for key %08" PRIx32, refusal->key_id);
        }
        break;
    case RSTI_REFUSED_SOURCE:
        (void)snprintf(text, size, "is none of the sources that are taken");
        break;
    case RSTI_REFUSED_FORGED:
    case RSTI_REFUSED_NOT:
        (void)snprintf(text, size, "sends datagrams that are altered or forged");
        break;
    }
}

void rsti_key_refusal_report(rst_driver_t *driver, const rsti_refusing_t *by,
    const rsti_datagram_t *datagram, int64_t now_ns)
{
    const rsti_refusal_t *refusal = &datagram->refusal;
    if (refusal->why == RSTI_REFUSED_NOT || now_ns < *by->due_ns) {
        return;
    }
    char address[RSTI_NETADDR_TEXT_MAX];
    char peer[64];
    char own[48] = "; this channel has no key";
    rsti_agent_command_t command = {
        .endpoint = by->endpoint,
        .registration_id = by->channel_status_id,
        .count = refusal->key_id,
    };
    command.address = datagram->address;
    if (refusal->why == RSTI_REFUSED_SOURCE) {
        own[0] = '\0';
    } else if (by->keys != NULL) {
        (void)snprintf(own, sizeof own, "; this channel has key %08" PRIx32,
            rsti_keyring_id(&by->keys->ring));
    }
    describe(refusal, peer, sizeof peer);
    (void)snprintf(command.text, sizeof command.text, "%s %s%s: %s",
        rsti_netaddr_format(&datagram->address, address, sizeof address), peer, own, by->canonical);
    if (rsti_tell_conductor(driver, RSTI_AGENT_KEY_REFUSED, &command)) {
        *by->due_ns = now_ns + RSTI_KEY_REFUSAL_INTERVAL_NS;
    }
}

void rsti_refuse_sources(const rsti_source_list_t *list, rsti_datagram_t *datagrams, int count)
{
    for (int i = 0; list->count > 0 && i < count; i++) {
        if (!rsti_source_list_takes(list, &datagrams[i].address)) {
            datagrams[i].length = 0;
            datagrams[i].refusal = (rsti_refusal_t){.why = RSTI_REFUSED_SOURCE};
        }
    }
}
