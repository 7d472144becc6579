/* user_counters.c: applications with counters. Every reader must see the value written. A counter
 * of a client is freed with the client (run.c counts them at the end); a static counter stays and
 * holds the sum of what all clients of one driver added. */
#include "rstream/counter.h"
#include "tests/sim/side_roles.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TYPE_OWN 1000
#define TYPE_STATIC 2000
#define STATICS_MAX 64
#define STATIC_IDS 2 /* registration ids that the clients share */
#define STEPS_MAX 12

/* The possible values of a static counter of one incarnation of a driver. */
typedef struct static_t {
    int32_t process_id;
    int64_t registration_id;
    int64_t low, high; /* the certain sum; the possible sum */
    bool is_made; /* the driver confirmed the counter */
} static_t;

static static_t statics[STATICS_MAX];
static int32_t static_count;
static bool has_asked;

void sim_user_counters_init(void)
{
    static_count = 0;
    has_asked = false;
}

static static_t *static_of(int32_t process_id, int64_t registration_id)
{
    for (int32_t i = 0; i < static_count; i++) {
        if (statics[i].process_id == process_id && statics[i].registration_id == registration_id) {
            return &statics[i];
        }
    }
    if (static_count == STATICS_MAX) {
        sim_fail("more than %d static counters", STATICS_MAX);
    }
    statics[static_count] = (static_t){
        .process_id = process_id, .registration_id = registration_id};
    return &statics[static_count++];
}

/* ---- own counters ---- */

typedef struct own_t {
    rst_user_counter_t *counter;
    rst_client_t *client;
    int32_t type_id;
    char label[64];
    int64_t value;
} own_t;

static void change(const sim_side_role_t *self, own_t *own)
{
    const int64_t operand = (int64_t)sim_below(RNG_ACTOR, 1000) - 200;
    const int64_t before = own->value;
    int64_t told = before;
    switch (sim_below(RNG_ACTOR, 3)) {
    case 0:
        rst_user_counter_set(own->counter, operand);
        own->value = operand;
        break;
    case 1:
        told = rst_user_counter_add(own->counter, operand);
        own->value += operand;
        break;
    default:
        if (rst_user_counter_propose_max(own->counter, operand) != (operand > before)
            && !rst_user_counter_is_closed(own->counter)) {
            sim_fail("side role %d: %" PRId64 " proposed beside %" PRId64, self->index, operand,
                before);
        }
        own->value = operand > before ? operand : before;
        break;
    }
    if (told != before && !rst_user_counter_is_closed(own->counter)) {
        sim_fail("side role %d: its counter was %" PRId64 ", it says %" PRId64, self->index, before,
            told);
    }
}

static void check(const sim_side_role_t *self, const own_t *own)
{
    rst_counter_t read;
    const int64_t registration_id = rst_user_counter_registration_id(own->counter);
    const int32_t id = rst_user_counter_id(own->counter);
    const int64_t value = rst_user_counter_get(own->counter);
    const int32_t found = rst_client_find_counter(own->client, own->type_id, registration_id);
    const int result = rst_client_read_counter(own->client, id, &read);
    if (rst_user_counter_is_closed(own->counter)) {
        sim_count("tally: a counter closed under its owner");
        return;
    }
    if (value != own->value || found != id || result != 1) {
        sim_fail("side role %d: counter %d (found: %d) says %" PRId64 ", it wrote %" PRId64,
            self->index, id, found, value, own->value);
    }
    if (read.value != value || read.type_id != own->type_id
        || read.registration_id != registration_id || read.owner_id != rst_client_id(own->client)
        || strcmp(read.label, own->label) != 0) {
        sim_fail("side role %d: counter %d reads as type %d \"%s\"", self->index, id, read.type_id,
            read.label);
    }
}

/* Asks for a static counter with the registration id of a counter of a client. */
static void ask_for_anothers(const sim_side_role_t *self, const own_t *own)
{
    const int64_t id = rst_client_add_static_counter(own->client, own->type_id,
        rst_user_counter_registration_id(own->counter), NULL, 0, "another's");
    const int result = id < 0 ? (int)id : rst_client_await(own->client, id, 2 * SIM_S);
    if (result == 0 || result == -RST_ETIMEDOUT) {
        rst_client_cancel(own->client, id);
    } else if (rst_client_state(own->client) == RST_CLIENT_OPEN && result != -RST_EREGISTRATION) {
        sim_fail("side role %d got a static counter that is a client's: %d", self->index, result);
    }
    sim_count("tally: refused, it is another's");
}

/* Our counter is announced to us, unless the event queue overran. */
static void check_events(const sim_side_role_t *self, const own_t *own)
{
    rst_counter_event_t event;
    bool has_come = false;
    const int64_t registration_id = rst_user_counter_registration_id(own->counter);
    while (rst_client_next_counter_event(own->client, &event) == 1) {
        sim_count(event.kind == RST_COUNTER_AVAILABLE ? "tally: counter available"
                                                      : "tally: counter unavailable");
        has_come = has_come
            || (event.kind == RST_COUNTER_AVAILABLE && event.registration_id == registration_id
                && event.counter_id == rst_user_counter_id(own->counter));
    }
    if (!has_come && rst_client_counter_events_lost(own->client) == 0) {
        sim_fail("side role %d is not told of its counter %" PRId64, self->index, registration_id);
    }
}

