/* process.h: simulated operating system processes and the memory, files and mappings that each
 * owns. A killed process loses everything it owned, and what it wrote to shared files stays. A
 * process that ends in order must leave nothing behind. */
#ifndef RSTI_SIM_PROCESS_H
#define RSTI_SIM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PROCESSES_MAX 64
#define SIM_FDS_MAX 1024
#define SIM_MAPPINGS_MAX 1024

typedef struct sim_process_t {
    int32_t id; /* index; 0 is the simulator itself */
    char name[24];
    int32_t host;
    bool is_alive;
    int64_t paused_until_ns; /* by SIGSTOP, or because its machine is busy */
} sim_process_t;

void sim_processes_init(void);
sim_process_t *sim_process_start(const char *name, int32_t host);
/* kill -9. Not called by a fiber of that process. */
void sim_process_kill(sim_process_t *process);
/* The process ends in order: fails when it still owns anything. */
void sim_process_exit(sim_process_t *process);
/* The process whose code runs now. */
sim_process_t *sim_process_current(void);

/* memory.c */
void sim_memory_free_all(int32_t process_id);
int64_t sim_memory_held(int32_t process_id); /* blocks */

/* handles.c: descriptors and mappings. */
void sim_handles_init(void);
void sim_handles_close_all(int32_t process_id);
int32_t sim_handles_held(int32_t process_id, char *text, size_t size);

/* network.c */
void sim_network_forget_process(int32_t process_id);

#endif
