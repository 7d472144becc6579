#include "tests/sim/model.h"

#include "protocol/frame.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WRITERS_MAX 256
#define VIEWS_MAX 512
#define RUNS_MAX 16
#define UNKNOWN (-1)

typedef struct record_t {
    int32_t length;
    int64_t end; /* UNKNOWN: taken together with later ones, or never reported */
} record_t;

struct sim_writer_t {
    int32_t id;
    int32_t driver_process_id;
    int32_t session_id, stream_id;
    int32_t max_payload;
    bool is_ipc, is_ended, is_revoked, is_lost;
    record_t *records; /* taken, then attempted */
    int32_t taken, attempted, capacity;
};

/* What a view received from one writer. */
typedef struct run_t {
    const sim_writer_t *writer;
    int32_t first, next;
} run_t;

struct sim_view_t {
    int32_t subscriber;
    int32_t session_id, stream_id;
    int64_t image_id;
    int64_t join_position, last_position;
    int64_t end_position;
    bool is_reliable, is_sure, is_forged, has_join, has_ended, has_left;
    run_t runs[RUNS_MAX];
    int32_t run_count;
};

static sim_writer_t writers[WRITERS_MAX];
static int32_t writer_count;
static sim_view_t views[VIEWS_MAX];
static int32_t view_count;
static int64_t delivered;

void sim_model_init(void)
{
    writer_count = 0;
    view_count = 0;
    delivered = 0;
}

int64_t sim_model_delivered(void)
{
    return delivered;
}

/* ---- content ---- */

static uint8_t byte_at(int32_t writer, int32_t number, size_t i)
{
    return (uint8_t)((size_t)number * 31 + (size_t)writer * 7 + i);
}

int64_t sim_writer_identity(const sim_writer_t *writer, int32_t number)
{
    return (int64_t)writer->id << 32 | (int64_t)(number + 1);
}

void sim_writer_fill(const sim_writer_t *writer, int32_t number, uint8_t *message, size_t length)
{
    const int64_t identity = sim_writer_identity(writer, number);
    size_t from = 0;
    if (length >= SIM_ID_LENGTH) {
        memcpy(message, &identity, sizeof identity);
        from = SIM_ID_LENGTH;
    }
    for (size_t i = from; i < length; i++) {
        message[i] = byte_at(writer->id, number, i);
    }
}

static void check_content(const sim_writer_t *writer, int32_t number, const uint8_t *message,
    size_t length)
{
    for (size_t i = length >= SIM_ID_LENGTH ? SIM_ID_LENGTH : 0; i < length; i++) {
        if (message[i] != byte_at(writer->id, number, i)) {
            sim_fail("message %d of writer %d, %zu bytes: byte %zu is %02x instead of %02x", number,
                writer->id, length, i, message[i], byte_at(writer->id, number, i));
        }
    }
}

/* ---- writing ---- */

sim_writer_t *sim_writer_begin(int32_t driver_process_id, int32_t session_id, int32_t stream_id,
    int32_t max_payload, bool is_ipc)
{
    if (writer_count == WRITERS_MAX) {
        sim_fail("more than %d writers", WRITERS_MAX);
    }
    sim_writer_t *writer = &writers[writer_count];
    *writer = (sim_writer_t){.id = writer_count++,
        .driver_process_id = driver_process_id,
        .session_id = session_id,
        .stream_id = stream_id,
        .max_payload = max_payload,
        .is_ipc = is_ipc};
    return writer;
}

int32_t sim_writer_next(const sim_writer_t *writer)
{
    return writer->taken;
}

void sim_writer_attempts(sim_writer_t *writer, int32_t count, const int32_t *lengths)
{
    const int32_t needed = writer->taken + count;
    if (needed > writer->capacity) {
        writer->capacity = 2 * needed + 64;
        writer->records = realloc(writer->records,
            (size_t)writer->capacity * sizeof *writer->records);
        if (writer->records == NULL) {
            sim_fail("no memory for the model");
        }
    }
    for (int32_t i = 0; i < count; i++) {
        writer->records[writer->taken + i] = (record_t){lengths[i], UNKNOWN};
    }
    writer->attempted = needed;
}

void sim_writer_took(sim_writer_t *writer, int32_t count, int64_t position)
{
    writer->taken += count;
    if (count > 0) {
        writer->records[writer->taken - 1].end = position;
    }
    writer->attempted = writer->taken;
}

void sim_writer_end(sim_writer_t *writer, bool is_revoked)
{
    writer->is_ended = true;
    writer->is_revoked = is_revoked;
}

void sim_writer_lost(sim_writer_t *writer)
{
    writer->is_lost = true;
}

/* ---- reading ---- */

sim_view_t *sim_view_begin(int32_t subscriber, int32_t session_id, int32_t stream_id,
    int64_t join_position, bool is_reliable, bool is_sure)
{
    if (view_count == VIEWS_MAX) {
        sim_fail("more than %d images", VIEWS_MAX);
    }
    sim_view_t *view = &views[view_count++];
    *view = (sim_view_t){.subscriber = subscriber,
        .session_id = session_id,
        .stream_id = stream_id,
        .join_position = join_position,
        .has_join = join_position >= 0,
        .is_reliable = is_reliable,
        .is_sure = is_sure,
        .last_position = -1};
    return view;
}

int64_t sim_view_image_id(const sim_view_t *view)
{
    return view->image_id;
}

void sim_view_joined(sim_view_t *view, int64_t join_position, int64_t image_id)
{
    view->image_id = image_id;
    view->has_join = true;
    view->join_position = join_position;
}

