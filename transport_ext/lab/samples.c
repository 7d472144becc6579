/* samples.c: what a run looks like from outside: rows while it runs, one row per image at its end. */
#include "lab/lab.h"

#include "util/clock.h"
#include "util/int_math.h"

#define NAME(name) #name,
#define COUNT RSTI_LAB_COUNT_COLUMN
const char *const rsti_lab_sender_columns[] = {RSTI_LAB_SENDER_COLUMNS(NAME)};
const char *const rsti_lab_image_columns[] = {RSTI_LAB_IMAGE_COLUMNS(NAME)};
const char *const rsti_lab_result_columns[] = {RSTI_LAB_RESULT_COLUMNS(NAME)};
const int32_t rsti_lab_sender_column_count = 0 RSTI_LAB_SENDER_COLUMNS(COUNT);
const int32_t rsti_lab_image_column_count = 0 RSTI_LAB_IMAGE_COLUMNS(COUNT);
const int32_t rsti_lab_result_column_count = 0 RSTI_LAB_RESULT_COLUMNS(COUNT);

static int64_t queue_of(const rsti_lab_image_t *image)
{
    return rsti_lab_image_ready(image) - image->consumed;
}

static double *sample_sender(const rsti_lab_sender_t *sender, double *out)
{
    int64_t queue_most = 0;
    int64_t least = INT64_MAX;
    int64_t sum = 0;
    int64_t overrun = 0;
    int64_t reports = sender->forged_count;
    double fill_most = 0;
    for (int32_t i = 0; i < sender->image_count; i++) {
        const rsti_lab_image_t *image = sender->images[i];
        overrun += image->overrun_bytes;
        reports += image->report_count;
        if (!image->is_gone) {
            queue_most = rsti_max_i64(queue_most, queue_of(image));
            const double fill = (double)queue_of(image) / (double)image->buffer_bytes;
            fill_most = fill > fill_most ? fill : fill_most;
        }
        if (image->survives) {
            least = rsti_min_i64(least, image->consumed);
            sum += image->consumed;
        }
    }
    const double backlog = sender->is_fed || sender->spec->app_rate > 0
                               ? (double)(sender->supply - sender->sent)
                               : 0;
    const double row[] = {sender->rate.bytes_per_s, (double)sender->sent,
        (double)sender->resent_bytes, (double)reports,
        (double)(sender->truth.ignored_count + sender->stale_count),
        (double)sender->way.control_bytes, (double)queue_most, fill_most,
        least == INT64_MAX ? 0 : (double)least, (double)sum, (double)overrun, backlog,
        rsti_lab_sender_window_ns(sender), sender->rate.margin};
    _Static_assert(sizeof row / sizeof row[0] == 0 RSTI_LAB_SENDER_COLUMNS(COUNT), "columns");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        *out++ = row[i];
    }
    return out;
}

void rsti_lab_sample(rsti_lab_t *lab, int64_t now_ns)
{
    if (lab->row_count == lab->row_most) {
        return;
    }
    double *out = lab->samples + lab->row_count++ * lab->row_width;
    *out++ = (double)now_ns / 1e9;
    for (int32_t i = 0; i < lab->spec.counts[RSTI_LAB_SENDER]; i++) {
        out = sample_sender(&lab->senders[i], out);
    }
    for (int32_t i = 0; i < (int32_t)lab->spec.run->traced_images; i++) {
        const rsti_lab_image_t *image = &lab->images[i];
        *out++ = (double)queue_of(image);
        *out++ = (double)image->consumed;
        *out++ = lab->consumers[(int32_t)image->spec->consumer].taken_most;
    }
}

void rsti_lab_result(const rsti_lab_t *lab, int32_t index, double *out)
{
    const rsti_lab_image_t *image = &lab->images[index];
    const bool was_unmasked = image->unmasked_ns != RSTI_NO_DEADLINE;
    const double row[] = {(double)image->consumed,
        lab->consumers[(int32_t)image->spec->consumer].taken_most,
        (double)image->overrun_bytes, (double)image->lost_bytes, (double)image->given_up_bytes,
        (double)image->report_count, (double)image->suppress.silenced_count,
        (double)image->status_count, (double)image->nak_count, (double)image->is_gone,
        was_unmasked ? (double)image->unmasked_ns : -1.0, (double)queue_of(image)};
    _Static_assert(sizeof row / sizeof row[0] == 0 RSTI_LAB_RESULT_COLUMNS(COUNT), "columns");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        out[i] = row[i];
    }
}
