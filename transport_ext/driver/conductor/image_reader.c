/* image_reader.c: see image_reader.h. */
#include "driver/conductor/image_reader.h"

#include "driver/base/driver_state.h"
#include "driver/conductor/blocked_readers.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_congestion.h"
#include "driver/conductor/reader_messages.h"

#define NO_CLIENT (-1)
#define FIRST_DATAGRAMS 2

static int64_t publishing_client(const rst_driver_t *driver, const rsti_setup_t *setup)
{
    const rsti_ptr_array_t *publications = &driver->conductor->publications;
    for (size_t i = 0; i < publications->count; i++) {
        const rsti_publication_t *base = publications->items[i];
        if (base->session_id == setup->session_id && base->stream_id == setup->stream_id) {
            return base->client_id;
        }
    }
    return NO_CLIENT;
}

void rsti_image_reader_init(const rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts)
{
    rsti_congestion_t *congestion = &image->congestion;
    image->reader.is_followed = rsti_image_follows_path(facts)
        && !facts->subscription->is_window_given && congestion->law == &rsti_congestion_static;
    if (image->reader.is_followed) {
        image->reader.first = rsti_min_i32(facts->subscription->window,
            FIRST_DATAGRAMS * facts->setup->mtu);
        image->reader.frame = facts->setup->mtu;
        image->reader.stopped = rsti_min_i32(facts->subscription->window, congestion->max_window);
        image->reader.least = driver->params.reader_window != 0 ? 0 : image->reader.stopped;
        image->reader.client_id = publishing_client(driver, facts->setup);
        rsti_reader_window_init(&image->reader.law);
        congestion->window = rsti_min_i32(rsti_max_i32((int32_t)image->reader.first,
                                              image->reader.least),
            congestion->max_window);
    }
}

int32_t rsti_image_reader_told(const rsti_image_t *image)
{
    const int32_t window = image->congestion.window;
    return image->reader.is_followed ? rsti_max_i32(window, image->reader.stopped) : window;
}

/* See flow/reader_window.h. */
static bool may_fill(const rsti_image_t *image)
{
    const rsti_subscribers_t *subscribers = &image->subscribers;
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (rsti_tether_is_working(&subscriber->tether)
            && (!subscriber->tether.is_tethered
                || subscriber->subscription->client_id == image->reader.client_id)) {
            return true;
        }
    }
    return false;
}

void rsti_image_reader_look(const rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *facts)
{
    rsti_congestion_t *congestion = &image->congestion;
    if (!image->reader.is_followed) {
        return;
    }
    if (rsti_readers_set_aside(&image->subscribers)) {
        congestion->window = congestion->max_window;
        return;
    }
    const int64_t window = rsti_reader_window_update(&image->reader.law,
        &(rsti_reader_window_facts_t){
            .now_ns = facts->now_ns,
            .produced = facts->to,
            .consumed = facts->consumed,
            .window = congestion->max_window,
            .stopped = image->reader.stopped,
            .largest = rsti_readers_message_bytes(&image->subscribers),
            .first = image->reader.first,
            .frame = image->reader.frame,
            .turn_ns = rsti_max_i64(2 * facts->rtt_ns, image->fill.fill.target_delay_ns),
            .may_fill = may_fill(image),
            .is_blocked = rsti_reader_window_may_open(&image->reader.law, facts->now_ns)
                && rsti_readers_are_blocked(driver, &image->subscribers),
            .has_read = rsti_readers_have_read(&image->subscribers),
        });
    congestion->window = rsti_max_i32((int32_t)window, image->reader.least);
}

int64_t rsti_image_reader_due_ns(const rsti_image_t *image)
{
    return image->reader.is_followed ? rsti_reader_window_due_ns(&image->reader.law)
                                     : RSTI_NO_DEADLINE;
}

int64_t rsti_image_reader_wake_position(const rsti_image_t *image)
{
    return image->reader.is_followed ? rsti_reader_window_wake_position(&image->reader.law)
                                     : INT64_MAX;
}
