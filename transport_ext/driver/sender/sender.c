/* sender.c: the sender's duty cycle (docs/reference/aeron/driver.md 2.2). */
#include "driver/sender/sender.h"

#include "driver/base/driver_state.h"
#include "driver/base/key_refusals.h"
#include "driver/base/proxies.h"
#include "driver/base/socket_poll.h"
#include "driver/sender/control_in.h"
#include "driver/sender/send_budget.h"
#include "driver/sender/send_endpoint.h"
#include "driver/sender/send_publication.h"
#include "driver/sender/send_rate.h"
#include "driver/sender/slowest_receiver.h"
#include "util/alloc.h"
#include "util/secret.h"

#define COMMANDS_MAX 16
#define CONTROL_READS_MAX 64 /* bursts of one socket in one pass */
#define SHORT_SEND_RETRY_NS INT64_C(50000)

static void add_publication(rsti_sender_t *sender, rsti_network_publication_t *publication)
{
    publication->next = sender->publications;
    sender->publications = publication;
    rsti_send_endpoint_link(publication->endpoint, publication);
}

static void remove_publication(rsti_sender_t *sender, rsti_network_publication_t *publication)
{
    rsti_network_publication_t **link = &sender->publications;
    while (*link != NULL && *link != publication) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        rsti_network_publication_tell_end(sender, publication);
        *link = publication->next;
        rsti_send_budget_forget(publication);
        rsti_send_endpoint_unlink(publication->endpoint, publication);
    }
    if (sender->start == publication) {
        sender->start = publication->next;
    }
    rsti_store_release_i32(&publication->is_released, 1);
    rsti_driver_wake_agent(sender->driver, RSTI_AGENT_CONDUCTOR);
}

static void add_endpoint(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint)
{
    endpoint->next = sender->endpoints;
    sender->endpoints = endpoint;
    rsti_driver_poll_add(sender->driver, RSTI_AGENT_SENDER, endpoint->socket,
        &endpoint->is_readable);
}

static void remove_endpoint(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint)
{
    rsti_send_endpoint_t **link = &sender->endpoints;
    while (*link != NULL && *link != endpoint) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = endpoint->next;
    }
    rsti_driver_poll_remove(sender->driver, RSTI_AGENT_SENDER, endpoint->socket);
    rsti_store_release_i32(&endpoint->is_released, 1);
    rsti_driver_wake_agent(sender->driver, RSTI_AGENT_CONDUCTOR);
}

/* held_by is reset here; the next pass sets it again if the new law limits the publisher. */
static void set_rate(const rsti_sender_t *sender, const rsti_agent_command_t *command)
{
    rsti_network_publication_t *publication = command->object;
    rsti_send_rate_t *send_rate = &publication->send_rate;
    int32_t *held_by = &publication->base.file.log.metadata->ext.held_by;
    const bool was_limited = send_rate->is_limited;
    rsti_slowest_forget_report(publication);
    rsti_send_rate_set(send_rate, &command->rate, &command->rate_counters, sender->now_ns);
    if (send_rate->is_limited != was_limited && publication->has_initial_connection) {
        publication->is_setup_elicited = true; /* a SETUP announces whether the law follows fill */
    }
    rsti_store_release_i32(held_by, RSTI_HELD_BY_WINDOW);
}

static void on_command(void *agent, int32_t type, const rsti_agent_command_t *command)
{
    rsti_sender_t *sender = agent;
    switch (type) {
    case RSTI_AGENT_ADD_ENDPOINT:
        add_endpoint(sender, command->endpoint);
        break;
    case RSTI_AGENT_REMOVE_ENDPOINT:
        remove_endpoint(sender, command->endpoint);
        break;
    case RSTI_AGENT_ADD_PUBLICATION:
        add_publication(sender, command->object);
        break;
    case RSTI_AGENT_REMOVE_PUBLICATION:
        remove_publication(sender, command->object);
        break;
    case RSTI_AGENT_ADD_DESTINATION:
    case RSTI_AGENT_REMOVE_DESTINATION:
        rsti_send_endpoint_on_destination(sender, type, command);
        break;
    case RSTI_AGENT_SET_RATE:
        set_rate(sender, command);
        break;
    case RSTI_AGENT_RESOLVED:
        rsti_send_endpoint_on_resolved(sender, command);
        break;
    default:
        RST_ASSERT(false);
        break;
    }
}

int rsti_sender_create(rst_driver_t *driver)
{
    rsti_sender_t *sender = rsti_alloc(sizeof *sender);
    if (sender == NULL) {
        return -RST_ENOMEM;
    }
    driver->sender = sender;
    sender->driver = driver;
    rsti_secret_key(&driver->secret, RSTI_PURPOSE_SENDER, sender->secret);
    sender->control_buffers = rsti_alloc((size_t)RSTI_CONTROL_BURST * RSTI_CONTROL_BUFFER);
    if (sender->control_buffers == NULL) {
        return -RST_ENOMEM;
    }
    for (int i = 0; i < RSTI_CONTROL_BURST; i++) {
        sender->control[i].data = sender->control_buffers + (size_t)i * RSTI_CONTROL_BUFFER;
    }
    return rsti_agent_inbox_open(driver, RSTI_AGENT_SENDER, on_command, sender);
}

void rsti_sender_tell_ends(rst_driver_t *driver)
{
    rsti_sender_t *sender = driver->sender;
    rsti_network_publication_t *publication = sender == NULL ? NULL : sender->publications;
    for (; publication != NULL; publication = publication->next) {
        rsti_network_publication_tell_end(sender, publication);
    }
}

