/* image_loss.c: see image_loss.h. */
#include "driver/conductor/image_loss.h"

void rsti_image_report_range(rst_driver_t *driver, rsti_image_t *image, int64_t begin, int64_t end)
{
    const rsti_loss_facts_t facts = {
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .channel = image->uri,
        .source = image->source,
    };
    (void)rsti_loss_report_gap(&driver->loss_report, &image->loss_record, &facts, begin, end,
        driver->epoch.now_ms);
}

void rsti_image_report_loss(rst_driver_t *driver, rsti_image_t *image, const rsti_gap_t *gap)
{
    const rsti_log_t *log = &image->file.log;
    const int64_t begin = rsti_position(gap->term_id, gap->term_offset, log->position_bits,
        log->initial_term_id);
    rsti_image_report_range(driver, image, begin, begin + gap->length);
}

int64_t rsti_image_repair_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t from,
    int64_t hwm, bool *has_loss)
{
    const rsti_log_t *log = &image->file.log;
    int64_t head = rsti_load_relaxed_i64(&image->lost_head);
    const int64_t tail = rsti_load_acquire_i64(&image->lost_tail);
    for (; head < tail; head++) {
        const int64_t begin = image->lost[head % RSTI_IMAGE_LOST_MAX].begin;
        const rsti_gap_t gap = {
            .term_id = rsti_position_term_id(begin, log->position_bits, log->initial_term_id),
            .term_offset = rsti_position_offset(begin, log->term_length),
            .length = (int32_t)(image->lost[head % RSTI_IMAGE_LOST_MAX].end - begin),
        };
        rsti_image_report_loss(driver, image, &gap);
        rsti_store_release_i64(&image->lost_head, head + 1);
        *has_loss = true;
    }
    image->loss_due_ns = RSTI_NO_DEADLINE;
    image->rebuilt_hwm = -1; /* forces a scan if the conductor takes over */
    int64_t end = from;
    for (int32_t term = 0; term < RSTI_PARTITIONS && end < hwm; term++) {
        const int32_t offset = rsti_position_offset(end, log->term_length);
        const int64_t term_begin = end - offset;
        end = term_begin
            + rsti_term_contiguous_end(log->terms[rsti_position_index(end, log->position_bits)],
                offset, (int32_t)rsti_min_i64(hwm - term_begin, log->term_length),
                log->term_length);
        if (end < term_begin + log->term_length) {
            break;
        }
    }
    return end;
}
