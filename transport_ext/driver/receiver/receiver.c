/* receiver.c: the receiver's duty cycle (docs/reference/aeron/driver.md 2.3). */
#include "driver/receiver/receiver.h"

#include "driver/base/driver_state.h"
#include "driver/base/key_refusals.h"
#include "driver/base/proxies.h"
#include "driver/base/socket_poll.h"
#include "driver/receiver/control_names.h"
#include "driver/receiver/dispatcher.h"
#include "driver/receiver/frames_in.h"
#include "driver/receiver/image_connections.h"
#include "driver/receiver/image_pending.h"
#include "driver/receiver/image_rtt.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/receiver/wake_readers.h"
#include "protocol/timestamp.h"
#include "util/alloc.h"
#include "util/fault.h"

#define COMMANDS_MAX 16
/* Largest datagram, plus a step that keeps the buffers out of one another's cache sets. */
#define BUFFER_STRIDE (RSTI_DATAGRAM_MAX + 3 * RSTI_CACHE_LINE)

static void add_image(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    for (rsti_image_t *old = receiver->images; old != NULL; old = old->next) {
        if (old->endpoint == image->endpoint && old->stream_id == image->stream_id
            && old->session_id == image->session_id) {
            rsti_image_supersede(receiver, old, now_ns);
        }
    }
    image->next = receiver->images;
    receiver->images = image;
    rsti_dispatcher_t *dispatcher = &image->endpoint->dispatcher;
    rsti_session_t *session = rsti_dispatcher_find(dispatcher, image->stream_id, image->session_id);
    if (session == NULL
        && rsti_dispatcher_is_wanted(dispatcher, image->stream_id, image->session_id)) {
        session = rsti_dispatcher_put(dispatcher, image->stream_id, image->session_id,
            RSTI_SESSION_ACTIVE, now_ns);
    }
    if (session != NULL) {
        rsti_dispatcher_set_state(dispatcher, session, RSTI_SESSION_ACTIVE, now_ns);
        session->image = image;
    }
    image->rtt_key = rsti_image_rtt_key(receiver, image);
    rsti_image_overrun_begin(image, now_ns);
}

static void show_image(const rsti_receiver_t *receiver, rsti_image_t *image)
{
    const rsti_counters_t *counters = &receiver->driver->counters.counters;
    image->hwm = rsti_counter_address(counters, image->hwm_id);
    image->naks = rsti_counter_address(counters, image->naks_id);
    rsti_store_release_i64(image->hwm, rsti_load_relaxed_i64(&image->high_water));
}

static void remove_image(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    rsti_image_t **link = &receiver->images;
    while (*link != NULL && *link != image) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = image->next;
    }
    rsti_receiver_wake_touched(receiver); /* the list may hold this image */
    rsti_dispatcher_t *dispatcher = &image->endpoint->dispatcher;
    rsti_session_t *session = rsti_dispatcher_find(dispatcher, image->stream_id, image->session_id);
    if (session != NULL && session->image == image) {
        if (rsti_load_relaxed_i32(&image->is_end_of_stream)
            || rsti_load_relaxed_i32(&image->is_displaced) || RSTI_FAULT == RSTI_FAULT_COOL_DOWN) {
            rsti_dispatcher_forget(dispatcher, session);
        } else {
            rsti_dispatcher_set_state(dispatcher, session, RSTI_SESSION_COOL_DOWN, now_ns);
        }
    }
    rsti_store_release_i32(&image->is_released, 1);
    rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
}

static void forget_in_state(rsti_receive_endpoint_t *endpoint, const rsti_agent_command_t *command,
    rsti_session_state_t state)
{
    rsti_session_t *session = rsti_dispatcher_find(&endpoint->dispatcher, command->stream_id,
        command->session_id);
    if (session != NULL && session->state == state) {
        rsti_dispatcher_forget(&endpoint->dispatcher, session);
    }
}

