/* threads.h: the threads of the driver: which agents each one runs, how it waits, and the duration
 * of its passes. Called by the thread that opens and closes the driver, except for
 * rsti_driver_pass. */
#ifndef RSTI_DRIVER_THREADS_H
#define RSTI_DRIVER_THREADS_H

#include "driver/base/driver_state.h"

/* Plans the threads, and opens their FIFOs and pollers. 0 or negative with a trail. */
int rsti_threads_prepare(rst_driver_t *driver);
/* Starts them. 0 or negative with a trail. */
int rsti_threads_start(rst_driver_t *driver);
/* Ends them. Waiting commands for sender and receiver are carried out first. */
void rsti_threads_close(rst_driver_t *driver);
/* Finds the counters of cycle times. Called before the first pass. */
void rsti_cycles_init(rst_driver_t *driver);
/* Runs one pass of all agents in the caller's thread (threading=invoker). */
int64_t rsti_driver_pass(rst_driver_t *driver, int64_t *next_deadline_ns);

#endif
