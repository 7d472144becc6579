/* driver_invariants.c: invariants of the drivers' memory, checked between any two turns: limits and
 * positions, cleaned terms, windows. White box: it reads the driver's structures. */
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/subscription.h"
#include "driver/receiver/image.h"
#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "tests/sim/actors.h"
#include "tests/sim/keys_oracle.h"
#include "tests/sim/world.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <string.h>

#define WATCHED_MAX 512

/* The last observed state of a publication or an image. */
typedef struct watched_t {
    int32_t process_id;
    int64_t id;
    int64_t limit;
    int64_t position;
    int64_t consumed; /* by the slowest reader, at most */
    uint64_t sealers; /* of the sources of an image */
} watched_t;

static watched_t watched[WATCHED_MAX];
static int watched_count;

void sim_driver_invariants_init(void)
{
    watched_count = 0;
}

static watched_t *watch(int32_t process_id, int64_t id)
{
    for (int i = 0; i < watched_count; i++) {
        if (watched[i].process_id == process_id && watched[i].id == id) {
            return &watched[i];
        }
    }
    if (watched_count == WATCHED_MAX) {
        sim_fail("more than %d logs", WATCHED_MAX);
    }
    watched_t *made = &watched[watched_count++];
    *made = (watched_t){
        .process_id = process_id, .id = id, .limit = -1, .position = -1, .consumed = -1};
    return made;
}

/* ---- publications ---- */

static bool is_zero(const uint8_t *bytes, size_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

/* The bytes that producers may write next are zero: a reader must find zeros behind the last frame.
 */
static void check_clean(const rsti_publication_t *publication, int64_t from, int64_t to)
{
    const rsti_log_t *log = &publication->file.log;
    while (from < to) {
        const int32_t offset = rsti_position_offset(from, log->term_length);
        int64_t length = log->term_length - offset;
        length = length < to - from ? length : to - from;
        const uint8_t *term = log->terms[rsti_position_index(from, log->position_bits)];
        if (!is_zero(term + offset, (size_t)length)) {
            sim_fail("stream %d: the limit allows position %" PRId64
                     ", where old bytes lie between %" PRId64 " and %" PRId64,
                publication->stream_id, to, from, from + length);
        }
        from += length;
    }
}

/* INT64_MAX: there is none. */
static int64_t slowest_reader(const rsti_subscribers_t *subscribers)
{
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (rsti_tether_is_working(&subscriber->tether)) {
            const int64_t at = rsti_load_acquire_i64(subscriber->position);
            least = at < least ? at : least;
        }
    }
    return least;
}

static void check_publication(const sim_driver_t *driver, const rsti_publication_t *publication)
{
    watched_t *seen = watch(driver->process->id, publication->registration_id);
    const int64_t limit = rsti_load_acquire_i64(publication->pub_lmt);
    const int64_t tail = rsti_log_producer_position(&publication->file.log);
    if (tail < seen->position) {
        sim_fail("stream %d: producers go back from %" PRId64 " to %" PRId64,
            publication->stream_id, seen->position, tail);
    }
    seen->position = tail;
    if (limit > seen->limit) {
        const int64_t from = tail > seen->limit ? tail : seen->limit;
        if (seen->limit >= 0) {
            check_clean(publication, from, limit);
        }
        seen->limit = limit;
    }
    const int32_t window = publication->file.log.term_length / 2;
    int64_t least = INT64_MAX;
    bool has_readers = false;
    for (int32_t i = 0; i < publication->subscribers.count; i++) {
        const rsti_subscriber_t *subscriber = &publication->subscribers.items[i];
        if (!rsti_tether_is_working(&subscriber->tether)) {
            continue;
        }
        has_readers = true;
        int64_t at = rsti_load_acquire_i64(subscriber->position);
        /* It returns from its rest at this moment: its position is about to be stored. */
        const bool is_coming = subscriber->tether.since_ns == driver->driver->conductor->now_ns;
        at = is_coming && at < subscriber->accepted ? subscriber->accepted : at;
        least = at < least ? at : least;
    }
    if (!publication->is_network && has_readers && publication->life == RSTI_LIFE_ACTIVE
        && limit > least + window && limit > tail) {
        sim_fail("IPC stream %d: the limit is %" PRId64 ", the slowest reader stands at %" PRId64
                 " and the window is %d",
            publication->stream_id, limit, least, window);
    }
    if (tail > limit + 2 * window && publication->life == RSTI_LIFE_ACTIVE) {
        sim_fail("stream %d: producers are at %" PRId64 ", the limit is %" PRId64,
            publication->stream_id, tail, limit);
    }
}

/* ---- images ---- */

static void check_sources(watched_t *seen, const rsti_image_t *image)
{
    uint64_t sealers = 1;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        if (connection->transport != NULL) {
            sealers = sealers * 31 + rsti_netaddr_sealer(&connection->source);
        }
    }
    if (sealers != seen->sealers) {
        seen->sealers = sealers;
        sim_oracle_on_image(image);
    }
}

