/* interference.c: see the header. */
#include "lab/interference.h"

#include "lab/agents.h"
#include "protocol/sm_fill.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/int_math.h"

#include <string.h>

#define STRANGER_ID (INT64_C(1) << 40)
#define FRAME_BYTES_MAX (RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX)

typedef struct items_t {
    bool has_fill, is_clear;
    int64_t allowed, rtt_ns, arrival_rate;
} items_t;

static bool is_within(int64_t now_ns, double from_ns, double to_ns)
{
    return (double)now_ns >= from_ns && (double)now_ns < to_ns;
}

/* ---- status messages that pass ---- */

/* -1: the lane does not lead from an image to its sender. */
static int32_t image_of(const rsti_lab_agents_t *agents, const rsti_lab_passing_t *passing)
{
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        if (rsti_lab_agents_consumer_host(agents, i) == passing->from
            && (int32_t)agents->spec.image[i].sender == passing->to) {
            return i;
        }
    }
    return -1;
}

static bool read_status(const rsti_lab_passing_t *passing, rsti_sm_t *status)
{
    if (passing->length < sizeof *status
        || !rsti_frame_is_acceptable(passing->data, passing->length)) {
        return false;
    }
    memcpy(status, passing->data, sizeof *status);
    const uint8_t asks_or_ends = RSTI_SM_FLAG_SEND_SETUP | RSTI_SM_FLAG_EOS;
    return status->frame.type == RSTI_FRAME_SM && (status->frame.flags & asks_or_ends) == 0;
}

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    items_t *items = arg;
    if (type == RSTI_SM_ITEM_ROUND_TRIP && length >= sizeof items->rtt_ns) {
        items->rtt_ns = rsti_get_i64(value);
    } else if (type == RSTI_SM_ITEM_ARRIVAL_RATE && length >= sizeof items->arrival_rate) {
        items->arrival_rate = rsti_get_i64(value);
    } else if (type == RSTI_SM_ITEM_FILL && length >= RSTI_SM_FILL_LENGTH) {
        rsti_sm_fill_t fill;
        rsti_sm_fill_decode(&fill, value);
        items->has_fill = true;
        items->is_clear = fill.is_clear;
        items->allowed = fill.allowed;
    }
}

static bool is_lying(const rsti_lab_agents_t *agents, int32_t image)
{
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_LIAR]; i++) {
        const rsti_lab_liar_spec_t *liar = &agents->spec.liar[i];
        if ((int32_t)liar->image == image
            && is_within(agents->interference.now_ns, liar->from_ns, liar->to_ns)) {
            return true;
        }
    }
    return false;
}

/* The report that allows least; of like ones the last, because its position is the newest. */
static void keep_least(rsti_lab_agents_t *agents, int32_t image, const rsti_lab_passing_t *passing,
    int64_t allowed)
{
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_FORGER]; i++) {
        const rsti_lab_forger_spec_t *spec = &agents->spec.forger[i];
        rsti_lab_forgery_at_work_t *forger = &agents->interference.forgers[i];
        if ((int32_t)spec->image == image && (forger->length == 0 || allowed <= forger->allowed)
            && (double)agents->interference.now_ns < spec->from_ns
            && passing->length <= sizeof forger->bytes) {
            forger->allowed = allowed;
            forger->length = passing->length;
            memcpy(forger->bytes, passing->data, passing->length);
        }
    }
}

