/* gaps.h: the missing ranges of an image. They are ordered, do not touch, and are at most
 * RSTI_LAB_GAPS_MAX. A further range is merged into its neighbour: some data is then asked for
 * twice, and no gap is forgotten. */
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

/* from is at or behind the end of the last range. */
void rsti_lab_gaps_append(rsti_lab_gaps_t *gaps, int64_t from, int64_t to, int64_t ask_ns);
/* The range arrived. Returns how many bytes of it were missing. */
int64_t rsti_lab_gaps_remove(rsti_lab_gaps_t *gaps, int64_t from, int64_t to);

#endif
