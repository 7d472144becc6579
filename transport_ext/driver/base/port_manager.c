/* port_manager.c: see the header. */
#include "driver/base/port_manager.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <stdbool.h>
#include <string.h>

#define PORT_TEXT_MAX 8

static bool parse_range(const char *range, int32_t *low, int32_t *high)
{
    char first[PORT_TEXT_MAX];
    const size_t length = strcspn(range, " ");
    if (length >= sizeof first || range[length] == '\0') {
        return false;
    }
    memcpy(first, range, length);
    first[length] = '\0';
    const char *second = range + length + strspn(range + length, " ");
    return rsti_netaddr_parse_number(first, UINT16_MAX, low)
        && rsti_netaddr_parse_number(second, UINT16_MAX, high) && *low <= *high
        && (*low > 0 || *high == 0);
}

int rsti_port_manager_init(rsti_port_manager_t *manager, const char *option, const char *range)
{
    memset(manager, 0, sizeof *manager);
    int32_t low = 0, high = 0;
    if (range[0] != '\0' && !parse_range(range, &low, &high)) {
        return RST_SET_ERR(RST_EINVAL,
            "%s=%s: must be two ports from 1 to 65535, the lower one first", option, range);
    }
    if (high == 0) {
        return 0;
    }
    manager->users = rsti_alloc((size_t)(high - low + 1) * sizeof *manager->users);
    if (manager->users == NULL) {
        return -RST_ENOMEM;
    }
    manager->low = low;
    manager->high = high;
    manager->next = low;
    return 0;
}

void rsti_port_manager_fini(rsti_port_manager_t *manager)
{
    rsti_free(manager->users);
    memset(manager, 0, sizeof *manager);
}

static uint16_t *users_of(const rsti_port_manager_t *manager, int32_t port)
{
    return manager->users != NULL && port >= manager->low && port <= manager->high
        ? &manager->users[port - manager->low]
        : NULL;
}

int rsti_port_manager_take(rsti_port_manager_t *manager, struct sockaddr_storage *address)
{
    const uint16_t asked = rsti_netaddr_port(address);
    if (asked != 0 || manager->users == NULL) {
        uint16_t *users = users_of(manager, asked);
        if (users != NULL) {
            (*users)++;
        }
        return 0;
    }
    const int32_t size = manager->high - manager->low + 1;
    for (int32_t i = 0; i < size; i++) {
        const int32_t port = manager->low + (manager->next - manager->low + i) % size;
        uint16_t *users = users_of(manager, port);
        if (*users == 0) {
            *users = 1;
            manager->next = port == manager->high ? manager->low : port + 1;
            rsti_netaddr_set_port(address, (uint16_t)port);
            return 0;
        }
    }
    return RST_SET_ERR(RST_EINUSE,
        "all ports from %d to %d are in use: no available ports in range %d %d", (int)manager->low,
        (int)manager->high, (int)manager->low, (int)manager->high);
}

void rsti_port_manager_give(rsti_port_manager_t *manager, uint16_t port)
{
    uint16_t *users = users_of(manager, port);
    if (users != NULL && *users > 0) {
        (*users)--;
    }
}

int rsti_port_manager_open(rsti_port_manager_t *manager, const rsti_media_t *media,
    rsti_socket_params_t *params, rsti_socket_t **socket, uint16_t *port)
{
    const bool is_any = rsti_netaddr_port(&params->bind_address) == 0;
    const int32_t attempts = is_any && manager->users != NULL ? manager->high - manager->low + 1
                                                              : 1;
    int result = 0;
    *port = 0;
    for (int32_t i = 0; i < attempts; i++) {
        if (is_any) {
            rsti_netaddr_set_port(&params->bind_address, 0);
        }
        result = rsti_port_manager_take(manager, &params->bind_address);
        if (result < 0) {
            return result;
        }
        result = media->table->open(media->arg, params, socket);
        if (result == 0) {
            *port = rsti_netaddr_port(&params->bind_address);
            return 0;
        }
        rsti_port_manager_give(manager, rsti_netaddr_port(&params->bind_address));
        if (result != -RST_EINUSE) {
            break;
        }
        if (i + 1 < attempts) {
            rsti_error_clear();
        }
    }
    return result;
}
