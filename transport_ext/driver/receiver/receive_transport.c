/* receive_transport.c: control frames that the receiver sends from the socket of a transport
 * (docs/reference/aeron/wire.md 5). */
#include "driver/receiver/receive_transport.h"

#include "driver/base/driver_state.h"
#include "util/error.h"

const struct sockaddr_storage *rsti_receive_transport_control(const rsti_receive_transport_t
                                                                  *transport,
    const struct sockaddr_storage *source)
{
    return transport->has_control ? &transport->control : source;
}

static bool send_frame(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const void *frame, size_t length, const struct sockaddr_storage *to, bool is_stranger)
{
    const rsti_media_t *media = &receiver->driver->media;
    rsti_datagram_t datagram = {.data = (uint8_t *)(uintptr_t)frame, .length = length};
    datagram.address = *to;
    const int sent = media->table->send(media->arg, transport->socket, &datagram, 1);
    if (sent < 0) {
        if (is_stranger) {
            rsti_error_clear();
        } else {
            rsti_driver_log_trail(receiver->driver, "receiver");
        }
        return false;
    }
    if (sent < 1) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_SHORT_SENDS, 1);
        return false;
    }
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_BYTES_SENT, (int64_t)length);
    return true;
}

bool rsti_receive_transport_send(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const void *frame, size_t length, const struct sockaddr_storage *to)
{
    return send_frame(receiver, transport, frame, length, to, false);
}

bool rsti_receive_transport_answer(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const void *frame, size_t length, const struct sockaddr_storage *to)
{
    return send_frame(receiver, transport, frame, length, to, true);
}