static const sim_writer_t *writer_of(const sim_view_t *view, int64_t identity, int32_t *number)
{
    const int64_t id = identity >> 32;
    *number = (int32_t)(identity & 0xffffffff) - 1;
    if (id < 0 || id >= writer_count || *number < 0) {
        sim_fail("a message arrives that no writer sent (identity %" PRIx64 ")", identity);
    }
    const sim_writer_t *writer = &writers[id];
    if (writer->session_id != view->session_id || writer->stream_id != view->stream_id) {
        sim_fail("a message of writer %d (stream %d) comes in an image of stream %d", writer->id,
            writer->stream_id, view->stream_id);
    }
    if (*number >= writer->attempted) {
        sim_fail("message %d of writer %d arrives, only %d were sent", *number, writer->id,
            writer->attempted);
    }
    return writer;
}

static run_t *run_of(sim_view_t *view, const sim_writer_t *writer, int32_t number)
{
    for (int32_t i = 0; i < view->run_count; i++) {
        if (view->runs[i].writer == writer) {
            return &view->runs[i];
        }
    }
    if (view->run_count == RUNS_MAX) {
        sim_fail("more than %d writers in one image", RUNS_MAX);
    }
    run_t *run = &view->runs[view->run_count++];
    *run = (run_t){writer, number, number};
    return run;
}

void sim_view_got(sim_view_t *view, const uint8_t *message, size_t length, int64_t position,
    int64_t reserved_value)
{
    int64_t identity = reserved_value;
    int32_t number;
    if (length >= SIM_ID_LENGTH) {
        memcpy(&identity, message, sizeof identity);
    }
    const sim_writer_t *writer = writer_of(view, identity, &number);
    const record_t *record = &writer->records[number];
    if ((size_t)record->length != length) {
        sim_fail("message %d of writer %d comes with %zu bytes instead of %d", number, writer->id,
            length, record->length);
    }
    check_content(writer, number, message, length);
    if (position <= view->last_position) {
        sim_fail("position %" PRId64 " comes after %" PRId64, position, view->last_position);
    }
    if (record->end != UNKNOWN && record->end != position) {
        sim_fail("message %d of writer %d comes at %" PRId64 ", it was sent at %" PRId64, number,
            writer->id, position, record->end);
    }
    run_t *run = run_of(view, writer, number);
    if (number < run->next || (view->is_reliable && number > run->next)) {
        sim_fail("subscriber %d, stream %d session %d: message %d of writer %d comes, %d is next",
            view->subscriber, view->stream_id, view->session_id, number, writer->id, run->next);
    }
    run->next = number + 1;
    view->last_position = position;
    delivered++;
    sim_hash_bytes(&identity, sizeof identity);
    sim_hash_bytes(&position, sizeof position);
}

void sim_view_end(sim_view_t *view, int64_t position, int64_t end_position)
{
    view->has_ended = true;
    view->end_position = end_position;
    if (position < view->last_position) {
        sim_fail("an image ended at %" PRId64 ", it had delivered up to %" PRId64, position,
            view->last_position);
    }
}

void sim_view_left(sim_view_t *view)
{
    view->has_left = true;
}

void sim_view_is_forged(sim_view_t *view)
{
    view->is_forged = true;
}

/* ---- judging ---- */

static int64_t begin_of(const sim_writer_t *writer, const record_t *record)
{
    return record->end - rsti_framed_length(record->length, writer->max_payload);
}

/* Everything before the first received message must lie before the position where the image joined.
 */
static void check_begin(const sim_view_t *view, const sim_writer_t *writer, int32_t first)
{
    for (int32_t n = first - 1; n >= 0; n--) {
        const record_t *record = &writer->records[n];
        if (record->end == UNKNOWN) {
            continue;
        }
        if (begin_of(writer, record) >= view->join_position) {
            sim_fail("subscriber %d joined session %d at %" PRId64 " and missed message %d of "
                     "writer %d, which ends at %" PRId64,
                view->subscriber, view->session_id, view->join_position, n, writer->id,
                record->end);
        }
        return;
    }
}

static void check_end(const sim_view_t *view, const sim_writer_t *writer, int32_t next)
{
    if (next < writer->taken) {
        sim_fail("subscriber %d: image of session %d ended, %d of %d messages of writer %d came",
            view->subscriber, view->session_id, next, writer->taken, writer->id);
    }
}

static void check_writer(const sim_view_t *view, const sim_writer_t *writer, bool is_complete)
{
    const run_t *run = NULL;
    for (int32_t i = 0; i < view->run_count; i++) {
        run = view->runs[i].writer == writer ? &view->runs[i] : run;
    }
    const bool wants_end = is_complete && view->is_sure && !view->has_left && !writer->is_lost
        && !writer->is_revoked && writer->is_ended;
    if (run != NULL) {
        check_begin(view, writer, run->first);
        if (wants_end) {
            check_end(view, writer, run->next);
        }
    } else if (wants_end && !view->is_forged) {
        check_begin(view, writer, writer->taken);
    }
}

void sim_model_check(bool is_complete)
{
    for (int32_t v = 0; v < view_count; v++) {
        const sim_view_t *view = &views[v];
        for (int32_t w = 0; view->is_reliable && view->has_join && w < writer_count; w++) {
            if (writers[w].session_id == view->session_id
                && writers[w].stream_id == view->stream_id) {
                check_writer(view, &writers[w], is_complete);
            }
        }
    }
    for (int32_t w = 0; w < writer_count; w++) {
        free(writers[w].records);
        writers[w].records = NULL;
    }
}
