/* image_create.c: see image_create.h. */
#include "driver/conductor/image_create.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/conductor/image_budget.h"
#include "driver/conductor/image_congestion.h"
#include "driver/conductor/image_fill.h"
#include "driver/conductor/image_reader.h"
#include "driver/conductor/logs.h"
#include "driver/conductor/subscriber_news.h"
#include "driver/receiver/image_repair.h"
#include "driver/receiver/receive_transport.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

/* True when NAKs are delayed as in a group (docs/reference/aeron/wire.md 9.2). */
static bool is_group(const rsti_image_facts_t *facts)
{
    const rsti_tristate_t asked = facts->subscription->group;
    return asked == RSTI_TRUE
        || (asked == RSTI_INFER
            && (facts->transport->udp.is_multicast
                || (facts->setup->frame.flags & RSTI_SETUP_FLAG_GROUP) != 0));
}

static int create_log(rst_driver_t *driver, rsti_image_t *image, const rsti_image_facts_t *facts,
    int32_t window)
{
    const rsti_setup_t *setup = facts->setup;
    const rsti_subscription_t *subscription = facts->subscription;
    const rsti_log_params_t params = {
        .correlation_id = image->correlation_id,
        .session_id = setup->session_id,
        .stream_id = setup->stream_id,
        .initial_term_id = setup->initial_term_id,
        .term_id = setup->active_term_id,
        .term_offset = setup->term_offset,
        .term_length = setup->term_length,
        .mtu = setup->mtu,
        .page_size = (int32_t)driver->params.page_size,
        .receiver_window = window,
        .socket_rcvbuf = facts->transport->granted_rcvbuf,
        .type = RSTI_LOG_IMAGE,
        .group = is_group(facts),
        .is_response = subscription->is_response,
        .rejoin = subscription->is_rejoin,
        .reliable = subscription->is_reliable,
        .sparse = subscription->is_sparse,
        .tether = subscription->is_tethered,
        .untethered_window_limit_ns = subscription->tether_times.window_limit_ns,
        .untethered_resting_ns = subscription->tether_times.resting_ns,
        .untethered_linger_ns = subscription->tether_times.linger_ns,
        .name = subscription->name,
    };
    if (rsti_log_check_storage(driver, params.term_length) < 0) {
        return -rst_last_error_code();
    }
    if (rsti_log_file_create(&image->file, driver->dir, "images", image->correlation_id, &params)
        < 0) {
        return -rst_last_error_code();
    }
    /* The window begins in the first step. A sender that left the reader behind sends more. */
    if (rsti_log_file_reserve(&image->file,
            image->join_position + (facts->is_resumed ? setup->term_length / 2 : window))
        < 0) {
        (void)rsti_log_file_close(&image->file, true);
        return -rst_last_error_code();
    }
    rsti_driver_count(driver, RSTI_SYSTEM_BYTES_MAPPED, (int64_t)image->file.log.length);
    return 0;
}

static int allocate_counters(rst_driver_t *driver, rsti_image_t *image)
{
    int64_t *hwm, *naks;
    const struct {
        int32_t type_id;
        const char *name;
        int32_t *id;
        int64_t **address; /* of those that the receiver writes: it finds them by their ids */
        int64_t value;
    } wanted[] = {
        {RSTI_COUNTER_RECEIVER_HWM, "rcv-hwm", &image->hwm_id, &hwm, image->join_position},
        {RSTI_COUNTER_RECEIVER_POSITION, "rcv-pos", &image->rcv_pos_id, &image->rcv_pos,
            image->join_position},
        {RSTI_COUNTER_RECEIVER_NAKS_SENT, "rcv-naks-sent", &image->naks_id, &naks, 0},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const rsti_stream_counter_t counter = {
            .type_id = wanted[i].type_id,
            .name = wanted[i].name,
            .registration_id = image->correlation_id,
            .client_id = -1,
            .session_id = image->session_id,
            .stream_id = image->stream_id,
            .uri = image->uri,
            .value = wanted[i].value,
        };
        *wanted[i].id = rsti_stream_counter_allocate(driver, &counter, wanted[i].address);
        if (*wanted[i].id < 0) {
            return -rst_last_error_code();
        }
    }
    return 0;
}