static bool on_passing(void *arg, const rsti_lab_passing_t *passing)
{
    rsti_lab_agents_t *agents = arg;
    rsti_sm_t status;
    const int32_t image = image_of(agents, passing);
    if (image < 0 || !read_status(passing, &status)) {
        return true;
    }
    rsti_lab_overheard_t *heard = &agents->interference.images[image];
    if (status.frame.frame_length <= RSTI_SM_TAGGED_LENGTH) {
        heard->is_known = true;
        heard->source = *passing->source;
        heard->target = *passing->target;
        heard->status = status;
        return true;
    }
    items_t items = {0};
    (void)rsti_sm_items_read(passing->data + RSTI_SM_ITEMS_OFFSET,
        (size_t)status.frame.frame_length - RSTI_SM_ITEMS_OFFSET, on_item, &items);
    heard->rtt_ns = items.rtt_ns;
    heard->arrival_rate = items.arrival_rate;
    if (!items.has_fill) {
        return true;
    }
    if (is_lying(agents, image)) {
        agents->readers[image].exchanged_reports--;
        return false;
    }
    if (!items.is_clear) {
        keep_least(agents, image, passing, items.allowed);
    }
    return true;
}

/* ---- status messages that are added ---- */

static void post(rsti_lab_agents_t *agents, int32_t image, int32_t sender, const uint8_t *data,
    size_t length)
{
    const rsti_lab_overheard_t *heard = &agents->interference.images[image];
    rsti_lab_wire_post(&agents->wire,
        &(rsti_lab_passing_t){
            .from = rsti_lab_agents_consumer_host(agents, image),
            .to = sender,
            .source = &heard->source,
            .target = &heard->target,
            .data = data,
            .length = length,
        });
}

/* An additional status message as receivers send it (driver/receiver/image_send.c). Returns its
 * length. */
static size_t encode(const rsti_lab_overheard_t *heard, const rsti_sm_t *status,
    const rsti_sm_fill_t *fill, uint8_t *frame)
{
    const uint8_t has_tag = 0;
    uint8_t value[RSTI_SM_FILL_LENGTH];
    rsti_sm_items_writer_t writer;
    rsti_sm_fill_encode(fill, value);
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_TAG_PRESENT, &has_tag, sizeof has_tag);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_ROUND_TRIP, &heard->rtt_ns, sizeof(int64_t));
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_ARRIVAL_RATE, &heard->arrival_rate,
        sizeof(int64_t));
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_FILL, value, sizeof value);
    const size_t length = RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer);
    rsti_sm_t sm = *status;
    sm.frame.frame_length = (int32_t)length;
    memcpy(frame, &sm, sizeof sm);
    rsti_put_i64(frame + RSTI_SM_LENGTH, 0);
    return length;
}

static void lie(rsti_lab_agents_t *agents, const rsti_lab_liar_spec_t *liar)
{
    const int32_t image = (int32_t)liar->image;
    const int64_t now_ns = agents->interference.now_ns;
    rsti_lab_reader_t *reader = &agents->readers[image];
    rsti_lab_overheard_t *heard = &agents->interference.images[image];
    const int32_t host = rsti_lab_agents_consumer_host(agents, image);
    if (!is_within(now_ns, liar->from_ns, liar->to_ns) || now_ns < heard->lie_due_ns
        || !heard->is_known || reader->image == NULL || !(reader->spec->reports > 0)
        || agents->wire.ports[host].is_cut_off) {
        return;
    }
    rsti_fill_report_t report;
    rsti_fill_report(&reader->image->fill.fill, reader->image->fill.fill.drain, false, &report);
    const rsti_sm_fill_t fill = {
        .fill = liar->fill,
        .drain = (int64_t)(report.drain * liar->drain_share),
        .allowed = (int64_t)liar->allowed,
        .buffer_bytes = report.buffer_bytes,
    };
    uint8_t frame[FRAME_BYTES_MAX];
    const size_t length = encode(heard, &heard->status, &fill, frame);
    heard->lie_due_ns = now_ns + (int64_t)liar->period_ns;
    reader->exchanged_reports++;
    post(agents, image, (int32_t)reader->spec->sender, frame, length);
}

/* The end of the stream that was seen, less the claimed queue. Frames of a log begin at multiples
 * of the alignment. */
