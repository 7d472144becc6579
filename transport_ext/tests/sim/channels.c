/* channels.c: channels that become known during the run: session ids, tags of other sockets, ports
 * that a driver chose. */
#include "tests/sim/actors.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append_session(char *channel, size_t size, int32_t session_id)
{
    const size_t used = strlen(channel);
    snprintf(channel + used, size - used, "%csession-id=%d",
        strchr(channel, '?') == NULL ? '?' : '|', session_id);
}

/* A session id that the driver assigns. */
static void ask_session(const sim_publisher_t *self, rst_client_t *client, char *channel,
    size_t size)
{
    int32_t session_id;
    const int64_t id = rst_client_next_session_id(client, self->stream_id);
    if (id < 0) {
        return;
    }
    if (sim_client_await(self->client, id) == 1
        && rst_client_take_session_id(client, id, &session_id) == 0) {
        append_session(channel, size, session_id);
        sim_count("publisher: asked for a session id");
    } else {
        rst_client_cancel(client, id);
    }
}

bool sim_publisher_channel(const sim_publisher_t *publisher, rst_client_t *client, char *channel,
    size_t size)
{
    const char *text = publisher->channel;
    /* A later handle would begin a second log of the first handle's session. */
    if (publisher->leader != NULL && !publisher->leader->is_done && publisher->handles == 0) {
        if (publisher->leader->writer == NULL) {
            return false;
        }
        text = publisher->led_channel;
    }
    if (publisher->follows != NULL) {
        if (publisher->follows->address[0] == '\0') {
            return false;
        }
        snprintf(channel, size, "aeron:udp?endpoint=%s%s", publisher->follows->address, text);
    } else {
        snprintf(channel, size, "%s", text);
    }
    if (publisher->session_base != 0) {
        append_session(channel, size, publisher->session_base + publisher->handles);
        sim_count("publisher: chose its session id");
    } else if (publisher->asks_session) {
        ask_session(publisher, client, channel, size);
    }
    return true;
}

void sim_ports_check(const sim_driver_t *driver, const char *address, bool is_of_sender)
{
    const rst_driver_params_t *params = &driver->params;
    const char *range = is_of_sender ? params->sender_ports : params->receiver_ports;
    const char *colon = strrchr(address, ':');
    char *rest;
    const long low = strtol(range, &rest, 10);
    const long high = strtol(rest, NULL, 10);
    const long port = colon == NULL ? 0 : strtol(colon + 1, NULL, 10);
    if (port < low || port > high) {
        sim_fail("a socket is on %s, the driver was given the ports %s", address, range);
    }
    sim_count(is_of_sender ? "ports: a publication's, of the range"
                           : "ports: a subscription's, of the range");
}
