#include "tests/sim/agenda.h"

#include "tests/sim/world.h"

#include <stdlib.h>

typedef struct item_t {
    int64_t at_ns;
    uint64_t order;
    sim_task_t task;
    void *arg;
    int64_t number;
} item_t;

/* A binary heap, the earliest on top. */
static item_t *items;
static size_t item_count, item_capacity;
static uint64_t next_order;

void sim_agenda_init(void)
{
    item_count = 0;
    next_order = 0;
}

static bool is_before(const item_t *a, const item_t *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void swap(size_t a, size_t b)
{
    const item_t kept = items[a];
    items[a] = items[b];
    items[b] = kept;
}

void sim_agenda_add(int64_t at_ns, sim_task_t task, void *arg, int64_t number)
{
    if (item_count == item_capacity) {
        item_capacity = item_capacity == 0 ? 256 : 2 * item_capacity;
        items = realloc(items, item_capacity * sizeof *items);
        if (items == NULL) {
            sim_fail("no memory for the agenda");
        }
    }
    size_t at = item_count++;
    items[at] = (item_t){at_ns, next_order++, task, arg, number};
    while (at > 0 && is_before(&items[at], &items[(at - 1) / 2])) {
        swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static item_t take_first(void)
{
    const item_t first = items[0];
    items[0] = items[--item_count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < item_count; child++) {
            if (is_before(&items[child], &items[least])) {
                least = child;
            }
        }
        if (least == at) {
            return first;
        }
        swap(at, least);
        at = least;
    }
}

int64_t sim_agenda_run_due(void)
{
    while (item_count > 0 && items[0].at_ns <= world.now_ns) {
        const item_t item = take_first();
        item.task(item.arg, item.number);
    }
    return item_count > 0 ? items[0].at_ns : INT64_MAX;
}
