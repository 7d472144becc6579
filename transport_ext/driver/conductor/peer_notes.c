/* peer_notes.c: see peer_notes.h. */
#include "driver/conductor/peer_notes.h"

#include "driver/base/counters.h"
#include "driver/sender/send_endpoint.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <stdio.h>

typedef struct peer_note_t {
    const void *endpoint; /* send or receive endpoint */
    int32_t type_id;
    struct sockaddr_storage address;
    int32_t counter_id;
    int64_t last_ns;
} peer_note_t;

/* What a counter is made with. */
typedef struct note_facts_t {
    int32_t type_id;
    const char *name;
    const char *text;
    int64_t registration_id;
} note_facts_t;

static peer_note_t *find(const rst_driver_t *driver, int32_t type_id,
    const rsti_agent_command_t *command)
{
    const rsti_ptr_array_t *all = &driver->conductor->peer_notes;
    for (size_t i = 0; i < all->count; i++) {
        peer_note_t *note = all->items[i];
        if (note->endpoint == command->endpoint && note->type_id == type_id
            && rsti_netaddr_equal(&note->address, &command->address)) {
            return note;
        }
    }
    return NULL;
}

/* NULL with a trail: no memory or no counter is left. */
static peer_note_t *make(rst_driver_t *driver, const note_facts_t *facts,
    const rsti_agent_command_t *command)
{
    peer_note_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    *made = (peer_note_t){.endpoint = command->endpoint, .type_id = facts->type_id};
    made->address = command->address;
    made->counter_id = rsti_channel_counter_allocate(driver, facts->type_id, facts->name,
        facts->text, facts->registration_id, -1);
    if (made->counter_id < 0 || rsti_ptr_array_add(&driver->conductor->peer_notes, made) < 0) {
        rsti_counter_release(driver, &made->counter_id);
        rsti_free(made);
        return NULL;
    }
    return made;
}

/* True: the note is new. */
static bool note(rst_driver_t *driver, const note_facts_t *facts,
    const rsti_agent_command_t *command)
{
    peer_note_t *found = find(driver, facts->type_id, command);
    const bool is_new = found == NULL;
    if (is_new && driver->conductor->peer_notes.count >= RSTI_PEER_NOTES_MAX) {
        return false;
    }
    if (is_new) {
        found = make(driver, facts, command);
    }
    if (found == NULL) {
        rsti_driver_log_trail(driver, "counter of a peer");
        return false;
    }
    found->last_ns = driver->conductor->now_ns;
    rsti_counter_store(driver, found->counter_id, command->count);
    return is_new;
}

void rsti_on_destination_failed(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const rsti_send_endpoint_t *endpoint = command->endpoint;
    char address[RSTI_NETADDR_TEXT_MAX];
    char text[RSTI_NETADDR_TEXT_MAX + sizeof endpoint->udp.canonical]; /* a label cuts it */
    if (endpoint->is_closing) {
        return;
    }
    (void)snprintf(text, sizeof text, "%s %s",
        rsti_netaddr_format(&command->address, address, sizeof address), endpoint->udp.canonical);
    const note_facts_t facts = {
        RSTI_COUNTER_DESTINATION_FAILED, "snd-dest-failed", text, command->registration_id};
    (void)note(driver, &facts, command);
}

void rsti_on_key_refused(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const note_facts_t facts = {
        RSTI_COUNTER_KEY_REFUSED, "rs-key-refused", command->text, command->registration_id};
    int32_t *logged = &driver->conductor->refusals_logged;
    if (note(driver, &facts, command) && *logged < RSTI_REFUSALS_LOGGED_MAX) {
        (*logged)++;
        rsti_driver_log_error(driver, 0, command->text);
    }
}

static void remove_at(rst_driver_t *driver, size_t index)
{
    peer_note_t *removed = driver->conductor->peer_notes.items[index];
    rsti_ptr_array_remove_at(&driver->conductor->peer_notes, index);
    rsti_counter_release(driver, &removed->counter_id);
    rsti_free(removed);
}

void rsti_peer_notes_expire(rst_driver_t *driver, int64_t now_ns)
{
    const rsti_ptr_array_t *all = &driver->conductor->peer_notes;
    for (size_t i = all->count; i > 0; i--) {
        const peer_note_t *last = all->items[i - 1];
        if (now_ns > last->last_ns + RSTI_PEER_NOTE_NS) {
            remove_at(driver, i - 1);
        }
    }
}

void rsti_peer_notes_forget(rst_driver_t *driver, const void *endpoint)
{
    const rsti_ptr_array_t *all = &driver->conductor->peer_notes;
    for (size_t i = all->count; i > 0; i--) {
        const peer_note_t *last = all->items[i - 1];
        if (last->endpoint == endpoint) {
            remove_at(driver, i - 1);
        }
    }
}
