/* dispatcher.c: chained hash over a fixed block of sessions. */
#include "driver/receiver/dispatcher.h"

#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#include <string.h>

int rsti_dispatcher_init(rsti_dispatcher_t *dispatcher, int32_t capacity)
{
    memset(dispatcher, 0, sizeof *dispatcher);
    dispatcher->sessions = rsti_alloc((size_t)capacity * sizeof *dispatcher->sessions);
    if (dispatcher->sessions == NULL) {
        return -RST_ENOMEM;
    }
    dispatcher->capacity = capacity;
    for (int32_t i = 0; i < capacity; i++) {
        dispatcher->sessions[i].next = i + 1 < capacity ? i + 2 : 0;
    }
    dispatcher->free_head = 1;
    return 0;
}

void rsti_dispatcher_fini(rsti_dispatcher_t *dispatcher)
{
    while (dispatcher->interests != NULL) {
        rsti_interest_t *interest = dispatcher->interests;
        dispatcher->interests = interest->next;
        rsti_free(interest);
    }
    rsti_free(dispatcher->sessions);
    memset(dispatcher, 0, sizeof *dispatcher);
}

static int32_t *bucket_of(rsti_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    const uint32_t hash = (uint32_t)stream_id * 0x9E3779B1u ^ (uint32_t)session_id * 0x85EBCA6Bu;
    return &dispatcher->buckets[(hash ^ hash >> 16) & (RSTI_SESSION_BUCKETS - 1)];
}

rsti_session_t *rsti_dispatcher_find(rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id)
{
    for (int32_t i = *bucket_of(dispatcher, stream_id, session_id); i != 0;) {
        rsti_session_t *session = &dispatcher->sessions[i - 1];
        if (session->stream_id == stream_id && session->session_id == session_id) {
            return session;
        }
        i = session->next;
    }
    return NULL;
}

static bool evict_cool_down(rsti_dispatcher_t *dispatcher)
{
    rsti_session_t *oldest = NULL;
    if (dispatcher->counts[RSTI_SESSION_COOL_DOWN] == 0) {
        return false;
    }
    for (int32_t i = 0; i < dispatcher->capacity; i++) {
        rsti_session_t *session = &dispatcher->sessions[i];
        if (session->state == RSTI_SESSION_COOL_DOWN
            && (oldest == NULL || session->since_ns < oldest->since_ns)) {
            oldest = session; /* no entry is free, so each one is a session */
        }
    }
    rsti_dispatcher_forget(dispatcher, oldest);
    return true;
}

rsti_session_t *rsti_dispatcher_put(rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id, rsti_session_state_t state, int64_t now_ns)
{
    RST_ASSERT(rsti_dispatcher_find(dispatcher, stream_id, session_id) == NULL);
    if (dispatcher->free_head == 0 && !evict_cool_down(dispatcher)) {
        return NULL;
    }
    const int32_t index = dispatcher->free_head;
    rsti_session_t *session = &dispatcher->sessions[index - 1];
    int32_t *bucket = bucket_of(dispatcher, stream_id, session_id);
    dispatcher->free_head = session->next;
    *session = (rsti_session_t){
        .stream_id = stream_id,
        .session_id = session_id,
        .state = state,
        .next = *bucket,
        .since_ns = now_ns,
    };
    *bucket = index;
    dispatcher->counts[state]++;
    return session;
}

void rsti_dispatcher_set_state(rsti_dispatcher_t *dispatcher, rsti_session_t *session,
    rsti_session_state_t state, int64_t now_ns)
{
    dispatcher->counts[session->state]--;
    dispatcher->counts[state]++;
    session->state = state;
    session->since_ns = now_ns;
    if (state != RSTI_SESSION_ACTIVE) {
        session->image = NULL;
    }
}

void rsti_dispatcher_forget(rsti_dispatcher_t *dispatcher, rsti_session_t *session)
{
    const int32_t index = (int32_t)(session - dispatcher->sessions) + 1;
    int32_t *link = bucket_of(dispatcher, session->stream_id, session->session_id);
    while (*link != index) {
        link = &dispatcher->sessions[*link - 1].next;
    }
    *link = session->next;
    dispatcher->counts[session->state]--;
    memset(session, 0, sizeof *session);
    session->next = dispatcher->free_head;
    dispatcher->free_head = index;
}

bool rsti_dispatcher_is_wanted(const rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id)
{
    for (const rsti_interest_t *i = dispatcher->interests; i != NULL; i = i->next) {
        if (i->stream_id == stream_id && (!i->has_session || i->session_id == session_id)) {
            return true;
        }
    }
    return false;
}

bool rsti_dispatcher_has_interest(const rsti_dispatcher_t *dispatcher)
{
    return dispatcher->interests != NULL;
}

void rsti_dispatcher_add_interest(rsti_dispatcher_t *dispatcher, rsti_interest_t *interest)
{
    interest->next = dispatcher->interests;
    dispatcher->interests = interest;
}

static void forget_unwanted(rsti_dispatcher_t *dispatcher, int32_t stream_id)
{
    for (int32_t b = 0; b < RSTI_SESSION_BUCKETS; b++) {
        for (int32_t i = dispatcher->buckets[b]; i != 0;) {
            rsti_session_t *session = &dispatcher->sessions[i - 1];
            i = session->next;
            if (session->stream_id == stream_id
                && !rsti_dispatcher_is_wanted(dispatcher, stream_id, session->session_id)) {
                rsti_dispatcher_forget(dispatcher, session);
            }
        }
    }
}

void rsti_dispatcher_remove_interest(rsti_dispatcher_t *dispatcher, int64_t registration_id)
{
    rsti_interest_t **link = &dispatcher->interests;
    while (*link != NULL && (*link)->registration_id != registration_id) {
        link = &(*link)->next;
    }
    rsti_interest_t *interest = *link;
    if (interest == NULL) {
        return;
    }
    *link = interest->next;
    forget_unwanted(dispatcher, interest->stream_id);
    rsti_free(interest);
}
