/* process.h: which process of this machine a number means. A pid alone names whatever process has
 * the number now, and in another container a stranger. */
#ifndef RSTI_CNC_PROCESS_H
#define RSTI_CNC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_process_t {
    int64_t pid;
    int64_t start_time; /* clock ticks since the machine started; 0: not known */
    int64_t pid_namespace; /* inode of /proc/self/ns/pid; 0: not known */
} rsti_process_t;

/* This process. Fields that /proc does not tell are 0. */
rsti_process_t rsti_process_self(void);
/* Start time of a process of our own pid namespace; 0: there is none, or /proc does not tell. */
int64_t rsti_process_start_time(int64_t pid);
/* Both know all three, and their pid namespaces are the same: the pid means the same to both. */
bool rsti_process_is_comparable(const rsti_process_t *told, const rsti_process_t *self);

#endif
