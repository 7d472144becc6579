/* tap.c: see tap.h. */
#include "media/tap.h"

static void tell_run(const rsti_tap_t *tap, rsti_tapped_t *tapped, const rsti_datagram_t *run)
{
    for (size_t at = 0; at == 0 || at < run->length; at += tapped->length) {
        tapped->data = run->data + at;
        tapped->length = rsti_datagram_length_at(run, at);
        tap->tell(tap->arg, tapped);
        if (tapped->length == 0) {
            break;
        }
    }
}

void rsti_tap_tell(const rsti_tap_t *tap, const rsti_media_t *media, rsti_socket_t *socket,
    const rsti_datagram_t *datagrams, int count, bool is_sent)
{
    if (tap->tell == NULL || count <= 0) {
        return;
    }
    rsti_tapped_t tapped = {.is_sent = is_sent};
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof peer;
    const bool is_connected = is_sent
        && getpeername(media->table->fd(media->arg, socket), (struct sockaddr *)&peer, &length)
            == 0;
    media->table->local_address(media->arg, socket, &tapped.local);
    for (int i = 0; i < count; i++) {
        tapped.peer = is_connected ? peer : datagrams[i].address;
        if (datagrams[i].length > 0 || datagrams[i].refusal.why == RSTI_REFUSED_NOT) {
            tell_run(tap, &tapped, &datagrams[i]);
        }
    }
}
