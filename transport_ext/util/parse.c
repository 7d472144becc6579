#include "util/parse.h"

#include "util/bits.h"
#include "util/clock.h"

#include <stddef.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits from text on, as a non-negative number. Returns the first character after them. NULL:
 * there is no digit, or the number does not fit. */
static const char *scan_digits(const char *text, int64_t *value)
{
    int64_t sum = 0;
    const char *at = text;
    for (; is_digit(*at); at++) {
        if (__builtin_mul_overflow(sum, INT64_C(10), &sum)
            || __builtin_add_overflow(sum, (int64_t)(*at - '0'), &sum)) {
            return NULL;
        }
    }
    if (at == text) {
        return NULL;
    }
    *value = sum;
    return at;
}

bool rsti_parse_i64(const char *text, int64_t *value)
{
    bool is_negative = text[0] == '-';
    const char *at = text + (is_negative ? 1 : 0);
    if (!is_digit(*at)) {
        return false;
    }
    /* Summed as a negative number, because the smallest number has no positive counterpart. */
    int64_t sum = 0;
    for (; is_digit(*at); at++) {
        if (__builtin_mul_overflow(sum, INT64_C(10), &sum)
            || __builtin_sub_overflow(sum, (int64_t)(*at - '0'), &sum)) {
            return false;
        }
    }
    if (*at != '\0' || (!is_negative && sum == INT64_MIN)) {
        return false;
    }
    *value = is_negative ? sum : -sum;
    return true;
}

bool rsti_parse_i32(const char *text, int32_t *value)
{
    int64_t wide;
    if (!rsti_parse_i64(text, &wide) || wide < INT32_MIN || wide > INT32_MAX) {
        return false;
    }
    *value = (int32_t)wide;
    return true;
}

typedef struct unit_t {
    const char *suffix;
    int64_t factor;
} unit_t;

static bool parse_with_unit(const char *text, const unit_t *units, size_t count, int64_t *value)
{
    int64_t number;
    const char *suffix = scan_digits(text, &number);
    if (suffix == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(suffix, units[i].suffix) == 0) {
            int64_t product;
            if (__builtin_mul_overflow(number, units[i].factor, &product)) {
                return false;
            }
            *value = product;
            return true;
        }
    }
    return false;
}

bool rsti_parse_size(const char *text, int64_t *bytes)
{
    static const unit_t units[] = {{"", 1}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}};
    return parse_with_unit(text, units, sizeof units / sizeof units[0], bytes);
}

bool rsti_parse_duration_ns(const char *text, int64_t *ns)
{
    static const unit_t units[] = {
        {"", 1}, {"ns", 1}, {"us", 1000}, {"ms", RSTI_NS_PER_MS}, {"s", RSTI_NS_PER_S}};
    return parse_with_unit(text, units, sizeof units / sizeof units[0], ns);
}

bool rsti_parse_bool(const char *text, bool *value)
{
    if (strcmp(text, "true") == 0) {
        *value = true;
        return true;
    }
    if (strcmp(text, "false") == 0) {
        *value = false;
        return true;
    }
    return false;
}

/* Not by strtod(): it accepts "nan" and depends on the locale's decimal point. */
bool rsti_parse_decimal(const char *text, int64_t most, double *value)
{
    int64_t whole;
    const char *at = scan_digits(text, &whole);
    if (at == NULL || whole > most) {
        return false;
    }
    double digits = 0.0;
    double scale = 1.0;
    bool is_above_whole = false;
    if (*at == '.') {
        at++;
        if (!is_digit(*at)) {
            return false;
        }
        for (int place = 0; is_digit(*at); at++, place++) {
            is_above_whole = is_above_whole || *at != '0';
            if (place < 15) { /* as many places as a double holds exactly */
                digits = digits * 10.0 + (double)(*at - '0');
                scale *= 10.0;
            }
        }
    }
    if (*at != '\0' || (whole == most && is_above_whole)) {
        return false;
    }
    *value = (double)whole + digits / scale;
    return true;
}

bool rsti_parse_unit(const char *text, double *value)
{
    return rsti_parse_decimal(text, 1, value);
}
