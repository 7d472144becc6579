/* world.h: records of a run, one after the other, as the laboratory's engines read them. */
#ifndef RSTI_TESTS_LAB_WORLD_H
#define RSTI_TESTS_LAB_WORLD_H

#include "lab/spec.h"
#include "tests/check.h"

#define MB 1e6
#define VALUES_MAX 4096

typedef struct world_t {
    double values[VALUES_MAX];
    size_t count;
} world_t;

#define SAME_SIZE(word) (sizeof(rsti_lab_##word##_spec_t) / sizeof(double))
/* ADD(&world, consumer, RSTI_LAB_CONSUMER, .noise = 0.1, ...): one record. */
#define ADD(world, word, KIND, ...)                                                                \
    add(world, KIND, (const double *)&(rsti_lab_##word##_spec_t){__VA_ARGS__}, SAME_SIZE(word))

static inline void add(world_t *world, rsti_lab_kind_t kind, const double *values, size_t count)
{
    if (world->count + 1 + count > VALUES_MAX) {
        fprintf(stderr, "a world of more than %d numbers\n", VALUES_MAX);
        exit(1);
    }
    world->values[world->count++] = kind;
    memcpy(world->values + world->count, values, count * sizeof *values);
    world->count += count;
}

#endif
