/* parts.h: puts the parts of a large message of one image together, in memory of its own.
 *
 * A session sends the parts of one message in order, and one message at a time; other messages may
 * come between them. So an image holds one partial message at most. A part may come again from an
 * offset that is there already, because a poll that found no room reads it again; it is copied
 * again. A part that begins behind what is there, another total, or bytes beyond the total end the
 * message: it is dropped, and told once (RST_IMAGE_SKIPPED). What follows of it is dropped without
 * a word, by its id.
 *
 * Bounded: a message by length_max of its subscription, an image by one message, the process by
 * RSTI_PARTIAL_BYTES_MAX bytes that have come. A total that is only claimed reserves addresses, and
 * no page of memory. The caller holds subscription->lock. */
#ifndef RSTI_CLIENT_PARTS_H
#define RSTI_CLIENT_PARTS_H

#include "client/image.h"

#define RSTI_PARTIAL_BYTES_MAX (INT64_C(4) << 30)

/* Whether a process that holds so many bytes of partial messages may hold so many more. */
static inline bool rsti_parts_fit(int64_t held, int64_t more)
{
    return more <= RSTI_PARTIAL_BYTES_MAX - held;
}

static inline bool rsti_parts_take(const rst_image_t *image, int64_t reserved_value)
{
    const rst_subscription_t *subscription = image->subscription;
    const uint16_t name_hash = (uint16_t)reserved_value;
    return subscription->takes_parts && rsti_stream_header_is_part(reserved_value) && name_hash != 0
        && (subscription->parts.name_hash == 0 || subscription->parts.name_hash == name_hash);
}

/* Looks at the prefix of a part that begins at the position. Afterwards next_position is the
 * position, or -1: this part is not to be copied. */
void rsti_parts_begin(rst_image_t *image, const uint8_t *payload, int32_t length, int64_t position);
/* The bytes of the message after these ones; -1: the message was dropped. Changes nothing else. */
int64_t rsti_parts_would_be(rst_image_t *image, int32_t length, int64_t position);
/* Copies what rsti_parts_would_be accepted. end_position: where the part goes on; -1: it ends. */
void rsti_parts_copy(rst_image_t *image, const uint8_t *bytes, int32_t length,
    int64_t end_position);
/* Ends the message: its memory has another owner now. */
void rsti_parts_hand_over(rst_image_t *image);
/* Drops the message without a word: the subscription is closed. */
void rsti_parts_drop(rst_image_t *image);
/* The image ends. */
void rsti_parts_end(rst_image_t *image);
/* A message that was handed out and given back. */
void rsti_parts_given_back(rst_image_t *image, const rst_message_t *message);

#endif
