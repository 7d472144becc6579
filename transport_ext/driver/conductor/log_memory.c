/* log_memory.c: see log_memory.h. */
#include "driver/conductor/log_memory.h"

#include "cnc/file_system.h"
#include "driver/base/driver_state.h"
#include "driver/conductor/publication.h"
#include "logbuffer/reader.h"
#include "util/error.h"

/* Memory between from and to stays. Bytes beyond `to` were never written, and clean ones may be
 * written: both are there no more, or zero. */
static bool give_back(rst_driver_t *driver, rsti_log_file_t *file, int64_t *clean_position,
    int64_t from, int64_t to)
{
    if (to >= *clean_position + RSTI_PARTITIONS * (int64_t)file->log.term_length) {
        return false;
    }
    const int64_t kept = rsti_log_file_give_back(file, from, to);
    if (kept < -1) {
        rsti_driver_log_trail(driver, "conductor");
    }
    if (kept < 0) {
        return false;
    }
    *clean_position = rsti_max_i64(*clean_position, kept);
    return true;
}

/* What every receiver and spy has consumed. A group is asked for all of the last term. */
static int64_t consumed_of(const rsti_network_publication_t *publication, int64_t snd_pos)
{
    const rsti_publication_t *base = &publication->base;
    int64_t least = snd_pos, highest;
    if (!rsti_subscribers_range(&base->subscribers, base->clean_position, base->options.term_length,
            &least, &highest)) {
        least = snd_pos;
    }
    const int64_t acked = publication->is_group ? snd_pos - base->options.term_length
                                                : rsti_load_acquire_i64(publication->snd_consumed);
    return rsti_max_i64(rsti_min_i64(rsti_min_i64(least, snd_pos), acked), 0);
}

bool rsti_publication_give_back(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    rsti_publication_t *base = &publication->base;
    const int64_t snd_pos = rsti_load_acquire_i64(&publication->position);
    const int64_t consumed = consumed_of(publication, snd_pos);
    if (base->life != RSTI_LIFE_ACTIVE || consumed < base->clean_position) {
        return false;
    }
    /* A publisher that was told of a higher limit may be writing up to there. */
    const int64_t highest = rsti_max_i64(base->limit_highest,
        rsti_log_producer_position(&base->file.log));
    return give_back(driver, &base->file, &base->clean_position, consumed,
        rsti_publication_reach(base, highest));
}

bool rsti_image_give_back(rst_driver_t *driver, rsti_image_t *image)
{
    int64_t least, highest;
    if (image->life != RSTI_LIFE_ACTIVE || image->is_told_unavailable
        || !rsti_subscribers_range(&image->subscribers, image->clean_position,
            image->file.log.term_length, &least, &highest)) {
        return false;
    }
    /* The receiver writes what comes again, from where its last status message said. */
    const int64_t from = rsti_min_i64(least, rsti_load_acquire_i64(&image->last_sm_position));
    if (from < image->clean_position) {
        return false;
    }
    /* The receiver writes up to there. */
    const int64_t to = rsti_max_i64(rsti_load_relaxed_i64(&image->room_until),
        rsti_load_acquire_i64(&image->high_water));
    const bool is_given = give_back(driver, &image->file, &image->clean_position, from, to);
    rsti_store_release_i64(&image->reserved_until, image->file.reserved_position);
    return is_given;
}

/* Whether a log has moved less than it holds, or must not hold more than it needs. */
static bool is_due(rsti_log_quiet_t *quiet, const rsti_log_file_t *file, int64_t position,
    int64_t now_ns, bool is_tight)
{
    if (!is_tight && now_ns < quiet->since_ns + RSTI_LOG_QUIET_NS) {
        return false;
    }
    const int64_t moved = position - quiet->position;
    quiet->position = position;
    quiet->since_ns = now_ns;
    return is_tight || moved < file->reserved_bytes;
}

static int64_t growth_of(const rsti_log_file_t *file)
{
    return RSTI_PARTITIONS * (int64_t)file->log.term_length - file->reserved_bytes;
}

/* Whether the logs may come to take more than there is. */
static bool is_storage_tight(const rst_driver_t *driver)
{
    const rsti_conductor_t *conductor = driver->conductor;
    int64_t growth = 0;
    for (size_t i = 0; i < conductor->publications.count; i++) {
        const rsti_network_publication_t *publication = conductor->publications.items[i];
        growth += growth_of(&publication->base.file);
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        const rsti_image_t *image = conductor->images.items[i];
        growth += growth_of(&image->file);
    }
    return growth > 0 && rsti_storage_usable(driver->dir) < growth;
}

void rsti_log_memory_on_timer(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    const bool is_tight = is_storage_tight(driver);
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        rsti_publication_t *base = &publication->base;
        if (is_due(&base->quiet, &base->file, rsti_load_relaxed_i64(&publication->position), now_ns,
                is_tight)) {
            (void)rsti_publication_give_back(driver, publication);
        }
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        if (is_due(&image->quiet, &image->file, image->received, now_ns, is_tight)) {
            (void)rsti_image_give_back(driver, image);
        }
    }
}
