/* hooks.h: functions that the product calls when it is built with RSTI_SIM. */
#ifndef RSTI_SIM_HOOKS_H
#define RSTI_SIM_HOOKS_H

#include <stddef.h>

/* util/error.c: memory of the running fiber, zeroed at its start. */
void *rsti_sim_fiber_local(size_t size);

#endif
