/* wake_fifo.c: the FIFOs that sleepers watch.
 *
 * Writers open O_RDWR and not O_WRONLY. A library must never let its host die of SIGPIPE, and a
 * writer that has a read end itself cannot get one, whatever the host did with the signal. (Masking
 * the signal around each write would cost three more system calls.) The price: a write does not
 * notice that the reader has gone. So each wake-up first asks fstat. A FIFO without a name was
 * removed: its descriptor is dropped and the name is tried again. A FIFO whose reader was killed
 * and not yet cleaned up fills its 64 KiB and then refuses bytes, which does no harm. */
#include "cnc/wake_fifo.h"

#include "cnc/driver_dir.h"
#include "cnc/files.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/clock.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CACHE_SETS 16
#define CACHE_WAYS 4
#define WRITERS_MAX (CACHE_SETS * CACHE_WAYS)

typedef struct writer_t {
    int64_t client_id;
    int64_t used_at; /* count of wake-ups, 0 = free entry */
    int32_t waiter_id;
    int fd;
} writer_t;

struct rsti_waker_t {
    pthread_mutex_t lock;
    int64_t wake_count;
    int32_t count; /* of the writers */
    int32_t most;
    char dir[RSTI_PATH_MAX];
    int kept[RSTI_WAKER_KEPT]; /* of client 0; descriptor + 1, 0 = none */
    writer_t writers[CACHE_SETS][CACHE_WAYS];
};

static int beside_path(char *path, const char *dir)
{
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/') {
        length--; /* "dir/" would put the folder inside */
    }
    return rsti_path_format(path, RSTI_PATH_MAX, "%.*s.%s", (int)length, dir, RSTI_WAKE_DIR);
}

