/* resource_faults.h: memory, storage, descriptors and mappings that a process does not get, now and
 * then.
 */
#ifndef RSTI_SIM_RESOURCE_FAULTS_H
#define RSTI_SIM_RESOURCE_FAULTS_H

#include <stdbool.h>

typedef enum sim_resource_t {
    RESOURCE_MEMORY,
    RESOURCE_STORAGE,
    RESOURCE_DESCRIPTORS,
    RESOURCE_MAPPINGS,
    RESOURCE_REMOVALS, /* of files of logs */
    RESOURCE_KINDS
} sim_resource_t;

/* Rolls it for this world, when all else is drawn. */
void sim_generate_resource_faults(void);
/* Asked by what takes the place of the system's calls: whether this one fails. */
bool sim_resource_fails(sim_resource_t kind);
/* Whoever is refused is told why. */
void sim_resource_check_refusal(const char *error_text);

#endif
