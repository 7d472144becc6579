/* samples.c: see the header. */
#include "lab/samples.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

#define SAMPLES_MAX (INT64_C(1) << 27) /* values: 1 GiB */

#define NAME(name) #name,
#define COUNT RSTI_LAB_COUNT_COLUMN
const char *const rsti_lab_sender_columns[] = {RSTI_LAB_SENDER_COLUMNS(NAME)};
const char *const rsti_lab_image_columns[] = {RSTI_LAB_IMAGE_COLUMNS(NAME)};
const char *const rsti_lab_result_columns[] = {RSTI_LAB_RESULT_COLUMNS(NAME)};
const int32_t rsti_lab_sender_column_count = 0 RSTI_LAB_SENDER_COLUMNS(COUNT);
const int32_t rsti_lab_image_column_count = 0 RSTI_LAB_IMAGE_COLUMNS(COUNT);
const int32_t rsti_lab_result_column_count = 0 RSTI_LAB_RESULT_COLUMNS(COUNT);

int rsti_lab_samples_init(rsti_lab_samples_t *samples, const rsti_lab_spec_t *spec)
{
    const rsti_lab_run_spec_t *run = spec->run;
    const int64_t senders = spec->counts[RSTI_LAB_SENDER];
    const int64_t images = spec->counts[RSTI_LAB_IMAGE];
    *samples = (rsti_lab_samples_t){
        .spec = spec,
        .step_count = (int64_t)(run->duration_ns / run->step_ns),
        .sample_every = rsti_max_i64(1, (int64_t)(run->sample_ns / run->step_ns + 0.5)),
        .row_width = RSTI_LAB_TIME_WIDTH + senders * rsti_lab_sender_column_count
            + (int64_t)run->traced_images * rsti_lab_image_column_count,
    };
    samples->row_most = samples->step_count / samples->sample_every + 1;
    if (run->traced_images > (double)images
        || samples->row_most > SAMPLES_MAX / samples->row_width) {
        return RST_SET_ERR(RST_EINVAL,
            "run: %lld rows of %lld samples (limit %lld values), %g of %lld images traced",
            (long long)samples->row_most, (long long)samples->row_width, (long long)SAMPLES_MAX,
            run->traced_images, (long long)images);
    }
    samples->senders = rsti_alloc((size_t)senders * sizeof *samples->senders + 1);
    samples->images = rsti_alloc((size_t)images * sizeof *samples->images);
    samples->values = rsti_alloc((size_t)(samples->row_most * samples->row_width) * sizeof(double));
    if (samples->senders == NULL || samples->images == NULL || samples->values == NULL) {
        rsti_lab_samples_fini(samples);
        return RST_SET_ERR(RST_ENOMEM, "a run of %lld images and %lld samples", (long long)images,
            (long long)(samples->row_most * samples->row_width));
    }
    return 0;
}

void rsti_lab_samples_fini(rsti_lab_samples_t *samples)
{
    rsti_free(samples->senders);
    rsti_free(samples->images);
    rsti_free(samples->values);
    *samples = (rsti_lab_samples_t){0};
}

int64_t rsti_lab_samples_next(const rsti_lab_samples_t *samples)
{
    const int64_t step = samples->row_count * samples->sample_every;
    return step < samples->step_count ? step : INT64_MAX;
}

bool rsti_lab_samples_is_due(const rsti_lab_samples_t *samples, int64_t step)
{
    return step % samples->sample_every == 0 && samples->row_count < samples->row_most;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static double *add_sender(const rsti_lab_samples_t *samples, int32_t number, double *out)
{
    const rsti_lab_sender_facts_t *sender = &samples->senders[number];
    double queue_most = 0, fill_most = 0, sum = 0, overrun = 0;
    double least = -1;
    double reports = sender->forged;
    for (int32_t i = 0; i < samples->spec->counts[RSTI_LAB_IMAGE]; i++) {
        const rsti_lab_image_facts_t *image = &samples->images[i];
        if ((int32_t)samples->spec->image[i].sender != number) {
            continue;
        }
        overrun += image->overrun;
        reports += image->reports;
        if (!image->is_gone) {
            queue_most = greater(queue_most, image->queue);
            fill_most = greater(fill_most, image->queue / image->buffer_bytes);
        }
        if (image->survives) {
            least = least < 0 || image->consumed < least ? image->consumed : least;
            sum += image->consumed;
        }
    }
    const double row[] = {sender->limit, sender->sent, sender->resent, reports, sender->ignored,
        sender->control_bytes, queue_most, fill_most, greater(least, 0), sum, overrun,
        sender->backlog, sender->rtt_ns, sender->margin};
    _Static_assert(sizeof row / sizeof row[0] == 0 RSTI_LAB_SENDER_COLUMNS(COUNT), "columns");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        *out++ = row[i];
    }
    return out;
}

void rsti_lab_samples_add(rsti_lab_samples_t *samples, int64_t now_ns)
{
    double *out = samples->values + samples->row_count++ * samples->row_width;
    *out++ = (double)now_ns / 1e9;
    *out++ = (double)samples->gap_ns / 1e9;
    for (int32_t i = 0; i < samples->spec->counts[RSTI_LAB_SENDER]; i++) {
        out = add_sender(samples, i, out);
    }
    for (int32_t i = 0; i < (int32_t)samples->spec->run->traced_images; i++) {
        *out++ = samples->images[i].queue;
        *out++ = samples->images[i].consumed;
        *out++ = samples->images[i].capacity;
    }
}

void rsti_lab_samples_result(const rsti_lab_samples_t *samples, int32_t index, double *out)
{
    const rsti_lab_image_facts_t *image = &samples->images[index];
    const double row[] = {image->consumed, image->capacity, image->overrun, image->lost,
        image->given_up, image->reports, image->silenced, image->statuses, image->naks,
        (double)image->is_gone, image->unmasked_ns, image->queue};
    _Static_assert(sizeof row / sizeof row[0] == 0 RSTI_LAB_RESULT_COLUMNS(COUNT), "columns");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        out[i] = row[i];
    }
}