static void check_image(const sim_driver_t *driver, const rsti_image_t *image)
{
    watched_t *seen = watch(driver->process->id, image->correlation_id);
    check_sources(seen, image);
    const int32_t term_length = image->file.log.term_length;
    const int64_t high_water = rsti_load_acquire_i64(&image->high_water);
    const int64_t least = slowest_reader(&image->subscribers);
    if (least != INT64_MAX && least > seen->consumed) {
        seen->consumed = least;
    }
    /* At most half a term beyond the consumed or announced position, and never more than a term
     * beyond the announced one. */
    const int64_t told = image->last_sm_position;
    const int64_t consumed = seen->consumed < told + term_length / 2 ? seen->consumed
                                                                     : told + term_length / 2;
    const int64_t from = consumed > told ? consumed : told;
    if (high_water > from + term_length / 2
        && high_water > image->join_position + term_length / 2) {
        sim_fail("image of stream %d: received up to %" PRId64 ", consumed up to %" PRId64
                 ", the last status message said %" PRId64,
            image->stream_id, high_water, seen->consumed, told);
    }
    if (image->clean_position > told && image->clean_position > image->join_position) {
        sim_fail("image of stream %d: cleaned up to %" PRId64 ", and from %" PRId64
                 " on data may come again",
            image->stream_id, image->clean_position, told);
    }
    if (image->received < seen->position) {
        sim_fail("image of stream %d: its position goes back from %" PRId64 " to %" PRId64,
            image->stream_id, seen->position, image->received);
    }
    seen->position = image->received;
    if (image->next_sm_window > term_length / 2) {
        sim_fail("image of stream %d: window %d of a term of %d", image->stream_id,
            image->next_sm_window, term_length);
    }
}

/* With rejoin=false a session that broke off does not return while its image lives. */
static void check_cool_down(const rsti_ptr_array_t *images)
{
    for (size_t i = 0; i < images->count; i++) {
        const rsti_image_t *old = images->items[i];
        /* It ended because its subscriptions were closed or dropped, and new ones want the stream:
         * it is superseded, or it ended before they came. Or its source was never proven, and the
         * publisher came. */
        if (old->is_rejoin || old->is_superseded || !rsti_load_acquire_i32(&old->is_released)
            || !rsti_subscribers_are_working(&old->subscribers)
            || rsti_load_acquire_i32(&old->is_displaced)
            || rsti_load_acquire_i32(&old->is_end_of_stream)) {
            continue;
        }
        for (size_t k = 0; k < images->count; k++) {
            const rsti_image_t *image = images->items[k];
            if (image->endpoint == old->endpoint && image->session_id == old->session_id
                && image->stream_id == old->stream_id
                && image->correlation_id > old->correlation_id) {
                sim_fail("stream %d session %d is back while it cools down", old->stream_id,
                    old->session_id);
            }
        }
    }
}

/* A client may die during a command: the conductor still reads whole records only. */
static void check_ring(const sim_driver_t *driver)
{
    if (driver->driver->to_driver.rb.corrupt_count != 0) {
        sim_fail("driver %d finds impossible lengths in its ring", driver->index);
    }
}

/* Unproven images take no place of proven ones, and may be proven later: twice the limit. */
static void check_session_limit(const rsti_ptr_array_t *images, int64_t most)
{
    for (size_t i = 0; most < INT32_MAX && i < images->count; i++) {
        const rsti_image_t *one = images->items[i];
        int64_t count = 0;
        for (size_t k = 0; k < images->count; k++) {
            const rsti_image_t *other = images->items[k];
            count += other->endpoint == one->endpoint && other->stream_id == one->stream_id
                && other->life <= RSTI_LIFE_DRAINING;
        }
        if (count > 2 * most) {
            sim_fail("stream %d has %" PRId64 " images, %" PRId64 " are allowed", one->stream_id,
                count, most);
        }
    }
}

static void check_driver(const sim_driver_t *driver)
{
    check_ring(driver);
    const rsti_conductor_t *conductor = driver->driver->conductor;
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        const rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        check_publication(driver, &publication->base);
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        const rsti_network_publication_t *publication = conductor->publications.items[i];
        check_publication(driver, &publication->base);
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        check_image(driver, conductor->images.items[i]);
    }
    check_cool_down(&conductor->images);
    check_session_limit(&conductor->images, driver->params.stream_session_limit);
}

void sim_driver_invariants_check(void)
{
    for (int32_t i = 0; i < actors.driver_count; i++) {
        if (actors.drivers[i].driver != NULL && actors.drivers[i].process->is_alive) {
            check_driver(&actors.drivers[i]);
        }
    }
}

int64_t sim_driver_counter_count(const rst_driver_t *driver)
{
    int64_t allocated = 0;
    const rsti_counters_t *counters = &driver->counters.counters;
    for (int32_t id = 0; id <= counters->max_counter_id; id++) {
        const int32_t state = rsti_load_acquire_i32(&counters->metadata[id].state);
        if (state == RSTI_COUNTER_UNUSED) {
            break; /* ids ascend: all later ones are unused too */
        }
        allocated += state == RSTI_COUNTER_ALLOCATED;
    }
    return allocated;
}

int64_t sim_driver_log_count(const rst_driver_t *driver)
{
    const rsti_conductor_t *conductor = driver->conductor;
    return (int64_t)(conductor->ipc_publications.count + conductor->publications.count
        + conductor->images.count + conductor->freed_logs.count);
}

int64_t sim_driver_send_pass_ns(int32_t process_id)
{
    for (int32_t i = 0; i < actors.driver_count; i++) {
        const sim_driver_t *driver = &actors.drivers[i];
        if (driver->driver != NULL && driver->process->id == process_id) {
            return driver->driver->sender->now_ns;
        }
    }
    return 0;
}
