/* agenda.h: scheduled events: datagrams in transit, faults that begin and end, deaths. */
#ifndef RSTI_SIM_AGENDA_H
#define RSTI_SIM_AGENDA_H

#include <stdint.h>

typedef void (*sim_task_t)(void *arg, int64_t number);

void sim_agenda_init(void);
/* Tasks of the same moment run in the order in which they were added. */
void sim_agenda_add(int64_t at_ns, sim_task_t task, void *arg, int64_t number);
/* Runs all due tasks; returns the time of the next one (INT64_MAX: none). */
int64_t sim_agenda_run_due(void);

#endif
