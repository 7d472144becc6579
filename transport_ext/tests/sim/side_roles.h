/* side_roles.h: roles of a client beside publishing and reading: who keeps counters
 * (user_counters.c), who looks into the driver's directory as the tools do (observer.c), who asks
 * for what is wrong (misuse.c), who talks to itself (echo.c). side_roles.c runs them. */
#ifndef RSTI_SIM_SIDE_ROLES_H
#define RSTI_SIM_SIDE_ROLES_H

#include "tests/sim/actors.h"

/* One round of each kind. */
void sim_user_counters_round(sim_side_role_t *self);
void sim_observer_round(sim_side_role_t *self);
void sim_misuse_round(sim_side_role_t *self);
void sim_echo_round(sim_side_role_t *self);

/* misuse_flood.c: two things that one who asks for what is wrong may do. */
void sim_misuse_flood(const sim_side_role_t *self);
void sim_misuse_terminate(const sim_side_role_t *self);

/* 1: taken; 0: no answer yet, or the client is lost. Fails when a command that is right is refused.
 * what: for the text of a failure. */
int sim_side_role_await(const sim_side_role_t *self, int64_t id, const char *what);
/* A short pause by chance, so that others come in between. */
void sim_side_role_pause(const sim_side_role_t *self);

#endif
