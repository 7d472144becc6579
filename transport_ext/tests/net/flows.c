/* flows.c: see the header. */
#include "tests/net/flows.h"

#include <inttypes.h>
#include <netinet/in.h>

#define HEADER_BYTES 20

void net_flows_init(net_flows_t *flows, bool is_forward)
{
    *flows = (net_flows_t){.is_forward = is_forward, .count = 1};
}

int net_host_of(const uint8_t *data, size_t length)
{
    return length < HEADER_BYTES || data[0] >> 4 != 4 ? -1 : data[19] - 1;
}

/* Port of the right-hand side; 0: it has none, or it is a later fragment. */
static int port_of(const net_flows_t *flows, const uint8_t *data, size_t length)
{
    const size_t header = (size_t)(data[0] & 15) * 4;
    const bool is_fragment = (data[6] & 31) != 0 || data[7] != 0;
    const size_t at = header + (flows->is_forward ? 2 : 0);
    const bool has_ports = data[9] == IPPROTO_TCP || data[9] == IPPROTO_UDP;
    return has_ports && !is_fragment && at + 2 <= length ? data[at] << 8 | data[at + 1] : 0;
}

int net_flows_find(net_flows_t *flows, const uint8_t *data, size_t length)
{
    const int port = port_of(flows, data, length);
    const int protocol = data[9];
    for (int i = 1; i < flows->count; i++) {
        if (flows->all[i].port == port && flows->all[i].protocol == protocol) {
            return i;
        }
    }
    if (flows->count == NET_FLOWS_MAX) {
        return 0;
    }
    flows->all[flows->count] = (net_flow_t){.protocol = protocol, .port = port};
    return flows->count++;
}

void net_flows_print(const net_flows_t *flows, FILE *out)
{
    fputc('{', out);
    for (int i = 0; i < flows->count; i++) {
        const net_flow_t *flow = &flows->all[i];
        const char *protocol = flow->protocol == IPPROTO_TCP ? "tcp"
            : flow->protocol == IPPROTO_UDP                  ? "udp"
                                                             : "other";
        fprintf(out,
            "%s\"%s %d\": [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
            ", %" PRId64 "]",
            i > 0 ? ", " : "", protocol, flow->port, flow->came, flow->came_bytes, flow->passed,
            flow->passed_bytes, flow->dropped, flow->lost);
    }
    fputc('}', out);
}
