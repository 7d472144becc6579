/* gather.c: the facts of the queue engine for the samples. */
#include "lab/lab.h"

#include "util/clock.h"

static int64_t queue_of(const rsti_lab_image_t *image)
{
    return rsti_lab_image_ready(image) - image->consumed;
}

static rsti_lab_sender_facts_t sender_facts(const rsti_lab_sender_t *sender)
{
    const bool has_supply = sender->is_fed || sender->spec->app_rate > 0;
    return (rsti_lab_sender_facts_t){
        .limit = sender->rate.bytes_per_s,
        .sent = (double)sender->sent,
        .resent = (double)sender->resent_bytes,
        .forged = (double)sender->forged_count,
        .ignored = (double)(sender->truth.ignored_count + sender->stale_count),
        .control_bytes = (double)sender->link.control_bytes,
        .backlog = has_supply ? (double)(sender->supply - sender->sent) : 0,
        .rtt_ns = sender->spec->rtt_ns,
        .margin = sender->rate.margin,
    };
}

static rsti_lab_image_facts_t image_facts(const rsti_lab_t *lab, const rsti_lab_image_t *image)
{
    const bool was_unmasked = image->unmasked_ns != RSTI_NO_DEADLINE;
    return (rsti_lab_image_facts_t){
        .is_gone = image->is_gone,
        .survives = image->survives,
        .queue = (double)queue_of(image),
        .buffer_bytes = (double)image->buffer_bytes,
        .consumed = (double)image->consumed,
        .capacity = lab->consumers[(int32_t)image->spec->consumer].taken_most,
        .overrun = (double)image->overrun_bytes,
        .lost = (double)image->lost_bytes,
        .given_up = (double)image->given_up_bytes,
        .reports = (double)image->report_count,
        .silenced = (double)image->suppress.silenced_count,
        .statuses = (double)image->status_count,
        .naks = (double)image->nak_count,
        .unmasked_ns = was_unmasked ? (double)image->unmasked_ns : -1.0,
    };
}

void rsti_lab_gather(rsti_lab_t *lab)
{
    for (int32_t i = 0; i < lab->spec.counts[RSTI_LAB_SENDER]; i++) {
        lab->samples.senders[i] = sender_facts(&lab->senders[i]);
    }
    for (int32_t i = 0; i < lab->spec.counts[RSTI_LAB_IMAGE]; i++) {
        lab->samples.images[i] = image_facts(lab, &lab->images[i]);
    }
}
