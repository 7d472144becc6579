/* name_lookup.c: see the header. One lock guards the slots. It is held only while a slot is copied,
 * never during a look-up. */
#include "driver/base/name_lookup.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef enum state_t {
    STATE_FREE = 0,
    STATE_ASKED,
    STATE_BUSY,
    STATE_DONE
} state_t;

typedef struct slot_t {
    state_t state;
    int family;
    int result;
    bool is_taken;
    int64_t wanted_ns; /* last request, or the answer */
    int64_t taken_ns; /* first request that got the answer */
    struct sockaddr_storage address;
    char host[RSTI_NETADDR_HOST_MAX];
    char error[RSTI_NETADDR_HOST_MAX + 128];
} slot_t;

struct rsti_name_lookup_t {
    rsti_name_lookup_params_t params;
    pthread_mutex_t lock;
    pthread_cond_t is_asked;
    int thread_count;
    int free_count; /* threads that wait for a name */
    bool is_closing;
    slot_t slots[RSTI_LOOKUPS_MAX];
};

static void free_lookup(rsti_name_lookup_t *lookup)
{
    pthread_cond_destroy(&lookup->is_asked);
    pthread_mutex_destroy(&lookup->lock);
    rsti_free(lookup);
}

static slot_t *find_state(rsti_name_lookup_t *lookup, state_t state)
{
    for (size_t i = 0; i < RSTI_LOOKUPS_MAX; i++) {
        if (lookup->slots[i].state == state) {
            return &lookup->slots[i];
        }
    }
    return NULL;
}

/* Looks up one name. Called with the lock held, and releases it during the look-up. */
static void look_up(rsti_name_lookup_t *lookup, slot_t *slot)
{
    const rsti_name_lookup_params_t *params = &lookup->params;
    char host[RSTI_NETADDR_HOST_MAX];
    struct sockaddr_storage address;
    const int family = slot->family;
    memcpy(host, slot->host, sizeof host);
    slot->state = STATE_BUSY;
    pthread_mutex_unlock(&lookup->lock);
    const int64_t begin_ns = rsti_clock_nano_time(&params->clock);
    memset(&address, 0, sizeof address);
    const int result = params->inner.resolve(params->inner.arg, host, family, &address);
    const int64_t end_ns = rsti_clock_nano_time(&params->clock);
    pthread_mutex_lock(&lookup->lock);
    slot->result = result;
    slot->address = address;
    slot->wanted_ns = end_ns;
    slot->state = STATE_DONE;
    snprintf(slot->error, sizeof slot->error, "%s", result < 0 ? rst_last_error_text() : "");
    rsti_error_clear();
    if (!lookup->is_closing) {
        params->on_done(params->arg, end_ns - begin_ns);
    }
}

static void *run(void *arg)
{
    rsti_name_lookup_t *lookup = arg;
    pthread_mutex_lock(&lookup->lock);
    while (!lookup->is_closing) {
        slot_t *slot = find_state(lookup, STATE_ASKED);
        if (slot != NULL) {
            look_up(lookup, slot);
        } else {
            lookup->free_count++;
            pthread_cond_wait(&lookup->is_asked, &lookup->lock);
            lookup->free_count--;
        }
    }
    const bool is_last = --lookup->thread_count == 0;
    pthread_mutex_unlock(&lookup->lock);
    if (is_last) {
        free_lookup(lookup); /* destroy() leaves that to the last thread */
    }
    return NULL;
}

int rsti_name_lookup_create(rsti_name_lookup_t **lookup, const rsti_name_lookup_params_t *params)
{
    rsti_name_lookup_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->params = *params;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->is_asked, NULL);
    *lookup = made;
    return 0;
}

void rsti_name_lookup_destroy(rsti_name_lookup_t *lookup)
{
    if (lookup == NULL) {
        return;
    }
    pthread_mutex_lock(&lookup->lock);
    const bool has_thread = lookup->thread_count > 0;
    lookup->is_closing = true;
    pthread_cond_broadcast(&lookup->is_asked);
    pthread_mutex_unlock(&lookup->lock);
    if (!has_thread) {
        free_lookup(lookup);
    }
}

