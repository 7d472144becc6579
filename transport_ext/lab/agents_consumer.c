/* agents_consumer.c: how a consumer takes whole frames in a step, as many as its capacity allows:
 *
 *   in the order of arrival  each image is owed a share of the capacity, in proportion to its
 *                            queue; the image that is owed most is served next. (If the longest
 *                            queue were served first, a short one would wait for ever.)
 *   in turn                  one frame from each image
 *
 * Capacity that is not used while all queues are empty is lost. A consumer that publishes takes no
 * more than its own sender has room for. */
#include "lab/agents.h"

#include "util/int_math.h"

/* Whether the image has a reader that was not evicted. */
static bool is_read(const rsti_image_t *image)
{
    return image->subscribers.count > 0
        && rsti_tether_is_working(&image->subscribers.items[0].tether);
}

static bool is_there(const rsti_lab_reader_t *reader)
{
    const rsti_ptr_array_t *images = &reader->host->driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        if (images->items[i] == reader->image) {
            return is_read(reader->image)
                && reader->image->subscribers.items[0].position == reader->position;
        }
    }
    return false;
}

/* A new image begins at the position where it joined; earlier data is skipped. */
static void take_over(rsti_lab_reader_t *reader, rsti_image_t *image)
{
    reader->image = image;
    reader->position = image->subscribers.items[0].position;
    const int64_t position = rsti_load_acquire_i64(reader->position);
    reader->given_up += rsti_max_i64(0, position - reader->consumed);
    reader->consumed = position;
}

void rsti_lab_reader_refresh(rsti_lab_reader_t *reader, const rsti_lab_stream_t *stream)
{
    const int32_t session_id = stream->publication->base.session_id;
    if (reader->image != NULL && is_there(reader)) {
        return;
    }
    reader->image = NULL;
    const rsti_ptr_array_t *images = &reader->host->driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        if (image->stream_id == stream->stream_id && image->session_id == session_id
            && is_read(image) && image->life == RSTI_LIFE_ACTIVE) {
            take_over(reader, image);
            return;
        }
    }
}

static int64_t queue_of(const rsti_lab_reader_t *reader)
{
    return reader->image == NULL ? 0 : reader->image->received - reader->consumed;
}

/* Bytes of the next frame; 0: none. */
static int32_t next_frame(const rsti_lab_reader_t *reader)
{
    if (queue_of(reader) <= 0) {
        return 0;
    }
    const rsti_log_t *log = &reader->image->file.log;
    const int32_t offset = rsti_position_offset(reader->consumed, log->term_length);
    const uint8_t *term = log->terms[rsti_position_index(reader->consumed, log->position_bits)];
    return rsti_align_i32(rsti_get_i32(term + offset), RSTI_FRAME_ALIGNMENT);
}

static bool is_of(const rsti_lab_reader_t *reader, int32_t number)
{
    return (int32_t)reader->spec->consumer == number;
}

/* An image without data is owed nothing. */
static void share_out(rsti_lab_agents_t *agents, int32_t number, double gained)
{
    const int32_t count = agents->spec.counts[RSTI_LAB_IMAGE];
    int64_t total = 0;
    for (int32_t i = 0; i < count; i++) {
        total += is_of(&agents->readers[i], number) ? queue_of(&agents->readers[i]) : 0;
    }
    for (int32_t i = 0; i < count; i++) {
        rsti_lab_reader_t *reader = &agents->readers[i];
        const int64_t queue = queue_of(reader);
        if (is_of(reader, number)) {
            reader->owed = queue > 0 ? reader->owed + gained * (double)queue / (double)total : 0;
        }
    }
}

/* -1: no image has data. */
static int32_t choose(const rsti_lab_agents_t *agents, int32_t number)
{
    const rsti_lab_agents_consumer_t *consumer = &agents->consumers[number];
    const int32_t count = agents->spec.counts[RSTI_LAB_IMAGE];
    int32_t chosen = -1;
    for (int32_t i = 1; i <= count; i++) {
        const int32_t at = (consumer->turn + i) % count;
        const rsti_lab_reader_t *reader = &agents->readers[at];
        if (!is_of(reader, number) || queue_of(reader) <= 0) {
            continue;
        }
        if (consumer->spec->in_turn > 0) {
            return at;
        }
        if (chosen < 0 || reader->owed > agents->readers[chosen].owed) {
            chosen = at;
        }
    }
    return chosen;
}

static bool has_room(const rsti_lab_stream_t *next, int32_t bytes)
{
    return (double)(next->supply - rsti_lab_stream_sent(next) + bytes) <= next->spec->backlog_bytes;
}

/* Takes one frame. False: there is none, or this step may take no more. */
static bool take_frame(rsti_lab_agents_t *agents, int32_t number, rsti_lab_stream_t *next)
{
    rsti_lab_agents_consumer_t *consumer = &agents->consumers[number];
    const int32_t chosen = choose(agents, number);
    const int32_t bytes = chosen < 0 ? 0 : next_frame(&agents->readers[chosen]);
    if (bytes <= 0 || (next != NULL && !has_room(next, bytes))) {
        consumer->rest = 0;
        return false;
    }
    if (bytes > consumer->rest) {
        return false;
    }
    consumer->turn = chosen;
    consumer->rest -= bytes;
    agents->readers[chosen].consumed += bytes;
    agents->readers[chosen].owed -= bytes;
    if (next != NULL) {
        next->supply += bytes;
    }
    return true;
}

/* Bytes that it can take in this time. */
static double capacity_of(rsti_lab_agents_consumer_t *consumer, int64_t from_ns, int64_t to_ns,
    int64_t step_ns)
{
    double bytes = 0;
    while (from_ns < to_ns) {
        const int64_t part_ns = rsti_min_i64(step_ns, to_ns - from_ns);
        bytes += rsti_lab_capacity_at(&consumer->capacity, from_ns) * (double)part_ns / 1e9;
        from_ns += part_ns;
    }
    return bytes;
}

void rsti_lab_agents_take(rsti_lab_agents_t *agents, int32_t number, int64_t from_ns, int64_t to_ns)
{
    rsti_lab_agents_consumer_t *consumer = &agents->consumers[number];
    const int32_t forward_to = (int32_t)consumer->spec->forward_to;
    rsti_lab_stream_t *next = forward_to >= 0 ? &agents->streams[forward_to] : NULL;
    const double gained = capacity_of(consumer, from_ns, to_ns, (int64_t)agents->spec.run->step_ns);
    consumer->taken_most += gained;
    consumer->rest += gained;
    share_out(agents, number, gained);
    while (take_frame(agents, number, next)) {
    }
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        const rsti_lab_reader_t *reader = &agents->readers[i];
        if (is_of(reader, number) && reader->image != NULL) {
            rsti_store_release_i64(reader->position, reader->consumed);
        }
    }
}
