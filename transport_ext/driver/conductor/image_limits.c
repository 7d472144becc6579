/* image_limits.c: see image_limits.h. */
#include "driver/conductor/image_limits.h"

#include "cnc/file_system.h"
#include "driver/conductor/image_congestion.h"
#include "driver/receiver/image.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <inttypes.h>

/* The images that a new one is counted with. */
typedef struct others_t {
    int32_t of_stream; /* with it: stream-session-limit */
    int32_t unproven;
    int32_t unproven_of_source; /* from the address of the new one */
    int32_t of_source;          /* proven or not, from that address */
    int64_t unproven_length;    /* bytes */
    int64_t length_of_source;
} others_t;

/* The bytes that the log of the image takes from the file system before the first frame. */
static int64_t first_length(const rsti_image_facts_t *facts)
{
    const int64_t term_length = facts->setup->term_length;
    const int64_t step = rsti_min_i64(term_length, RSTI_RESERVE_STEP);
    const int64_t window = rsti_min_i64(rsti_image_first_window(facts), term_length / 2);
    const int64_t steps = (facts->setup->term_offset % step + window) / step + 1;
    const int64_t all = RSTI_PARTITIONS * term_length;
    return RSTI_LOG_METADATA_LENGTH
        + (facts->subscription->is_sparse ? rsti_min_i64(steps * step, all) : all);
}

static int64_t length_of(const rsti_image_t *image)
{
    return RSTI_LOG_METADATA_LENGTH + image->file.reserved_bytes;
}

bool rsti_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable)
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
        const bool is_same = rsti_netaddr_is_same_host(&image->source_address, facts->source);
        others.of_source += is_same;
        others.length_of_source += is_same ? length_of(image) : 0;
        others.unproven += !is_proven;
        others.unproven_of_source += !is_proven && is_same;
        others.unproven_length += is_proven ? 0 : length_of(image);
    }
    return others;
}

static int refuse_source(const rst_driver_t *driver, const struct sockaddr_storage *source,
    int64_t held)
{
    char host[RSTI_NETADDR_TEXT_MAX];
    return RST_SET_ERR(RST_EFULL,
        "images from %s hold %" PRId64 " bytes, and source-images-length=%" PRId64
        " and the free space in %s allow no more: close some of its publications, make their"
        " term-length= smaller, or give the directory more room",
        rsti_netaddr_format(source, host, sizeof host), held, driver->params.source_images_length,
        driver->dir);
}

static bool source_fits(const rst_driver_t *driver, int64_t held, int64_t wanted)
{
    const int64_t option = driver->params.source_images_length;
    return rsti_images_fit(held, wanted, option > 0 ? option : INT64_MAX - wanted,
        rsti_storage_usable(driver->dir));
}

/* Like rsti_counters_check_quota, for images: they have no client. */
static bool takes_last_counters(rst_driver_t *driver, int32_t image_count)
{
    rsti_counters_manager_t *manager = &driver->counters;
    const int32_t count = manager->counters.max_counter_id + 1;
    return manager->high_water_mark >= count / 8 * 7
        && image_count >= count / RSTI_SOURCE_IMAGES_SHARE
        && rsti_counters_shares(manager, -1, driver->epoch.now_ms).room <= count / 8;
}

static int check_source(rst_driver_t *driver, const rsti_image_facts_t *facts,
    const others_t *others)
{
    if (!source_fits(driver, others->length_of_source, first_length(facts))) {
        return refuse_source(driver, facts->source, others->length_of_source);
    }
    if (takes_last_counters(driver, others->of_source)) {
        return RST_SET_ERR(RST_EFULL,
            "one address has %" PRId32 " images, and the last counters are kept for others: make"
            " the counters buffer larger (counters-buffer-length)",
            others->of_source);
    }
    return 0;
}

static int check_unproven(rst_driver_t *driver, const rsti_image_facts_t *facts,
    const others_t *others)
{
    if (others->unproven >= RSTI_UNPROVEN_IMAGES
        || others->unproven_of_source >= RSTI_UNPROVEN_IMAGES_PER_HOST) {
        return RST_SET_ERR(RST_EFULL,
            "stream %" PRId32 ": no image for a publisher that does not answer round-trip frames:"
            " at most %d such images may exist, %d from one address",
            facts->setup->stream_id, RSTI_UNPROVEN_IMAGES, RSTI_UNPROVEN_IMAGES_PER_HOST);
    }
    if (!rsti_images_fit(others->unproven_length, first_length(facts),
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
    if (!facts->is_proven && check_unproven(driver, facts, &others) < 0) {
        return -rst_last_error_code();
    }
    return check_source(driver, facts, &others);
}

int rsti_image_check_growth(rst_driver_t *driver, const rsti_image_t *image, int64_t position)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    const int64_t wanted = position - image->file.reserved_position + RSTI_RESERVE_STEP;
    const bool is_proven = rsti_load_acquire_i32(&image->is_proven) != 0;
    int64_t of_source = 0, unproven = 0;
    for (size_t i = 0; i < images->count; i++) {
        const rsti_image_t *other = images->items[i];
        of_source += rsti_netaddr_is_same_host(&other->source_address, &image->source_address)
            ? length_of(other)
            : 0;
        unproven += rsti_load_acquire_i32(&other->is_proven) != 0 ? 0 : length_of(other);
    }
    if (!source_fits(driver, of_source, wanted)
        || (!is_proven
            && !rsti_images_fit(unproven, wanted, driver->params.unproven_images_length,
                rsti_storage_usable(driver->dir)))) {
        return refuse_source(driver, &image->source_address, of_source);
    }
    return 0;
}
