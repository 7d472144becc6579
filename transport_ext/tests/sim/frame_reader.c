/* frame_reader.c: assembles raw frames to messages, as a reader of frames must, and checks that an
 * aborted fragment is delivered again before anything else. */
#include "tests/sim/polls.h"

#include "protocol/frame.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

/* A message whose frames arrive one by one. */
typedef struct assembly_t {
    int32_t session_id;
    int32_t length;
    int64_t next_position; /* 0: no message begun */
    int64_t reserved_value;
    uint8_t bytes[SIM_MESSAGE_MAX];
} assembly_t;

typedef struct memory_t {
    assembly_t assemblies[SIM_VIEWS_OPEN_MAX];
    int32_t aborted_session;  /* the next fragment must end at this position */
    int64_t aborted_position; /* 0: nothing was aborted */
} memory_t;

static memory_t memories[SIM_ROLES_MAX];

void sim_frames_begin(const sim_subscriber_t *reader)
{
    memory_t *memory = &memories[reader->index];
    for (int32_t i = 0; i < SIM_VIEWS_OPEN_MAX; i++) {
        memory->assemblies[i].next_position = 0;
    }
    memory->aborted_position = 0;
}

/* Data behind the end belong to the next image of the session: its messages may be read before its
 * event. */
void sim_frames_on_image_gone(const sim_subscriber_t *reader, int32_t session_id, int64_t end)
{
    memory_t *memory = &memories[reader->index];
    for (int32_t i = 0; i < SIM_VIEWS_OPEN_MAX; i++) {
        assembly_t *assembly = &memory->assemblies[i];
        if (assembly->session_id == session_id && assembly->next_position <= end) {
            assembly->next_position = 0;
        }
    }
    if (memory->aborted_session == session_id) {
        memory->aborted_position = 0;
    }
}

void sim_frames_aborted(const sim_subscriber_t *reader, int32_t session_id, int64_t position)
{
    memory_t *memory = &memories[reader->index];
    if (memory->aborted_position == 0) {
        memory->aborted_session = session_id;
        memory->aborted_position = position;
    }
}

bool sim_frames_has_aborted(const sim_subscriber_t *reader)
{
    return memories[reader->index].aborted_position != 0;
}

/* ---- frames become messages ---- */

static assembly_t *assembly_of(const sim_subscriber_t *reader, int32_t session_id, bool is_begin)
{
    assembly_t *unused = NULL;
    memory_t *memory = &memories[reader->index];
    for (int32_t i = 0; i < SIM_VIEWS_OPEN_MAX; i++) {
        assembly_t *assembly = &memory->assemblies[i];
        if (assembly->next_position == 0) {
            unused = assembly;
        } else if (assembly->session_id == session_id) {
            return assembly;
        }
    }
    if (is_begin && unused == NULL) {
        sim_fail("subscriber %d: messages of more sessions than it has images", reader->index);
    }
    return is_begin ? unused : NULL;
}

void sim_frames_take_whole(sim_subscriber_t *reader, const rst_fragment_t *fragment,
    const uint8_t *data, int32_t length, int64_t reserved_value)
{
    const rst_message_t message = {.data = data,
        .length = length,
        .session_id = fragment->session_id,
        .position = fragment->position,
        .reserved_value = reserved_value};
    sim_subscriber_got(reader, &message);
    sim_count("reading: messages");
}

void sim_frames_take(sim_subscriber_t *reader, const rst_fragment_t *fragment)
{
    const bool is_begin = (fragment->flags & RSTI_FLAG_BEGIN) != 0;
    const bool is_end = (fragment->flags & RSTI_FLAG_END) != 0;
    const int32_t span = rsti_frame_span(fragment->length + RSTI_DATA_HEADER_LENGTH);
    if (is_begin && is_end) {
        sim_frames_take_whole(reader, fragment, fragment->data, fragment->length,
            fragment->reserved_value);
        return;
    }
    assembly_t *assembly = assembly_of(reader, fragment->session_id, is_begin);
    if (assembly == NULL || (!is_begin && assembly->next_position != fragment->position - span)) {
        return; /* its first fragment was before the join position */
    }
    if (is_begin) {
        assembly->session_id = fragment->session_id;
        assembly->reserved_value = fragment->reserved_value;
        assembly->length = 0;
    }
    if (fragment->length > SIM_MESSAGE_MAX - assembly->length) {
        sim_fail("subscriber %d: a message grows beyond %d bytes", reader->index, SIM_MESSAGE_MAX);
    }
    memcpy(assembly->bytes + assembly->length, fragment->data, (size_t)fragment->length);
    assembly->length += fragment->length;
    assembly->next_position = is_end ? 0 : fragment->position;
    if (is_end) {
        sim_frames_take_whole(reader, fragment, assembly->bytes, assembly->length,
            assembly->reserved_value);
    }
}

/* An aborted fragment is delivered again before any other fragment of its session. */
void sim_frames_check_again(const sim_subscriber_t *reader, int32_t session_id, int64_t position)
{
    memory_t *memory = &memories[reader->index];
    if (memory->aborted_position == 0 || memory->aborted_session != session_id) {
        return;
    }
    if (memory->aborted_position != position) {
        sim_fail("subscriber %d aborted what ends at %" PRId64 " of session %d, then %" PRId64
                 " came",
            reader->index, memory->aborted_position, session_id, position);
    }
    sim_count("reading: aborted, came again");
    memory->aborted_position = 0;
}

/* A block consists of whole frames with their own positions, and padding is a block of its own. */
void sim_frames_take_block(sim_subscriber_t *reader, const uint8_t *frames, size_t length,
    int32_t session_id, int64_t begin)
{
    rsti_data_header_t header;
    for (size_t at = 0; at < length;) {
        memcpy(&header, frames + at, sizeof header);
        const int32_t span = rsti_frame_span(header.frame.frame_length);
        if (header.frame.frame_length <= 0 || (size_t)span > length - at) {
            sim_fail("subscriber %d: a block of %zu bytes has a frame of %d at %zu", reader->index,
                length, header.frame.frame_length, at);
        }
        if (header.frame.type == RSTI_FRAME_PAD) {
            if (at != 0 || (size_t)span != length) {
                sim_fail("subscriber %d: padding does not come alone", reader->index);
            }
            return;
        }
        const rst_fragment_t fragment = {
            .data = frames + at + RSTI_DATA_HEADER_LENGTH,
            .length = header.frame.frame_length - RSTI_DATA_HEADER_LENGTH,
            .session_id = session_id,
            .flags = header.frame.flags,
            .reserved_value = header.reserved_value,
            .position = begin + (int64_t)at + span,
        };
        if (header.session_id != session_id || header.stream_id != reader->stream_id) {
            sim_fail("subscriber %d: a block has a frame of another stream", reader->index);
        }
        sim_frames_check_again(reader, session_id, fragment.position);
        sim_frames_take(reader, &fragment);
        at += (size_t)span;
    }
}

void sim_frames_got(sim_subscriber_t *reader, const rst_message_t *message)
{
    sim_frames_check_again(reader, message->session_id, message->position);
    sim_subscriber_got(reader, message);
}
