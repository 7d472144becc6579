/* bystanders.h: roles of a client beside publishing and reading: who keeps counters (tallies.c),
 * who looks into the driver's directory as the tools do (looker.c), who asks for what is wrong
 * (misuse.c), who talks to itself (echo.c). bystanders.c runs them. */
#ifndef RSTI_SIM_BYSTANDERS_H
#define RSTI_SIM_BYSTANDERS_H

#include "tests/sim/cast.h"

/* One round of each kind. */
void sim_tally_round(sim_bystander_t *self);
void sim_looker_round(sim_bystander_t *self);
void sim_misuse_round(sim_bystander_t *self);
void sim_echo_round(sim_bystander_t *self);

/* burdens.c: two things that one who asks for what is wrong may do. */
void sim_flood(const sim_bystander_t *self);
void sim_ask_to_end(const sim_bystander_t *self);

/* 1: taken; 0: no answer yet, or the client is lost. Fails when a command that is right is refused.
 * what: for the text of a failure. */
int sim_bystander_await(const sim_bystander_t *self, int64_t id, const char *what);
/* A short pause by chance, so that others come in between. */
void sim_bystander_dally(const sim_bystander_t *self);

#endif
