/* receive_names.c: explicit control addresses that were given as names are looked up again while
 * their publisher is silent, for it may have moved (wire reference 18). */
#include "driver/internal.h"

#include "util/error.h"

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

void rsti_on_resolve_control(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const rsti_receive_endpoint_t *endpoint = command->endpoint;
    rsti_receive_transport_t *transport = command->object;
    if (endpoint->is_closing || transport->is_closing) {
        return;
    }
    rsti_agent_command_t set = {.endpoint = command->endpoint, .object = transport};
    const int result = rsti_netaddr_resolve_with(&driver->resolver, transport->control_name,
        transport->resolved_control.ss_family, &set.address);
    if (result < 0) {
        rsti_driver_log_trail(driver, "control address of a subscription");
    }
    if (result != 0 || rsti_netaddr_equal(&set.address, &transport->resolved_control)) {
        return; /* what is not known yet is asked for at the next check */
    }
    transport->resolved_control = set.address;
    rsti_driver_count(driver, RSTI_SYSTEM_RESOLUTION_CHANGES, 1);
    rsti_tell_receiver(driver, RSTI_AGENT_SET_CONTROL, &set);
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
