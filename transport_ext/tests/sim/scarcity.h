/* scarcity.h: memory, storage, descriptors and mappings that a process does not get, now and then.
 */
#ifndef RSTI_SIM_SCARCITY_H
#define RSTI_SIM_SCARCITY_H

#include <stdbool.h>

typedef enum sim_scarce_t {
    SCARCE_MEMORY,
    SCARCE_STORAGE,
    SCARCE_DESCRIPTORS,
    SCARCE_MAPPINGS,
    SCARCE_REMOVALS, /* of files of logs */
    SCARCE_KINDS
} sim_scarce_t;

/* Rolls it for this world, when all else is rolled. */
void sim_roll_scarcity(void);
/* Asked by what takes the place of the system's calls: whether this one fails. */
bool sim_scarcity_strikes(sim_scarce_t kind);
/* Whoever is refused is told why. */
void sim_scarcity_judge(const char *error_text);

#endif
