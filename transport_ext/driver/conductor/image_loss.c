/* conductor_reports.c: what the conductor tells people who look later: the loss report. */
#include "driver/internal.h"

void rsti_image_report_loss(rst_driver_t *driver, rsti_image_t *image, const rsti_gap_t *gap)
{
    const rsti_log_t *log = &image->file.log;
    const rsti_loss_facts_t facts = {
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .channel = image->uri,
        .source = image->source,
    };
    const int64_t begin = rsti_position(gap->term_id, gap->term_offset, log->position_bits,
        log->initial_term_id);
    (void)rsti_loss_report_gap(&driver->loss_report, &image->loss_record, &facts, begin,
        begin + gap->length, driver->conductor.epoch.now_ms);
}