static void keep_own(const sim_side_role_t *self)
{
    own_t own = {
        .client = self->client->client, .type_id = TYPE_OWN + (int32_t)sim_below(RNG_ACTOR, 4)};
    snprintf(own.label, sizeof own.label, "tally %d.%d", self->index, self->rounds);
    const int64_t id = rst_client_add_counter(own.client, own.type_id, own.label,
        sim_below(RNG_ACTOR, strlen(own.label) + 1), own.label);
    if (!sim_side_role_await(self, id, "a counter")) {
        return;
    }
    own.counter = rst_client_take_counter(own.client, id);
    if (own.counter == NULL) {
        return; /* the client has just been lost */
    }
    sim_count("tally: own counter");
    check_events(self, &own);
    for (uint64_t steps = sim_below(RNG_ACTOR, STEPS_MAX); steps > 0; steps--) {
        check(self, &own);
        change(self, &own);
        sim_side_role_pause(self);
    }
    check(self, &own);
    if (sim_chance(RNG_ACTOR, 0.2)) {
        ask_for_anothers(self, &own);
    }
    rst_user_counter_close(own.counter);
}

/* ---- shared counters ---- */

static void share_static(const sim_side_role_t *self)
{
    rst_client_t *client = self->client->client;
    const int32_t process_id = self->client->driver->process->id;
    const int64_t registration_id = 1 + (int64_t)sim_below(RNG_ACTOR, STATIC_IDS);
    has_asked = true; /* the counter is made even if its answer is lost */
    const int64_t id = rst_client_add_static_counter(client, TYPE_STATIC, registration_id, "key", 3,
        "everybody's");
    if (!sim_side_role_await(self, id, "a static counter")) {
        return;
    }
    rst_user_counter_t *counter = rst_client_take_counter(client, id);
    if (counter == NULL) {
        return;
    }
    static_t *shared = static_of(process_id, registration_id);
    shared->is_made = true;
    sim_count("tally: static counter");
    for (uint64_t steps = sim_below(RNG_ACTOR, STEPS_MAX); steps > 0; steps--) {
        const int64_t operand = (int64_t)sim_below(RNG_ACTOR, 100);
        shared->high += operand;
        (void)rst_user_counter_add(counter, operand);
        if (!rst_user_counter_is_closed(counter)) {
            shared->low += operand;
        }
        const int64_t low = shared->low;
        const int64_t value = rst_user_counter_get(counter);
        if ((value < low || value > shared->high) && !rst_user_counter_is_closed(counter)) {
            sim_fail("side role %d: static counter %" PRId64 " says %" PRId64 ", %" PRId64
                     " to %" PRId64 " were added",
                self->index, registration_id, value, low, shared->high);
        }
        sim_side_role_pause(self);
    }
    rst_user_counter_close(counter);
}

void sim_user_counters_round(sim_side_role_t *self)
{
    if (sim_chance(RNG_ACTOR, 0.4)) {
        share_static(self);
    } else {
        keep_own(self);
    }
}

/* ---- at the end ---- */

int64_t sim_user_counters_static(const sim_driver_t *driver)
{
    int64_t count = 0;
    const rsti_counters_t *counters = &driver->driver->counters.counters;
    for (int32_t id = 0; has_asked && id <= counters->max_counter_id; id++) {
        if (counters->metadata[id].state == RSTI_COUNTER_UNUSED) {
            break;
        }
        count += counters->metadata[id].state == RSTI_COUNTER_ALLOCATED
            && counters->metadata[id].type_id == TYPE_STATIC;
    }
    return count;
}

void sim_user_counters_check(void)
{
    for (int32_t i = 0; i < static_count; i++) {
        for (int32_t d = 0; d < actors.driver_count; d++) {
            const sim_driver_t *driver = &actors.drivers[d];
            if (!statics[i].is_made || driver->process->id != statics[i].process_id) {
                continue;
            }
            const rsti_counters_t *counters = &driver->driver->counters.counters;
            const int32_t id = rsti_counters_find(counters, TYPE_STATIC,
                statics[i].registration_id);
            if (id < 0) {
                sim_fail("static counter %" PRId64 " of driver %d is gone",
                    statics[i].registration_id, d);
            }
            const int64_t value = counters->values[id].value;
            if (value < statics[i].low || value > statics[i].high) {
                sim_fail("static counter %" PRId64 " of driver %d ends at %" PRId64 ", %" PRId64
                         " to %" PRId64 " were added",
                    statics[i].registration_id, d, value, statics[i].low, statics[i].high);
            }
        }
    }
}
