/* gaps.h: what an image misses. Ranges are ordered, do not touch, and are at most
 * RSTI_LAB_GAPS_MAX: what would be one more makes its neighbour larger, so that something is asked
 * for twice and nothing is forgotten. */
#ifndef RSTI_LAB_GAPS_H
#define RSTI_LAB_GAPS_H

#include <stdint.h>

#define RSTI_LAB_GAPS_MAX 64

typedef struct rsti_lab_gap_t {
    int64_t from, to;
    int64_t ask_ns; /* when to ask for it (again) */
} rsti_lab_gap_t;

typedef struct rsti_lab_gaps_t {
    int32_t count;
    rsti_lab_gap_t gaps[RSTI_LAB_GAPS_MAX];
} rsti_lab_gaps_t;

/* from lies at or behind the end of the last one. */
void rsti_lab_gaps_append(rsti_lab_gaps_t *gaps, int64_t from, int64_t to, int64_t ask_ns);
/* That range is here. Bytes that were missing before. */
int64_t rsti_lab_gaps_remove(rsti_lab_gaps_t *gaps, int64_t from, int64_t to);

#endif