static void hide(rsti_image_t *image)
{
    image->is_hidden = true;
    image->hwm_id = RSTI_NULL_COUNTER;
    image->rcv_pos_id = RSTI_NULL_COUNTER;
    image->naks_id = RSTI_NULL_COUNTER;
    image->hwm = &image->hidden[0];
    image->rcv_pos = &image->hidden[1];
    image->naks = &image->hidden[2];
}

static int make_counters(rst_driver_t *driver, rsti_image_t *image, bool follows_fill)
{
    image->is_hidden = false;
    return rsti_image_congestion_counters(driver, image) < 0 || allocate_counters(driver, image) < 0
            || rsti_image_fill_counters(driver, image, follows_fill) < 0
        ? -rst_last_error_code()
        : 0;
}

/* The receiver learns the addresses of its two counters by command, because it may be writing them.
 */
void rsti_publication_image_show(rst_driver_t *driver, rsti_image_t *image)
{
    if (!image->is_hidden || rsti_load_acquire_i32(&image->is_proven) == 0
        || image->life > RSTI_LIFE_DRAINING) {
        return;
    }
    if (make_counters(driver, image, false) < 0) {
        rsti_driver_log_trail(driver, "conductor");
        return;
    }
    rsti_store_release_i64(image->rcv_pos, image->received);
    const rsti_agent_command_t show = {.endpoint = image->endpoint, .object = image};
    rsti_tell_receiver(driver, RSTI_AGENT_SHOW_IMAGE, &show);
}

