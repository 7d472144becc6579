/* image_limits.c: see image_limits.h. */
#include "driver/conductor/image_limits.h"

#include "cnc/file_system.h"
#include "driver/receiver/image.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <inttypes.h>

/* The images that a new one is counted with. */
typedef struct others_t {
    int32_t of_stream; /* with it: stream-session-limit */
    int32_t unproven;
    int32_t of_host;   /* unproven, from the address of the new one */
    int64_t length;    /* of the unproven ones */
} others_t;

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

bool rsti_unproven_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable)
{
    return held + wanted <= most
        && (usable == INT64_MAX || held + wanted <= (held + usable) / 8 * 7);
}

static others_t count_others(const rst_driver_t *driver, const rsti_image_facts_t *facts)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    others_t others = {0};
    for (size_t i = 0; i < images->count; i++) {
        const rsti_image_t *image = images->items[i];
        const bool is_proven = rsti_load_acquire_i32(&image->is_proven) != 0;
        others.of_stream += image->endpoint == facts->endpoint
            && image->stream_id == facts->setup->stream_id && image->life <= RSTI_LIFE_DRAINING
            && (is_proven || !facts->is_proven);
        if (!is_proven) {
            others.unproven++;
            others.of_host += rsti_netaddr_is_same_host(&image->source_address, facts->source);
            others.length += RSTI_LOG_METADATA_LENGTH
                + image->file.reserved_terms * (int64_t)image->file.log.term_length;
        }
    }
    return others;
}

static int check_unproven(rst_driver_t *driver, const rsti_image_facts_t *facts,
    const others_t *others)
{
    if (others->unproven >= RSTI_UNPROVEN_IMAGES
        || others->of_host >= RSTI_UNPROVEN_IMAGES_PER_HOST) {
        return RST_SET_ERR(RST_EFULL,
            "stream %" PRId32 ": no image for a publisher that does not answer round-trip frames:"
            " at most %d such images may exist, %d from one address",
            facts->setup->stream_id, RSTI_UNPROVEN_IMAGES, RSTI_UNPROVEN_IMAGES_PER_HOST);
    }
    if (!rsti_unproven_images_fit(others->length,
            first_length(facts->setup, facts->subscription->is_sparse),
            driver->params.unproven_images_length, rsti_storage_usable(driver->dir))) {
        return RST_SET_ERR(RST_EFULL,
            "stream %" PRId32 ": no image for a publisher that does not answer round-trip frames:"
            " unproven-images-length=%" PRId64 " and the free space in %s allow no term of"
            " %" PRId32 " bytes more",
            facts->setup->stream_id, driver->params.unproven_images_length, driver->dir,
            facts->setup->term_length);
    }
    return 0;
}

int rsti_image_check_limits(rst_driver_t *driver, const rsti_image_facts_t *facts)
{
    const int64_t most = driver->params.stream_session_limit;
    const others_t others = count_others(driver, facts);
    /* Only new sessions come here, because a session has at most one image. */
    if (others.of_stream >= most) {
        return RST_SET_ERR(RST_EFULL,
            "stream %" PRId32 " has as many images as"
            " stream-session-limit=%" PRId64 " allows: exceeded session limit, stream-id=%" PRId32,
            facts->setup->stream_id, most, facts->setup->stream_id);
    }
    return facts->is_proven ? 0 : check_unproven(driver, facts, &others);
}
