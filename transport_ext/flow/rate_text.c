/* rate_text.c: the grammar of rs-rate, one table row per key. Values out of range are refused here:
 * the laws would clamp them silently, and the user would not know. */
#include "flow/rate_text.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/parse.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MOST INT64_C(1000000000000) /* RSTI_RATE_MAX */
#define PERCENT_MOST 100

typedef enum key_kind_t {
    KEY_BYTES, /* into a double */
    KEY_COUNT, /* into a double */
    KEY_DURATION, /* into an int64_t */
    KEY_SHARE, /* percent, into a double of 0 ... 1 */
    KEY_SHARES /* percent/percent/..., into an array of them */
} key_kind_t;

enum {
    ADAPTIVE = 1,
    NAK = 2,
    AIMD = 4,
    FIXED = 8
};

typedef struct rate_key_t {
    char letter;
    uint8_t laws;
    key_kind_t kind;
    size_t offset; /* in rsti_rate_params_t */
    int64_t least, most;
} rate_key_t;

#define ROW(letter, laws, kind, field, least, most)                                                \
    {letter, laws, KEY_##kind, offsetof(rsti_rate_params_t, field), least, most}

static const rate_key_t keys[] = {
    ROW('r', FIXED, BYTES, initial, 1, BYTES_MOST),
    ROW('p', FIXED, COUNT, datagrams_per_s, 1, BYTES_MOST),
    ROW('i', ADAPTIVE | NAK | AIMD, BYTES, initial, 1, BYTES_MOST),
    ROW('l', ADAPTIVE | NAK | AIMD, BYTES, least, 1, BYTES_MOST),
    ROW('m', ADAPTIVE | NAK | AIMD, BYTES, most, 1, BYTES_MOST),
    ROW('d', ADAPTIVE, DURATION, target_delay_ns, 1, RSTI_REPORT_RTT_MAX_NS),
    ROW('w', NAK, DURATION, window_ns, RSTI_NS_PER_MS, RSTI_REPORT_RTT_MAX_NS),
    ROW('t', NAK, SHARES, triggers, 0, PERCENT_MOST),
    ROW('c', NAK, SHARES, cuts, 0, PERCENT_MOST),
    ROW('s', NAK, SHARE, step_share, 0, PERCENT_MOST),
    ROW('a', AIMD, BYTES, increase, 1, BYTES_MOST),
    ROW('b', AIMD, SHARE, decrease, 0, PERCENT_MOST),
};
#define KEY_COUNT_ALL (sizeof keys / sizeof keys[0])

typedef struct rate_reader_t {
    const char *text;
    const char *channel;
    rsti_rate_choice_t choice;
    uint32_t seen; /* bit i: keys[i] */
    int32_t trigger_count, cut_count; /* as given; 0: not */
    char item[RSTI_RATE_TEXT_MAX + 1]; /* the piece being read */
} rate_reader_t;

static int refuse(const rate_reader_t *reader, const char *piece, const char *why)
{
    const bool is_cut = strlen(reader->text) > RSTI_RATE_TEXT_MAX;
    if (reader->channel == NULL) {
        return RST_SET_ERR(RST_EINVAL, "rate=%.*s%s: \"%s\" %s", RSTI_RATE_TEXT_MAX, reader->text,
            is_cut ? "..." : "", piece, why);
    }
    return RST_SET_ERR(RST_ECHANNEL, "channel parameter rs-rate=%.*s%s: \"%s\" %s in \"%s\"",
        RSTI_RATE_TEXT_MAX, reader->text, is_cut ? "..." : "", piece, why, reader->channel);
}

static unsigned mask_of(const rsti_rate_law_t *law)
{
    return law == &rsti_rate_adaptive ? ADAPTIVE
        : law == &rsti_rate_nak       ? NAK
        : law == &rsti_rate_aimd      ? AIMD
        : law == &rsti_rate_fixed     ? FIXED
                                      : 0;
}

static int refuse_key(const rate_reader_t *reader)
{
    char why[128];
    const rsti_rate_law_t *law = reader->choice.law;
    int length = snprintf(why, sizeof why, "is not one of the keys of %s,", law->name);
    int count = 0;
    for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
        if ((keys[i].laws & mask_of(law)) != 0) {
            length += snprintf(why + length, sizeof why - (size_t)length,
                "%s%c:", count++ == 0 ? " which are " : " ", keys[i].letter);
        }
    }
    if (count == 0) {
        snprintf(why + length, sizeof why - (size_t)length, " which has none,");
    }
    return refuse(reader, reader->item, why);
}

