/* ipc_world.h: a publication in shared memory with its readers, in virtual time: a producer that
 * writes as much as it may, and readers that take what a test says. */
#ifndef RSTI_TESTS_DRIVER_IPC_WORLD_H
#define RSTI_TESTS_DRIVER_IPC_WORLD_H

#include "tests/driver/harness.h"

#include "logbuffer/appender.h"

#include <inttypes.h>
#include <stdlib.h>

#define MESSAGE 992 /* a frame of 1024 */
#define FRAME 1024
#define READERS_MAX 3

typedef struct world_t {
    harness_t *h;
    rsti_publication_t *base;
    rsti_appender_t appender;
    int64_t registration_id;
    int64_t position;
    double room[READERS_MAX]; /* bytes that each reader may take now */
} world_t;

/* With one reader. */
static inline world_t open_world(const char *channel)
{
    world_t world = {.h = harness_open()};
    world.registration_id = add(world.h, RSTI_CMD_ADD_PUBLICATION, channel, 10);
    (void)add(world.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    world.base = world.h->driver->conductor->ipc_publications.items[0];
    rsti_appender_init(&world.appender, &world.base->file.log, world.base->pub_lmt,
        world.base->session_id, 10, false);
    return world;
}

static inline int64_t *position_of(const world_t *world, int reader)
{
    return world->base->subscribers.items[reader].position;
}

/* Until the limit refuses one. */
static inline void write_messages(world_t *world, int64_t count)
{
    static const uint8_t message[MESSAGE] = {0};
    for (int refused = 0; refused < 2 && count > 0;) {
        const rsti_iovec_t part = {message, sizeof message};
        const int64_t result = rsti_append(&world->appender, &part, 1, sizeof message, 0);
        refused += result <= 0; /* once more after a rotation */
        count -= result > 0;
        world->position = result > 0 ? result : world->position;
    }
}

static inline void write_up_to_limit(world_t *world)
{
    write_messages(world, INT64_MAX);
}

/* And the first reader reads it at once. */
static inline void write_all(world_t *world)
{
    write_up_to_limit(world);
    *position_of(world, 0) = world->position;
}

static inline int64_t written_within(world_t *world, int64_t ns)
{
    const int64_t before = world->position;
    for (int64_t end = world->h->manual.now_ns + ns; world->h->manual.now_ns < end;) {
        advance_alive(world->h, MS, MS);
        write_all(world);
    }
    return world->position - before;
}

/* A millisecond in which the producer writes as much as it may, and then each reader takes its
 * rate, a message at a time. */
static inline void run_ms(world_t *world, const int64_t *bytes_per_s, int readers)
{
    advance_alive(world->h, MS, MS);
    write_up_to_limit(world);
    for (int i = 0; i < readers; i++) {
        int64_t *reader = position_of(world, i);
        world->room[i] += (double)bytes_per_s[i] / 1000;
        while (world->room[i] >= FRAME && *reader < world->position) {
            *reader += FRAME;
            world->room[i] -= FRAME;
        }
        world->room[i] = world->room[i] > FRAME ? FRAME : world->room[i];
    }
}

static inline void run_readers(world_t *world, const int64_t *bytes_per_s, int readers, int64_t ms)
{
    for (int64_t i = 0; i < ms; i++) {
        run_ms(world, bytes_per_s, readers);
    }
}

static inline int32_t held_by(const world_t *world)
{
    return world->base->file.log.metadata->ext.held_by;
}

static inline bool set_rate(world_t *world, const char *rate)
{
    world->h->answer_count = 0;
    rsti_command_t set = {.type = RSTI_CMD_SET_RATE,
        .registration_id = world->registration_id,
        .channel = {rate, (int32_t)strlen(rate)}};
    (void)command(world->h, &set);
    return world->h->answer_count == 1
        && world->h->answers[0].response.type == RSTI_RSP_OPERATION_SUCCESS;
}

#endif
