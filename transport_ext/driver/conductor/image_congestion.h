/* image_congestion.h: the receiver window of an image: its congestion control, its counters, and
 * the times of status messages (docs/reference/aeron/wire.md 8.2 and 11). */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_CONGESTION_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_CONGESTION_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"
#include "driver/receiver/image.h"
#include "flow/congestion.h"

/* Whether not the window but the law of the path bounds what is under way. */
bool rsti_image_follows_path(const rsti_image_facts_t *facts);
/* The window of a new image: that of the subscription, but of a stream with a name no more than the
 * socket's receive buffer was granted. Of a source that follows the path (flow/path.h) it is half a
 * term, at most RSTI_WIDE_WINDOW, unless rcv-wnd= says otherwise, whatever the buffer: a path that
 * loses 1 % needs three to four times its rate x round trip. That is the most of it: the readers
 * open it (image_reader.h). A source that is not proven gets no more than others. */
#define RSTI_WIDE_WINDOW (32 * 1024 * 1024)
#define RSTI_WIDE_RCVBUF (4 * 1024 * 1024) /* of its socket, or what the system grants of it */
int32_t rsti_image_first_window(const rsti_image_facts_t *facts);
/* Asks for a longer receive buffer, unless the channel says how long it is: as long as the window,
 * or where the path and not the window bounds a stream RSTI_WIDE_RCVBUF, because more than a part
 * of the window may come while this host lets the receiver wait. */
void rsti_image_widen_rcvbuf(rst_driver_t *driver, const rsti_image_facts_t *facts);
/* Tells a window that the granted buffer bounds: once for each subscription an entry in the error
 * log and a counter. */
void rsti_image_tell_bound(rst_driver_t *driver, const rsti_image_facts_t *facts);
/* Chooses the congestion control of the channel. Returns 0, or a negative error code with a trail.
 */
int rsti_image_congestion_init(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts, int64_t now_ns);
/* Allocates the counters, if the congestion control has any. Returns 0, or a negative error code
 * with a trail. */
int rsti_image_congestion_counters(rst_driver_t *driver, rsti_image_t *image);
/* Releases the counters. */
void rsti_image_congestion_fini(rst_driver_t *driver, rsti_image_t *image);
/* Each rebuild pass. True when the caller must schedule a status message. */
bool rsti_image_congestion_rebuild(const rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *facts, bool is_ack_due);

#endif
