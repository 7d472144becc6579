/* source_list.c: see source_list.h. */
#include "util/source_list.h"

#include <string.h>

static bool parse_one(const char *text, size_t length, rsti_source_network_t *network)
{
    char host[RSTI_NETADDR_HOST_MAX];
    char item[RSTI_NETADDR_HOST_MAX];
    struct sockaddr_storage address;
    if (!rsti_netaddr_copy_text(item, sizeof item, text, length)) {
        return false;
    }
    char *slash = strchr(item, '/');
    const char *digits = NULL;
    if (slash != NULL) {
        *slash = '\0';
        digits = slash + 1;
    }
    const size_t size = strlen(item);
    const size_t bracket = size > 2 && item[0] == '[' && item[size - 1] == ']' ? 1 : 0;
    if (!rsti_netaddr_copy_text(host, sizeof host, item + bracket, size - 2 * bracket)
        || !rsti_netaddr_parse_numeric(host, &address)) {
        return false;
    }
    network->address = rsti_netaddr_pack(&address);
    network->bits = network->address.family == AF_INET ? 32 : 128;
    return digits == NULL || rsti_netaddr_parse_number(digits, network->bits, &network->bits);
}

bool rsti_source_list_parse(rsti_source_list_t *list, const char *text)
{
    *list = (rsti_source_list_t){0};
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (list->count == RSTI_SOURCES_MAX
            || !parse_one(at, length, &list->networks[list->count])) {
            *list = (rsti_source_list_t){.count = 1}; /* of no family */
            return false;
        }
        list->count++;
        at += length;
        if (*at == ',' && at[1] == '\0') {
            *list = (rsti_source_list_t){.count = 1};
            return false;
        }
        at += *at == ',';
    }
    return true;
}

static bool is_within(const rsti_source_network_t *network, const rsti_packed_address_t *address)
{
    const int32_t whole = network->bits / 8;
    const int32_t rest = network->bits % 8;
    if (network->address.family != address->family
        || memcmp(network->address.bytes, address->bytes, (size_t)whole) != 0) {
        return false;
    }
    const uint8_t mask = (uint8_t)(0xFF00 >> rest);
    return rest == 0 || ((network->address.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

bool rsti_source_list_takes(const rsti_source_list_t *list, const struct sockaddr_storage *address)
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    rsti_packed_address_t packed = rsti_netaddr_pack(address);
    if (packed.family == AF_INET6 && memcmp(packed.bytes, mapped, sizeof mapped) == 0) {
        packed.family = AF_INET;
        memmove(packed.bytes, packed.bytes + sizeof mapped, 4);
        memset(packed.bytes + 4, 0, sizeof packed.bytes - 4);
    }
    for (int32_t i = 0; i < list->count; i++) {
        if (is_within(&list->networks[i], &packed)) {
            return true;
        }
    }
    return list->count == 0;
}

bool rsti_source_list_equal(const rsti_source_list_t *a, const rsti_source_list_t *b)
{
    for (int32_t i = 0; a->count == b->count && i < a->count; i++) {
        if (a->networks[i].bits != b->networks[i].bits
            || !rsti_netaddr_packed_equal(&a->networks[i].address, &b->networks[i].address)) {
            return false;
        }
    }
    return a->count == b->count;
}
