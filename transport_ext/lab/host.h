/* host.h: a media driver with its real agents, and a client that sends raw commands and keepalives.
 * The caller runs the agents. The host uses a wire of the laboratory in virtual time, or the
 * system's sockets and clock. One thread. */
#ifndef RSTI_LAB_HOST_H
#define RSTI_LAB_HOST_H

#include "driver/base/counters.h"
#include "driver/conductor/conductor_state.h"
#include "driver/driver.h"
#include "driver/receiver/image.h"
#include "driver/receiver/receiver_state.h"
#include "driver/sender/network_publication.h"
#include "lab/wire.h"

typedef struct rsti_lab_host_t {
    rsti_manual_clock_t manual;
    rsti_clock_t clock;
    rsti_media_t media;
    rst_driver_t *driver;
    rsti_broadcast_rx_t answers;
    int64_t worked_ns; /* last pass in which it had work */
    int64_t received_bytes; /* in datagrams on the system's sockets */
    bool has_answers;
    bool is_refused; /* a command was refused; the text is the thread's last error */
} rsti_lab_host_t;

/* port: its side of the wire; NULL: the system's sockets and clock. Options: names and values in
 * turn, and NULL. 0 or a negative code with a text. */
int rsti_lab_host_open(rsti_lab_host_t *host, rsti_lab_port_t *port, const char *dir,
    const char *const *options, uint64_t seed);
void rsti_lab_host_close(rsti_lab_host_t *host);

/* RSTI_CMD_ADD_PUBLICATION or RSTI_CMD_ADD_SUBSCRIPTION; at once. 0 or a negative code with a text.
 */
int rsti_lab_host_add(rsti_lab_host_t *host, int32_t type, const char *channel, int32_t stream_id);
/* One pass of all agents at this time of the wire or clock. Returns their work count. */
int64_t rsti_lab_host_work(rsti_lab_host_t *host, int64_t now_ns);

#endif
