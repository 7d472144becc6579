/* loss_interceptors.c: see the header. */
#include "media/loss_interceptors.h"

#include "concurrent/atomics.h"
#include "protocol/frame.h"
#include "util/error.h"
#include "util/netaddr.h"
#include "util/parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPTION "udp-channel-incoming-interceptors"
#define VALUE_MAX 64

/* One key of an interceptor's arguments. */
typedef struct key_row_t {
    const char *name;
    int64_t least;
    int64_t most;
    int64_t *value;
    bool is_found;
} key_row_t;

static bool parse_hex(const char *text, int64_t *value)
{
    char *end = NULL;
    const unsigned long long parsed = strtoull(text, &end, 16);
    if (end == text || *end != '\0' || text[0] == '-' || parsed > UINT32_MAX) {
        return false;
    }
    *value = (int64_t)parsed;
    return true;
}

static bool take_value(const char *key, const char *text, key_row_t *rows, size_t count,
    double *rate)
{
    if (rate != NULL && strcmp(key, "rate") == 0) {
        return rsti_parse_unit(text, rate);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        if (strcmp(rows[i].name, key) == 0) {
            const bool is_parsed = strcmp(key, "recv-msg-mask") == 0 ? parse_hex(text, &value)
                                                                     : rsti_parse_i64(text, &value);
            if (!is_parsed || value < rows[i].least || value > rows[i].most) {
                return false;
            }
            *rows[i].value = value;
            rows[i].is_found = true;
            return true;
        }
    }
    return false;
}

/* "key=value|key=value": every key must be one of the rows (or rate), every value within limits. */
static int parse_args(const char *option, const char *text, key_row_t *rows, size_t count,
    double *rate)
{
    for (const char *at = text; *at != '\0';) {
        char key[VALUE_MAX], value[VALUE_MAX];
        const size_t length = strcspn(at, "|");
        const size_t key_length = strcspn(at, "=|");
        if (key_length >= length || !rsti_netaddr_copy_text(key, sizeof key, at, key_length)
            || !rsti_netaddr_copy_text(value, sizeof value, at + key_length + 1,
                length - key_length - 1)
            || !take_value(key, value, rows, count, rate)) {
            return RST_SET_ERR(RST_EINVAL,
                "%s=%s: at \"%.*s\": unknown key, or its value is not valid", option, text,
                (int)length, at);
        }
        at += length + (at[length] == '|');
    }
    return 0;
}

static int require(const char *option, const char *text, const key_row_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].is_found) {
            return RST_SET_ERR(RST_EINVAL, "%s=%s: %s is missing", option, text, rows[i].name);
        }
    }
    return 0;
}

static int init_loss(rsti_loss_interceptors_t *losses, const char *text)
{
    static const char option[] = "udp-channel-transport-bindings-loss-args";
    int64_t seed = 0;
    int64_t mask = INT64_C(1) << RSTI_FRAME_DATA;
    key_row_t rows[] = {
        {"seed", INT64_MIN, INT64_MAX, &seed, false},
        {"recv-msg-mask", 0, UINT32_MAX, &mask, false},
    };
    losses->rate = -1;
    if (parse_args(option, text, rows, sizeof rows / sizeof rows[0], &losses->rate) < 0) {
        return -RST_EINVAL;
    }
    if (losses->rate < 0) {
        return RST_SET_ERR(RST_EINVAL, "%s=%s: rate is missing", option, text);
    }
    losses->has_loss = true;
    losses->seed = (uint64_t)seed;
    losses->type_mask = (uint32_t)mask;
    return 0;
}

