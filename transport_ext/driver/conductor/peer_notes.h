/* peer_notes.h: counters that name peers with a problem, until 5 s after the last report: hosts to
 * which the system refuses to send ("snd-dest-failed"), and hosts with another key
 * ("rs-key-refused"; docs/reference/wire.md). Sender and receiver report at most once a second. */
#ifndef RSTI_DRIVER_CONDUCTOR_PEER_NOTES_H
#define RSTI_DRIVER_CONDUCTOR_PEER_NOTES_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"

/* At most so many peers have a counter at once. */
#define RSTI_PEER_NOTES_MAX 256
#define RSTI_PEER_NOTE_NS (5 * RSTI_NS_PER_S)
/* The error log names so many peers with another key; later ones are counted only. */
#define RSTI_REFUSALS_LOGGED_MAX 64

/* The system refused to send to a destination. */
void rsti_on_destination_failed(rst_driver_t *driver, const rsti_agent_command_t *command);
/* A peer has another key (driver/base/key_refusals.h). */
void rsti_on_key_refused(rst_driver_t *driver, const rsti_agent_command_t *command);
/* Frees the counters without a report for 5 s. Called once a second. */
void rsti_peer_notes_expire(rst_driver_t *driver, int64_t now_ns);
/* Frees the counters of an endpoint that is destroyed. */
void rsti_peer_notes_forget(rst_driver_t *driver, const void *endpoint);

#endif