static void add_transport(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    int64_t now_ns)
{
    rsti_receive_endpoint_t *endpoint = transport->endpoint;
    transport->next = endpoint->transports;
    endpoint->transports = transport;
    receiver->named_count += transport->control_name[0] != '\0';
    rsti_driver_poll_add(receiver->driver, RSTI_AGENT_RECEIVER, transport->socket,
        &transport->is_readable);
    (void)rsti_receive_transport_elicit(receiver, transport, now_ns);
}

static void release_transport(rsti_receiver_t *receiver, rsti_receive_transport_t *transport)
{
    receiver->named_count -= transport->control_name[0] != '\0';
    rsti_candidates_forget_transport(&receiver->candidates, transport);
    rsti_driver_poll_remove(receiver->driver, RSTI_AGENT_RECEIVER, transport->socket);
    rsti_store_release_i32(&transport->is_released, 1);
    rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
}

static void remove_transport(rsti_receiver_t *receiver, rsti_receive_transport_t *transport)
{
    rsti_receive_endpoint_t *endpoint = transport->endpoint;
    rsti_receive_transport_t **link = &endpoint->transports;
    while (*link != NULL && *link != transport) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = transport->next;
    }
    for (rsti_image_t *image = receiver->images; image != NULL; image = image->next) {
        if (image->endpoint == endpoint) {
            rsti_image_remove_transport(receiver, image, transport);
        }
    }
    release_transport(receiver, transport);
}

static void add_endpoint(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint)
{
    endpoint->next = receiver->endpoints;
    receiver->endpoints = endpoint;
}

static void remove_endpoint(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint)
{
    rsti_receive_endpoint_t **link = &receiver->endpoints;
    while (*link != NULL && *link != endpoint) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = endpoint->next;
    }
    while (endpoint->transports != NULL) {
        rsti_receive_transport_t *transport = endpoint->transports;
        endpoint->transports = transport->next;
        release_transport(receiver, transport);
    }
    rsti_store_release_i32(&endpoint->is_released, 1);
    rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
}

static void add_interest(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    rsti_interest_t *interest, int64_t now_ns)
{
    const bool is_first = !rsti_dispatcher_has_interest(&endpoint->dispatcher);
    rsti_dispatcher_add_interest(&endpoint->dispatcher, interest);
    for (rsti_receive_transport_t *t = endpoint->transports; is_first && t != NULL; t = t->next) {
        t->elicit_due_ns = RSTI_NO_DEADLINE; /* at once */
        (void)rsti_receive_transport_elicit(receiver, t, now_ns);
    }
    if (!is_first || interest->has_session) {
        rsti_receive_endpoint_elicit(receiver, endpoint, interest->stream_id, interest->session_id);
    }
}

static void on_command(void *agent, int32_t type, const rsti_agent_command_t *command)
{
    rsti_receiver_t *receiver = agent;
    rsti_receive_endpoint_t *endpoint = command->endpoint;
    const int64_t now_ns = rsti_clock_nano_time(&receiver->driver->clock);
    switch (type) {
    case RSTI_AGENT_ADD_ENDPOINT:
        add_endpoint(receiver, endpoint);
        break;
    case RSTI_AGENT_REMOVE_ENDPOINT:
        remove_endpoint(receiver, endpoint);
        break;
    case RSTI_AGENT_ADD_TRANSPORT:
        add_transport(receiver, command->object, now_ns);
        break;
    case RSTI_AGENT_REMOVE_TRANSPORT:
        remove_transport(receiver, command->object);
        break;
    case RSTI_AGENT_SET_CONTROL:
        rsti_receiver_set_control(receiver, command->object, &command->address, now_ns);
        break;
    case RSTI_AGENT_ADD_INTEREST:
        add_interest(receiver, endpoint, command->object, now_ns);
        break;
    case RSTI_AGENT_REMOVE_INTEREST:
        rsti_dispatcher_remove_interest(&endpoint->dispatcher, command->registration_id);
        break;
    case RSTI_AGENT_ELICIT:
        rsti_receive_endpoint_elicit(receiver, endpoint, command->stream_id, command->session_id);
        break;
    case RSTI_AGENT_ADD_IMAGE:
        add_image(receiver, command->object, now_ns);
        break;
    case RSTI_AGENT_SHOW_IMAGE:
        show_image(receiver, command->object);
        break;
    case RSTI_AGENT_RESUME_IMAGE:
        rsti_image_on_resume(receiver, command->object, (int32_t)command->registration_id);
        break;
    case RSTI_AGENT_REMOVE_IMAGE:
        remove_image(receiver, command->object, now_ns);
        break;
    case RSTI_AGENT_REMOVE_COOL_DOWN:
        forget_in_state(endpoint, command, RSTI_SESSION_COOL_DOWN);
        break;
    case RSTI_AGENT_REMOVE_INIT:
        forget_in_state(endpoint, command, RSTI_SESSION_INIT_IN_PROGRESS);
        break;
    default:
        RST_ASSERT(false);
        break;
    }
}

