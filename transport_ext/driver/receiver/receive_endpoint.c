/* receive_endpoint.c: asking publishers for a SETUP (docs/reference/aeron/wire.md 6.3). */
#include "driver/receiver/receive_endpoint.h"

#include "driver/base/driver_state.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/receive_transport.h"

size_t rsti_sm_with_tag(uint8_t frame[RSTI_SM_TAGGED_LENGTH], const rsti_sm_t *sm,
    const rsti_receive_endpoint_t *endpoint)
{
    rsti_sm_t sized = *sm;
    sized.frame.frame_length = endpoint->has_group_tag ? RSTI_SM_TAGGED_LENGTH : RSTI_SM_LENGTH;
    memcpy(frame, &sized, sizeof sized);
    rsti_put_i64(frame + RSTI_SM_LENGTH, endpoint->group_tag);
    return (size_t)sized.frame.frame_length;
}

static size_t setup_request(uint8_t frame[RSTI_SM_TAGGED_LENGTH],
    const rsti_receive_transport_t *transport, int32_t stream_id, int32_t session_id)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, RSTI_SM_FLAG_SEND_SETUP, RSTI_FRAME_SM},
        .session_id = session_id,
        .stream_id = stream_id,
        .receiver_id = transport->endpoint->receiver_id,
    };
    return rsti_sm_with_tag(frame, &sm, transport->endpoint);
}

void rsti_receive_transport_ask_setup(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int32_t stream_id, int32_t session_id,
    const struct sockaddr_storage *to)
{
    uint8_t frame[RSTI_SM_TAGGED_LENGTH];
    const size_t length = setup_request(frame, transport, stream_id, session_id);
    if (rsti_receive_transport_send(receiver, transport, frame, length, to)) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, 1);
    }
}

void rsti_receive_transport_ask_stranger(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int32_t stream_id, int32_t session_id,
    const struct sockaddr_storage *to)
{
    uint8_t frame[RSTI_SM_TAGGED_LENGTH];
    const size_t length = setup_request(frame, transport, stream_id, session_id);
    if (rsti_receive_transport_answer(receiver, transport, frame, length, to)) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_SM_SENT, 1);
    }
}

void rsti_receive_endpoint_elicit(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id)
{
    for (rsti_receive_transport_t *t = endpoint->transports; t != NULL; t = t->next) {
        if (t->is_eliciting) {
            rsti_receive_transport_ask_setup(receiver, t, stream_id, session_id, &t->control);
        }
    }
}

int64_t rsti_receive_transport_elicit(rsti_receiver_t *receiver,
    rsti_receive_transport_t *transport, int64_t now_ns)
{
    if (!transport->is_eliciting
        || !rsti_dispatcher_has_interest(&transport->endpoint->dispatcher)) {
        return RSTI_NO_DEADLINE;
    }
    if (transport->elicit_due_ns == RSTI_NO_DEADLINE || now_ns > transport->elicit_due_ns) {
        rsti_receive_transport_ask_setup(receiver, transport, 0, 0, &transport->control);
        transport->elicit_due_ns = now_ns + RSTI_ELICIT_INTERVAL_NS;
    }
    return transport->elicit_due_ns + 1;
}