static int refuse_range(const rate_reader_t *reader, const rate_key_t *key)
{
    char why[160];
    switch (key->kind) {
    case KEY_BYTES:
    case KEY_COUNT:
        snprintf(why, sizeof why, "must be %s, %" PRId64 "...%" PRId64 " per second,",
            key->kind == KEY_BYTES ? "bytes such as 65536, 64k, 16m or 1g" : "a whole number",
            key->least, key->most);
        break;
    case KEY_DURATION:
        snprintf(why, sizeof why,
            "must be a duration such as 10ms or 500us, %" PRId64 "...%" PRId64 " ns,", key->least,
            key->most);
        break;
    case KEY_SHARE:
        snprintf(why, sizeof why, "must be a percentage such as 50 or 2.5, 0...100,");
        break;
    case KEY_SHARES:
        snprintf(why, sizeof why,
            "must be 1 to %d percentages such as 50/75/100, each above 0 and up to 100,",
            RSTI_RATE_TRIGGERS_MAX);
        break;
    }
    return refuse(reader, reader->item, why);
}

static bool parse_shares(char *value, double *shares, int32_t *count)
{
    *count = 0;
    for (char *at = value; at != NULL;) {
        char *slash = strchr(at, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        double percent;
        if (*count == RSTI_RATE_TRIGGERS_MAX || !rsti_parse_decimal(at, PERCENT_MOST, &percent)
            || !(percent > 0)) {
            return false;
        }
        shares[(*count)++] = percent / PERCENT_MOST;
        at = slash == NULL ? NULL : slash + 1;
    }
    return true;
}

static bool parse_value(rate_reader_t *reader, const rate_key_t *key, char *value)
{
    char *field = (char *)&reader->choice.params + key->offset;
    int64_t number = 0;
    double real = 0;
    switch (key->kind) {
    case KEY_SHARES:
        return parse_shares(value, (double *)(void *)field,
            key->letter == 't' ? &reader->trigger_count : &reader->cut_count);
    case KEY_SHARE:
        if (!rsti_parse_decimal(value, PERCENT_MOST, &real)) {
            return false;
        }
        real /= PERCENT_MOST;
        break;
    case KEY_BYTES:
    case KEY_COUNT:
    case KEY_DURATION:
        if (!(key->kind == KEY_BYTES         ? rsti_parse_size(value, &number)
                    : key->kind == KEY_COUNT ? rsti_parse_i64(value, &number)
                                             : rsti_parse_duration_ns(value, &number))
            || number < key->least || number > key->most) {
            return false;
        }
        real = (double)number;
        break;
    }
    if (key->kind == KEY_DURATION) {
        memcpy(field, &number, sizeof number);
    } else {
        memcpy(field, &real, sizeof real);
    }
    return true;
}

static int read_item(rate_reader_t *reader)
{
    const unsigned mask = mask_of(reader->choice.law);
    for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
        if ((keys[i].laws & mask) == 0 || reader->item[0] != keys[i].letter
            || reader->item[1] != ':') {
            continue;
        }
        if ((reader->seen >> i & 1) != 0) {
            return refuse(reader, reader->item, "is given twice");
        }
        reader->seen |= UINT32_C(1) << i;
        char value[sizeof reader->item];
        memcpy(value, reader->item + 2, sizeof value - 2);
        return parse_value(reader, &keys[i], value) ? 0 : refuse_range(reader, &keys[i]);
    }
    return refuse_key(reader);
}

static bool is_seen(const rate_reader_t *reader, char letter)
{
    for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
        if (keys[i].letter == letter && (reader->seen >> i & 1) != 0) {
            return true;
        }
    }
    return false;
}