static int wake_dir(char *path, const char *dir)
{
    struct stat status;
    const int result = rsti_path_format(path, RSTI_PATH_MAX, "%s/%s", dir, RSTI_WAKE_DIR);
    return result != 0 || (lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
        ? result
        : beside_path(path, dir);
}

static int fifo_path(char *path, const char *dir, int64_t client_id, int32_t waiter_id)
{
    char folder[RSTI_PATH_MAX];
    const int result = wake_dir(folder, dir);
    return result != 0 ? result
                       : rsti_path_format(path, RSTI_PATH_MAX, "%s/%lld.%d", folder,
                             (long long)client_id, waiter_id);
}

int rsti_wake_dir_move_beside(const char *dir)
{
    char inside[RSTI_PATH_MAX], beside[RSTI_PATH_MAX];
    int result = rsti_path_format(inside, sizeof inside, "%s/%s", dir, RSTI_WAKE_DIR);
    if (result == 0) {
        result = beside_path(beside, dir);
    }
    if (result != 0) {
        return result;
    }
    (void)rsti_wake_dir_remove_beside(dir);
    if (mkdir(beside, 0700) != 0) {
        return RST_SET_ERRNO("making %s for the FIFOs of waiting threads", beside);
    }
    if (rmdir(inside) != 0) {
        return RST_SET_ERRNO("removing %s", inside);
    }
    return 0;
}

/* Leaves the error trail as it is: a failed start is explained by it. */
int32_t rsti_wake_dir_remove_beside(const char *dir)
{
    char beside[RSTI_PATH_MAX];
    struct stat status;
    if (strlen(dir) + sizeof "." RSTI_WAKE_DIR > sizeof beside || beside_path(beside, dir) != 0) {
        return 0;
    }
    const int dir_fd = open(beside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int32_t removed = 0;
    if (dir_fd >= 0 && fstat(dir_fd, &status) == 0 && status.st_uid == geteuid()) {
        removed = rsti_dir_empty(dir_fd, ".");
        removed += rmdir(beside) == 0;
    }
    rsti_fd_close(dir_fd);
    return removed;
}

/* -1 with errno: it does not exist or is no FIFO. */
static int open_fifo(const char *path)
{
    const int fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int rsti_wake_fifo_create(const char *dir, int64_t client_id, int32_t waiter_id)
{
    char path[RSTI_PATH_MAX];
    const int result = fifo_path(path, dir, client_id, waiter_id);
    if (result != 0) {
        return result;
    }
    /* A FIFO of that name is left from an earlier life: writers may still hold it. */
    if (mkfifo(path, 0600) != 0
        && (errno != EEXIST || unlink(path) != 0 || mkfifo(path, 0600) != 0)) {
        return RST_SET_ERRNO("making wake FIFO %s", path);
    }
    const int fd = open_fifo(path);
    if (fd < 0) {
        const int errno_value = errno;
        unlink(path);
        return rsti_error_set_errno(errno_value, "opening wake FIFO %s", path);
    }
    return fd;
}

void rsti_wake_fifo_remove(const char *dir, int64_t client_id, int32_t waiter_id)
{
    char path[RSTI_PATH_MAX];
    if (fifo_path(path, dir, client_id, waiter_id) == 0) {
        unlink(path);
    }
}

void rsti_wake_fifo_remove_client(const char *dir, int64_t client_id)
{
    char prefix[32];
    const int length = snprintf(prefix, sizeof prefix, "%lld.", (long long)client_id);
    char folder[RSTI_PATH_MAX];
    const int dir_fd = wake_dir(folder, dir) == 0 ? rsti_dir_open(folder, false) : -1;
    DIR *stream = dir_fd >= 0 ? rsti_dir_read(dir_fd, ".") : NULL;
    if (stream != NULL) {
        const struct dirent *entry;
        while ((entry = readdir(stream)) != NULL) {
            if (strncmp(entry->d_name, prefix, (size_t)length) == 0) {
                (void)unlinkat(dirfd(stream), entry->d_name, 0);
            }
        }
        closedir(stream);
    }
    rsti_fd_close(dir_fd);
}

int rsti_wake_fifo_wait(int fd, int64_t timeout_ns)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN, .revents = 0};
    const int64_t bounded_ns = timeout_ns > 0 ? timeout_ns : 0;
    const struct timespec timeout = {
        .tv_sec = (time_t)(bounded_ns / RSTI_NS_PER_S),
        .tv_nsec = (long)(bounded_ns % RSTI_NS_PER_S),
    };
    const int ready = ppoll(&watched, 1, timeout_ns == RSTI_NO_DEADLINE ? NULL : &timeout, NULL);
    if (ready <= 0 || (watched.revents & POLLIN) == 0) {
        return 0;
    }
    rsti_wake_fifo_drain(fd);
    return 1;
}

void rsti_wake_fifo_drain(int fd)
{
    uint8_t bytes[256];
    while (read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
}

int rsti_waker_create(rsti_waker_t **waker, const char *dir)
{
    rsti_waker_t *created = rsti_alloc(sizeof *created);
    if (created == NULL) {
        return -RST_ENOMEM;
    }
    const int result = rsti_path_format(created->dir, sizeof created->dir, "%s", dir);
    if (result != 0) {
        rsti_free(created);
        return result;
    }
    struct rlimit limit;
    created->most = WRITERS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 8 < WRITERS_MAX) {
        created->most = limit.rlim_cur < 8 ? 1 : (int32_t)(limit.rlim_cur / 8);
    }
    const int errno_value = pthread_mutex_init(&created->lock, NULL);
    if (errno_value != 0) {
        rsti_free(created);
        return rsti_error_set_errno(errno_value, "making the lock of a waker");
    }
    *waker = created;
    return 0;
}

static bool has_name(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

static void writer_close(rsti_waker_t *waker, writer_t *writer)
{
    if (writer->used_at != 0) {
        close(writer->fd);
        waker->count--;
    }
    memset(writer, 0, sizeof *writer);
}

static writer_t *writer_at(rsti_waker_t *waker, size_t i)
{
    return &waker->writers[i / CACHE_WAYS][i % CACHE_WAYS];
}

/* False: there was none. */
static bool close_oldest(rsti_waker_t *waker)
{
    writer_t *oldest = NULL;
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        writer_t *writer = writer_at(waker, i);
        if (writer->used_at != 0 && (oldest == NULL || writer->used_at < oldest->used_at)) {
            oldest = writer;
        }
    }
    if (oldest != NULL) {
        writer_close(waker, oldest);
    }
    return oldest != NULL;
}

/* Closes the ends of FIFOs that were removed. */
static void close_removed(rsti_waker_t *waker)
{
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        writer_t *writer = writer_at(waker, i);
        if (writer->used_at != 0 && !has_name(writer->fd)) {
            writer_close(waker, writer);
        }
    }
}

