/* fc_builtin.c: the built-in strategies, by kind of channel. */
#include "flow/strategy.h"

#include <string.h>

/* A unicast channel cannot choose; the driver's option does. */
static const rsti_flow_strategy_t *const unicast_strategies[] = {
    &rsti_flow_unicast, &rsti_flow_max, &rsti_flow_min, &rsti_flow_tagged, NULL};
static const rsti_flow_strategy_t *const group_strategies[] = {
    &rsti_flow_max, &rsti_flow_min, &rsti_flow_tagged, NULL};

const rsti_flow_strategy_t *rsti_flow_find_builtin(const char *name, bool is_group)
{
    const rsti_flow_strategy_t *const *list = is_group ? group_strategies : unicast_strategies;
    for (; *list != NULL; list++) {
        if (strcmp((*list)->name, name) == 0) {
            return *list;
        }
    }
    return NULL;
}