int rsti_receiver_create(rst_driver_t *driver)
{
    rsti_receiver_t *receiver = rsti_alloc(sizeof *receiver);
    if (receiver == NULL) {
        return -RST_ENOMEM;
    }
    driver->receiver = receiver;
    receiver->driver = driver;
    uint64_t key[2];
    rsti_secret_key(&driver->secret, RSTI_PURPOSE_RECEIVER, key);
    if (rsti_candidates_init(&receiver->candidates, key) < 0) {
        return -RST_ENOMEM;
    }
    receiver->buffers = rsti_alloc((size_t)RSTI_MEDIA_BURST_MAX * BUFFER_STRIDE);
    if (receiver->buffers == NULL) {
        return -RST_ENOMEM;
    }
    for (size_t i = 0; i < RSTI_MEDIA_BURST_MAX; i++) {
        receiver->datagrams[i].data = receiver->buffers + i * BUFFER_STRIDE;
    }
    return rsti_agent_inbox_open(driver, RSTI_AGENT_RECEIVER, on_command, receiver);
}

void rsti_receiver_destroy(rst_driver_t *driver)
{
    if (driver->receiver == NULL) {
        return;
    }
    rsti_agent_inbox_close(driver, RSTI_AGENT_RECEIVER);
    rsti_candidates_fini(&driver->receiver->candidates);
    rsti_free(driver->receiver->buffers);
    rsti_free(driver->receiver);
    driver->receiver = NULL;
}

