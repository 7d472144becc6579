/* proxies.h: commands between agents. Agents of one thread call each other; agents of different
 * threads write commands into the other's ring and wake it. */
#ifndef RSTI_DRIVER_BASE_PROXIES_H
#define RSTI_DRIVER_BASE_PROXIES_H

#include "driver/base/driver_state.h"
#include "driver/base/rate_counters.h"
#include "flow/rate_text.h"
#include "protocol/frame.h"

#include <sys/socket.h>

#define RSTI_AGENT_QUEUE_CAPACITY (128 * 1024)

typedef enum rsti_agent_command_type_t {
    RSTI_AGENT_ADD_ENDPOINT = 1,
    RSTI_AGENT_REMOVE_ENDPOINT,
    RSTI_AGENT_ADD_PUBLICATION,
    RSTI_AGENT_REMOVE_PUBLICATION,
    RSTI_AGENT_ADD_TRANSPORT,
    RSTI_AGENT_REMOVE_TRANSPORT,
    RSTI_AGENT_RESOLVE_CONTROL,
    RSTI_AGENT_SET_CONTROL,
    RSTI_AGENT_ADD_INTEREST,
    RSTI_AGENT_REMOVE_INTEREST,
    RSTI_AGENT_ELICIT, /* to the receiver: ask for the SETUP of one session again */
    RSTI_AGENT_ADD_IMAGE,
    RSTI_AGENT_SHOW_IMAGE, /* to the receiver: the image has its counters now */
    RSTI_AGENT_REMOVE_IMAGE,
    RSTI_AGENT_REMOVE_COOL_DOWN,
    RSTI_AGENT_REMOVE_INIT,
    RSTI_AGENT_ADD_DESTINATION,    /* of a send endpoint */
    RSTI_AGENT_REMOVE_DESTINATION,
    RSTI_AGENT_RESOLVED,  /* to the sender: an endpoint or destination has another address */
    RSTI_AGENT_SET_RATE,  /* to the sender: a publication has another law of rate */
    RSTI_AGENT_RERESOLVE, /* to the conductor: look up the name of a silent peer again */
    RSTI_AGENT_CREATE_IMAGE,
    RSTI_AGENT_RESUME_IMAGE, /* receiver/image_overrun.h, in both directions */
    RSTI_AGENT_PUBLICATION_ERROR,
    RSTI_AGENT_READER_WHY, /* to the conductor: the last reader left with the error text */
    RSTI_AGENT_RESPONSE_SETUP,
    RSTI_AGENT_DESTINATION_FAILED, /* to the conductor: count datagrams were not sent to address */
    RSTI_AGENT_KEY_REFUSED /* to the conductor: address has another key; base/key_refusals.h */
} rsti_agent_command_type_t;

typedef struct rsti_agent_command_t {
    void *endpoint; /* send or receive endpoint */
    void *object; /* publication, image, interest, transport */
    int64_t registration_id;
    int32_t stream_id;
    int32_t session_id;
    int64_t count;
    struct sockaddr_storage address; /* of a destination, or the source of a SETUP or ERR */
    int64_t destination_id; /* of the manual destination that sent an ERR; -1: none */
    bool has_name; /* of a destination: its address may change */
    bool is_proven; /* of the source of a SETUP (receiver/admission.h) */
    rsti_setup_t setup;
    rsti_err_t err;
    rsti_rate_choice_t rate;
    rsti_rate_counters_t rate_counters; /* of that rate; all NULL: it has no counters */
    char text[RSTI_ERR_TEXT_MAX + 1];
} rsti_agent_command_t;

/* Opens the inbox of an agent; on_command(agent, ...) carries out its commands. 0 or -RST_ENOMEM.
 */
int rsti_agent_inbox_open(rst_driver_t *driver, int32_t agent_id,
    rsti_on_agent_command_t on_command, void *agent);
void rsti_agent_inbox_close(rst_driver_t *driver, int32_t agent_id);
/* Carries out at most limit commands; returns how many. Called by the agent itself. */
int64_t rsti_agent_inbox_drain(rst_driver_t *driver, int32_t agent_id, size_t limit);
/* Send a command to the sender or receiver. Never fail: they wait for room in the ring. Conductor.
 */
void rsti_tell_sender(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command);
void rsti_tell_receiver(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command);
/* Sends a command to the conductor. False when its ring is full (counted): the caller tries again
 * later. Sender and receiver. */
bool rsti_tell_conductor(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command);
/* True while the rings of sender and receiver are less than half full. Conductor. */
bool rsti_proxies_have_room(const rst_driver_t *driver);
/* Whether an object that an agent has released may be freed: no command in the conductor's ring
 * names it. Conductor. */
bool rsti_is_let_go(const rst_driver_t *driver, const int32_t *is_released);

#endif
