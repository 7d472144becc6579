#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTS_MAX 256
#define COUNT_NAME_MAX 48
#define FNV_PRIME UINT64_C(0x100000001b3)

sim_world_t world;
const char *(*sim_context)(void);

typedef struct count_t {
    char name[COUNT_NAME_MAX];
    int64_t amount;
} count_t;

static count_t counts[COUNTS_MAX];
static int count_count;

void sim_world_init(uint64_t seed, bool is_traced)
{
    memset(&world, 0, sizeof world);
    world.seed = seed;
    world.now_ns = SIM_S;
    world.hash = UINT64_C(0xcbf29ce484222325);
    world.is_traced = is_traced;
    for (uint64_t i = 0; i < RNG_COUNT; i++) {
        rsti_rng_init(&world.rngs[i],
            i < RNG_FIRST_COUNT ? seed * RNG_FIRST_COUNT + i : ~(seed * 64 + i));
    }
    count_count = 0;
}

/* ---- the chronicle ---- */

void sim_hash_bytes(const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint64_t hash = world.hash;
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * FNV_PRIME;
        hash ^= hash >> 29;
    }
    for (; length > 0; length--, at++) {
        hash = (hash ^ *at) * FNV_PRIME;
    }
    world.hash = hash;
}

/* Error texts contain paths: "~" replaces the part that differs between runs. */
static void hide_home(char *text)
{
    const size_t length = strlen(world.home);
    for (char *at = text; length > 0 && (at = strstr(at, world.home)) != NULL;) {
        *at++ = '~';
        memmove(at, at + length - 1, strlen(at + length - 1) + 1);
    }
}

void sim_event(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hide_home(text);
    world.event_count++;
    sim_hash_bytes(&world.now_ns, sizeof world.now_ns);
    sim_hash_bytes(text, strlen(text));
    if (world.is_traced) {
        printf("%13.6f ms  %s\n", (double)(world.now_ns - SIM_S) / 1e6, text);
    }
}

static count_t *find_count(const char *name)
{
    for (int i = 0; i < count_count; i++) {
        if (strcmp(counts[i].name, name) == 0) {
            return &counts[i];
        }
    }
    if (count_count == COUNTS_MAX) {
        return NULL;
    }
    count_t *made = &counts[count_count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    made->amount = 0;
    return made;
}

void sim_count_many(const char *name, int64_t amount)
{
    count_t *count = find_count(name);
    if (count != NULL) {
        count->amount += amount;
    }
}

void sim_count(const char *name)
{
    sim_count_many(name, 1);
}

void sim_counts_write(int fd)
{
    for (int i = 0; i < count_count; i++) {
        (void)dprintf(fd, "%s\t%" PRId64 "\n", counts[i].name, counts[i].amount);
    }
}

_Noreturn void sim_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "seed %" PRIu64 " at %.6f ms in %s: ", world.seed,
        (double)(world.now_ns - SIM_S) / 1e6, sim_context == NULL ? "?" : sim_context());
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    _exit(SIM_FAILED);
}
