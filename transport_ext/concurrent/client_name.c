/* client_name.c: see client_name.h. Other processes write what is read here: it is copied with
 * bounds and shown as it is. */
#include "concurrent/client_name.h"

#include "concurrent/wake.h"

#include <stdio.h>
#include <string.h>

/* Clients of Aeron and of rstream append " name=… version=… commit=…" to the label. A name may hold
 * blanks, so its end is the last " version=". */
void rsti_client_name_of(const char *label, char *name, size_t size)
{
    const char *begin = strstr(label, " name=");
    name[0] = '\0';
    if (begin == NULL) {
        return;
    }
    begin += sizeof " name=" - 1;
    const char *end = begin + strlen(begin);
    for (const char *at = begin - 1; (at = strstr(at, " version=")) != NULL; at++) {
        end = at;
    }
    (void)snprintf(name, size, "%.*s", (int)(end > begin ? end - begin : 0), begin);
}

int64_t rsti_client_pid_of(const rsti_counters_t *counters, int32_t heartbeat_id)
{
    const rsti_heartbeat_ext_t
        *ext = (const rsti_heartbeat_ext_t *)(const void *)counters->values[heartbeat_id].spare;
    return rsti_load_acquire_i32(&ext->magic) == RSTI_EXT_MAGIC ? rsti_load_relaxed_i64(&ext->pid)
                                                                : 0;
}
