/* context.h: the driver's parameters: one field per row of options.h, set by name. */
#ifndef RSTI_DRIVER_CONTEXT_H
#define RSTI_DRIVER_CONTEXT_H

#include "rstream/driver.h"

#include "cnc/driver_dir.h"
#include "driver/options.h"
#include "media/interceptor.h"

#include <stdint.h>

typedef enum rsti_threading_t {
    RSTI_THREADING_AUTO = 0, /* shared on up to four cores, else dedicated */
    RSTI_THREADING_SHARED,
    RSTI_THREADING_SHARED_NETWORK,
    RSTI_THREADING_DEDICATED,
    RSTI_THREADING_INVOKER
} rsti_threading_t;

struct rst_driver_params_t {
    char dir[RSTI_PATH_MAX]; /* "" = the default directory */
    RSTI_OPTIONS_WITH_FIELD(RSTI_OPTION_FIELD)
    rsti_fault_params_t fault;
};

void rsti_driver_params_init(rst_driver_params_t *params);
/* Relations between options (driver reference, section 9). 0 or -RST_EINVAL naming the option. */
int rsti_driver_params_validate(const rst_driver_params_t *params);

#endif
