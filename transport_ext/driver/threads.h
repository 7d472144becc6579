/* threads.h: which thread runs which agent, how the threads wait, and how long their passes take.
 */
#ifndef RSTI_DRIVER_THREADS_H
#define RSTI_DRIVER_THREADS_H

#include "driver/base/driver_state.h"

/* Plans the threads, and opens their FIFOs and pollers. 0 or negative with a trail. */
int rsti_threads_prepare(rst_driver_t *driver);
int rsti_threads_start(rst_driver_t *driver);
/* Ends them. Commands that wait for sender and receiver are still carried out. */
void rsti_threads_close(rst_driver_t *driver);
/* Where the times of passes are counted. */
void rsti_cycles_init(rst_driver_t *driver);
/* One pass in the caller's thread. */
int64_t rsti_driver_pass(rst_driver_t *driver, int64_t *next_deadline_ns);

#endif
