/* forger.c: an attacker that sees the data and sends fill NAKs under a false identity. Its reports
 * agree with what it sees: their position is the sender's, less the claimed queue. A replay repeats
 * an earlier report of a receiver unchanged. */
#include "lab/lab.h"

#include "util/int_math.h"

#define STRANGER_ID (INT64_C(1) << 40)

static rsti_lab_feedback_t make(rsti_lab_t *lab, int32_t number,
    const rsti_lab_forger_spec_t *forger)
{
    const rsti_lab_sender_t *sender = &lab->senders[(int32_t)forger->sender];
    const rsti_lab_image_t *image = &lab->images[(int32_t)forger->image];
    const int64_t claimed = (int64_t)(forger->fill * (double)image->buffer_bytes);
    rsti_lab_feedback_t feedback = {
        .kind = RSTI_LAB_FILL_NAK,
        .image = -1,
        .from = rsti_max_i64(0, sender->sent - claimed),
        .report =
            {
                .receiver_id = STRANGER_ID,
                .allowed = forger->allowed,
                .fill = forger->fill,
                .drain = forger->drain,
                .buffer_bytes = image->buffer_bytes,
                .rtt_ns = (int64_t)sender->spec->rtt_ns,
            },
    };
    if ((int32_t)forger->kind == RSTI_LAB_FORGES_FRESH) {
        feedback.report.receiver_id += ++lab->forged_count;
    } else if ((int32_t)forger->kind == RSTI_LAB_FORGES_NAME) {
        feedback.report.receiver_id = image->receiver_id;
    } else if ((int32_t)forger->kind == RSTI_LAB_REPLAYS) {
        feedback.from = lab->overheard_at[number];
        feedback.report = lab->overheard[number];
    }
    return feedback;
}

/* Keeps the report of the image before the attack that allows least. */
static void overhear(rsti_lab_t *lab, int32_t number, const rsti_lab_forger_spec_t *forger)
{
    const rsti_lab_image_t *image = &lab->images[(int32_t)forger->image];
    const rsti_fill_report_t *kept = &lab->overheard[number];
    if (image->fill.sent_ns == image->fill.now_ns
        && (kept->receiver_id == 0 || image->fill.allowed <= kept->allowed)) {
        rsti_fill_report(&image->fill, image->fill.drain, false, &lab->overheard[number]);
        lab->overheard[number].receiver_id = image->receiver_id;
        lab->overheard_at[number] = image->status_position;
    }
}

void rsti_lab_forge(rsti_lab_t *lab, int64_t step, int64_t now_ns)
{
    for (int32_t i = 0; i < lab->spec.counts[RSTI_LAB_FORGER]; i++) {
        const rsti_lab_forger_spec_t *forger = &lab->spec.forger[i];
        const double at_ns = (double)now_ns;
        if (at_ns < forger->from_ns) {
            overhear(lab, i, forger);
        } else if (at_ns < forger->to_ns && now_ns >= lab->forge_due_ns[i]) {
            const rsti_lab_feedback_t feedback = make(lab, i, forger);
            lab->forge_due_ns[i] = now_ns + (int64_t)forger->period_ns;
            rsti_lab_link_send_feedback(&lab->senders[(int32_t)forger->sender].link, step,
                &feedback, false);
        }
    }
}
