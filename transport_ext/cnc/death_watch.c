/* death_watch.c: see death_watch.h. */
#include "cnc/death_watch.h"

#include "cnc/file_system.h"
#include "cnc/files.h"
#include "util/bits.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENTS_MAX 16

#ifndef SYS_pidfd_open /* Linux 5.3; the number is the same on all machines */
#define SYS_pidfd_open 434
#endif

static int life_path(char *path, const char *dir, int64_t client_id)
{
    return rsti_path_format(path, RSTI_PATH_MAX, "%s/%s/%lld.life", dir, RSTI_WAKE_DIR,
        (long long)client_id);
}

/* -1: it does not exist, is no FIFO, or (O_WRONLY) nobody holds it. */
static int open_life(const char *path, int access_mode)
{
    const int fd = open(path, access_mode | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/* ---- client ---- */

int rsti_life_hold(const char *dir, int64_t client_id, const rsti_process_t *self)
{
    char path[RSTI_PATH_MAX];
    const int result = life_path(path, dir, client_id);
    if (result != 0) {
        return result;
    }
    if (mkfifo(path, 0600) != 0
        && (errno != EEXIST || unlink(path) != 0 || mkfifo(path, 0600) != 0)) {
        return RST_SET_ERRNO("making %s", path);
    }
    const int fd = open_life(path, O_RDWR);
    if (fd < 0) {
        const int errno_value = errno;
        unlink(path);
        return rsti_error_set_errno(errno_value, "opening %s", path);
    }
    (void)!write(fd, self, sizeof *self); /* without it the mark in shared memory tells it */
    return fd;
}

void rsti_life_remove(const char *dir, int64_t client_id)
{
    char path[RSTI_PATH_MAX];
    if (life_path(path, dir, client_id) == 0) {
        unlink(path);
    }
}

/* ---- driver ---- */

bool rsti_life_read(const char *dir, int64_t client_id, rsti_process_t *told, bool *is_dead)
{
    char path[RSTI_PATH_MAX];
    const int fd = life_path(path, dir, client_id) == 0 ? open_life(path, O_RDONLY) : -1;
    const ssize_t length = fd >= 0 ? read(fd, told, sizeof *told) : -1;
    rsti_fd_close(fd);
    *is_dead = length == 0; /* who holds it could write into it */
    return length == (ssize_t)sizeof *told;
}

int rsti_death_watch_open(rsti_death_watch_t *watch)
{
    watch->self = rsti_process_self();
    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return watch->epoll_fd < 0 ? RST_SET_ERRNO("opening the watch over clients") : 0;
}

void rsti_death_watch_close(rsti_death_watch_t *watch)
{
    rsti_fd_close(watch->epoll_fd);
    watch->epoll_fd = -1;
}

/* The descriptor stands for the process that has the pid when it is opened. That this is the
 * client, and not a later process with its number, shows in the start time that is read
 * afterwards. *is_dead: no process has the number. */
static int open_process(const rsti_death_watch_t *watch, const rsti_process_t *told, bool *is_dead)
{
    if (!rsti_process_is_comparable(told, &watch->self)) {
        return -1;
    }
    const int fd = (int)syscall(SYS_pidfd_open, (pid_t)told->pid, 0U);
    *is_dead = fd < 0 && errno == ESRCH;
    if (fd >= 0 && rsti_process_start_time(told->pid) != told->start_time) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A FIFO reports a hang-up only to a reader that has seen a writer. So it is opened for writing
 * first, which fails when nobody holds it. */
static rsti_watched_t open_hold(const char *path, int *fd)
{
    const int writer = open_life(path, O_WRONLY);
    if (writer < 0) {
        return errno == ENXIO ? RSTI_WATCHED_DEAD : RSTI_WATCHED_NONE;
    }
    *fd = open_life(path, O_RDONLY);
    close(writer);
    return *fd < 0 ? RSTI_WATCHED_NONE : RSTI_WATCHED_HOLD;
}

rsti_watched_t rsti_death_watch_add(rsti_death_watch_t *watch, const char *dir, int64_t client_id,
    const rsti_process_t *told, int *fd)
{
    char path[RSTI_PATH_MAX];
    rsti_watched_t watched = RSTI_WATCHED_PROCESS;
    bool is_dead = false;
    *fd = open_process(watch, told, &is_dead);
    if (life_path(path, dir, client_id) == 0) {
        if (is_dead) {
            watched = RSTI_WATCHED_DEAD; /* a child of it may still hold the FIFO */
        } else if (*fd < 0) {
            watched = open_hold(path, fd);
        }
        unlink(path);
    }
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    /* A hang-up is always reported. The FIFO is readable, because the client wrote into it. */
    event.events = watched == RSTI_WATCHED_PROCESS ? EPOLLIN : 0;
    event.data.u64 = (uint64_t)client_id;
    if (*fd >= 0 && epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, *fd, &event) != 0) {
        rsti_fd_close(*fd);
        *fd = -1;
    }
    return *fd >= 0 || watched == RSTI_WATCHED_DEAD ? watched : RSTI_WATCHED_NONE;
}

void rsti_death_watch_remove(rsti_death_watch_t *watch, int *fd)
{
    if (*fd >= 0) {
        struct epoll_event unused;
        memset(&unused, 0, sizeof unused);
        /* A child of this process may still have the descriptor open: closing is not enough. */
        (void)epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, *fd, &unused);
        rsti_fd_close(*fd);
        *fd = -1;
    }
}

int rsti_death_watch_poll(const rsti_death_watch_t *watch, int64_t *client_ids, int capacity)
{
    struct epoll_event events[EVENTS_MAX];
    const int ready = epoll_wait(watch->epoll_fd, events,
        capacity < EVENTS_MAX ? capacity : EVENTS_MAX, 0);
    for (int i = 0; i < ready; i++) {
        client_ids[i] = (int64_t)events[i].data.u64;
    }
    return ready > 0 ? ready : 0;
}
