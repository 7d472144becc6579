/* rate_counters.c: see rate_counters.h. */
#include "driver/conductor/rate_counters.h"

#include "driver/base/counters.h"
#include "driver/conductor/publication.h"

void rsti_rate_counters_init(rsti_rate_counters_made_t *made)
{
    *made = (rsti_rate_counters_made_t){
        .rate_id = RSTI_NULL_COUNTER,
        .fill_naks_id = RSTI_NULL_COUNTER,
        .margin_id = RSTI_NULL_COUNTER,
    };
}

int rsti_rate_counters_allocate(rst_driver_t *driver, rsti_rate_counters_made_t *made,
    const rsti_publication_t *publication, int64_t client_id)
{
    const struct {
        int32_t type_id;
        const char *name;
        int32_t *id;
        int64_t **address;
    } wanted[] = {
        {RSTI_COUNTER_RATE, "rs-rate", &made->rate_id, &made->at.rate},
        {RSTI_COUNTER_FILL_NAKS, "rs-fill-naks", &made->fill_naks_id, &made->at.fill_naks},
        {RSTI_COUNTER_MARGIN, "rs-headroom", &made->margin_id, &made->at.margin},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const rsti_stream_counter_t counter = rsti_publication_counter(publication, client_id,
            wanted[i].type_id, wanted[i].name);
        if (*wanted[i].id < 0) {
            *wanted[i].id = rsti_stream_counter_allocate(driver, &counter, wanted[i].address);
        }
        if (*wanted[i].id < 0) {
            return -rst_last_error_code();
        }
    }
    return 0;
}

void rsti_rate_counters_release(rst_driver_t *driver, rsti_rate_counters_made_t *made)
{
    rsti_counter_release(driver, &made->rate_id);
    rsti_counter_release(driver, &made->fill_naks_id);
    rsti_counter_release(driver, &made->margin_id);
}
