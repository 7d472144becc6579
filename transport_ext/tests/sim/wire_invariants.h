/* wire_invariants.h: what must hold for every frame on the wire at all times; checked as it leaves.
 */
#ifndef RSTI_SIM_WIRE_INVARIANTS_H
#define RSTI_SIM_WIRE_INVARIANTS_H

#include "protocol/frame.h"

#include <sys/socket.h>

void sim_wire_init(void);
/* A driver process sends a frame from that host. */
void sim_wire_on_send(int32_t host, int32_t process_id, const struct sockaddr_storage *to,
    const uint8_t *data, size_t length);
/* A datagram was queued in a socket of that process. */
void sim_wire_on_arrival(int32_t process_id, const uint8_t *data, size_t length);
bool sim_frame_is_data(const uint8_t *data, size_t length);
/* About the datagram that was sent last. */
bool sim_wire_is_first_transmission(const uint8_t *data, size_t length);
/* Moves a data frame to a position that no receiver may accept; false: its stream is not known. */
bool sim_wire_beyond_window(rsti_data_header_t *header);
/* The frame lies where a receiver may accept it by now; false also when its stream is not known. */
bool sim_wire_is_in_reach(const rsti_data_header_t *header);

/* trace.c: one line for a frame on a link; lost: the reason why it does not arrive, or NULL. */
void sim_trace_frame(int32_t from_host, int32_t to_host, const uint8_t *data, size_t length,
    const char *lost);

#endif
