/* conductor.c: the conductor's duty cycle (docs/reference/aeron/driver.md 2.1). */
#include "driver/conductor/conductor.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/port_manager.h"
#include "driver/base/proxies.h"
#include "driver/base/reader_left.h"
#include "driver/conductor/client_counters.h"
#include "driver/conductor/client_liveness.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/damaged_files.h"
#include "driver/conductor/destinations.h"
#include "driver/conductor/eviction.h"
#include "driver/conductor/group_keys.h"
#include "driver/conductor/image_create.h"
#include "driver/conductor/images.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/log_memory.h"
#include "driver/conductor/logs.h"
#include "driver/conductor/names.h"
#include "driver/conductor/network_publication.h"
#include "driver/conductor/peer_notes.h"
#include "driver/conductor/publication_lists.h"
#include "driver/conductor/publications.h"
#include "driver/conductor/rates.h"
#include "driver/conductor/rcv_destinations.h"
#include "driver/conductor/receive_endpoints.h"
#include "driver/conductor/response_channels.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/send_endpoints.h"
#include "driver/conductor/sessions.h"
#include "driver/conductor/slowest_reader.h"
#include "driver/conductor/subscriptions.h"
#include "driver/conductor/tethers.h"
#include "driver/conductor/waiting.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

#define CLIENT_COMMANDS_MAX 16
#define AGENT_COMMANDS_MAX 64
/* The conductor polls a full command queue, because its agent does not report free room. */
#define ROOM_POLL_NS INT64_C(100000)

static void on_reader_why(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    rsti_publication_t *publication = rsti_publication_of_id(driver, command->registration_id);
    if (publication != NULL) {
        rsti_reader_left_why(publication, command->text, command->err.error_length);
    }
}

static void on_publication_error(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const bool has_tag = (command->err.frame.flags & RSTI_ERR_FLAG_GROUP_TAG) != 0;
    rsti_response_t response = {
        .registration_id = command->registration_id,
        .session_id = command->session_id,
        .stream_id = command->stream_id,
        .destination_id = command->destination_id,
        .receiver_id = command->err.receiver_id,
        .group_tag = has_tag ? command->err.group_tag : -1,
        .error_code = command->err.error_code,
        .log_file = {command->text, command->err.error_length},
    };
    on_reader_why(driver, command);
    rsti_respond_publication_error(driver, &response, &command->address);
}

static void on_command(void *agent, int32_t type, const rsti_agent_command_t *command)
{
    rst_driver_t *driver = agent;
    if (type == RSTI_AGENT_CREATE_IMAGE) {
        rsti_on_create_image(driver, command);
    } else if (type == RSTI_AGENT_RESUME_IMAGE) {
        rsti_on_resume_image(driver, command);
    } else if (type == RSTI_AGENT_RESOLVE_CONTROL) {
        rsti_on_resolve_control(driver, command);
    } else if (type == RSTI_AGENT_RERESOLVE) {
        rsti_on_reresolve(driver, command);
    } else if (type == RSTI_AGENT_PUBLICATION_ERROR) {
        on_publication_error(driver, command);
    } else if (type == RSTI_AGENT_READER_WHY) {
        on_reader_why(driver, command);
    } else if (type == RSTI_AGENT_RESPONSE_SETUP) {
        rsti_on_response_setup(driver, command);
    } else if (type == RSTI_AGENT_DESTINATION_FAILED) {
        rsti_on_destination_failed(driver, command);
    } else if (type == RSTI_AGENT_KEY_REFUSED) {
        rsti_on_key_refused(driver, command);
    } else {
        RST_ASSERT(false);
    }
}

