/* congestion.c: which law an image follows, and its largest window. */
#include "flow/congestion.h"

#include "util/bits.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/int_math.h"

#include <string.h>

static const rsti_congestion_law_t *const laws[] = {
    &rsti_congestion_static,
    &rsti_congestion_cubic,
    &rsti_congestion_auto,
    NULL,
};

static const rsti_congestion_law_t *find(const char *name)
{
    for (size_t i = 0; laws[i] != NULL; i++) {
        if (strcmp(laws[i]->name, name) == 0) {
            return laws[i];
        }
    }
    return NULL;
}

bool rsti_congestion_is_known(const char *name)
{
    return find(name) != NULL;
}

int rsti_congestion_init(rsti_congestion_t *congestion, const rsti_congestion_params_t *params)
{
    RST_ASSERT(params->window >= 0);
    RST_ASSERT(rsti_is_power_of_two(params->term_length));
    const bool is_given = params->cc_text != NULL && params->cc_text[0] != '\0';
    const char *name = is_given ? params->cc_text : params->default_text;
    const rsti_congestion_law_t *law = find(name);
    if (law == NULL) {
        return RST_SET_ERR(RST_ECHANNEL, "%s=%s: unknown law, there are static, cubic and auto",
            is_given ? "cc" : "congestion-control", name);
    }
#if RSTI_FAULT == RSTI_FAULT_WINDOW
    const int32_t max_window = params->window;
#else
    const int32_t max_window = rsti_min_i32(params->window, params->term_length / 2);
#endif
    *congestion = (rsti_congestion_t){
        .law = law,
        .max_window = max_window,
        .mtu = params->mtu,
        .window = max_window,
    };
    if (law->init != NULL) {
        law->init(congestion, params);
    }
    return 0;
}
