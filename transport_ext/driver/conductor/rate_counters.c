/* rate_counters.c: see rate_counters.h. */
#include "driver/conductor/rate_counters.h"

#include "driver/base/counters.h"

int rsti_send_rate_allocate_counters(rst_driver_t *driver, rsti_send_rate_t *send_rate,
    const rsti_publication_t *publication, int64_t client_id)
{
    const struct {
        int32_t type_id;
        const char *name;
        int32_t *id;
        int64_t **address;
    } wanted[] = {
        {RSTI_COUNTER_RATE, "rs-rate", &send_rate->rate_id, &send_rate->made.rate},
        {RSTI_COUNTER_FILL_NAKS, "rs-fill-naks", &send_rate->fill_naks_id,
            &send_rate->made.fill_naks},
        {RSTI_COUNTER_MARGIN, "rs-headroom", &send_rate->margin_id, &send_rate->made.margin},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const rsti_stream_counter_t counter = {
            .type_id = wanted[i].type_id,
            .name = wanted[i].name,
            .registration_id = publication->registration_id,
            .client_id = client_id,
            .session_id = publication->session_id,
            .stream_id = publication->stream_id,
            .uri = publication->uri,
        };
        if (*wanted[i].id < 0) {
            *wanted[i].id = rsti_stream_counter_allocate(driver, &counter, wanted[i].address);
        }
        if (*wanted[i].id < 0) {
            return -rst_last_error_code();
        }
    }
    return 0;
}

void rsti_send_rate_release_counters(rst_driver_t *driver, rsti_send_rate_t *send_rate)
{
    rsti_counter_release(driver, &send_rate->rate_id);
    rsti_counter_release(driver, &send_rate->fill_naks_id);
    rsti_counter_release(driver, &send_rate->margin_id);
}
