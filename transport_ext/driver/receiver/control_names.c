/* control_names.c: see control_names.h. */
#include "driver/receiver/control_names.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/receiver/image.h"
#include "driver/receiver/receive_endpoint.h"

#define SILENCE_NS RSTI_CONNECTION_ACTIVITY_NS

void rsti_receiver_check_names(rsti_receiver_t *receiver, int64_t now_ns, int64_t *next_deadline_ns)
{
    const int64_t interval_ns = receiver->driver->params.reresolution_interval_ns;
    if (receiver->named_count == 0 || interval_ns == 0) {
        return;
    }
    if (now_ns <= receiver->names_due_ns) {
        rsti_lower_deadline(next_deadline_ns, receiver->names_due_ns + 1);
        return;
    }
    receiver->names_due_ns = now_ns + interval_ns;
    rsti_lower_deadline(next_deadline_ns, receiver->names_due_ns + 1);
    for (rsti_receive_endpoint_t *e = receiver->endpoints; e != NULL; e = e->next) {
        for (rsti_receive_transport_t *t = e->transports; t != NULL; t = t->next) {
            const rsti_agent_command_t resolve = {.endpoint = e, .object = t};
            if (t->control_name[0] != '\0' && now_ns > t->last_activity_ns + SILENCE_NS) {
                (void)rsti_tell_conductor(receiver->driver, RSTI_AGENT_RESOLVE_CONTROL, &resolve);
            }
        }
    }
}

void rsti_receiver_set_control(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *address, int64_t now_ns)
{
    transport->control = *address;
    for (rsti_image_t *image = receiver->images; image != NULL; image = image->next) {
        if (image->endpoint == transport->endpoint
            && image->connections[transport->slot].transport == transport) {
            image->connections[transport->slot].control = *address;
        }
    }
    transport->elicit_due_ns = RSTI_NO_DEADLINE; /* at once */
    (void)rsti_receive_transport_elicit(receiver, transport, now_ns);
}
