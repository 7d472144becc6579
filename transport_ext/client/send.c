/* send.c: see send.h. */
#include "client/send.h"

#include "channel/channel.h"
#include "util/error.h"

#define COMMAND_LENGTH_MAX (RSTI_CHANNEL_URI_MAX + 64)

int rsti_client_send(rst_client_t *client, const rsti_command_t *command)
{
    uint8_t buffer[COMMAND_LENGTH_MAX];
    rsti_command_t sent = *command;
    sent.client_id = client->client_id;
    const int64_t length = rsti_command_encode(&sent, buffer, sizeof buffer);
    if (length < 0) {
        return RST_SET_ERR(RST_ETOOLARGE, "command %d does not fit %d bytes", (int)sent.type,
            COMMAND_LENGTH_MAX);
    }
    const int result = rsti_outbox_send(&client->outbox, &client->to_driver, sent.type, buffer,
        (size_t)length);
    if (result < 0) {
        return RST_APPEND_ERR("media driver in %s", client->dir);
    }
    rsti_client_wake_agent(client, RSTI_AGENT_CONDUCTOR);
    return 0;
}

void rsti_client_send_remove(rst_client_t *client, int32_t type, int64_t registration_id,
    uint64_t flags)
{
    if (rsti_client_state_now(client) != RST_CLIENT_OPEN) {
        return;
    }
    const rsti_command_t command = {
        .type = type,
        .correlation_id = rsti_mpsc_rb_next_correlation_id(&client->to_driver),
        .registration_id = registration_id,
        .flags = flags,
    };
    /* A full ring puts it into the outbox. A full outbox loses it: that driver does not work, and
     * it will give this client up as a whole. */
    (void)rsti_client_send(client, &command);
}
