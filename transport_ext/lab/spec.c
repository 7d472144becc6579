/* spec.c: decodes records of numbers into a run, or names the wrong number. */
#include "lab/spec.h"

#include "util/alloc.h"
#include "util/error.h"

#include <math.h>
#include <string.h>

#define FIELD(name, least, most) {#name, least, most},
#define FIELDS(word, WORD)                                                                         \
    static const rsti_lab_field_t word##_fields[] = {RSTI_LAB_##WORD##_FIELDS(FIELD)};
RSTI_LAB_KINDS(FIELDS)

#define RECORD(word, WORD)                                                                         \
    {#word, word##_fields, (int32_t)(sizeof word##_fields / sizeof word##_fields[0])},
const rsti_lab_record_t rsti_lab_records[RSTI_LAB_KIND_COUNT] = {RSTI_LAB_KINDS(RECORD)};

/* A struct of doubles only has the layout of an array of doubles. */
#define SIZE_CHECK(word, WORD)                                                                     \
    _Static_assert(sizeof(rsti_lab_##word##_spec_t)                                                \
            == sizeof word##_fields / sizeof word##_fields[0] * sizeof(double),                    \
        "fields of " #word);
RSTI_LAB_KINDS(SIZE_CHECK)

static double **list_of(rsti_lab_spec_t *spec, int32_t kind)
{
#define LIST(word, WORD) (double **)(void *)&spec->word,
    double **const lists[] = {RSTI_LAB_KINDS(LIST)};
    return lists[kind];
}

static int check_record(const double *values, int32_t kind, int32_t number)
{
    const rsti_lab_record_t *record = &rsti_lab_records[kind];
    for (int32_t i = 0; i < record->count; i++) {
        const rsti_lab_field_t *field = &record->fields[i];
        if (!(values[i] >= field->least && values[i] <= field->most)) {
            return RST_SET_ERR(RST_EINVAL, "%s %d: %s is %g, must lie in %g ... %g", record->name,
                number, field->name, values[i], field->least, field->most);
        }
    }
    return 0;
}

/* Counts the records of each kind and checks every number. */
static int survey(rsti_lab_spec_t *spec, const double *values, size_t count)
{
    size_t at = 0;
    while (at < count) {
        const double word = values[at++];
        if (!(word >= 0 && word < (double)RSTI_LAB_KIND_COUNT && word == floor(word))) {
            return RST_SET_ERR(RST_EINVAL, "value %zu is %g: no kind of record", at - 1, word);
        }
        const int32_t kind = (int32_t)word;
        const size_t length = (size_t)rsti_lab_records[kind].count;
        if (count - at < length) {
            return RST_SET_ERR(RST_EINVAL, "%s %d: %zu values, needs %zu",
                rsti_lab_records[kind].name, spec->counts[kind], count - at, length);
        }
        const int result = check_record(values + at, kind, spec->counts[kind]);
        if (result < 0) {
            return result;
        }
        spec->counts[kind]++;
        at += length;
    }
    return 0;
}

static int copy(rsti_lab_spec_t *spec, const double *values, size_t count)
{
    int32_t done[RSTI_LAB_KIND_COUNT] = {0};
    for (int32_t kind = 0; kind < RSTI_LAB_KIND_COUNT; kind++) {
        const size_t length = (size_t)rsti_lab_records[kind].count;
        /* One more than needed, so that an empty list has an address too. */
        double *list = rsti_alloc(((size_t)spec->counts[kind] + 1) * length * sizeof(double));
        if (list == NULL) {
            return RST_SET_ERR(RST_ENOMEM, "%d records %s", spec->counts[kind],
                rsti_lab_records[kind].name);
        }
        *list_of(spec, kind) = list;
    }
    for (size_t at = 0; at < count;) {
        const int32_t kind = (int32_t)values[at++];
        const size_t length = (size_t)rsti_lab_records[kind].count;
        memcpy(*list_of(spec, kind) + (size_t)done[kind]++ * length, values + at,
            length * sizeof(double));
        at += length;
    }
    return 0;
}

static int check_reference(double number, int32_t kind, const char *owner, int32_t of)
{
    if (number < of) {
        return 0;
    }
    return RST_SET_ERR(RST_EINVAL, "%s names %s %g, there are %d", owner,
        rsti_lab_records[kind].name, number, of);
}

#define CHECK_REFERENCES(list, field, KIND)                                                        \
    for (int32_t i = 0; i < spec->counts[list##_kind]; i++) {                                      \
        const int result = check_reference(spec->list[i].field, KIND,                              \
            rsti_lab_records[list##_kind].name, spec->counts[KIND]);                               \
        if (result < 0) {                                                                          \
            return result;                                                                         \
        }                                                                                          \
    }

static int check_references(const rsti_lab_spec_t *spec)
{
    enum {
        consumer_kind = RSTI_LAB_CONSUMER,
        level_kind = RSTI_LAB_LEVEL,
        pause_kind = RSTI_LAB_PAUSE,
        image_kind = RSTI_LAB_IMAGE,
        liar_kind = RSTI_LAB_LIAR,
        forger_kind = RSTI_LAB_FORGER
    };
    CHECK_REFERENCES(consumer, forward_to, RSTI_LAB_SENDER)
    CHECK_REFERENCES(level, consumer, RSTI_LAB_CONSUMER)
    CHECK_REFERENCES(pause, consumer, RSTI_LAB_CONSUMER)
    CHECK_REFERENCES(image, sender, RSTI_LAB_SENDER)
    CHECK_REFERENCES(image, consumer, RSTI_LAB_CONSUMER)
    CHECK_REFERENCES(liar, image, RSTI_LAB_IMAGE)
    CHECK_REFERENCES(forger, sender, RSTI_LAB_SENDER)
    CHECK_REFERENCES(forger, image, RSTI_LAB_IMAGE)
    return 0;
}

static int check_whole(const rsti_lab_spec_t *spec)
{
    if (spec->counts[RSTI_LAB_RUN] != 1) {
        return RST_SET_ERR(RST_EINVAL, "%d records run, must be one", spec->counts[RSTI_LAB_RUN]);
    }
    if (spec->counts[RSTI_LAB_IMAGE] < 1 || spec->counts[RSTI_LAB_IMAGE] > RSTI_LAB_IMAGES_MAX) {
        return RST_SET_ERR(RST_EINVAL, "%d records image, must be 1 ... %d",
            spec->counts[RSTI_LAB_IMAGE], RSTI_LAB_IMAGES_MAX);
    }
    if (spec->run->sample_ns < spec->run->step_ns) {
        return RST_SET_ERR(RST_EINVAL, "run: sample_ns %g is less than step_ns %g",
            spec->run->sample_ns, spec->run->step_ns);
    }
    return check_references(spec);
}

/* A run of flows on a link. */
static int check_link(const rsti_lab_spec_t *spec)
{
    const int32_t flows = spec->counts[RSTI_LAB_FLOW];
    if (spec->counts[RSTI_LAB_LINK] != 1 || flows < 1 || flows > RSTI_LAB_FLOWS_MAX) {
        return RST_SET_ERR(RST_EINVAL, "%d records link, must be one, with 1 ... %d flows, not %d",
            spec->counts[RSTI_LAB_LINK], RSTI_LAB_FLOWS_MAX, flows);
    }
    for (int32_t i = 0; i < flows; i++) {
        if ((int32_t)spec->flow[i].kind == RSTI_LAB_FLOW_FIXED && !(spec->flow[i].app_rate > 0)) {
            return RST_SET_ERR(RST_EINVAL, "flow %d: fixed, and has no app_rate", i);
        }
    }
    return 0;
}

static int decode(rsti_lab_spec_t *spec, const double *values, size_t count,
    int (*check)(const rsti_lab_spec_t *))
{
    *spec = (rsti_lab_spec_t){0};
    int result = survey(spec, values, count);
    if (result == 0) {
        result = copy(spec, values, count);
    }
    if (result == 0) {
        result = check(spec);
    }
    if (result < 0) {
        rsti_lab_spec_fini(spec);
    }
    return result;
}

int rsti_lab_spec_init(rsti_lab_spec_t *spec, const double *values, size_t count)
{
    return decode(spec, values, count, check_whole);
}

int rsti_lab_spec_init_link(rsti_lab_spec_t *spec, const double *values, size_t count)
{
    return decode(spec, values, count, check_link);
}

void rsti_lab_spec_fini(rsti_lab_spec_t *spec)
{
    for (int32_t kind = 0; kind < RSTI_LAB_KIND_COUNT; kind++) {
        rsti_free(*list_of(spec, kind));
    }
    *spec = (rsti_lab_spec_t){0};
}
