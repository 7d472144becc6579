/* context_checks.h: checks of options that depend on each other, and the idle strategy of a thread.
 * Called by the thread that opens the driver. */
#ifndef RSTI_DRIVER_BASE_CONTEXT_CHECKS_H
#define RSTI_DRIVER_BASE_CONTEXT_CHECKS_H

#include "driver/base/context.h"
#include "media/loss_interceptors.h"
#include "media/media.h"

/* Checks the relations between options (docs/reference/aeron/driver.md 9). 0 or -RST_EINVAL naming
 * the option. */
int rsti_driver_params_validate(const rst_driver_params_t *params);
/* Checks the options that depend on the socket buffers of this system. */
int rsti_driver_params_check_sockets(const rst_driver_params_t *params,
    const rsti_socket_probe_t *probe);

/* Resolves threading=auto: the mode whose threads the idle options name, else shared on up to four
 * cores and dedicated on more. */
rsti_threading_t rsti_driver_params_threading(const rst_driver_params_t *params);
/* The interceptors that the options name. 0 or -RST_EINVAL naming the option. */
int rsti_driver_params_losses(const rst_driver_params_t *params, rsti_loss_interceptors_t *losses);

typedef enum rsti_idle_option_t {
    RSTI_IDLE_OF_CONDUCTOR = 0,
    RSTI_IDLE_OF_SENDER,
    RSTI_IDLE_OF_RECEIVER,
    RSTI_IDLE_OF_NETWORK,
    RSTI_IDLE_OF_SHARED
} rsti_idle_option_t;
/* Returns the idle strategy of a thread of that kind: its own option, else the one for all agents.
 * 0 or -RST_EINVAL naming the option whose arguments are malformed. */
int rsti_driver_params_idle(const rst_driver_params_t *params, rsti_idle_option_t option,
    rsti_idle_params_t *idle);

/* Names an option of an idle strategy that no thread of that mode uses; NULL: there is none. */
const char *rsti_driver_params_unused_idle(const rst_driver_params_t *params,
    rsti_threading_t threading);

#endif
