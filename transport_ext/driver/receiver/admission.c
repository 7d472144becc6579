/* admission.c: see admission.h. */
#include "driver/receiver/admission.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/receiver/image_connections.h"
#include "driver/receiver/receive_endpoint.h"

bool rsti_admission_ask(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    const struct sockaddr_storage *to, int64_t now_ns)
{
    const rsti_rttm_t request = {
        .frame = {RSTI_RTTM_LENGTH, 0, RSTI_RTTM_FLAG_REPLY, RSTI_FRAME_RTTM},
        .session_id = origin->session_id,
        .stream_id = origin->stream_id,
        .echo_timestamp = rsti_candidates_stamp(&receiver->candidates, origin, now_ns),
        .receiver_id = origin->transport->endpoint->receiver_id,
    };
    return rsti_receive_transport_answer(receiver, origin->transport, &request, sizeof request, to);
}

static void ask(rsti_receiver_t *receiver, const rsti_origin_t *origin, int64_t now_ns)
{
    (void)rsti_admission_ask(receiver, origin,
        rsti_receive_transport_control(origin->transport, origin->source), now_ns);
}

/* The session becomes INIT_IN_PROGRESS, and the conductor is asked for an image. */
static void request_image(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    const rsti_setup_t *setup, bool is_proven, int64_t now_ns)
{
    rsti_receive_transport_t *transport = origin->transport;
    rsti_dispatcher_t *dispatcher = &transport->endpoint->dispatcher;
    rsti_agent_command_t command = {
        .endpoint = transport->endpoint,
        .object = transport,
        .stream_id = setup->stream_id,
        .session_id = setup->session_id,
        .setup = *setup,
        .is_proven = is_proven,
    };
    command.address = *origin->source;
    rsti_session_t *session = rsti_dispatcher_put(dispatcher, setup->stream_id, setup->session_id,
        RSTI_SESSION_INIT_IN_PROGRESS, now_ns);
    if (session == NULL) {
        return;
    }
    if (transport->udp.is_multicast && transport->ttl < setup->ttl) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_POSSIBLE_TTL_ASYMMETRY, 1);
    }
    if (!rsti_tell_conductor(receiver->driver, RSTI_AGENT_CREATE_IMAGE, &command)) {
        rsti_dispatcher_forget(dispatcher, session); /* the next SETUP tries again */
    }
}

/* Begins the session, or joins it. A proven source that has to wait until an unproven image has
 * ended stays a candidate, so no other stranger is admitted before it. */
static void admit(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    const rsti_session_t *session, rsti_candidate_t *candidate, int64_t now_ns)
{
    const rsti_setup_t *setup = &candidate->setup;
    const bool is_proven = candidate->is_proven;
    bool is_done = true;
    if (session == NULL) {
        request_image(receiver, origin, setup, is_proven, now_ns);
    } else if (session->state == RSTI_SESSION_ACTIVE) {
        is_done = rsti_image_join(receiver, session->image, origin, setup, is_proven, now_ns);
    }
    if (is_done) {
        rsti_candidates_forget(candidate);
    }
}

static bool is_same_stream(const rsti_setup_t *a, const rsti_setup_t *b)
{
    return a->initial_term_id == b->initial_term_id && a->term_length == b->term_length
        && a->mtu == b->mtu && a->frame.flags == b->frame.flags;
}

/* Whether a stranger is admitted without a proof. With a key none is: a sealed SETUP may be a
 * recorded one, and only the echo of a fresh stamp shows that its sender is there. Status messages
 * of a transport with control= go to the publisher there, so only that host is: an image of another
 * one would tell the publisher that a reader is there, and its data would be lost. */
static bool is_admitted_unproven(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    const rsti_candidate_t *candidate, int64_t now_ns)
{
    const struct sockaddr_storage *control = rsti_receive_transport_control(origin->transport,
        origin->source);
    if (origin->transport->endpoint->keys != NULL
        || (candidate->setup.frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0
        || now_ns < candidate->setup_ns + RSTI_SECOND_SETUP_NS
        || now_ns < receiver->admission_due_ns
        || !rsti_netaddr_is_same_host(control, origin->source)) {
        return false;
    }
    receiver->admission_due_ns = now_ns + RSTI_ADMISSION_INTERVAL_NS;
    return !rsti_candidates_have_proven(&receiver->candidates, origin, now_ns);
}

void rsti_admission_on_setup(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    rsti_session_t *session, const rsti_setup_t *setup, int64_t now_ns)
{
    if (rsti_netaddr_is_overtaken(origin->source)) {
        return; /* it may be of before the end of the session; the next one comes in 100 ms */
    }
    rsti_candidate_t *candidate = rsti_candidates_put(&receiver->candidates, origin, false, now_ns);
    if (candidate == NULL) {
        ask(receiver, origin, now_ns);
        return;
    }
    if (!candidate->has_setup || !is_same_stream(&candidate->setup, setup)) {
        candidate->has_setup = true;
        candidate->setup_ns = now_ns;
    }
    candidate->setup = *setup;
    candidate->ask_due_ns = now_ns + RSTI_CANDIDATE_LIFE_NS;
    if (candidate->is_proven || is_admitted_unproven(receiver, origin, candidate, now_ns)) {
        admit(receiver, origin, session, candidate, now_ns);
    } else {
        ask(receiver, origin, now_ns);
    }
}

void rsti_admission_on_data(rsti_receiver_t *receiver, const rsti_origin_t *origin, int64_t now_ns)
{
    rsti_candidate_t *candidate = rsti_candidates_put(&receiver->candidates, origin, false, now_ns);
    if (candidate != NULL && now_ns < candidate->ask_due_ns) {
        return;
    }
    if (candidate != NULL) {
        candidate->ask_due_ns = now_ns + RSTI_CANDIDATE_LIFE_NS;
    }
    rsti_receive_transport_ask_stranger(receiver, origin->transport, origin->stream_id,
        origin->session_id, rsti_receive_transport_control(origin->transport, origin->source));
    if (candidate == NULL || !candidate->is_proven) {
        ask(receiver, origin, now_ns);
    }
}

void rsti_admission_on_proof(rsti_receiver_t *receiver, const rsti_origin_t *origin,
    rsti_session_t *session, int64_t now_ns)
{
    rsti_candidate_t *candidate = rsti_candidates_put(&receiver->candidates, origin, true, now_ns);
    if (candidate->has_setup) {
        admit(receiver, origin, session, candidate, now_ns);
    }
}
