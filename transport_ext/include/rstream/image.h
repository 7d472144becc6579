/* image.h: one publisher's session as one subscription sees it, and polls that call back.
 *
 * One thread polls a subscription at a time, whatever the kind of poll. A poll inside a callback is
 * refused with -RST_EBUSY. A callback may close the subscription or the client: the poll then ends
 * after the callback and stores no position. */
#ifndef RSTREAM_IMAGE_H
#define RSTREAM_IMAGE_H

#include "rstream/rstream.h"

typedef struct rst_image_info_t {
    int64_t correlation_id;
    int32_t session_id;
    int32_t initial_term_id;
    int32_t term_length;
    int32_t mtu;
    int32_t active_transport_count;
    int32_t position_counter_id;
    int64_t join_position;
    int64_t position;               /* consumed */
    int64_t segment_bytes;          /* consumed of messages in shared segments since it joined */
    int64_t end_of_stream_position; /* INT64_MAX until it is known */
    bool is_end_of_stream;          /* consumed to the end of the stream */
    bool is_revoked;
    bool is_closed;                 /* gone, or its subscription is closed */
    char source[64];
} rst_image_info_t;
/* The images of the subscription, in no order. Returns their number and stores up to `capacity` of
 * them. */
RST_API int rst_subscription_images(const rst_subscription_t *subscription,
    rst_image_info_t *images, int capacity);

/* A handle of an image, by number (0 …) or by session. NULL: there is no such image. With the
 * handle the received messages stay readable after the image became unavailable, until it is
 * released. */
RST_API rst_image_t *rst_subscription_image_at(rst_subscription_t *subscription, int index);
RST_API rst_image_t *rst_subscription_image_by_session(rst_subscription_t *subscription,
    int32_t session_id);
RST_API void rst_image_release(rst_image_t *image);
RST_API void rst_image_info(const rst_image_t *image, rst_image_info_t *info);
/* Skips ahead. position is that of a frame: a multiple of 32, in the current term, not below the
 * current position. 0, -RST_EINVAL, -RST_ECLOSED, or -RST_EBUSY inside a poll. */
RST_API int rst_image_set_position(rst_image_t *image, int64_t position);

typedef enum rst_poll_action_t {
    RST_POLL_ABORT = 1,   /* end before this message: it comes again */
    RST_POLL_BREAK = 2,   /* end behind this message */
    RST_POLL_COMMIT = 3,  /* store the position behind this message now, go on */
    RST_POLL_CONTINUE = 4 /* go on; the position is stored at the end */
} rst_poll_action_t;

typedef struct rst_fragment_t {
    const uint8_t *data; /* valid during the call */
    int32_t length;
    int32_t session_id;
    int32_t stream_id;
    int32_t term_id;
    int32_t term_offset;    /* of its first frame */
    int32_t flags;          /* BEGIN 0x80, END 0x40 */
    int64_t reserved_value; /* of its first frame */
    int64_t position;       /* of the stream, behind it */
} rst_fragment_t;
typedef rst_poll_action_t (*rst_on_fragment_t)(void *arg, const rst_fragment_t *fragment);

typedef struct rst_poll_params_t {
    int32_t limit;          /* fragments at most */
    int64_t limit_position; /* only frames that begin below it; INT64_MAX: no limit */
    bool is_assembling;     /* whole messages instead of fragments */
} rst_poll_params_t;
RST_API void rst_poll_params_init(rst_poll_params_t *params); /* 10, no bound, fragments */

/* Calls for each fragment (or message) that is already here, to the end of the term at most. Never
 * waits. Returns the number of fragments read, or negative: -RST_EINVAL, -RST_EBUSY, -RST_ECLOSED,
 * -RST_EFORKED, -RST_ECORRUPT. */
RST_API int rst_image_poll(rst_image_t *image, const rst_poll_params_t *params, void *arg,
    rst_on_fragment_t on_fragment);
/* As rst_image_poll, over all images; each poll begins with the next one. */
RST_API int rst_subscription_poll_each(rst_subscription_t *subscription,
    const rst_poll_params_t *params, void *arg, rst_on_fragment_t on_fragment);

/* Contiguous raw frames with their headers, within one term. Returns bytes, 0 or negative. A PAD
 * frame at the beginning makes a block of its own; a later one ends the block. */
RST_API int64_t rst_image_poll_block(rst_image_t *image, int32_t bytes_max, void *arg,
    void (*on_block)(void *arg, const void *frames, size_t length, int32_t session_id,
        int32_t term_id));

#endif
