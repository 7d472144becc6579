/* posix.c: replaces the system calls for time, sleep, wait and threads (by the linker's --wrap).
 * Threads are fibers and time is virtual, so the product's own threads, idle strategies and
 * wake-ups run here unchanged. */
#include "concurrent/atomics.h"
#include "tests/sim/fibers.h"
#include "tests/sim/switch.h"
#include "tests/sim/world.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CONDITIONS_MAX 64

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __real_epoll_wait(int epoll_fd, struct epoll_event *events, int capacity, int timeout_ms);
ssize_t __real_write(int fd, const void *bytes, size_t length);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_sched_yield(void);
pid_t __wrap_getpid(void);
ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
    void *(*entry)(void *), void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_detach(pthread_t thread);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
    const struct timespec *until);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
    const sigset_t *mask);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_epoll_wait(int epoll_fd, struct epoll_event *events, int capacity, int timeout_ms);
long __wrap_syscall(long number, ...);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);

static int64_t to_ns(const struct timespec *time)
{
    return (int64_t)time->tv_sec * SIM_S + time->tv_nsec;
}

/* ---- time ---- */

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    sim_fiber_read_clock();
    const int64_t ns = id == CLOCK_REALTIME ? world.now_ns + SIM_EPOCH_MS * SIM_MS : world.now_ns;
    *now = (struct timespec){.tv_sec = ns / SIM_S, .tv_nsec = ns % SIM_S};
    return 0;
}

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
    (void)left;
    sim_fiber_sleep(to_ns(duration));
    return 0;
}

int __wrap_sched_yield(void)
{
    sim_fiber_yield();
    return 0;
}

/* ---- process ids and random numbers ---- */

pid_t __wrap_getpid(void)
{
    return 1000 + sim_process_current()->id;
}

ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < length; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)sim_below(RNG_PRODUCT, 256);
    }
    return (ssize_t)length;
}

/* ---- threads ---- */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
    void *(*entry)(void *), void *arg)
{
    (void)attributes;
    sim_fiber_t *fiber = sim_fiber_start(sim_process_current(), "thread", entry, arg);
    const uintptr_t id = (uintptr_t)fiber->id + 1;
    memcpy(thread, &id, sizeof id);
    return 0;
}

static sim_fiber_t *fiber_of(pthread_t thread)
{
    uintptr_t id;
    memcpy(&id, &thread, sizeof id);
    return sim_fiber_by_id((int32_t)id - 1);
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    const sim_fiber_t *fiber = fiber_of(thread);
    if (result != NULL) {
        *result = NULL;
    }
    while (fiber->ended == 0) {
        (void)sim_fiber_wait(&fiber->ended, -1, INT64_MAX);
    }
    return 0;
}

int __wrap_pthread_detach(pthread_t thread)
{
    (void)thread;
    return 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    (void)how;
    (void)set;
    (void)before;
    return 0;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
    sim_fiber_t *fiber = fiber_of(thread);
    if (strncmp(name, "rst-", 4) == 0) {
        name += 4;
    }
    const size_t used = strcspn(fiber->name, "/") + 1;
    strncpy(fiber->name + used, name, sizeof fiber->name - used - 1);
    return 0;
}

/* ---- locks ---- */

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    rsti_sim_point();
    while (pthread_mutex_trylock(mutex) != 0) {
        if (sim_fiber_current() == NULL) {
            sim_fail("a lock needed outside of all threads is held");
        }
        sim_fiber_yield();
    }
    return 0;
}

/* A waiter on a condition may wake spuriously, so one word serves all conditions. */
static uint64_t condition_epoch;

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
    const struct timespec *until)
{
    (void)condition;
    (void)pthread_mutex_unlock(mutex);
    const bool happened = sim_fiber_wait(&condition_epoch, -1, to_ns(until));
    (void)__wrap_pthread_mutex_lock(mutex);
    return happened ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    (void)condition;
    (void)pthread_mutex_unlock(mutex);
    (void)sim_fiber_wait(&condition_epoch, -1, INT64_MAX);
    return __wrap_pthread_mutex_lock(mutex);
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
    (void)condition;
    sim_fibers_count_up(&condition_epoch);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    (void)condition;
    sim_fibers_count_up(&condition_epoch);
    return 0;
}

/* ---- waiting for descriptors ---- */

int sim_real_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    return __real_poll(fds, count, timeout_ms);
}

static int64_t deadline_of(int64_t timeout_ns)
{
    return timeout_ns < 0 || timeout_ns > INT64_MAX - world.now_ns ? INT64_MAX
                                                                   : world.now_ns + timeout_ns;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
    const sigset_t *mask)
{
    (void)mask;
    const int64_t until_ns = deadline_of(timeout == NULL ? -1 : to_ns(timeout));
    for (;;) {
        const int ready = __real_poll(fds, count, 0);
        if (ready != 0 || world.now_ns >= until_ns) {
            return ready;
        }
        if (count != 1) {
            sim_fail("poll() of %d descriptors", (int)count);
        }
        (void)sim_fiber_wait(NULL, fds[0].fd, until_ns);
    }
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    const struct timespec timeout = {
        .tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * SIM_MS};
    return __wrap_ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

static int epoll_until(int epoll_fd, struct epoll_event *events, int capacity, int64_t until_ns)
{
    for (;;) {
        const int ready = __real_epoll_wait(epoll_fd, events, capacity, 0);
        if (ready != 0 || world.now_ns >= until_ns) {
            return ready;
        }
        (void)sim_fiber_wait(NULL, epoll_fd, until_ns);
    }
}

int __wrap_epoll_wait(int epoll_fd, struct epoll_event *events, int capacity, int timeout_ms)
{
    return epoll_until(epoll_fd, events, capacity,
        deadline_of(timeout_ms < 0 ? -1 : timeout_ms * SIM_MS));
}

long __wrap_syscall(long number, ...)
{
#ifdef SYS_epoll_pwait2
    if (number == SYS_epoll_pwait2) {
        va_list arguments;
        va_start(arguments, number);
        const int epoll_fd = va_arg(arguments, int);
        struct epoll_event *events = va_arg(arguments, struct epoll_event *);
        const int capacity = va_arg(arguments, int);
        const struct timespec *timeout = va_arg(arguments, const struct timespec *);
        va_end(arguments);
        return epoll_until(epoll_fd, events, capacity,
            deadline_of(timeout == NULL ? -1 : to_ns(timeout)));
    }
#endif
    sim_fail("system call %ld is not simulated", number);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t length)
{
    const ssize_t written = __real_write(fd, bytes, length);
    sim_fibers_touch_fds();
    return written;
}