void rsti_waker_forget_client(rsti_waker_t *waker, int64_t client_id)
{
    (void)pthread_mutex_lock(&waker->lock);
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        if (writer_at(waker, i)->client_id == client_id) {
            writer_close(waker, writer_at(waker, i));
        }
    }
    (void)pthread_mutex_unlock(&waker->lock);
}

void rsti_waker_destroy(rsti_waker_t *waker)
{
    if (waker == NULL) {
        return;
    }
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        writer_close(waker, writer_at(waker, i));
    }
    (void)pthread_mutex_destroy(&waker->lock);
    rsti_free(waker);
}

static writer_t *set_of(rsti_waker_t *waker, int64_t client_id, int32_t waiter_id)
{
    const uint64_t mixed = ((uint64_t)client_id * 31 + (uint32_t)waiter_id)
        * UINT64_C(0x9E3779B97F4A7C15);
    return waker->writers[mixed >> 60];
}
_Static_assert(CACHE_SETS == 16, "set_of takes four bits");

/* The writer's end, cached or newly opened. NULL: there is no such FIFO. */
static writer_t *find_writer(rsti_waker_t *waker, int64_t client_id, int32_t waiter_id)
{
    writer_t *set = set_of(waker, client_id, waiter_id);
    writer_t *oldest = set;
    for (size_t i = 0; i < CACHE_WAYS; i++) {
        writer_t *writer = &set[i];
        if (writer->used_at != 0 && writer->client_id == client_id
            && writer->waiter_id == waiter_id) {
            if (has_name(writer->fd)) {
                return writer;
            }
            writer_close(waker, writer);
        }
        if (writer->used_at < oldest->used_at) {
            oldest = writer;
        }
    }
    char path[RSTI_PATH_MAX];
    if (fifo_path(path, waker->dir, client_id, waiter_id) != 0) {
        return NULL;
    }
    writer_close(waker, oldest);
    if (waker->count >= waker->most) {
        close_removed(waker);
    }
    if (waker->count >= waker->most) {
        (void)close_oldest(waker);
    }
    int fd = open_fifo(path);
    while (fd < 0 && (errno == EMFILE || errno == ENFILE) && close_oldest(waker)) {
        fd = open_fifo(path);
    }
    if (fd < 0) {
        return NULL;
    }
    waker->count++;
    oldest->fd = fd;
    oldest->client_id = client_id;
    oldest->waiter_id = waiter_id;
    return oldest;
}

void rsti_waker_keep(rsti_waker_t *waker, int32_t agent_fifo, int fd)
{
    RST_ASSERT(agent_fifo >= 0 && agent_fifo < RSTI_WAKER_KEPT);
    (void)pthread_mutex_lock(&waker->lock);
    waker->kept[agent_fifo] = fd + 1;
    (void)pthread_mutex_unlock(&waker->lock);
}

/* -1: there is no such FIFO. */
static int writing_fd(rsti_waker_t *waker, int64_t client_id, int32_t waiter_id)
{
    if (client_id == 0 && waiter_id >= 0 && waiter_id < RSTI_WAKER_KEPT
        && waker->kept[waiter_id] != 0) {
        return waker->kept[waiter_id] - 1;
    }
    writer_t *writer = find_writer(waker, client_id, waiter_id);
    if (writer == NULL) {
        return -1;
    }
    writer->used_at = ++waker->wake_count;
    return writer->fd;
}

void rsti_waker_wake(rsti_waker_t *waker, int64_t client_id, int32_t waiter_id)
{
    const uint8_t byte = 1;
    (void)pthread_mutex_lock(&waker->lock);
    const int fd = writing_fd(waker, client_id, waiter_id);
    if (fd >= 0) {
        ssize_t written;
        do {
            written = write(fd, &byte, 1);
        } while (written < 0 && errno == EINTR);
        /* A full FIFO has enough bytes to wake the sleeper. */
    }
    (void)pthread_mutex_unlock(&waker->lock);
}
