/* poller.c: one epoll instance per agent thread, holding its sockets and its wake FIFO. */
#include "media/media.h"

#include "util/error.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Its address marks the wake fd among the callers' tags. */
static char wake_tag;

int rsti_poller_open(rsti_poller_t *poller, int wake_fd)
{
    poller->wake_fd = -1;
    poller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->epoll_fd < 0) {
        return RST_SET_ERRNO("opening a poller");
    }
    if (wake_fd >= 0) {
        const int result = rsti_poller_add(poller, wake_fd, &wake_tag);
        if (result != 0) {
            rsti_poller_close(poller);
            return result;
        }
        poller->wake_fd = wake_fd;
    }
    return 0;
}

void rsti_poller_close(rsti_poller_t *poller)
{
    if (poller->epoll_fd >= 0) {
        close(poller->epoll_fd);
    }
    poller->epoll_fd = -1;
    poller->wake_fd = -1;
}

int rsti_poller_add(rsti_poller_t *poller, int fd, void *tag)
{
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    event.data.ptr = tag;
    if (epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        return RST_SET_ERRNO("adding descriptor %d to a poller", fd);
    }
    return 0;
}

void rsti_poller_remove(rsti_poller_t *poller, int fd)
{
    struct epoll_event unused;
    memset(&unused, 0, sizeof unused);
    (void)epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, &unused);
}

static int timeout_ms(int64_t timeout_ns)
{
    if (timeout_ns == RSTI_NO_DEADLINE) {
        return -1;
    }
    if (timeout_ns <= 0) {
        return 0;
    }
    /* Rounded up: waking too early would make the agent spin through the last millisecond. */
    const int64_t ms = (timeout_ns - 1) / RSTI_NS_PER_MS + 1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Nanosecond timeouts need Linux 5.11; older kernels and strict sandboxes answer ENOSYS or EPERM,
 * then milliseconds have to do. The symbol is newer than the C libraries wheels are built for. */
static int wait_events(const rsti_poller_t *poller, struct epoll_event *events, int capacity,
    int64_t timeout_ns)
{
#ifdef SYS_epoll_pwait2
    if (timeout_ns > 0 && timeout_ns != RSTI_NO_DEADLINE) {
        const struct timespec timeout = {
            .tv_sec = (time_t)(timeout_ns / RSTI_NS_PER_S),
            .tv_nsec = (long)(timeout_ns % RSTI_NS_PER_S),
        };
        const long count = syscall(SYS_epoll_pwait2, poller->epoll_fd, events, capacity, &timeout,
            NULL, (size_t)0);
        if (count >= 0 || (errno != ENOSYS && errno != EPERM)) {
            return (int)count;
        }
    }
#endif
    return epoll_wait(poller->epoll_fd, events, capacity, timeout_ms(timeout_ns));
}

static void drain(int fd)
{
    uint8_t bytes[256];
    while (read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
}

int rsti_poller_wait(rsti_poller_t *poller, int64_t timeout_ns, void **tags, int capacity)
{
    struct epoll_event events[RSTI_MEDIA_BURST_MAX];
    /* One more than the caller takes, so that the wake fd always fits. */
    const int limit = capacity < RSTI_MEDIA_BURST_MAX ? capacity + 1 : RSTI_MEDIA_BURST_MAX;
    const int ready = wait_events(poller, events, limit, timeout_ns);
    int count = 0;
    for (int i = 0; i < ready; i++) {
        if (events[i].data.ptr == &wake_tag) {
            drain(poller->wake_fd);
        } else if (count < capacity) {
            tags[count++] = events[i].data.ptr;
        }
    }
    return count;
}
