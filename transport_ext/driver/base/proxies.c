/* proxies.c: see proxies.h. */
#include "driver/base/proxies.h"

#include "driver/base/driver_state.h"
#include "util/alloc.h"

#include <sched.h>

_Static_assert(sizeof(rsti_agent_command_t) < RSTI_AGENT_QUEUE_CAPACITY / 8, "ring message limit");

int rsti_agent_inbox_open(rst_driver_t *driver, int32_t agent_id,
    rsti_on_agent_command_t on_command, void *agent)
{
    rsti_agent_inbox_t *inbox = &driver->inboxes[agent_id];
    const size_t length = RSTI_AGENT_QUEUE_CAPACITY + RSTI_RB_TRAILER_LENGTH;
    inbox->on_command = on_command;
    inbox->agent = agent;
    inbox->memory = rsti_alloc(length);
    if (inbox->memory == NULL) {
        return -RST_ENOMEM;
    }
    return rsti_rb_init(&inbox->ring, inbox->memory, length);
}

void rsti_agent_inbox_close(rst_driver_t *driver, int32_t agent_id)
{
    rsti_free(driver->inboxes[agent_id].memory);
    driver->inboxes[agent_id].memory = NULL;
}

static bool is_same_thread(const rst_driver_t *driver, int32_t from, int32_t to)
{
    return driver->is_direct || driver->thread_of[from] == driver->thread_of[to];
}

/* The rings of sender and receiver have one producer: only the conductor sends them commands. */
static void write_or_wait(rst_driver_t *driver, int32_t agent_id, int32_t type,
    const rsti_agent_command_t *command)
{
    const rsti_system_counter_t fails = agent_id == RSTI_AGENT_SENDER
        ? RSTI_SYSTEM_SENDER_PROXY_FAILS
        : RSTI_SYSTEM_RECEIVER_PROXY_FAILS;
    rsti_spsc_rb_t *ring = &driver->inboxes[agent_id].from_conductor;
    while (rsti_spsc_rb_write(ring, type, command, sizeof *command) != RSTI_RB_OK) {
        rsti_driver_count(driver, fails, 1);
        rsti_driver_wake_agent(driver, agent_id);
        sched_yield();
    }
    rsti_driver_wake_agent(driver, agent_id);
}

static void tell(rst_driver_t *driver, int32_t agent_id, int32_t type,
    const rsti_agent_command_t *command)
{
    const rsti_agent_inbox_t *inbox = &driver->inboxes[agent_id];
    if (is_same_thread(driver, RSTI_AGENT_CONDUCTOR, agent_id)) {
        inbox->on_command(inbox->agent, type, command);
        return;
    }
    write_or_wait(driver, agent_id, type, command);
}

void rsti_tell_sender(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command)
{
    tell(driver, RSTI_AGENT_SENDER, type, command);
}

void rsti_tell_receiver(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command)
{
    tell(driver, RSTI_AGENT_RECEIVER, type, command);
}

bool rsti_tell_conductor(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command)
{
    /* Always through the ring: a direct call would change the receiver's lists during its walk. */
    if (rsti_mpsc_rb_write(&driver->inboxes[RSTI_AGENT_CONDUCTOR].from_agents, type, command,
            sizeof *command)
        != RSTI_RB_OK) {
        rsti_driver_count(driver, RSTI_SYSTEM_CONDUCTOR_PROXY_FAILS, 1);
        return false;
    }
    rsti_driver_wake_agent(driver, RSTI_AGENT_CONDUCTOR);
    return true;
}

bool rsti_proxies_have_room(const rst_driver_t *driver)
{
    const size_t most = RSTI_AGENT_QUEUE_CAPACITY / 2;
    return rsti_rb_size(&driver->inboxes[RSTI_AGENT_SENDER].ring) < most
        && rsti_rb_size(&driver->inboxes[RSTI_AGENT_RECEIVER].ring) < most;
}

bool rsti_is_let_go(const rst_driver_t *driver, const int32_t *is_released)
{
    /* The order matters: after the release is seen, all earlier commands of that agent are in the
     * ring. The length is checked, because the first record may still be half written by the other
     * agent while later records are complete. */
    return rsti_load_acquire_i32(is_released)
        && rsti_rb_size(&driver->inboxes[RSTI_AGENT_CONDUCTOR].ring) == 0;
}

static rsti_rb_action_t on_record(void *arg, int32_t type, const void *record, size_t length)
{
    const rsti_agent_inbox_t *inbox = arg;
    rsti_agent_command_t command;
    RST_ASSERT(length == sizeof command);
    (void)length;
    memcpy(&command, record, sizeof command);
    inbox->on_command(inbox->agent, type, &command);
    return RSTI_RB_CONTINUE;
}

int64_t rsti_agent_inbox_drain(rst_driver_t *driver, int32_t agent_id, size_t limit)
{
    rsti_agent_inbox_t *inbox = &driver->inboxes[agent_id];
    if (!rsti_rb_has_records(&inbox->ring)) {
        return 0;
    }
    return (int64_t)rsti_rb_read(&inbox->ring, limit, on_record, inbox);
}
