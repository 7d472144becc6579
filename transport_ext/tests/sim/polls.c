/* polls.c: all polls but the plain one. A reader takes whole messages, by any poll that assembles
 * them, in any order; or it takes raw frames and assembles them itself. The actions of a callback
 * (abort, break, commit) must take effect. */
#include "tests/sim/polls.h"

#include "logbuffer/descriptor.h"
#include "protocol/frame.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

#define IMAGES_MAX 8
#define BEHIND_MAX 8192
#define BLOCK_MAX 20000

static rst_image_t *kept[SIM_ROLES_MAX]; /* a handle that is held for long */

/* One poll with a callback. */
typedef struct callback_poll_t {
    sim_poll_t *poll;
    rst_poll_params_t params;
    bool can_skip;           /* an image handle is open */
    int32_t read;
    int32_t session_id;      /* of the last call */
    bool is_over;            /* of that session: aborted or broken off */
    int64_t end;             /* of the last fragment handed out */
    /* 0, or the position behind an aborted fragment that need not return */
    int64_t skip_to;
    int64_t stored_position; /* the minimum, from the last commit */
} callback_poll_t;

void sim_reading_begin(const sim_subscriber_t *reader)
{
    kept[reader->index] = NULL;
    sim_frames_begin(reader);
}

/* ---- callbacks ---- */

static bool find_image(const callback_poll_t *poll_call, int32_t session_id, rst_image_info_t *info)
{
    rst_image_info_t images[IMAGES_MAX];
    const int count = rst_subscription_images(poll_call->poll->subscription, images, IMAGES_MAX);
    int found = 0;
    for (int i = 0; i < count && i < IMAGES_MAX; i++) {
        if (images[i].session_id == session_id) {
            *info = images[i];
            found++;
        }
    }
    return found == 1; /* two: a session may return while its old image ends */
}

static int64_t position_in(const rst_image_info_t *info, int32_t term_id, int32_t term_offset)
{
    int32_t bits = 0;
    while (INT32_C(1) << bits < info->term_length) {
        bits++;
    }
    return rsti_position(term_id, term_offset, bits, info->initial_term_id);
}

/* The reported position of a fragment or message equals its position in the log. */
static void check_place(const callback_poll_t *poll_call, const rst_fragment_t *fragment)
{
    rst_image_info_t info;
    if (!find_image(poll_call, fragment->session_id, &info)) {
        return; /* the image is gone, its received data are read by a handle */
    }
    const int64_t begin = position_in(&info, fragment->term_id, fragment->term_offset);
    const int32_t framed = rsti_framed_length(fragment->length, info.mtu - RSTI_DATA_HEADER_LENGTH);
    if (begin + framed != fragment->position) {
        sim_fail("subscriber %d: %d bytes at term %d offset %d end at %" PRId64,
            poll_call->poll->reader->index, fragment->length, fragment->term_id,
            fragment->term_offset, fragment->position);
    }
    if (begin >= poll_call->params.limit_position) {
        sim_fail("subscriber %d: a message begins at %" PRId64 ", the bound is %" PRId64,
            poll_call->poll->reader->index, begin, poll_call->params.limit_position);
    }
    const bool is_stored = info.position >= poll_call->stored_position;
    if (!is_stored && !poll_call->poll->reader->holds_batches) {
        sim_fail("subscriber %d: %" PRId64 " was committed, the position is %" PRId64,
            poll_call->poll->reader->index, poll_call->stored_position, info.position);
    }
}

static rst_poll_action_t on_inner_fragment(void *arg, const rst_fragment_t *fragment)
{
    (void)arg;
    sim_fail("a nested poll hands out a fragment that ends at %" PRId64, fragment->position);
}