void rsti_sender_destroy(rst_driver_t *driver)
{
    if (driver->sender == NULL) {
        return;
    }
    rsti_agent_inbox_close(driver, RSTI_AGENT_SENDER);
    rsti_free(driver->sender->control_buffers);
    rsti_free(driver->sender);
    driver->sender = NULL;
}

/* Reads one burst. Returns how many datagrams there were; negative: an error, which is logged. */
static int read_burst(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint, int64_t now_ns,
    int64_t *bytes)
{
    rst_driver_t *driver = sender->driver;
    const int burst = (int)driver->params.sender_burst;
    const rsti_refusing_t by = RSTI_REFUSING(endpoint);
    for (int i = 0; i < burst; i++) {
        sender->control[i].length = RSTI_CONTROL_BUFFER;
    }
    const int count = driver->media.table->receive(driver->media.arg, endpoint->socket,
        sender->control, burst);
    if (count < 0) {
        rsti_driver_log_trail(driver, "sender");
        return count;
    }
    rsti_refuse_sources(&driver->sources, sender->control, count);
    for (int i = 0; i < count; i++) {
        *bytes += (int64_t)sender->control[i].length;
        rsti_key_refusal_report(driver, &by, &sender->control[i], now_ns);
    }
    rsti_send_endpoint_on_control(sender, endpoint, sender->control, count, now_ns);
    return count;
}

/* Reads the socket until it is empty: a flood of NAKs must not keep status messages waiting. A pass
 * that reads CONTROL_READS_MAX bursts goes on in the next one, so that data is sent in between. */
static int64_t poll_endpoint(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint, int64_t now_ns)
{
    rst_driver_t *driver = sender->driver;
    int64_t bytes = 0;
    if (!rsti_driver_should_poll(driver, RSTI_AGENT_SENDER, endpoint->socket, endpoint->is_readable,
            now_ns)) {
        return 0;
    }
    const int burst = (int)driver->params.sender_burst;
    int count = burst;
    for (int i = 0; i < CONTROL_READS_MAX && count == burst; i++) {
        count = read_burst(sender, endpoint, now_ns, &bytes);
    }
    if (count >= 0) {
        endpoint->is_readable = count == burst; /* fewer: the socket is empty */
    }
    if (bytes > 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_BYTES_RECEIVED, bytes);
    }
    return bytes;
}

static int64_t poll_control(rsti_sender_t *sender, int64_t now_ns, int64_t *next_deadline_ns)
{
    const rsti_media_t *media = &sender->driver->media;
    int64_t bytes = 0;
    for (rsti_send_endpoint_t *e = sender->endpoints; e != NULL; e = e->next) {
        bytes += poll_endpoint(sender, e, now_ns);
        rsti_send_endpoint_check(sender, e, now_ns, next_deadline_ns);
        rsti_lower_deadline(next_deadline_ns,
            media->table->next_deadline_ns(media->arg, e->socket));
    }
    sender->last_status_poll_ns = now_ns;
    sender->passes_since_poll = 0;
    return bytes;
}

static int64_t send_all(rsti_sender_t *sender, int64_t now_ns, int64_t *next_deadline_ns)
{
    if (sender->start == NULL) {
        sender->start = sender->publications;
    }
    rsti_network_publication_t *start = sender->start;
    int64_t bytes = 0;
    for (rsti_network_publication_t *p = start; p != NULL; p = p->next) {
        bytes += rsti_network_publication_send(sender, p, now_ns, next_deadline_ns);
    }
    for (rsti_network_publication_t *p = sender->publications; p != start; p = p->next) {
        bytes += rsti_network_publication_send(sender, p, now_ns, next_deadline_ns);
    }
    if (start != NULL) {
        sender->start = start->next; /* NULL: the next pass begins at the head of the list */
    }
    return bytes;
}

static void check_names(rsti_sender_t *sender, int64_t now_ns, int64_t *next_deadline_ns)
{
    const int64_t interval_ns = sender->driver->params.reresolution_interval_ns;
    if (interval_ns == 0 || sender->endpoints == NULL) {
        return;
    }
    if (now_ns >= sender->names_due_ns) {
        sender->has_names = false;
        for (rsti_send_endpoint_t *e = sender->endpoints; e != NULL; e = e->next) {
            sender->has_names |= rsti_send_endpoint_check_names(sender, e, now_ns);
        }
        sender->names_due_ns = now_ns + interval_ns;
    }
    if (sender->has_names) {
        rsti_lower_deadline(next_deadline_ns, sender->names_due_ns);
    }
}

int64_t rsti_sender_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_sender_t *sender = arg;
    rst_driver_t *driver = sender->driver;
    sender->now_ns = now_ns;
    int64_t work = rsti_agent_inbox_drain(driver, RSTI_AGENT_SENDER, COMMANDS_MAX);
    sender->is_short = false;
    const int64_t sent = send_all(sender, now_ns, next_deadline_ns);
    sender->passes_since_poll++;
    if (sent == 0 || sender->is_short
        || sender->passes_since_poll >= driver->params.status_poll_ratio
        || now_ns > sender->last_status_poll_ns + driver->params.sm_timeout_ns / 2) {
        work += poll_control(sender, now_ns, next_deadline_ns);
    }
    check_names(sender, now_ns, next_deadline_ns);
    if (sender->is_short) {
        rsti_lower_deadline(next_deadline_ns, now_ns + SHORT_SEND_RETRY_NS);
    }
    return work + sent;
}