static int init_fixed(rsti_loss_interceptors_t *losses, const char *text)
{
    static const char option[] = "udp-channel-transport-bindings-fixed-loss-args";
    int64_t term_id = 0, offset = 0, length = 0;
    key_row_t rows[] = {
        {"term-id", INT32_MIN, INT32_MAX, &term_id, false},
        {"term-offset", 0, INT32_MAX, &offset, false},
        {"length", 1, INT32_MAX, &length, false},
    };
    const size_t count = sizeof rows / sizeof rows[0];
    if (parse_args(option, text, rows, count, NULL) < 0 || require(option, text, rows, count) < 0) {
        return -RST_EINVAL;
    }
    losses->has_fixed = true;
    losses->fixed = (rsti_fault_gaps_t){
        .term_id = (int32_t)term_id,
        .first = (int32_t)offset,
        .length = (int32_t)length,
        .count = 1,
    };
    return 0;
}

static int init_multi_gap(rsti_loss_interceptors_t *losses, const char *text)
{
    static const char option[] = "udp-channel-transport-bindings-multi-gap-loss-args";
    int64_t term_id = 0, radix = 0, length = 0, total = 0;
    key_row_t rows[] = {
        {"term-id", INT32_MIN, INT32_MAX, &term_id, false},
        {"gap-radix", 1, INT32_MAX / 2, &radix, false},
        {"gap-length", 1, INT32_MAX, &length, false},
        {"total-gaps", 1, INT32_MAX, &total, false},
    };
    const size_t count = sizeof rows / sizeof rows[0];
    if (parse_args(option, text, rows, count, NULL) < 0 || require(option, text, rows, count) < 0) {
        return -RST_EINVAL;
    }
    int64_t period = 1;
    while (period < radix) {
        period *= 2;
    }
    if (length >= period) {
        return RST_SET_ERR(RST_EINVAL,
            "%s=%s: gap-length must be below gap-radix (here %" PRId64 ")", option, text, period);
    }
    losses->has_multi_gap = true;
    losses->multi_gap = (rsti_fault_gaps_t){
        .term_id = (int32_t)term_id,
        .first = (int32_t)period,
        .period = (int32_t)period,
        .length = (int32_t)length,
        .count = (int32_t)total,
    };
    return 0;
}

int rsti_loss_interceptors_init(rsti_loss_interceptors_t *losses, const rsti_loss_texts_t *texts)
{
    static const char *const names[] = {"loss", "fixed-loss", "multi-gap-loss"};
    *losses = (rsti_loss_interceptors_t){0};
    for (const char *at = texts->names; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        size_t i = 0;
        while (i < 3 && (strlen(names[i]) != length || memcmp(names[i], at, length) != 0)) {
            i++;
        }
        const int result = i == 0 ? init_loss(losses, texts->loss_args)
            : i == 1              ? init_fixed(losses, texts->fixed_args)
            : i == 2 ? init_multi_gap(losses, texts->multi_gap_args)
                     : RST_SET_ERR(RST_EINVAL,
                           OPTION "=%s: there is no interceptor \"%.*s\", there are loss,"
                                  " fixed-loss and multi-gap-loss",
                           texts->names, (int)length, at);
        if (result < 0) {
            return -RST_EINVAL;
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

static bool is_unlucky(rsti_loss_interceptors_t *losses, const rsti_fault_view_t *datagram)
{
    rsti_frame_header_t header;
    memcpy(&header, datagram->data, sizeof header);
    if (header.type < 0 || header.type > 31 || (losses->type_mask >> header.type & 1U) == 0) {
        return false;
    }
    /* A generator of its own for each roll, because several agents roll. */
    rsti_rng_t rng;
    rsti_rng_init(&rng,
        losses->seed
            + 4 * (uint64_t)rsti_fetch_add_i64(&losses->rolled, 1) * UINT64_C(0x9e3779b97f4a7c15));
    return rsti_rng_unit(&rng) < losses->rate;
}

bool rsti_loss_interceptors_drop(void *arg, const rsti_fault_view_t *datagram)
{
    rsti_loss_interceptors_t *losses = arg;
    if (datagram->is_sent || datagram->length < sizeof(rsti_frame_header_t)) {
        return false;
    }
    return (losses->has_loss && is_unlucky(losses, datagram))
        || (losses->has_fixed && rsti_fault_gaps(&losses->fixed, datagram))
        || (losses->has_multi_gap && rsti_fault_gaps(&losses->multi_gap, datagram));
}
