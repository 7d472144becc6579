/* resource_faults.h: sometimes a process is refused memory, storage, descriptors or mappings. */
#ifndef RSTI_SIM_RESOURCE_FAULTS_H
#define RSTI_SIM_RESOURCE_FAULTS_H

#include <stdbool.h>

typedef enum sim_resource_t {
    RESOURCE_MEMORY,
    RESOURCE_STORAGE,
    RESOURCE_DESCRIPTORS,
    RESOURCE_MAPPINGS,
    RESOURCE_REMOVALS, /* of log files */
    RESOURCE_KINDS
} sim_resource_t;

/* Generated after all else. */
void sim_generate_resource_faults(void);
/* Called by the replacements of the system calls: whether this call fails. */
bool sim_resource_fails(sim_resource_t kind);
/* A refused caller gets an error text that names the reason. */
void sim_resource_check_refusal(const char *error_text);

#endif
