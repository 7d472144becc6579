/* parse.h: numbers with units. Each returns true and stores, or false and stores nothing; the
 * caller names the parameter in its error. Grammar: docs/reference/aeron/wire.md 19.3. Trailing
 * characters, empty text and overflow are refused ("1kk" too). */
#ifndef RSTI_UTIL_PARSE_H
#define RSTI_UTIL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

bool rsti_parse_i64(const char *text, int64_t *value);
bool rsti_parse_i32(const char *text, int32_t *value);
bool rsti_parse_size(const char *text, int64_t *bytes);         /* 64k 1m 2g, either case */
bool rsti_parse_duration_ns(const char *text, int64_t *ns);     /* s ms us ns, none = ns */
bool rsti_parse_bool(const char *text, bool *value);            /* exactly true / false */
bool rsti_parse_unit(const char *text, double *value);          /* 0.0 … 1.0 */
bool rsti_parse_decimal(const char *text, int64_t most, double *value); /* 0 … most: 2.5 */

#endif
