/* proxies.c: commands between agents. Agents of one thread call each other; agents of different
 * threads write commands into the other's ring and wake it. */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"

#include <sched.h>

_Static_assert(sizeof(rsti_agent_command_t) < RSTI_AGENT_QUEUE_CAPACITY / 8, "ring message limit");

int rsti_agent_queue_create(rsti_rb_t *queue, void **memory)
{
    const size_t length = RSTI_AGENT_QUEUE_CAPACITY + RSTI_RB_TRAILER_LENGTH;
    *memory = rsti_alloc(length);
    if (*memory == NULL) {
        return -RST_ENOMEM;
    }
    return rsti_rb_init(queue, *memory, length);
}

static bool is_same_thread(const rst_driver_t *driver, int32_t from, int32_t to)
{
    return driver->is_direct || driver->thread_of[from] == driver->thread_of[to];
}

/* Only the conductor tells them anything, so their rings have one producer. */
static void write_or_wait(rst_driver_t *driver, rsti_spsc_rb_t *queue, int32_t agent_id,
    int32_t type, const rsti_agent_command_t *command)
{
    const rsti_system_counter_t fails = agent_id == RSTI_AGENT_SENDER
        ? RSTI_SYSTEM_SENDER_PROXY_FAILS
        : RSTI_SYSTEM_RECEIVER_PROXY_FAILS;
    while (rsti_spsc_rb_write(queue, type, command, sizeof *command) != RSTI_RB_OK) {
        rsti_driver_count(driver, fails, 1);
        rsti_driver_wake_agent(driver, agent_id);
        sched_yield();
    }
    rsti_driver_wake_agent(driver, agent_id);
}

void rsti_tell_sender(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command)
{
    if (is_same_thread(driver, RSTI_AGENT_CONDUCTOR, RSTI_AGENT_SENDER)) {
        rsti_sender_on_command(&driver->sender, type, command);
        return;
    }
    write_or_wait(driver, &driver->sender.queue, RSTI_AGENT_SENDER, type, command);
}

void rsti_tell_receiver(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command)
{
    if (is_same_thread(driver, RSTI_AGENT_CONDUCTOR, RSTI_AGENT_RECEIVER)) {
        rsti_receiver_on_command(&driver->receiver, type, command);
        return;
    }
    write_or_wait(driver, &driver->receiver.queue, RSTI_AGENT_RECEIVER, type, command);
}

bool rsti_tell_conductor(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command)
{
    /* Always by the ring: a straight call would change the receiver's lists while it walks them. */
    if (rsti_mpsc_rb_write(&driver->conductor.queue, type, command, sizeof *command)
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
    return rsti_rb_size(&driver->sender.queue.rb) < most
        && rsti_rb_size(&driver->receiver.queue.rb) < most;
}

typedef struct drain_t {
    rst_driver_t *driver;
    int32_t agent_id;
} drain_t;

static rsti_rb_action_t on_record(void *arg, int32_t type, const void *record, size_t length)
{
    const drain_t *drain = arg;
    rsti_agent_command_t command;
    RST_ASSERT(length == sizeof command);
    (void)length;
    memcpy(&command, record, sizeof command);
    switch (drain->agent_id) {
    case RSTI_AGENT_SENDER:
        rsti_sender_on_command(&drain->driver->sender, type, &command);
        break;
    case RSTI_AGENT_RECEIVER:
        rsti_receiver_on_command(&drain->driver->receiver, type, &command);
        break;
    default:
        rsti_conductor_on_command(drain->driver, type, &command);
        break;
    }
    return RSTI_RB_CONTINUE;
}

int64_t rsti_agent_queue_drain(rst_driver_t *driver, int32_t agent_id, size_t limit)
{
    rsti_rb_t *queue = agent_id == RSTI_AGENT_SENDER ? &driver->sender.queue.rb
        : agent_id == RSTI_AGENT_RECEIVER            ? &driver->receiver.queue.rb
                                                     : &driver->conductor.queue.rb;
    if (!rsti_rb_has_records(queue)) {
        return 0;
    }
    drain_t drain = {driver, agent_id};
    return (int64_t)rsti_rb_read(queue, limit, on_record, &drain);
}
