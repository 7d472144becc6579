/* image_limits.c: see image_limits.h. */
#include "driver/conductor/image_limits.h"

#include "cnc/driver_dir.h"
#include "driver/receiver/image.h"
#include "util/error.h"

#include <inttypes.h>

/* The bytes that the log of the image takes from the file system before the first frame. */
static int64_t first_length(const rsti_setup_t *setup, bool is_sparse)
{
    const int64_t term_length = setup->term_length;
    const bool has_two = (int64_t)setup->term_offset + term_length / 2 >= term_length;
    return RSTI_LOG_METADATA_LENGTH
        + term_length
        * (!is_sparse     ? RSTI_PARTITIONS
                : has_two ? 2
                          : 1);
}

static int64_t unproven_length(const rst_driver_t *driver)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    int64_t length = 0;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        if (!rsti_load_relaxed_i32(&image->has_frames)) {
            length += RSTI_LOG_METADATA_LENGTH
                + image->file.reserved_terms * (int64_t)image->file.log.term_length;
        }
    }
    return length;
}

bool rsti_unproven_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable)
{
    if (held > 0 && held + wanted > most) {
        return false;
    }
    return usable == INT64_MAX || held + wanted <= (held + usable) / 8 * 7;
}

static int32_t count_images(const rst_driver_t *driver, const rsti_receive_endpoint_t *endpoint,
    int32_t stream_id)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    int32_t count = 0;
    for (size_t i = 0; i < images->count; i++) {
        const rsti_image_t *image = images->items[i];
        count += image->endpoint == endpoint && image->stream_id == stream_id
            && image->life <= RSTI_LIFE_DRAINING;
    }
    return count;
}

int rsti_image_check_limits(rst_driver_t *driver, const rsti_receive_endpoint_t *endpoint,
    const rsti_setup_t *setup, bool is_sparse)
{
    const int64_t most = driver->params.stream_session_limit;
    /* Only new sessions come here, because a session has at most one image. */
    if (most < INT32_MAX && count_images(driver, endpoint, setup->stream_id) >= most) {
        return RST_SET_ERR(RST_EFULL,
            "stream %" PRId32 " has as many images as"
            " stream-session-limit=%" PRId64 " allows: exceeded session limit, stream-id=%" PRId32,
            setup->stream_id, most, setup->stream_id);
    }
    if (!rsti_unproven_images_fit(unproven_length(driver), first_length(setup, is_sparse),
            driver->params.unproven_images_length, rsti_storage_usable(driver->dir))) {
        return RST_SET_ERR(RST_EFULL,
            "no room for another image: images that have no data yet hold all memory that"
            " unproven-images-length=%" PRId64 " and the free space in %s allow",
            driver->params.unproven_images_length, driver->dir);
    }
    return 0;
}