int rsti_conductor_create(rst_driver_t *driver)
{
    rsti_conductor_t *conductor = rsti_alloc(sizeof *conductor);
    if (conductor == NULL) {
        return -RST_ENOMEM;
    }
    driver->conductor = conductor;
    uint64_t delays[2];
    rsti_secret_key(&driver->secret, RSTI_PURPOSE_DELAYS, delays);
    rsti_rng_init(&conductor->delays, delays[0]);
    rsti_ids_init(&conductor->ids, &driver->secret);
    conductor->now_ns = rsti_clock_nano_time(&driver->clock);
    rsti_cached_epoch_init(&driver->epoch, &driver->clock, conductor->now_ns);
    conductor->timer_due_ns = conductor->now_ns;
    conductor->evictions_due_ns = INT64_MAX;
    conductor->clients_check_due_ns = conductor->now_ns;
    conductor->clientless_since_ns = conductor->now_ns;
    conductor->image_error_due_ns = conductor->now_ns;
    conductor->rejection_due_ns = conductor->now_ns;
    conductor->deaths_due_ns = conductor->now_ns;
    if (rsti_death_watch_open(&conductor->deaths) < 0) {
        return -rst_last_error_code();
    }
    conductor->ring_moved_ns = conductor->now_ns;
    if (rsti_port_manager_init(&conductor->sender_ports, "sender-wildcard-port-range",
            driver->params.sender_ports)
            < 0
        || rsti_port_manager_init(&conductor->receiver_ports, "receiver-wildcard-port-range",
               driver->params.receiver_ports)
            < 0) {
        return -rst_last_error_code();
    }
    return rsti_agent_inbox_open(driver, RSTI_AGENT_CONDUCTOR, on_command, driver);
}

int rsti_conductor_open_names(rst_driver_t *driver)
{
    return rsti_names_init(driver);
}

int rsti_conductor_watch_deaths(rst_driver_t *driver, rsti_poller_t *poller)
{
    rsti_conductor_t *conductor = driver->conductor;
    return rsti_poller_add(poller, conductor->deaths.epoll_fd, &conductor->has_deaths);
}

static void free_objects(rst_driver_t *driver)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->clients.count; i++) {
        rsti_client_destroy(driver, conductor->clients.items[i]);
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_publication_image_destroy(driver, conductor->images.items[i]);
    }
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_destroy(driver, conductor->publications.items[i]);
    }
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_destroy(driver, conductor->ipc_publications.items[i]);
    }
    for (size_t i = 0; i < conductor->subscriptions.count; i++) {
        rsti_subscription_free(conductor->subscriptions.items[i]);
    }
    for (size_t i = 0; i < conductor->send_endpoints.count; i++) {
        rsti_send_endpoint_destroy(driver, conductor->send_endpoints.items[i]);
    }
    for (size_t i = 0; i < conductor->receive_endpoints.count; i++) {
        rsti_receive_endpoint_destroy(driver, conductor->receive_endpoints.items[i]);
    }
    rsti_logs_fini(driver);
}

void rsti_conductor_destroy(rst_driver_t *driver)
{
    rsti_conductor_t *conductor = driver->conductor;
    if (conductor == NULL) {
        return;
    }
    rsti_names_fini(driver);
    rsti_waiting_fini(driver);
    conductor->has_responses = true; /* woken clients check the driver's heartbeat */
    rsti_clients_wake(driver);
    free_objects(driver);
    rsti_ptr_array_fini(&conductor->clients);
    rsti_ptr_array_fini(&conductor->images);
    /* the last image of each connection has freed it */
    rsti_ptr_array_fini(&conductor->budget_connections);
    rsti_ptr_array_fini(&conductor->peer_notes);
    rsti_ptr_array_fini(&conductor->group_keys); /* the last endpoint of each has freed it */
    rsti_ptr_array_fini(&conductor->publications);
    rsti_ptr_array_fini(&conductor->ipc_publications);
    rsti_ptr_array_fini(&conductor->subscriptions);
    rsti_ptr_array_fini(&conductor->send_endpoints);
    rsti_ptr_array_fini(&conductor->receive_endpoints);
    rsti_port_manager_fini(&conductor->sender_ports);
    rsti_port_manager_fini(&conductor->receiver_ports);
    rsti_agent_inbox_close(driver, RSTI_AGENT_CONDUCTOR);
    rsti_death_watch_close(&conductor->deaths);
    rsti_free(conductor);
    driver->conductor = NULL;
}

static void refuse(rst_driver_t *driver, const rsti_command_t *command, int code, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "command 0x%02" PRIx32 ": %s", (uint32_t)command->type, what);
    rsti_respond_error(driver, command->correlation_id, code, text);
}

/* Always compares all bytes, so that the time taken reveals nothing about the token. */
static bool is_token(const char *token, const rsti_text_t *given)
{
    const size_t length = strlen(token);
    int difference = 0;
    if (given->length < 0 || (size_t)given->length != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        difference |= given->text[i] ^ token[i];
    }
    return difference == 0;
}

