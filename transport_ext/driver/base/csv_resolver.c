/* csv_resolver.c: see the header. */
#include "driver/base/csv_resolver.h"

#include "concurrent/atomics.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <string.h>

/* Copies the text up to a comma or bar. Returns its end, or NULL when it is empty or too long. */
static const char *take(const char *text, char *to, size_t size)
{
    const size_t length = strcspn(text, ",|");
    return length > 0 && rsti_netaddr_copy_text(to, size, text, length) ? text + length : NULL;
}

static const char *parse_row(const char *text, rsti_csv_row_t *row)
{
    const char *at = take(text, row->name, sizeof row->name);
    for (size_t i = 0; i < 2 && at != NULL; i++) {
        at = *at == ',' ? take(at + 1, row->answers[i], sizeof row->answers[i]) : NULL;
    }
    return at != NULL && *at != ',' ? at : NULL;
}

int rsti_csv_resolver_parse(rsti_csv_resolver_t *resolver, const char *text)
{
    resolver->count = 0;
    for (const char *at = text; at != NULL && *at != '\0';) {
        const char *end = resolver->count < RSTI_CSV_ROWS_MAX
            ? parse_row(at, &resolver->rows[resolver->count])
            : NULL;
        if (end == NULL) {
            return RST_SET_ERR(RST_EINVAL,
                "name-resolver-init-args, row %d at \"%.64s\": must be"
                " name,address,address, rows apart by |, %d at most",
                (int)resolver->count + 1, at, RSTI_CSV_ROWS_MAX);
        }
        resolver->count++;
        at = *end == '|' ? end + 1 : end;
    }
    return 0;
}

int rsti_csv_resolve(const rsti_csv_resolver_t *resolver, const char *host, int family,
    struct sockaddr_storage *address, bool *is_asked_next)
{
    const char *answer = host;
    *is_asked_next = false;
    for (int32_t i = 0; i < resolver->count; i++) {
        const rsti_csv_row_t *row = &resolver->rows[i];
        if (strcmp(row->name, host) == 0) {
            const int64_t choice = rsti_load_acquire_i64(row->choice);
            if (choice != 0 && choice != 1) {
                return RST_SET_ERR(RST_EUNKNOWNHOST,
                    "unknown host: Unable to resolve host=(%s): switched off in the table", host);
            }
            answer = row->answers[choice];
        }
    }
    if (rsti_netaddr_parse_numeric(answer, address)) {
        return 0;
    }
    *is_asked_next = true;
    return resolver->next.resolve(resolver->next.arg, answer, family, address);
}