static void claim_position(const rsti_lab_stream_t *stream, int64_t queue, rsti_sm_t *status)
{
    const rsti_log_t *log = &stream->publication->base.file.log;
    const int64_t position = rsti_max_i64(0, rsti_lab_stream_sent(stream) - queue)
        & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1);
    status->consumption_term_id = rsti_position_term_id(position, log->position_bits,
        log->initial_term_id);
    status->consumption_term_offset = rsti_position_offset(position, log->term_length);
}

static size_t make(rsti_lab_agents_t *agents, const rsti_lab_forger_spec_t *forger, uint8_t *frame)
{
    const rsti_lab_overheard_t *heard = &agents->interference.images[(int32_t)forger->image];
    const double buffer_bytes = agents->spec.image[(int32_t)forger->image].buffer_bytes;
    const rsti_sm_fill_t fill = {
        .fill = forger->fill,
        .drain = (int64_t)forger->drain,
        .allowed = (int64_t)forger->allowed,
        .buffer_bytes = (int64_t)buffer_bytes,
    };
    rsti_sm_t status = heard->status;
    claim_position(&agents->streams[(int32_t)forger->sender],
        (int64_t)(forger->fill * buffer_bytes), &status);
    if ((int32_t)forger->kind == RSTI_LAB_FORGES_FRESH) {
        status.receiver_id = STRANGER_ID + ++agents->interference.fresh_count;
    } else if ((int32_t)forger->kind == RSTI_LAB_FORGES_STRANGER) {
        status.receiver_id = STRANGER_ID;
    }
    return encode(heard, &status, &fill, frame);
}

static void forge(rsti_lab_agents_t *agents, int32_t number)
{
    const rsti_lab_forger_spec_t *spec = &agents->spec.forger[number];
    rsti_lab_forgery_at_work_t *forger = &agents->interference.forgers[number];
    const bool is_replay = (int32_t)spec->kind == RSTI_LAB_REPLAYS;
    const int64_t now_ns = agents->interference.now_ns;
    if (!is_within(now_ns, spec->from_ns, spec->to_ns) || now_ns < forger->due_ns
        || !agents->interference.images[(int32_t)spec->image].is_known
        || (is_replay && forger->length == 0)) {
        return;
    }
    if (!is_replay) {
        forger->length = make(agents, spec, forger->bytes);
    }
    forger->due_ns = now_ns + (int64_t)spec->period_ns;
    agents->streams[(int32_t)spec->sender].forged_count++;
    post(agents, (int32_t)spec->image, (int32_t)spec->sender, forger->bytes, forger->length);
}

void rsti_lab_interference_step(rsti_lab_agents_t *agents, int64_t now_ns)
{
    agents->interference.now_ns = now_ns;
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_LIAR]; i++) {
        lie(agents, &agents->spec.liar[i]);
    }
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_FORGER]; i++) {
        forge(agents, i);
    }
}

/* ---- life ---- */

int rsti_lab_interference_init(rsti_lab_agents_t *agents)
{
    rsti_lab_interference_t *interference = &agents->interference;
    const int32_t *counts = agents->spec.counts;
    *interference = (rsti_lab_interference_t){.now_ns = -1};
    if (counts[RSTI_LAB_LIAR] + counts[RSTI_LAB_FORGER] == 0) {
        return 0;
    }
    interference->images = rsti_alloc((size_t)counts[RSTI_LAB_IMAGE]
        * sizeof *interference->images);
    interference->forgers = rsti_alloc((size_t)counts[RSTI_LAB_FORGER]
            * sizeof *interference->forgers
        + 1);
    if (interference->images == NULL || interference->forgers == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "%d liars and %d forgers", counts[RSTI_LAB_LIAR],
            counts[RSTI_LAB_FORGER]);
    }
    agents->wire.guard = on_passing;
    agents->wire.guard_arg = agents;
    return 0;
}

void rsti_lab_interference_fini(rsti_lab_interference_t *interference)
{
    rsti_free(interference->images);
    rsti_free(interference->forgers);
    *interference = (rsti_lab_interference_t){0};
}