static void on_datagram(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const uint8_t *data, size_t length, const struct sockaddr_storage *source, int64_t now_ns)
{
    if (!rsti_frame_is_acceptable(data, length)) {
        rsti_driver_count(receiver->driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        return;
    }
    switch (((const rsti_frame_header_t *)(const void *)data)->type) {
    case RSTI_FRAME_DATA:
    case RSTI_FRAME_PAD:
        rsti_receive_endpoint_on_data(receiver, transport, data, length, source, now_ns);
        break;
    case RSTI_FRAME_SETUP:
        rsti_receive_endpoint_on_setup(receiver, transport, (const void *)data, source, now_ns);
        break;
    case RSTI_FRAME_RTTM:
        rsti_receive_endpoint_on_rttm(receiver, transport, (const void *)data, source, now_ns);
        break;
    case RSTI_FRAME_SM:
        rsti_receive_endpoint_on_echo(receiver, transport, (const void *)data, length, source);
        break;
    default:
        break; /* control frames from other receivers to their publishers: ignored */
    }
}

static void on_run(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const rsti_datagram_t *run, int64_t now_ns)
{
    size_t at = 0;
    do {
        const size_t length = rsti_datagram_length_at(run, at);
        uint8_t *data = run->data + at;
        if (at % RSTI_FRAME_ALIGNMENT != 0) { /* no sender of ours: its headers are not aligned */
            data = memmove(run->data, data, length);
        }
        on_datagram(receiver, transport, data, length, &run->address, now_ns);
        at += length;
    } while (at < run->length);
}

/* Writes the time-stamps that the channel asks for: when the system got each datagram, and when
 * this driver did. */
static void stamp(rsti_receiver_t *receiver, const rsti_receive_endpoint_t *endpoint, int count)
{
    const bool has_media = endpoint->media_timestamp != RSTI_CHANNEL_UNSET;
    const bool has_own = endpoint->receive_timestamp != RSTI_CHANNEL_UNSET;
    if (count == 0 || (!has_media && !has_own)) {
        return;
    }
    const int64_t now_ns = rsti_clock_epoch_ns(&receiver->driver->clock);
    for (int i = 0; i < count; i++) {
        rsti_datagram_t *datagram = &receiver->datagrams[i];
        if (has_media && datagram->arrived_ns != 0) {
            rsti_timestamp_write(datagram->data, datagram->length, endpoint->media_timestamp,
                datagram->arrived_ns);
        }
        for (size_t at = 0; has_own && at < datagram->length;) {
            const size_t length = rsti_datagram_length_at(datagram, at);
            rsti_timestamp_write(datagram->data + at, length, endpoint->receive_timestamp, now_ns);
            at += length;
        }
    }
}

static int64_t poll_transport(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    int64_t now_ns)
{
    rst_driver_t *driver = receiver->driver;
    if (!rsti_driver_should_poll(driver, RSTI_AGENT_RECEIVER, transport->socket,
            transport->is_readable, now_ns)) {
        return 0;
    }
    const int burst = (int)driver->params.receiver_burst;
    for (int i = 0; i < burst; i++) {
        receiver->datagrams[i].length = RSTI_DATAGRAM_MAX;
    }
    const int count = driver->media.table->receive(driver->media.arg, transport->socket,
        receiver->datagrams, burst);
    if (count < 0) {
        rsti_driver_log_trail(driver, "receiver");
        return 0;
    }
    transport->is_readable = count == burst; /* fewer: the socket is empty */
    rsti_refuse_sources(&driver->sources, receiver->datagrams, count);
    rsti_refuse_sources(&transport->endpoint->sources, receiver->datagrams, count);
    stamp(receiver, transport->endpoint, count);
    const rsti_refusing_t by = RSTI_REFUSING(transport->endpoint);
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += (int64_t)receiver->datagrams[i].length;
        rsti_key_refusal_report(driver, &by, &receiver->datagrams[i], now_ns);
        on_run(receiver, transport, &receiver->datagrams[i], now_ns);
    }
    if (bytes > 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_BYTES_RECEIVED, bytes);
    }
    return bytes;
}

static int64_t poll_endpoint(rsti_receiver_t *receiver, rsti_receive_endpoint_t *endpoint,
    int64_t now_ns, int64_t *next_deadline_ns)
{
    const rsti_media_t *media = &receiver->driver->media;
    int64_t bytes = 0;
    for (rsti_receive_transport_t *t = endpoint->transports; t != NULL; t = t->next) {
        bytes += poll_transport(receiver, t, now_ns);
        rsti_lower_deadline(next_deadline_ns,
            media->table->next_deadline_ns(media->arg, t->socket));
        rsti_lower_deadline(next_deadline_ns, rsti_receive_transport_elicit(receiver, t, now_ns));
    }
    return bytes;
}

int64_t rsti_receiver_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_receiver_t *receiver = arg;
    rst_driver_t *driver = receiver->driver;
    int64_t work = rsti_agent_inbox_drain(driver, RSTI_AGENT_RECEIVER, COMMANDS_MAX);
    for (rsti_receive_endpoint_t *e = receiver->endpoints; e != NULL; e = e->next) {
        work += poll_endpoint(receiver, e, now_ns, next_deadline_ns);
    }
    rsti_receiver_wake_touched(receiver);
    rsti_receiver_check_names(receiver, now_ns, next_deadline_ns);
    for (rsti_image_t *image = receiver->images; image != NULL; image = image->next) {
        rsti_lower_deadline(next_deadline_ns, rsti_image_send_pending(receiver, image, now_ns));
    }
    rsti_receiver_wake_touched(receiver); /* for the gaps that this pass filled */
    return work;
}
