#include "util/format.h"

#include "util/clock.h"

#include <inttypes.h>
#include <stdio.h>

void rsti_format_duration(char *text, size_t size, int64_t ns)
{
    static const struct {
        int64_t factor;
        const char *suffix;
    } units[] = {{RSTI_NS_PER_S, "s"}, {RSTI_NS_PER_MS, "ms"}, {1000, "us"}, {1, "ns"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ns % units[i].factor == 0 && (ns != 0 || units[i].factor == 1)) {
            (void)snprintf(text, size, "%" PRId64 "%s", ns / units[i].factor, units[i].suffix);
            return;
        }
    }
}
