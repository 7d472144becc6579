/* image_reader.h: the window of an image whose source follows the path. The path bounds what is
 * under way, so the window need only follow the readers (flow/reader_window.h), up to half a term.
 * It begins with two datagrams; with reader-window=false with that of the subscription, which is
 * then also the least one. rcv-wnd= and another law than static fix it. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_READER_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_READER_H

#include "driver/conductor/image_facts.h"
#include "driver/receiver/image.h"
#include "flow/congestion.h"

/* After the congestion control. */
void rsti_image_reader_init(const rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts);
/* Then: the window that readers are told of, in the metadata. What they may set aside is measured
 * by it, so it is never that of the moment. */
int32_t rsti_image_reader_told(const rsti_image_t *image);
/* Each rebuild pass: sets the window of the congestion control. */
void rsti_image_reader_look(const rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *facts);
/* When, and from which position of the slowest reader on, the next pass is wanted. */
int64_t rsti_image_reader_due_ns(const rsti_image_t *image);
int64_t rsti_image_reader_wake_position(const rsti_image_t *image);

#endif