static void init_loss(rst_driver_t *driver, rsti_image_t *image, const rsti_image_facts_t *facts)
{
    const rst_driver_params_t *params = &driver->params;
    const rsti_subscription_t *subscription = facts->subscription;
    rsti_feedback_delay_t delay;
    if (!subscription->is_reliable) {
        rsti_feedback_delay_unicast(&delay, 0, 1);
    } else if (is_group(facts)) {
        rsti_feedback_delay_group(&delay, params->nak_group_backoff_ns,
            (double)params->nak_group_size);
    } else {
        rsti_feedback_delay_unicast(&delay, subscription->nak_delay_ns, params->nak_retry_ratio);
    }
    rsti_loss_detector_init(&image->loss, &delay);
    rsti_image_repair_init(image,
        subscription->is_reliable && !is_group(facts)
            && (facts->setup->frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0,
        subscription->nak_delay_ns);
}

static bool follows_fill(const rsti_setup_t *setup)
{
    const uint8_t flags = RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_FILL;
    return (setup->frame.flags & flags) == flags;
}

static void init_positions(rsti_image_t *image, const rsti_image_facts_t *facts, int64_t now_ns)
{
    image->next_sm_position = image->join_position;
    image->next_sm_window = image->congestion.window;
    image->clean_position = image->join_position;
    image->quiet = (rsti_log_quiet_t){image->join_position, now_ns};
    image->high_water = image->join_position;
    image->received = image->join_position;
    image->rebuilt_hwm = image->join_position;
    image->rebuilt_from = image->join_position;
    image->loss_due_ns = RSTI_NO_DEADLINE;
    image->sm.value = (rsti_image_sm_t){
        .position = image->join_position,
        .window = image->congestion.window,
        .window_cut = image->congestion.window,
    };
    image->last_packet_ns = now_ns;
    image->drained_ns = INT64_MAX;
    image->overrun.began_sent = INT64_MIN;
    image->overrun.asked_ns = INT64_MIN / 2;
    image->overrun.woken_ns = INT64_MIN / 2;
    image->last_sm_position = image->join_position;
    image->last_sm_window = image->congestion.window;
    image->overrun_threshold = image->join_position + image->file.log.term_length / 2;
    image->room_until = image->overrun_threshold;
    image->reserved_until = image->file.reserved_position;
    image->is_wide = facts->is_resumed;
    rsti_sm_repeat_init(&image->sm_repeat);
    rsti_image_path_init(image, now_ns);
    image->sm_due_ns = INT64_MIN / 2; /* the first status message leaves at once */
    rsti_connection_t *connection = &image->connections[facts->transport->slot];
    *connection = (rsti_connection_t){
        .transport = facts->transport,
        .last_activity_ns = now_ns,
        .last_frame_ns = now_ns,
        .is_rstream = (facts->setup->frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0,
        .follows_fill = follows_fill(facts->setup),
        .follows_path = rsti_setup_follows_path(facts->setup),
        .has_setup = true,
        .is_proven = facts->is_proven,
        .allowance = RSTI_ADMITTED_ALLOWANCE,
    };
    connection->source = *facts->source;
    connection->control = *rsti_receive_transport_control(facts->transport, facts->source);
    image->has_rstream = connection->is_rstream;
    image->window_cut.next = image->congestion.window;
    rsti_image_window_set_aeron(&image->window_cut,
        image->window_cut.is_wanted && !connection->is_rstream);
    rsti_image_wake_at(image, image->join_position + image->congestion.window / 4 + 1,
        image->budget.wake_position);
}

int rsti_publication_image_create(rst_driver_t *driver, rsti_image_t **image,
    const rsti_image_facts_t *facts, int64_t now_ns)
{
    const rsti_setup_t *setup = facts->setup;
    const rsti_subscription_t *subscription = facts->subscription;
    rsti_image_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->correlation_id = rsti_mpsc_rb_next_correlation_id(&driver->to_driver);
    made->session_id = setup->session_id;
    made->stream_id = setup->stream_id;
    made->endpoint = facts->endpoint;
    made->mtu = setup->mtu;
    made->is_reliable = subscription->is_reliable;
    made->is_rejoin = subscription->is_rejoin;
    made->cc_rtt_id = RSTI_NULL_COUNTER;
    made->cc_window_id = RSTI_NULL_COUNTER;
    made->wants_responses = (setup->frame.flags & RSTI_SETUP_FLAG_SEND_RESPONSE) != 0;
    made->response_session = RSTI_NO_SESSION;
    made->response_told = RSTI_NO_SESSION;
    made->is_proven = facts->is_proven;
    made->source_address = *facts->source;
    hide(made);
    rsti_image_fill_init(made);
    made->fill.is_wanted = follows_fill(setup);
    made->window_cut.is_wanted = subscription->is_fill_window;
    made->life_changed_ns = now_ns;
    made->join_position = rsti_position(setup->active_term_id, setup->term_offset,
        rsti_log2((uint32_t)setup->term_length), setup->initial_term_id);
    rsti_netaddr_format(facts->source, made->source, sizeof made->source);
    made->uri = rsti_strndup(subscription->uri, subscription->uri_length);
    made->connection_capacity = facts->endpoint->is_manual ? RSTI_RECEIVE_TRANSPORTS_MAX : 1;
    made->connections = rsti_alloc((size_t)made->connection_capacity * sizeof *made->connections);
    if (made->uri == NULL || made->connections == NULL
        || rsti_image_congestion_init(driver, made, facts, now_ns) < 0
        || create_log(driver, made, facts, rsti_image_reader_told(made)) < 0
        || (facts->is_proven && make_counters(driver, made, follows_fill(setup)) < 0)
        || rsti_image_budget_join(driver, made, facts) < 0) {
        rsti_publication_image_destroy(driver, made);
        return -rst_last_error_code();
    }
    if (facts->is_proven) {
        made->hwm = rsti_counter_address(&driver->counters.counters, made->hwm_id);
        made->naks = rsti_counter_address(&driver->counters.counters, made->naks_id);
    }
    init_loss(driver, made, facts);
    init_positions(made, facts, now_ns);
    *image = made;
    return 0;
}

void rsti_publication_image_destroy(rst_driver_t *driver, rsti_image_t *image)
{
    rsti_subscribers_clear(driver, &image->subscribers);
    rsti_image_congestion_fini(driver, image);
    rsti_counter_release(driver, &image->hwm_id);
    rsti_counter_release(driver, &image->rcv_pos_id);
    rsti_counter_release(driver, &image->naks_id);
    rsti_image_fill_fini(driver, image);
    rsti_image_budget_leave(driver, image);
    if (image->file.log.base != NULL) {
        rsti_log_release(driver, &image->file);
    }
    rsti_free(image->reject_reason);
    rsti_free(image->leave_reason);
    rsti_free(image->connections);
    rsti_free(image->uri);
    rsti_free(image);
}
