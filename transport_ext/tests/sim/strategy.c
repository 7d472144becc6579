/* strategy.c: a user-written law of flow control: the slowest receiver counts, and a silent
 * receiver is forgotten. It also checks how the driver calls it. */
#include "tests/sim/generator.h"

#include <string.h>

#define KNOWN_MAX 8
#define MAGIC INT64_C(0x736c6f77)

typedef struct known_t {
    int64_t receiver_id;
    int64_t limit;
    int64_t seen_ns;
} known_t;

typedef struct state_t {
    int64_t magic;
    int64_t timeout_ns, last_ns;
    int32_t least; /* the minimum number of receivers */
    int32_t count;
    known_t known[KNOWN_MAX];
} state_t;

/* Every call comes between init and fini, and time does not go back. */
static state_t *check(void *memory, int64_t now_ns)
{
    state_t *state = memory;
    if (state->magic != MAGIC) {
        sim_fail("a law of flow control is used that does not live");
    }
    if (now_ns < state->last_ns) {
        sim_fail("a law of flow control is told %lld ns after %lld ns", (long long)now_ns,
            (long long)state->last_ns);
    }
    state->last_ns = now_ns;
    return state;
}

static int init(void *memory, const rst_flow_facts_t *facts)
{
    const state_t zeros = {0};
    if (memcmp(memory, &zeros, sizeof zeros) != 0 || strncmp(facts->channel, "aeron:udp", 9) != 0
        || !facts->is_group) {
        sim_fail("a law of flow control begins with \"%s\"", facts->channel);
    }
    *(state_t *)memory = (state_t){
        .magic = MAGIC, .timeout_ns = facts->receiver_timeout_ns, .least = facts->group_min_size};
    sim_count("flow: a law of our own begins");
    return 0;
}

static void fini(void *memory)
{
    state_t *state = check(memory, INT64_MAX);
    state->magic = 0;
    sim_count("flow: a law of our own ends");
}

static int64_t slowest(const state_t *state, int64_t limit)
{
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < state->count; i++) {
        least = state->known[i].limit < least ? state->known[i].limit : least;
    }
    /* As in Aeron's laws of groups, nothing more is sent before the group is complete. */
    return state->count == 0 || state->count < state->least || least < limit ? limit : least;
}

static void forget(state_t *state, int32_t i)
{
    state->known[i] = state->known[--state->count];
}

static int64_t on_status_message(void *memory, const rst_flow_message_t *message, int64_t limit,
    int64_t now_ns)
{
    state_t *state = check(memory, now_ns);
    int32_t i = 0;
    while (i < state->count && state->known[i].receiver_id != message->receiver_id) {
        i++;
    }
    if (message->is_eos) {
        if (i < state->count) {
            forget(state, i);
        }
        return slowest(state, limit);
    }
    if (i == state->count && state->count < KNOWN_MAX) {
        state->known[state->count++] = (known_t){.receiver_id = message->receiver_id};
    }
    if (i < state->count) {
        const int64_t its_limit = message->position + message->window;
        known_t *known = &state->known[i];
        known->limit = its_limit > known->limit ? its_limit : known->limit;
        known->seen_ns = now_ns;
    }
    return slowest(state, limit);
}

static int64_t on_idle(void *memory, int64_t limit, int64_t now_ns)
{
    state_t *state = check(memory, now_ns);
    for (int32_t i = state->count; i > 0; i--) {
        if (now_ns - state->known[i - 1].seen_ns > state->timeout_ns) {
            forget(state, i - 1);
            sim_count("flow: our law forgets a receiver");
        }
    }
    return slowest(state, limit);
}

static void on_setup_elicited(void *memory, const rst_flow_message_t *message, int64_t now_ns)
{
    (void)check(memory, now_ns);
    if (message->receiver_id == 0) {
        sim_fail("a receiver without an id asks for a set-up");
    }
}

static void on_setup(void *memory, int64_t limit, int64_t now_ns)
{
    (void)limit;
    (void)check(memory, now_ns);
}

static void on_error(void *memory, int64_t receiver_id, int64_t now_ns)
{
    state_t *state = check(memory, now_ns);
    for (int32_t i = state->count; i > 0; i--) {
        if (state->known[i - 1].receiver_id == receiver_id) {
            forget(state, i - 1);
        }
    }
    sim_count("flow: our law is told of an error");
}

static int has_required_receivers(const void *memory)
{
    const state_t *state = memory;
    return state->count >= state->least;
}

static int32_t receiver_count(const void *memory)
{
    return ((const state_t *)memory)->count;
}

void sim_strategy_register(void)
{
    const rst_flow_strategy_t strategy = {
        .struct_size = sizeof strategy,
        .name = SIM_STRATEGY,
        .state_bytes = sizeof(state_t),
        .init = init,
        .fini = fini,
        .on_status_message = on_status_message,
        .on_idle = on_idle,
        .on_setup_elicited = on_setup_elicited,
        .on_setup = on_setup,
        .on_error = on_error,
        .has_required_receivers = has_required_receivers,
        .receiver_count = receiver_count,
    };
    rst_flow_strategy_t nameless = strategy;
    nameless.name = "No Name";
    if (rst_flow_strategy_register(&strategy) < 0) {
        sim_fail("our law of flow control is refused: %s", rst_last_error_text());
    }
    if (rst_flow_strategy_register(&strategy) != -RST_EINVAL
        || rst_flow_strategy_register(&nameless) != -RST_EINVAL) {
        sim_fail("a second law of the same name, or one without a name, is taken");
    }
}
