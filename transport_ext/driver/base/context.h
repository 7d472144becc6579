/* context.h: the driver's parameters: one field per row of options.h, set by name. */
#ifndef RSTI_DRIVER_BASE_CONTEXT_H
#define RSTI_DRIVER_BASE_CONTEXT_H

#include "rstream/driver.h"

#include "channel/channel.h"
#include "cnc/driver_dir.h"
#include "concurrent/idle.h"
#include "driver/base/options.h"
#include "media/interceptor.h"
#include "util/source_list.h"

#include <stdint.h>

typedef enum rsti_threading_t {
    RSTI_THREADING_AUTO = 0, /* shared on up to four cores, else dedicated */
    RSTI_THREADING_SHARED,
    RSTI_THREADING_SHARED_NETWORK,
    RSTI_THREADING_DEDICATED,
    RSTI_THREADING_INVOKER
} rsti_threading_t;

typedef enum rsti_naming_t {
    RSTI_NAMING_RSTREAM = 0,
    RSTI_NAMING_CLASSIC,
    RSTI_NAMING_NEW
} rsti_naming_t;

/* The idle option "default": an agent's own option follows the option for all agents, and the
 * latter is "block". */
#define RSTI_IDLE_AS_ALL (-1)

struct rst_driver_params_t {
    char dir[RSTI_PATH_MAX]; /* "" = the default directory */
    RSTI_OPTIONS_WITH_FIELD(RSTI_OPTION_FIELD)
    rsti_fault_params_t fault;
};

/* Additional limits for an option (0: none), and the result of clamping. */
typedef struct rsti_clamp_t {
    int64_t least;
    int64_t most;
    bool is_clamped;
    int64_t value; /* is_clamped: the limit that was set */
} rsti_clamp_t;
/* As rst_driver_params_set, but a number out of range is replaced by the limit. */
int rsti_driver_params_set_clamped(rst_driver_params_t *params, const char *name, const char *value,
    rsti_clamp_t *clamp);

/* Sets the default of every option. */
void rsti_driver_params_init(rst_driver_params_t *params);

#endif
