/* slowest.h: the reader that holds a stream back, and since when. Law:
 *
 *     holder = the reader with the least position; of several such, the previous holder if it is
 *              one of them, else the first seen
 *     since  = when it became the holder
 *
 * So the holder does not alternate between readers that advance together. Each round sees all
 * readers, in any order. Positions may go back (a reader that joined again). Pure: time is an
 * argument. Source: docs/how-to/slow-consumers.md. */
#ifndef RSTI_FLOW_SLOWEST_H
#define RSTI_FLOW_SLOWEST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_slowest_t {
    bool is_known; /* there is a holder */
    int64_t id;
    int64_t position;
    int64_t since_ns;
} rsti_slowest_t;

/* One look at all readers; begins zeroed. */
typedef struct rsti_slowest_round_t {
    bool is_any;
    int64_t id;
    int64_t position;
    int32_t index; /* the caller's index of that reader */
} rsti_slowest_round_t;

void rsti_slowest_see(const rsti_slowest_t *slowest, rsti_slowest_round_t *round, int64_t id,
    int64_t position, int32_t index);
/* Ends the round. True: the holder has changed, or there is none any more. */
bool rsti_slowest_close(rsti_slowest_t *slowest, const rsti_slowest_round_t *round, int64_t now_ns);

#endif
