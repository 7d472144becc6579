/* sessions.h: session ids: chosen, given, taken from another publication by tag
 * (docs/reference/aeron/driver.md 6). */
#ifndef RSTI_DRIVER_CONDUCTOR_SESSIONS_H
#define RSTI_DRIVER_CONDUCTOR_SESSIONS_H

#include "driver/conductor/conductor_state.h"
#include "driver/sender/send_endpoint.h"
#include "protocol/command.h"

/* -RST_ECHANNEL naming the parameter when it is given and not that of the publication. */
int rsti_publication_check_equal(const char *name, int64_t asked, int64_t existing);
typedef struct rsti_session_scope_t {
    const rsti_send_endpoint_t *endpoint; /* NULL: IPC */
    bool is_any_kind;                     /* on no publication of the stream at all */
} rsti_session_scope_t;
int32_t rsti_session_next(rst_driver_t *driver, const rsti_session_scope_t *scope,
    int32_t stream_id);
bool rsti_session_is_taken(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id);
int rsti_session_resolve_tag(rst_driver_t *driver, rsti_channel_t *channel);
void rsti_on_next_session_id(rst_driver_t *driver, const rsti_command_t *command);

#endif
