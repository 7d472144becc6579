/* channel_check.c: see channel_check.h. */
#include "client/channel_check.h"

#include "channel/channel.h"
#include "util/error.h"

#include <string.h>

int rsti_client_check_channel(const rst_client_t *client, const char *channel)
{
    const size_t length = channel != NULL ? strlen(channel) : 0;
    if (length == 0 || length > RSTI_CHANNEL_URI_MAX) {
        return RST_SET_ERR(RST_ECHANNEL, "channel of %zu bytes: must be 1 to %d bytes long", length,
            RSTI_CHANNEL_URI_MAX);
    }
    if (!client->is_rstream) {
        return 0; /* an Aeron driver may know parameters that we do not: it decides */
    }
    rsti_channel_t parsed;
    const int result = rsti_channel_parse(&parsed, channel, length);
    if (result == -RST_ECHANNEL) {
        return result;
    }
    if (result < 0) {
        rsti_error_clear(); /* well formed; the driver decides whether it serves the channel */
    }
    return 0;
}
