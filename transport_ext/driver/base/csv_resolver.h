/* csv_resolver.h: a table of names whose addresses a test can change (name-resolver=csv_table).
 * Each row has a counter, and its value selects the answer: 0 the first, 1 the second, -1 none. */
#ifndef RSTI_DRIVER_BASE_CSV_RESOLVER_H
#define RSTI_DRIVER_BASE_CSV_RESOLVER_H

#include "util/name_resolver.h"

#include <stdbool.h>
#include <stdint.h>

#define RSTI_CSV_ROWS_MAX 32

typedef struct rsti_csv_row_t {
    char name[64];
    char answers[2][64];
    const int64_t *choice; /* the counter's value; set by the caller after parsing */
} rsti_csv_row_t;

typedef struct rsti_csv_resolver_t {
    rsti_csv_row_t rows[RSTI_CSV_ROWS_MAX];
    int32_t count;
    rsti_name_resolver_t next; /* for names that are not in the table, and answers that are names */
} rsti_csv_resolver_t;

/* "name,first,second|name,first,second|…"; 0 or -RST_EINVAL naming the option and the row. */
int rsti_csv_resolver_parse(rsti_csv_resolver_t *resolver, const char *text);
/* Resolves a name by the table. *is_asked_next: the answer is that of the next resolver. Called by
 * any thread that looks up names. */
int rsti_csv_resolve(const rsti_csv_resolver_t *resolver, const char *host, int family,
    struct sockaddr_storage *address, bool *is_asked_next);

#endif