static int32_t asked_count(const rsti_name_lookup_t *lookup)
{
    int32_t count = 0;
    for (size_t i = 0; i < RSTI_LOOKUPS_MAX; i++) {
        count += lookup->slots[i].state == STATE_ASKED;
    }
    return count;
}

/* Starts a thread for one more name when too few are free. A failure counts only when there is no
 * thread at all. */
static int start_thread(rsti_name_lookup_t *lookup)
{
    pthread_t thread;
    if (lookup->thread_count == RSTI_LOOKUP_THREADS_MAX
        || asked_count(lookup) < lookup->free_count) {
        return 0;
    }
    const int result = pthread_create(&thread, NULL, run, lookup);
    if (result != 0) {
        return lookup->thread_count > 0
            ? 0
            : rsti_error_set_errno(result, "starting the thread that looks up names");
    }
    (void)pthread_detach(thread);
    lookup->thread_count++;
    return 0;
}

static bool is_stale(const slot_t *slot, int64_t now_ns)
{
    if (slot->state != STATE_DONE) {
        return false;
    }
    if (!slot->is_taken) {
        return now_ns > slot->wanted_ns + RSTI_LOOKUP_UNTAKEN_NS;
    }
    return now_ns > slot->wanted_ns + RSTI_LOOKUP_FRESH_NS
        || now_ns
        > slot->taken_ns + (slot->result < 0 ? RSTI_LOOKUP_FRESH_NS : RSTI_LOOKUP_KEPT_NS);
}

/* Starts a look-up in a free slot, or in one whose answer has expired. */
static int ask(rsti_name_lookup_t *lookup, const char *host, int family, int64_t now_ns)
{
    slot_t *slot = find_state(lookup, STATE_FREE);
    for (size_t i = 0; i < RSTI_LOOKUPS_MAX && slot == NULL; i++) {
        slot = is_stale(&lookup->slots[i], now_ns) ? &lookup->slots[i] : NULL;
    }
    if (slot == NULL) {
        return RST_SET_ERR(RST_EFULL, "cannot look up \"%s\": %d names are waited for", host,
            RSTI_LOOKUPS_MAX);
    }
    if (!rsti_netaddr_copy_text(slot->host, sizeof slot->host, host, strlen(host))) {
        return RST_SET_ERR(RST_EUNKNOWNHOST, "host name of %zu bytes is too long", strlen(host));
    }
    if (start_thread(lookup) < 0) {
        return -rst_last_error_code();
    }
    slot->family = family;
    slot->is_taken = false;
    slot->wanted_ns = now_ns;
    slot->state = STATE_ASKED;
    pthread_cond_signal(&lookup->is_asked);
    return RSTI_LOOKUP_PENDING;
}

static slot_t *find(rsti_name_lookup_t *lookup, const char *host, int family, int64_t now_ns)
{
    for (size_t i = 0; i < RSTI_LOOKUPS_MAX; i++) {
        slot_t *slot = &lookup->slots[i];
        if (is_stale(slot, now_ns)) {
            slot->state = STATE_FREE;
        }
        if (slot->state != STATE_FREE && slot->family == family && strcmp(slot->host, host) == 0) {
            return slot;
        }
    }
    return NULL;
}

int rsti_name_lookup_resolve(void *arg, const char *host, int family,
    struct sockaddr_storage *address)
{
    rsti_name_lookup_t *lookup = arg;
    const int64_t now_ns = rsti_clock_nano_time(&lookup->params.clock);
    int result;
    pthread_mutex_lock(&lookup->lock);
    slot_t *slot = find(lookup, host, family, now_ns);
    if (slot == NULL) {
        result = ask(lookup, host, family, now_ns);
    } else if (slot->state != STATE_DONE) {
        result = RSTI_LOOKUP_PENDING;
    } else {
        slot->taken_ns = slot->is_taken ? slot->taken_ns : now_ns;
        slot->wanted_ns = now_ns;
        slot->is_taken = true;
        *address = slot->address;
        result = slot->result < 0 ? RST_SET_ERR(-slot->result, "%s", slot->error) : 0;
    }
    pthread_mutex_unlock(&lookup->lock);
    return result;
}
