/* names.h: names of hosts. */
#ifndef RSTI_SIM_NAMES_H
#define RSTI_SIM_NAMES_H

#include "tests/sim/actors.h"

/* Called when a driver with a table of names opens. */
void sim_names_on_open(const sim_driver_t *driver);

#endif