/* A nested poll in a callback is refused and moves no position. */
static void check_alone(const callback_poll_t *poll_call, const rst_fragment_t *fragment)
{
    rst_subscription_t *subscription = poll_call->poll->subscription;
    rst_image_t *image = rst_subscription_image_by_session(subscription, fragment->session_id);
    sim_count("reading: poll inside a poll");
    if (rst_subscription_poll(subscription, 1, 0, poll_call->poll->batch) != -RST_EBUSY
        || rst_subscription_poll_each(subscription, &poll_call->params, NULL, on_inner_fragment)
            != -RST_EBUSY) {
        sim_fail("subscriber %d polls inside a poll", poll_call->poll->reader->index);
    }
    if (image != NULL && rst_image_set_position(image, fragment->position) != -RST_EBUSY) {
        sim_fail("subscriber %d moves its position inside a poll", poll_call->poll->reader->index);
    }
    rst_image_release(image);
}

static rst_poll_action_t draw_action(void)
{
    switch (sim_below(RNG_ACTOR, 20)) {
    case 0:
        return RST_POLL_ABORT;
    case 1:
        return RST_POLL_BREAK;
    case 2:
    case 3:
    case 4:
        return RST_POLL_COMMIT;
    default:
        return RST_POLL_CONTINUE;
    }
}

static void take(const callback_poll_t *poll_call, const rst_fragment_t *fragment)
{
    sim_subscriber_t *reader = poll_call->poll->reader;
    if (poll_call->params.is_assembling) {
        sim_frames_take_whole(reader, fragment, fragment->data, fragment->length,
            fragment->reserved_value);
    } else {
        sim_frames_take(reader, fragment);
    }
}

/* The fragment is delivered again, or the reader continues behind what it has seen. */
static void abort_at(callback_poll_t *poll_call, const rst_fragment_t *fragment)
{
    const sim_subscriber_t *reader = poll_call->poll->reader;
    sim_count("reading: aborted");
    if (poll_call->can_skip && !sim_frames_has_aborted(reader) && sim_chance(RNG_ACTOR, 0.4)) {
        poll_call->skip_to = fragment->position;
        take(poll_call, fragment);
    } else {
        sim_frames_aborted(reader, fragment->session_id, fragment->position);
    }
}

static rst_poll_action_t on_fragment(void *arg, const rst_fragment_t *fragment)
{
    callback_poll_t *poll_call = arg;
    sim_subscriber_t *reader = poll_call->poll->reader;
    const bool is_same = poll_call->end > 0 && poll_call->session_id == fragment->session_id;
    if (is_same && poll_call->is_over) {
        sim_fail("subscriber %d: more comes of session %d than it wanted", reader->index,
            fragment->session_id);
    }
    if (poll_call->read >= poll_call->params.limit) {
        sim_fail("subscriber %d: more than %d fragments", reader->index, poll_call->params.limit);
    }
    if (!is_same) {
        poll_call->stored_position = 0;
    }
    sim_frames_check_again(reader, fragment->session_id, fragment->position);
    if (sim_chance(RNG_ACTOR, 0.25)) {
        check_place(poll_call, fragment);
    }
    if (sim_chance(RNG_ACTOR, 0.02)) {
        check_alone(poll_call, fragment);
    }
    const rst_poll_action_t action = draw_action();
    poll_call->session_id = fragment->session_id;
    poll_call->end = fragment->position;
    poll_call->is_over = action == RST_POLL_ABORT || action == RST_POLL_BREAK;
    if (action == RST_POLL_ABORT) {
        abort_at(poll_call, fragment);
        return action;
    }
    if (action == RST_POLL_COMMIT) {
        poll_call->stored_position = fragment->position;
    }
    poll_call->read++;
    take(poll_call, fragment);
    return action;
}

/* ---- polls ---- */

static callback_poll_t sit(sim_poll_t *poll, bool is_assembling)
{
    callback_poll_t poll_call = {.poll = poll};
    rst_poll_params_init(&poll_call.params);
    poll_call.params.limit = 1 + (int32_t)sim_below(RNG_ACTOR, (uint64_t)poll->reader->batch);
    poll_call.params.is_assembling = is_assembling;
    return poll_call;
}

static bool pick_image(const sim_poll_t *poll, rst_image_info_t *info)
{
    rst_image_info_t images[IMAGES_MAX];
    const int count = rst_subscription_images(poll->subscription, images, IMAGES_MAX);
    if (count <= 0) {
        return false;
    }
    *info = images[sim_below(RNG_ACTOR, (uint64_t)(count < IMAGES_MAX ? count : IMAGES_MAX))];
    return true;
}