static int check_together(rate_reader_t *reader)
{
    rsti_rate_params_t *params = &reader->choice.params;
    const char *name = reader->choice.law->name;
    if (reader->choice.law == &rsti_rate_fixed) {
        return reader->seen != 0 ? 0
                                 : refuse(reader, name, "needs r:bytes or p:datagrams per second");
    }
    const bool has_initial = is_seen(reader, 'i');
    if (is_seen(reader, 'l')) {
        if (has_initial && params->initial < params->least) {
            return refuse(reader, name, "begins with i: below the least, l:,");
        }
    } else {
        /* A small value is meant: the default for least must not raise it. */
        const double initial = has_initial ? params->initial : params->least;
        const double lower = initial < params->most ? initial : params->most;
        params->least = lower < params->least ? lower : params->least;
    }
    if (params->most < params->least || params->most < params->initial) {
        return refuse(reader, name, "has m: below its l: or i:");
    }
    if (reader->choice.law != &rsti_rate_nak) {
        return 0;
    }
    const int32_t trigger_count = reader->trigger_count > 0 ? reader->trigger_count
                                                            : params->trigger_count;
    const int32_t cut_count = reader->cut_count > 0 ? reader->cut_count : params->trigger_count;
    if (trigger_count != cut_count) {
        char why[80];
        snprintf(why, sizeof why, "has %" PRId32 " triggers (t:) and %" PRId32 " cuts (c:)",
            trigger_count, cut_count);
        return refuse(reader, name, why);
    }
    params->trigger_count = trigger_count;
    for (int32_t i = 1; i < trigger_count; i++) {
        if (!(params->triggers[i] > params->triggers[i - 1])) {
            return refuse(reader, name, "has triggers (t:) that do not rise");
        }
    }
    return 0;
}

/* Reads the piece up to the next comma. Returns the text after the comma; NULL: there is none. */
static const char *take_item(rate_reader_t *reader, const char *from)
{
    const size_t length = strcspn(from, ",");
    memset(reader->item, 0, sizeof reader->item);
    memcpy(reader->item, from, length);
    return from[length] == ',' ? from + length + 1 : NULL;
}

int rsti_rate_choice_parse(rsti_rate_choice_t *choice, const char *text, const char *channel)
{
    rate_reader_t reader = {.text = text, .channel = channel};
    if (strlen(text) > RSTI_RATE_TEXT_MAX) {
        char why[48];
        snprintf(why, sizeof why, "is longer than %d bytes", RSTI_RATE_TEXT_MAX);
        return refuse(&reader, "the text", why);
    }
    const char *rest = take_item(&reader, text);
    reader.choice.law = rsti_rate_find(reader.item);
    reader.choice.params = rsti_rate_defaults();
    if (reader.choice.law == NULL) {
        return refuse(&reader, reader.item,
            "is no law of rate: there are unlimited, fixed, adaptive, nak and aimd");
    }
    while (rest != NULL) {
        rest = take_item(&reader, rest);
        const int result = read_item(&reader);
        if (result < 0) {
            return result;
        }
    }
    const int result = check_together(&reader);
    if (result == 0) {
        *choice = reader.choice;
    }
    return result;
}

/* Exact comparison is right for parsed values: equal texts give equal numbers. Do not use it for
 * computed values. */
static bool is_same(double a, double b)
{
    return !(a < b) && !(a > b);
}

int rsti_rate_choice_default(rsti_rate_choice_t *choice, const char *option, bool is_stream)
{
    const bool is_set = strcmp(option, RSTI_RATE_DEFAULT) != 0;
    const char *text = is_stream ? "adaptive" : "unlimited";
    return rsti_rate_choice_parse(choice, is_set ? option : text, NULL);
}

bool rsti_rate_choice_equals(const rsti_rate_choice_t *a, const rsti_rate_choice_t *b)
{
    const rsti_rate_params_t *p = &a->params;
    const rsti_rate_params_t *q = &b->params;
    bool is_equal = a->law == b->law && p->trigger_count == q->trigger_count
        && p->target_delay_ns == q->target_delay_ns && p->window_ns == q->window_ns
        && p->detect_ns == q->detect_ns && is_same(p->initial, q->initial)
        && is_same(p->least, q->least) && is_same(p->most, q->most)
        && is_same(p->floor_share, q->floor_share)
        && is_same(p->datagrams_per_s, q->datagrams_per_s) && is_same(p->step_share, q->step_share)
        && is_same(p->increase, q->increase) && is_same(p->decrease, q->decrease);
    for (int32_t i = 0; is_equal && i < p->trigger_count; i++) {
        is_equal = is_same(p->triggers[i], q->triggers[i]) && is_same(p->cuts[i], q->cuts[i]);
    }
    return is_equal;
}
