/* path_law.h: the states of the law of the path, for path.c alone. See path.h for the law. */
#ifndef RSTI_FLOW_PATH_LAW_H
#define RSTI_FLOW_PATH_LAW_H

#include "flow/path.h"

#define RSTI_PATH_REFERENCE 12.5e6 /* bytes per second, at which T1 is 2 ms */

/* The round trip of now, as far as known; above 0. */
double rsti_path_rtt_s(const rsti_path_t *path);
double rsti_path_target_s(const rsti_path_t *path); /* T */
double rsti_path_extreme(const rsti_path_extreme_t *extreme);
void rsti_path_set_window(rsti_path_t *path, double window);
double rsti_path_greatest_bandwidth(const rsti_path_t *path);

/* On each sample while START. */
void rsti_path_watch_start(rsti_path_t *path, int64_t received);
/* At the end of a round; q and the round's figures are known. */
void rsti_path_step(rsti_path_t *path);

#endif
