/* sessions.h: session ids of publications: chosen by the driver, given in the channel, or taken
 * from another publication by its tag (docs/reference/aeron/driver.md 6). */
#ifndef RSTI_DRIVER_CONDUCTOR_SESSIONS_H
#define RSTI_DRIVER_CONDUCTOR_SESSIONS_H

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"
#include "driver/sender/send_endpoint.h"
#include "protocol/command.h"

/* Compares a channel parameter with the value of an existing publication. Returns 0 when they are
 * equal or the channel does not give it, else -RST_ECHANNEL with a trail that names the parameter.
 */
int rsti_publication_check_equal(const char *name, int64_t asked, int64_t existing);
/* The mtu of a publication as a channel gives it: with a key its frames are shorter. */
int64_t rsti_publication_mtu_of_channel(const rsti_publication_t *publication);

typedef struct rsti_session_scope_t {
    const rsti_send_endpoint_t *endpoint; /* NULL: IPC */
    /* unique among all publications of the stream, IPC and UDP */
    bool is_any_kind;
} rsti_session_scope_t;
/* A random session id that no publication in the scope uses. */
int32_t rsti_session_next(rst_driver_t *driver, const rsti_session_scope_t *scope,
    int32_t stream_id);
/* True when an active or draining publication has this session id. endpoint NULL: IPC. */
bool rsti_session_is_taken(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id);
/* Sets the session, mtu and term length of a channel with session-id=tag:n. Returns 0, or
 * -RST_ECHANNEL with a trail. */
int rsti_session_resolve_tag(rst_driver_t *driver, rsti_channel_t *channel);
/* Answers the command with a free session id, or with an error. */
void rsti_on_next_session_id(rst_driver_t *driver, const rsti_command_t *command);

#endif