static int checked(const callback_poll_t *poll_call, int result)
{
    /* The poll counts fragments, also where it hands out whole messages. */
    if (result >= 0
        && (result < poll_call->read
            || (result > poll_call->read && !poll_call->params.is_assembling))) {
        sim_fail("subscriber %d: a poll read %d and says %d", poll_call->poll->reader->index,
            poll_call->read, result);
    }
    return result;
}

static int poll_each(sim_poll_t *poll, bool is_assembling)
{
    callback_poll_t poll_call = sit(poll, is_assembling);
    return checked(&poll_call,
        rst_subscription_poll_each(poll->subscription, &poll_call.params, &poll_call, on_fragment));
}

static bool is_refusal(int result)
{
    return result == -RST_EINVAL || result == -RST_ECLOSED; /* the image may go at any time */
}

static void move_on(const callback_poll_t *poll_call, rst_image_t *image)
{
    rst_image_info_t info;
    rst_image_info(image, &info);
    if (!is_refusal(rst_image_set_position(image, info.position - RSTI_FRAME_ALIGNMENT))
        || !is_refusal(rst_image_set_position(image, info.position + 1))) {
        sim_fail("subscriber %d may move back, or to a position without a frame",
            poll_call->poll->reader->index);
    }
    if (poll_call->skip_to > 0) {
        const int result = rst_image_set_position(image, poll_call->skip_to);
        sim_count("reading: skipped what it had seen");
        if (result < 0 && result != -RST_ECLOSED) {
            sim_fail("subscriber %d: %s", poll_call->poll->reader->index, rst_last_error_text());
        }
    }
}

static rst_image_t *take_image(const sim_poll_t *poll, const rst_image_info_t *info)
{
    rst_image_t *image = kept[poll->reader->index];
    kept[poll->reader->index] = NULL;
    if (image == NULL) {
        image = sim_chance(RNG_ACTOR, 0.5)
            ? rst_subscription_image_at(poll->subscription, 0)
            : rst_subscription_image_by_session(poll->subscription, info->session_id);
    }
    return image;
}

/* Sometimes handles are held for long: until the image or its subscription is gone. */
static void put_image(const sim_poll_t *poll, rst_image_t *image)
{
    if (sim_chance(RNG_ACTOR, 0.3)) {
        kept[poll->reader->index] = image;
    } else {
        rst_image_release(image);
    }
}

static int poll_image(sim_poll_t *poll, bool is_assembling)
{
    rst_image_info_t picked;
    rst_image_info_t before;
    rst_image_info_t after;
    if (!pick_image(poll, &picked)) {
        return 0;
    }
    rst_image_t *image = take_image(poll, &picked);
    if (image == NULL) {
        return 0; /* the image has just gone */
    }
    callback_poll_t poll_call = sit(poll, is_assembling);
    poll_call.can_skip = true;
    rst_image_info(image, &before);
    if (sim_chance(RNG_ACTOR, 0.5)) {
        sim_count("reading: bounded, by callbacks");
        poll_call.params.limit_position = before.position
            + (int64_t)sim_below(RNG_ACTOR, BEHIND_MAX);
    }
    const int result = checked(&poll_call,
        rst_image_poll(image, &poll_call.params, &poll_call, on_fragment));
    rst_image_info(image, &after);
    if (before.is_closed && result > 0) {
        sim_fail("subscriber %d reads of an image that is closed", poll->reader->index);
    }
    if (poll_call.read > 0 && !after.is_closed && !poll->reader->holds_batches
        && after.position < (poll_call.is_over ? poll_call.stored_position : poll_call.end)) {
        sim_fail("subscriber %d read up to %" PRId64 ", its position is %" PRId64,
            poll->reader->index, poll_call.end, after.position);
    }
    move_on(&poll_call, image);
    put_image(poll, image);
    return result;
}

