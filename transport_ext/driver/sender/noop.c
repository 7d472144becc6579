/* noop.c: see noop.h. */
#include "driver/sender/noop.h"

#include "driver/base/driver_state.h"
#include "driver/sender/receivers.h"
#include "driver/sender/transmit.h"
#include "util/format.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>

static void give_up(rsti_sender_t *sender, rsti_network_publication_t *publication, int64_t now_ns)
{
    const rsti_live_receiver_t receiver = publication->receivers[0];
    const rsti_noop_t *noop = &publication->noop;
    const struct sockaddr_storage source = rsti_netaddr_unpack(&receiver.source);
    char where[RSTI_NETADDR_TEXT_MAX];
    char interval[RSTI_DURATION_TEXT_MAX];
    char text[RSTI_ERR_TEXT_MAX + 1];
    rsti_format_duration(interval, sizeof interval, noop->interval_ns);
    rsti_netaddr_format(&source, where, sizeof where);
    const int length = snprintf(text, sizeof text,
        "no answer for %s (noop-interval) from the reader of stream %" PRId32 " session %" PRId32
        " at %s: %s; it is given up until it answers",
        interval, publication->base.stream_id, publication->base.session_id, where,
        noop->heard >= noop->number - 1 ? "its driver hears, the reader does not poll"
                                        : "its driver does not hear either");
    const rsti_err_t err = {
        .session_id = publication->base.session_id,
        .stream_id = publication->base.stream_id,
        .receiver_id = receiver.receiver_id,
        .error_code = RSTI_DRIVER_GENERIC_ERROR,
        .error_length = rsti_min_i32(length, RSTI_ERR_TEXT_MAX),
    };
    publication->noop_receiver_id = receiver.receiver_id;
    rsti_store_release_i32(&publication->is_given_up, 1); /* before has_receivers falls */
    rsti_driver_log_error(sender->driver, RST_ETIMEDOUT, text);
    rsti_network_publication_drop(sender, publication, &err, text, &source, now_ns);
}

void rsti_network_publication_check_noop(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    rsti_noop_t *noop = &publication->noop;
    if (noop->interval_ns == 0 || publication->is_group
        || (publication->receiver_count != 1 && !noop->is_dead)
        || rsti_load_acquire_i32(&publication->is_revoked_shared)
        || snd_pos >= rsti_load_acquire_i64(&publication->end_position)) {
        return;
    }
    const rsti_noop_action_t action = rsti_noop_on_cycle(noop, now_ns);
    if (action == RSTI_NOOP_DIED) {
        give_up(sender, publication, now_ns);
    }
    if (action != RSTI_NOOP_WAIT) {
        (void)rsti_network_publication_send_heartbeat(sender, publication, snd_pos,
            RSTI_FLAG_UNFRAGMENTED);
    }
    rsti_lower_deadline(next_deadline_ns, noop->due_ns);
}
