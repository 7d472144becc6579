/* fault.h: deliberate mistakes, to prove that the simulator (tests/sim) finds such mistakes. A
 * build with -DRSTI_FAULT=n contains mistake n; every other build contains none. `make sim-faults`
 * builds each and shows the seed that finds it. */
#ifndef RSTI_UTIL_FAULT_H
#define RSTI_UTIL_FAULT_H

#ifndef RSTI_FAULT
#define RSTI_FAULT 0
#endif

#define RSTI_FAULT_GAP_BEGIN 1       /* logbuffer: a gap is said to begin one frame too late */
#define RSTI_FAULT_COMMIT_ORDER 2    /* logbuffer: length first, then the bytes it covers */
#define RSTI_FAULT_WINDOW 3          /* flow: a receiver's window is not capped by half a term */
#define RSTI_FAULT_LINGER 4          /* loss: a repeated NAK is answered at once, every time */
#define RSTI_FAULT_CLEANER 5         /* logbuffer: one frame too many is zeroed */
#define RSTI_FAULT_ROTATION 6        /* logbuffer: the term count is stored without a look */
#define RSTI_FAULT_LIMIT 7           /* driver: the limit rises into a term that is not clean */
#define RSTI_FAULT_OVERRUN 8         /* driver: data beyond the window are taken */
#define RSTI_FAULT_COOL_DOWN 9       /* driver: a session that ended may come back at once */
#define RSTI_FAULT_UNBLOCK 10        /* concurrent: the padding over a dead claim is 8 too long */
#define RSTI_FAULT_FRAMED_LENGTH 11  /* protocol: the last fragment is not aligned upwards */
#define RSTI_FAULT_LEASE 12          /* client: a reader's position runs ahead of what it holds */
#define RSTI_FAULT_LOG_FILE 13       /* cnc: the file of a log that is gone stays */
#define RSTI_FAULT_REMOVE 14         /* util: removing from a list leaves a hole filled wrongly */
#define RSTI_FAULT_PROVEN 15         /* driver: a sender takes every host for a proven one */
#define RSTI_FAULT_BINDING 16        /* driver: a unicast publication listens to all receivers */
#define RSTI_FAULT_COUNT 16

#endif