static int poll_bounded(sim_poll_t *poll)
{
    rst_image_info_t image;
    int32_t count;
    if (!pick_image(poll, &image)) {
        return 0;
    }
    const int64_t bound = image.position + (int64_t)sim_below(RNG_ACTOR, BEHIND_MAX);
    const int result = rst_subscription_poll_bounded(poll->subscription, image.correlation_id,
        bound, poll->reader->batch, poll->batch);
    const rst_message_t *messages = rst_batch_messages(poll->batch, &count);
    for (int32_t i = 0; i < count; i++) {
        const int64_t begin = messages[i].position
            - rsti_framed_length(messages[i].length, image.mtu - RSTI_DATA_HEADER_LENGTH);
        if (messages[i].session_id != image.session_id || begin >= bound) {
            sim_fail("subscriber %d: bounded by %" PRId64 " of session %d it got %" PRId64
                     " of session %d",
                poll->reader->index, bound, image.session_id, begin, messages[i].session_id);
        }
    }
    poll->is_in_batch = true;
    return result;
}

typedef struct blocks_t {
    sim_subscriber_t *reader;
    rst_image_info_t info;
} blocks_t;

static void on_block(void *arg, const void *frames, size_t length, int32_t session_id,
    int32_t term_id)
{
    const blocks_t *blocks = arg;
    rsti_data_header_t header;
    memcpy(&header, frames, sizeof header);
    if (header.term_id != term_id) {
        sim_fail("subscriber %d: a block of term %d is said to be of %d", blocks->reader->index,
            header.term_id, term_id);
    }
    /* While batches are held, the image's position is behind. */
    const int64_t begin = position_in(&blocks->info, term_id, header.term_offset);
    if (begin < blocks->info.position) {
        sim_fail("subscriber %d: a block at %" PRId64 " comes after %" PRId64,
            blocks->reader->index, begin, blocks->info.position);
    }
    sim_frames_take_block(blocks->reader, frames, length, session_id, begin);
}

static int poll_image_block(sim_poll_t *poll)
{
    rst_image_info_t info;
    if (!pick_image(poll, &info)) {
        return 0;
    }
    rst_image_t *image = take_image(poll, &info);
    if (image == NULL) {
        return 0;
    }
    blocks_t blocks = {.reader = poll->reader};
    rst_image_info(image, &blocks.info);
    const int32_t most = 2048 + (int32_t)sim_below(RNG_ACTOR, BLOCK_MAX);
    const int64_t result = rst_image_poll_block(image, most, &blocks, on_block);
    put_image(poll, image);
    return (int)result;
}

static int poll_block(sim_poll_t *poll)
{
    poll->is_in_batch = true;
    return rst_subscription_poll_block(poll->subscription,
        2048 + (int32_t)sim_below(RNG_ACTOR, BLOCK_MAX), poll->batch);
}

int sim_reading_poll(sim_poll_t *poll)
{
    poll->is_in_batch = false;
    const uint64_t method = sim_below(RNG_ACTOR, 4);
    if (poll->reader->reading == READING_RAW) {
        switch (method) {
        case 0:
            sim_count("reading: fragments of each image");
            return poll_each(poll, false);
        case 1:
            sim_count("reading: fragments of one image");
            return poll_image(poll, false);
        case 2:
            sim_count("reading: a block of one image");
            return poll_image_block(poll);
        default:
            sim_count("reading: a block");
            return poll_block(poll);
        }
    }
    switch (method) {
    case 0:
        sim_count("reading: messages of each image");
        return poll_each(poll, true);
    case 1:
        sim_count("reading: messages of one image");
        return poll_image(poll, true);
    case 2:
        sim_count("reading: bounded");
        return poll_bounded(poll);
    default:
        poll->is_in_batch = true;
        return rst_subscription_poll(poll->subscription, poll->reader->batch, 0, poll->batch);
    }
}

void sim_reading_end(const sim_subscriber_t *reader)
{
    rst_image_info_t info;
    rst_image_t *image = kept[reader->index];
    if (image == NULL) {
        return;
    }
    sim_count("reading: a handle of a closed image");
    rst_image_info(image, &info);
    if (!info.is_closed || rst_image_set_position(image, info.position) != -RST_ECLOSED) {
        sim_fail("subscriber %d closed, an image of it did not", reader->index);
    }
    rst_image_release(image);
    kept[reader->index] = NULL;
}