static void on_terminate(rst_driver_t *driver, const rsti_command_t *command)
{
    const rst_driver_params_t *params = &driver->params;
    if (params->termination == 0) {
        refuse(driver, command, RSTI_DRIVER_GENERIC_ERROR,
            "clients may not terminate this driver (termination-validator=deny)");
    } else if (params->termination_token[0] != '\0'
        && !is_token(params->termination_token, &command->channel)) {
        refuse(driver, command, RSTI_DRIVER_GENERIC_ERROR, "wrong token to terminate this driver");
    } else {
        rsti_store_release_i32(&driver->is_terminated, 1);
    }
}

static bool makes_counters(int32_t type)
{
    return type == RSTI_CMD_ADD_PUBLICATION || type == RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION
        || type == RSTI_CMD_ADD_SUBSCRIPTION || type == RSTI_CMD_ADD_COUNTER;
}

/* True: not possible yet. */
static bool dispatch(rst_driver_t *driver, const rsti_command_t *command)
{
    if (makes_counters(command->type)
        && rsti_counters_check_quota(driver, command->client_id) < 0) {
        rsti_respond_trail(driver, command->correlation_id);
        return false;
    }
    switch (command->type) {
    case RSTI_CMD_ADD_PUBLICATION:
    case RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION:
        return rsti_on_add_publication(driver, command);
    case RSTI_CMD_REMOVE_PUBLICATION:
        rsti_on_remove_publication(driver, command);
        break;
    case RSTI_CMD_ADD_SUBSCRIPTION:
        return rsti_on_add_subscription(driver, command);
    case RSTI_CMD_REMOVE_SUBSCRIPTION:
        rsti_on_remove_subscription(driver, command);
        break;
    case RSTI_CMD_CLIENT_KEEPALIVE:
        rsti_on_keepalive(driver, command);
        break;
    case RSTI_CMD_CLIENT_CLOSE:
        rsti_on_client_close(driver, command);
        break;
    case RSTI_CMD_ADD_COUNTER:
        rsti_on_add_counter(driver, command);
        break;
    case RSTI_CMD_ADD_STATIC_COUNTER:
        rsti_on_add_static_counter(driver, command);
        break;
    case RSTI_CMD_REMOVE_COUNTER:
        rsti_on_remove_counter(driver, command);
        break;
    case RSTI_CMD_NEXT_SESSION_ID:
        rsti_on_next_session_id(driver, command);
        break;
    case RSTI_CMD_REJECT_IMAGE:
        rsti_on_reject_image(driver, command);
        break;
    case RSTI_CMD_SAY_WHY:
        rsti_on_say_why(driver, command);
        break;
    case RSTI_CMD_TERMINATE_DRIVER:
        on_terminate(driver, command);
        break;
    case RSTI_CMD_ADD_RCV_DESTINATION:
        return rsti_on_add_rcv_destination(driver, command);
    case RSTI_CMD_REMOVE_RCV_DESTINATION:
        return rsti_on_remove_rcv_destination(driver, command);
    case RSTI_CMD_SET_RATE:
        rsti_on_set_rate(driver, command);
        break;
    case RSTI_CMD_REMOVE_DESTINATION_BY_ID:
        if (rsti_on_remove_rcv_destination_by_id(driver, command)) {
            break;
        }
        rsti_on_remove_destination_by_id(driver, command);
        break;
    case RSTI_CMD_ADD_DESTINATION:
        return rsti_on_add_destination(driver, command);
    case RSTI_CMD_REMOVE_DESTINATION:
        return rsti_on_remove_destination(driver, command);
    default:
        refuse(driver, command, RSTI_DRIVER_UNKNOWN_COMMAND, "unknown type");
        break;
    }
    return false;
}

static rsti_rb_action_t on_client_command(void *arg, int32_t type, const void *record,
    size_t length)
{
    rst_driver_t *driver = arg;
    rsti_command_t command;
    const int code = rsti_command_decode(type, record, length, &command);
    if (code != 0) {
        const int64_t correlation_id = length >= 16 ? rsti_get_i64((const uint8_t *)record + 8) : 0;
        char text[128];
        snprintf(text, sizeof text, "command 0x%02" PRIx32 " of %zu bytes: %s", (uint32_t)type,
            length, code == RSTI_DRIVER_UNKNOWN_COMMAND ? "unknown type" : "malformed");
        rsti_respond_error(driver, correlation_id, code, text);
        return RSTI_RB_CONTINUE;
    }
    command.type = type;
    rsti_error_clear();
    if (rsti_waiting_concerns(driver, &command) || dispatch(driver, &command)) {
        rsti_waiting_add(driver, &command, record, length);
    }
    return RSTI_RB_CONTINUE;
}

