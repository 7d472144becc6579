/* socket_poll.c: see socket_poll.h. */
#include "driver/base/socket_poll.h"

#include "driver/base/driver_state.h"

/* Up to this many sockets are read one by one, as in Aeron's driver. */
#define SOCKETS_TRIED_MAX 5

static void count_sockets(rsti_driver_thread_t *thread, int32_t change)
{
    thread->socket_count += change;
    thread->is_hinted = thread->is_blocking || thread->socket_count > SOCKETS_TRIED_MAX;
}

int64_t rsti_driver_poll_add(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool *is_readable)
{
    *is_readable = true; /* datagrams may have come before the socket was added */
    rsti_driver_thread_t *thread = driver->thread_of[agent_id];
    const int fd = driver->media.table->fd(driver->media.arg, socket);
    if (thread == NULL || !thread->has_poller || fd < 0) {
        return 0;
    }
    if (rsti_poller_add(&thread->poller, fd, is_readable) < 0) {
        rsti_driver_log_trail(driver, "poller");
        return -1;
    }
    count_sockets(thread, 1);
    return 0;
}

void rsti_driver_poll_remove(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket)
{
    rsti_driver_thread_t *thread = driver->thread_of[agent_id];
    const int fd = driver->media.table->fd(driver->media.arg, socket);
    if (thread != NULL && thread->has_poller && fd >= 0) {
        rsti_poller_remove(&thread->poller, fd);
        count_sockets(thread, -1);
    }
}

bool rsti_driver_should_poll(const rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool is_readable, int64_t now_ns)
{
    const rsti_driver_thread_t *thread = driver->thread_of[agent_id];
    const rsti_media_t *media = &driver->media;
    return is_readable || thread == NULL || !thread->is_hinted
        || media->table->fd(media->arg, socket) < 0
        || media->table->next_deadline_ns(media->arg, socket) <= now_ns;
}
