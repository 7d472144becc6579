/* side_roles.h: roles of a client beside publishing and reading: it keeps counters
 * (user_counters.c), observes the driver's directory as the tools do (observer.c), makes invalid
 * requests (misuse.c), or sends messages to itself (echo.c). side_roles.c runs them. */
#ifndef RSTI_SIM_SIDE_ROLES_H
#define RSTI_SIM_SIDE_ROLES_H

#include "tests/sim/actors.h"

/* One round of each kind. */
void sim_user_counters_round(sim_side_role_t *self);
void sim_observer_round(sim_side_role_t *self);
void sim_misuse_round(sim_side_role_t *self);
void sim_echo_round(sim_side_role_t *self);

/* misuse_flood.c: two more invalid requests. */
void sim_misuse_flood(const sim_side_role_t *self);
void sim_misuse_terminate(const sim_side_role_t *self);

/* 1: taken; 0: no answer yet, or the client is lost. Fails when a valid command is refused. what:
 * named in the failure text. */
int sim_side_role_await(const sim_side_role_t *self, int64_t id, const char *what);
/* Sometimes pauses for a short time, so that others run in between. */
void sim_side_role_pause(const sim_side_role_t *self);

#endif