/* A client that died between claim and commit blocks the ring for all clients. */
static void check_blocked_ring(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    const int64_t head = rsti_load_acquire_i64(&driver->to_driver.rb.trailer->head_position);
    if (head != conductor->ring_head || rsti_rb_size(&driver->to_driver.rb) == 0) {
        conductor->ring_head = head;
        conductor->ring_moved_ns = now_ns;
        return;
    }
    if (now_ns > conductor->ring_moved_ns + driver->params.client_liveness_ns
        && rsti_mpsc_rb_unblock(&driver->to_driver)) {
        rsti_driver_count(driver, RSTI_SYSTEM_UNBLOCKED_COMMANDS, 1);
    }
}

static bool on_timer(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    if (now_ns < conductor->timer_due_ns) {
        return false;
    }
    conductor->timer_due_ns = now_ns + driver->params.timer_interval_ns;
    rsti_mpsc_rb_set_heartbeat(&driver->to_driver, driver->epoch.now_ms);
    rsti_clients_check(driver, now_ns);
    rsti_tethers_check(driver);
    rsti_slowest_on_timer(driver, now_ns);
    rsti_log_memory_on_timer(driver, now_ns);
    rsti_peer_notes_expire(driver, now_ns);
    rsti_group_keys_on_timer(driver);
    check_blocked_ring(driver, now_ns);
    return true;
}

/* Frees the endpoints that their agents have released. */
static void sweep_endpoints(rst_driver_t *driver)
{
    if (driver->conductor->closing_count > 0) {
        rsti_send_endpoints_sweep(driver);
        rsti_receive_endpoints_sweep(driver);
    }
}

int64_t rsti_conductor_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns)
{
    rst_driver_t *driver = arg;
    rsti_conductor_t *conductor = driver->conductor;
    conductor->now_ns = now_ns;
    rsti_cached_epoch_update(&driver->epoch, &driver->clock, now_ns);
    conductor->is_looking_up = false;
    conductor->moved_limits = 0;
    sweep_endpoints(driver);
    const bool is_timer = on_timer(driver, now_ns);
    int64_t work = rsti_agent_inbox_drain(driver, RSTI_AGENT_CONDUCTOR, AGENT_COMMANDS_MAX);
    if (rsti_proxies_have_room(driver)) {
        work += rsti_waiting_retry(driver, dispatch);
        work += (int64_t)rsti_rb_read(&driver->to_driver.rb, CLIENT_COMMANDS_MAX, on_client_command,
            driver);
    } else if (rsti_rb_has_records(&driver->to_driver.rb)) {
        rsti_lower_deadline(next_deadline_ns, now_ns + ROOM_POLL_NS);
    }
    work += rsti_deaths_check(driver, now_ns);
    rsti_reresolutions_poll(driver, now_ns, next_deadline_ns);
    rsti_damaged_files_check(driver);
    rsti_images_rebuild(driver, now_ns, next_deadline_ns);
    rsti_publications_update(driver, now_ns);
    if (now_ns >= conductor->evictions_due_ns) {
        rsti_tethers_check(driver);
    }
    rsti_evictions_poll(driver, now_ns, next_deadline_ns);
    rsti_images_check(driver, now_ns, next_deadline_ns);
    rsti_publications_check(driver, now_ns, is_timer, next_deadline_ns);
    sweep_endpoints(driver);
    work += rsti_logs_free(driver, now_ns, next_deadline_ns);
    rsti_clients_wake(driver);
    if (now_ns >= conductor->clients_check_due_ns) {
        rsti_clients_check_foreign(driver, now_ns);
    }
    rsti_lower_deadline(next_deadline_ns, conductor->timer_due_ns);
    rsti_lower_deadline(next_deadline_ns, conductor->clients_check_due_ns);
    /* The peer whose limit moved may have new work within microseconds. */
    work += conductor->moved_limits;
    return work + (conductor->waiting.count > 0 && !conductor->is_looking_up ? 1 : 0);
}
