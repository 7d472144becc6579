#include "concurrent/idle.h"

#include "util/clock.h"
#include "util/parse.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

#define ARGS_MAX 4
#define ARG_LENGTH_MAX 31

int32_t rsti_usable_cores(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    /* It fails only on machines with more cores than the set holds. */
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : CPU_SETSIZE;
}

bool rsti_spin_yields(int32_t cores, int32_t spinners)
{
    return cores < spinners + RSTI_PEER_THREADS;
}

void rsti_idle_params_init(rsti_idle_params_t *params, rsti_idle_kind_t kind)
{
    *params = (rsti_idle_params_t){
        .kind = kind,
        .spins_max = 10,
        .yields_max = 20,
        .park_min_ns = 1000,
        .park_max_ns = RSTI_NS_PER_MS,
        .sleep_ns = RSTI_NS_PER_MS,
    };
}

bool rsti_idle_parse_kind(const char *name, rsti_idle_kind_t *kind)
{
    static const struct {
        const char *name;
        rsti_idle_kind_t kind;
    } names[] = {
        {"block", RSTI_IDLE_BLOCK},
        {"spin", RSTI_IDLE_SPIN},
        {"spinning", RSTI_IDLE_SPIN},
        {"busy_spin", RSTI_IDLE_SPIN},
        {"BusySpinIdleStrategy", RSTI_IDLE_SPIN},
        {"noop", RSTI_IDLE_NOOP},
        {"NoOpIdleStrategy", RSTI_IDLE_NOOP},
        {"yield", RSTI_IDLE_YIELD},
        {"yielding", RSTI_IDLE_YIELD},
        {"YieldingIdleStrategy", RSTI_IDLE_YIELD},
        {"backoff", RSTI_IDLE_BACKOFF},
        {"BackoffIdleStrategy", RSTI_IDLE_BACKOFF},
        {"sleep", RSTI_IDLE_SLEEP},
        {"sleeping", RSTI_IDLE_SLEEP},
        {"sleep-ns", RSTI_IDLE_SLEEP},
        {"sleep-ms", RSTI_IDLE_SLEEP},
        {"SleepingIdleStrategy", RSTI_IDLE_SLEEP},
        {"SleepingMillisIdleStrategy", RSTI_IDLE_SLEEP},
        {"controllable", RSTI_IDLE_CONTROLLABLE},
        {"ControllableIdleStrategy", RSTI_IDLE_CONTROLLABLE},
    };
    static const char package[] = "org.agrona.concurrent.";
    if (strncmp(name, package, sizeof package - 1) == 0) {
        name += sizeof package - 1;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) == 0) {
            *kind = names[i].kind;
            return true;
        }
    }
    return false;
}

/* Splits at hyphens into at most ARGS_MAX texts. Returns their number; 0: one is too long, or there
 * are too many. */
static int split(const char *args, char texts[ARGS_MAX][ARG_LENGTH_MAX + 1])
{
    int count = 0;
    for (;;) {
        const size_t length = strcspn(args, "-");
        if (length > ARG_LENGTH_MAX || count == ARGS_MAX) {
            return 0;
        }
        memcpy(texts[count], args, length);
        texts[count++][length] = '\0';
        if (args[length] == '\0') {
            return count;
        }
        args += length + 1;
    }
}

static bool parse_backoff(rsti_idle_params_t *params, const char *args)
{
    char texts[ARGS_MAX][ARG_LENGTH_MAX + 1];
    rsti_idle_params_t parsed = *params;
    if (split(args, texts) != ARGS_MAX || !rsti_parse_i64(texts[0], &parsed.spins_max)
        || !rsti_parse_i64(texts[1], &parsed.yields_max)
        || !rsti_parse_duration_ns(texts[2], &parsed.park_min_ns)
        || !rsti_parse_duration_ns(texts[3], &parsed.park_max_ns) || parsed.park_min_ns < 1
        || parsed.park_max_ns < parsed.park_min_ns || parsed.park_max_ns > RSTI_NS_PER_S) {
        return false;
    }
    *params = parsed;
    return true;
}

bool rsti_idle_parse_args(rsti_idle_params_t *params, const char *args)
{
    int64_t sleep_ns;
    if (args[0] == '\0') {
        return true;
    }
    switch (params->kind) {
    case RSTI_IDLE_BACKOFF:
        return parse_backoff(params, args);
    case RSTI_IDLE_SLEEP:
        if (!rsti_parse_duration_ns(args, &sleep_ns) || sleep_ns < 1 || sleep_ns > RSTI_NS_PER_S) {
            return false;
        }
        params->sleep_ns = sleep_ns;
        return true;
    default:
        return false;
    }
}
