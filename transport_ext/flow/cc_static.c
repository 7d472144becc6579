/* cc_static.c: a window that never changes. */
#include "flow/congestion.h"

static int32_t on_rebuild(rsti_congestion_t *congestion, const rsti_rebuild_facts_t *facts,
    bool *force_sm)
{
    (void)facts;
    *force_sm = false;
    return congestion->window;
}

const rsti_congestion_law_t rsti_congestion_static = {
    .name = "static",
    .on_rebuild = on_rebuild,
};
