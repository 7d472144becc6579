/* driver_dir.c: the owner of a driver directory. A living driver holds a lock, which the kernel
 * drops at its death. The heartbeat in cnc.dat counts only for Aeron drivers, because a killed
 * rstream driver leaves a fresh one behind.
 *
 * The directory may vanish and come back between any two steps, because an ending driver removes
 * it. So a lock counts only while the locked file is still the one at its path; otherwise
 * everything is tried again. */
#include "cnc/driver_dir.h"

#include "cnc/cnc_file.h"
#include "cnc/files.h"
#include "cnc/wake_fifo.h"
#include "concurrent/atomics.h"
#include "util/error.h"
#include "util/int_math.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 200
#define LOCK_STEP_MS 5
#define ATTEMPTS_MAX 100
#define LOCKS_MAX 64

/* Locks that this process holds: descriptor + 1; 0: free. A lock belongs to the open file, and a
 * forked child shares it: the child would keep the lock of a dead parent. So the child releases
 * them. */
static int32_t held_locks[LOCKS_MAX];
static pthread_once_t fork_handler_once = PTHREAD_ONCE_INIT;

static void let_go_in_child(void)
{
    for (size_t i = 0; i < LOCKS_MAX; i++) {
        const int fd = held_locks[i] - 1;
        if (fd >= 0) {
            /* The number stays in use, so that a handle that the child closes later cannot close
             * another file. */
            const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (null_fd < 0 || dup3(null_fd, fd, O_CLOEXEC) < 0) {
                close(fd);
            }
            if (null_fd >= 0) {
                close(null_fd);
            }
            held_locks[i] = 0;
        }
    }
}

static void install_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, let_go_in_child);
}

static int remember_lock(int fd)
{
    (void)pthread_once(&fork_handler_once, install_fork_handler);
    for (size_t i = 0; i < LOCKS_MAX; i++) {
        if (rsti_cas_i32(&held_locks[i], 0, fd + 1)) {
            return 0;
        }
    }
    return RST_SET_ERR(RST_EFULL, "this process already runs %d media drivers", LOCKS_MAX);
}

static bool forget_lock(int fd)
{
    for (size_t i = 0; i < LOCKS_MAX; i++) {
        if (rsti_cas_i32(&held_locks[i], fd + 1, 0)) {
            return true;
        }
    }
    return false;
}

static bool is_usable_parent(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && access(path, W_OK | X_OK) == 0;
}

static void user_name(char *name, size_t size)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[1024];
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != NULL
        && found->pw_name[0] != '\0' && strchr(found->pw_name, '/') == NULL) {
        snprintf(name, size, "%s", found->pw_name);
    } else {
        /* in containers the user often has no name */
        snprintf(name, size, "%u", (unsigned)geteuid());
    }
}

static int default_of(const char *prefix, char *path, size_t size)
{
    char name[128];
    user_name(name, sizeof name);
    if (is_usable_parent("/dev/shm")) {
        return rsti_path_format(path, size, "/dev/shm/%s-%s", prefix, name);
    }
    const char *temporary = getenv("TMPDIR");
    return rsti_path_format(path, size, "%s/%s-%s",
        temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp", prefix, name);
}

int rsti_driver_dir_default(char *path, size_t size)
{
    const char *given = getenv("RSTREAM_DIR");
    if (given != NULL && given[0] != '\0') {
        return rsti_path_format(path, size, "%s", given);
    }
    return default_of("rstream", path, size);
}

int rsti_driver_dir_aeron_default(char *path, size_t size)
{
    return default_of("aeron", path, size);
}

static void sleep_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

static int in_use(const char *dir, int lock_fd)
{
    char pid[24];
    const ssize_t length = pread(lock_fd, pid, sizeof pid - 1, 0);
    pid[length > 0 ? length : 0] = '\0';
    pid[strcspn(pid, "\n")] = '\0';
    return RST_SET_ERR(RST_EINUSE, "a living media driver (pid %s) has directory %s",
        pid[0] != '\0' ? pid : "?", dir);
}

/* A process that checks for a living driver holds the lock shared for a moment. A starting driver
 * must not give up because of it. */
static int lock_exclusively(const char *dir, int lock_fd)
{
    for (int waited_ms = 0; waited_ms <= LOCK_WAIT_MS; waited_ms += LOCK_STEP_MS) {
        if (flock(lock_fd, LOCK_EX | LOCK_NB) == 0) {
            return 0;
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return RST_SET_ERRNO("locking %s/%s", dir, RSTI_LOCK_FILE_NAME);
        }
        sleep_ms(LOCK_STEP_MS);
    }
    return in_use(dir, lock_fd);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the lock and the directory are still at their paths. */
static bool is_current(const char *dir, int dir_fd, int lock_fd)
{
    struct stat opened, named;
    return fstat(lock_fd, &opened) == 0
        && fstatat(dir_fd, RSTI_LOCK_FILE_NAME, &named, AT_SYMLINK_NOFOLLOW) == 0
        && is_same_file(&opened, &named) && fstat(dir_fd, &opened) == 0 && lstat(dir, &named) == 0
        && is_same_file(&opened, &named);
}

typedef struct held_dir_t {
    int dir_fd;
    int lock_fd;
} held_dir_t;

static void held_dir_close(held_dir_t *held)
{
    rsti_fd_close(held->lock_fd);
    rsti_fd_close(held->dir_fd);
    held->lock_fd = -1;
    held->dir_fd = -1;
}

static int refuse_strangers(const char *dir, int dir_fd)
{
    char stranger[64];
    return rsti_dir_is_drivers(dir_fd, stranger, sizeof stranger)
        ? 0
        : RST_SET_ERR(RST_EINVAL,
              "%s is no driver directory: it contains %s; move that away, or choose another "
              "directory",
              dir, stranger);
}

/* One attempt. 0: locked; 1: the directory changed meanwhile; negative: error. */
static int try_hold(const char *dir, bool make, held_dir_t *held)
{
    if (make && mkdir(dir, 0700) != 0 && errno != EEXIST) {
        return RST_SET_ERRNO("making driver directory %s", dir);
    }
    held->dir_fd = rsti_dir_open(dir, false);
    if (held->dir_fd < 0) {
        return make && held->dir_fd == -RST_ENODRIVER ? 1 : held->dir_fd;
    }
    const int refused = refuse_strangers(dir, held->dir_fd);
    if (refused != 0) {
        return refused;
    }
    held->lock_fd = openat(held->dir_fd, RSTI_LOCK_FILE_NAME,
        O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (held->lock_fd < 0) {
        return errno == ENOENT ? 1 : RST_SET_ERRNO("opening %s/%s", dir, RSTI_LOCK_FILE_NAME);
    }
    const int result = lock_exclusively(dir, held->lock_fd);
    if (result != 0) {
        return result;
    }
    return is_current(dir, held->dir_fd, held->lock_fd) ? 0 : 1;
}

static int hold(const char *dir, bool make, held_dir_t *held)
{
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        held->dir_fd = -1;
        held->lock_fd = -1;
        const int result = try_hold(dir, make, held);
        if (result == 0) {
            return 0;
        }
        held_dir_close(held);
        if (result < 0) {
            return result;
        }
        sleep_ms(1);
    }
    return RST_SET_ERR(RST_EINUSE, "driver directory %s is made and removed again all the time",
        dir);
}

static bool has_foreign_driver(int dir_fd, int64_t driver_timeout_ms, int64_t now_ms)
{
    rsti_cnc_peek_t peek;
    /* Both sides use the same clock, but it may be set back: a heartbeat slightly in the future is
     * fresh too. */
    return rsti_cnc_peek(dir_fd, &peek) && !peek.is_rstream && peek.heartbeat_ms > 0
        && now_ms < rsti_saturating_add_i64(peek.heartbeat_ms, driver_timeout_ms)
        && peek.heartbeat_ms < rsti_saturating_add_i64(now_ms, driver_timeout_ms);
}

static int refuse_foreign(const char *dir, int dir_fd, int64_t driver_timeout_ms, int64_t now_ms)
{
    if (has_foreign_driver(dir_fd, driver_timeout_ms, now_ms)) {
        /* Only rstream has a lock file. A free lock would tell clients that the driver is dead. */
        (void)unlinkat(dir_fd, RSTI_LOCK_FILE_NAME, 0);
        return RST_SET_ERR(RST_EINUSE,
            "a media driver that is not rstream's has directory %s (its heartbeat is younger than "
            "%lld ms)",
            dir, (long long)driver_timeout_ms);
    }
    return 0;
}

static int make_subdirs(const char *dir, int dir_fd)
{
    static const char *const names[] = {RSTI_PUBLICATIONS_DIR, RSTI_IMAGES_DIR, RSTI_WAKE_DIR};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct stat status;
        /* One that holds files of another program was not removed. */
        const bool is_there = mkdirat(dir_fd, names[i], 0700) == 0
            || (errno == EEXIST && fstatat(dir_fd, names[i], &status, AT_SYMLINK_NOFOLLOW) == 0
                && S_ISDIR(status.st_mode) && status.st_uid == geteuid());
        if (!is_there) {
            return RST_SET_ERRNO("making %s/%s", dir, names[i]);
        }
    }
    return 0;
}

static void write_pid(int lock_fd)
{
    char text[24];
    const int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(lock_fd, 0) != 0 || pwrite(lock_fd, text, (size_t)length, 0) != length) {
        return; /* only information for people: on a full file system the lock still counts */
    }
}

int rsti_driver_dir_acquire(const char *dir, int64_t driver_timeout_ms, int64_t now_ms,
    int *lock_fd)
{
    held_dir_t held;
    int result = hold(dir, true, &held);
    if (result != 0) {
        return result;
    }
    result = refuse_foreign(dir, held.dir_fd, driver_timeout_ms, now_ms);
    if (result == 0 && fchmod(held.dir_fd, 0700) != 0) {
        result = RST_SET_ERRNO("making driver directory %s private", dir);
    }
    if (result == 0) {
        rsti_dir_save_error_log(dir, held.dir_fd, now_ms);
        (void)rsti_dir_remove_content(held.dir_fd, false);
        result = make_subdirs(dir, held.dir_fd);
    }
    if (result == 0) {
        result = remember_lock(held.lock_fd);
    }
    if (result != 0) {
        held_dir_close(&held);
        return result;
    }
    write_pid(held.lock_fd);
    *lock_fd = held.lock_fd;
    rsti_fd_close(held.dir_fd);
    return 0;
}

bool rsti_driver_dir_exists(const char *dir)
{
    struct stat status;
    return lstat(dir, &status) == 0;
}

int rsti_driver_dir_make_parents(const char *dir)
{
    char path[RSTI_PATH_MAX];
    int result = rsti_path_format(path, sizeof path, "%s", dir);
    for (char *c = path; result == 0 && *c != '\0'; c++) {
        if (*c == '/' && c > path && c[1] != '\0' && c[1] != '/') {
            *c = '\0';
            if (mkdir(path, 0700) != 0 && errno != EEXIST) {
                result = RST_SET_ERRNO("making directory %s", path);
            }
            *c = '/';
        }
    }
    return result;
}

/* Whether the missing directories of a path can be made. */
static int check_parents(const char *dir)
{
    char path[RSTI_PATH_MAX];
    int result = rsti_path_format(path, sizeof path, "%s", dir);
    while (result == 0) {
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            snprintf(path, sizeof path, ".");
        } else {
            slash[slash == path ? 1 : 0] = '\0';
        }
        if (is_usable_parent(path)) {
            return 0;
        }
        if (access(path, F_OK) == 0 || errno != ENOENT || strcmp(path, ".") == 0) {
            result = RST_SET_ERR(RST_EACCESS,
                "driver directory %s cannot be made: %s is no directory that you may write; "
                "choose another directory",
                dir, path);
        }
    }
    return result;
}

int rsti_driver_dir_check(const char *dir)
{
    const int dir_fd = rsti_dir_open(dir, false);
    if (dir_fd == -RST_ENODRIVER) {
        rsti_error_clear();
        return check_parents(dir);
    }
    if (dir_fd < 0) {
        return dir_fd;
    }
    const int result = refuse_strangers(dir, dir_fd);
    close(dir_fd);
    return result;
}

static int32_t remove_all(const char *dir, const held_dir_t *held)
{
    const int32_t removed = rsti_dir_remove_content(held->dir_fd, false);
    /* The lock is released last: while it is held, no driver takes the directory. A process that
     * makes a new directory between the next two lines keeps it from being removed. */
    (void)unlinkat(held->dir_fd, RSTI_LOCK_FILE_NAME, 0);
    (void)rmdir(dir);
    return removed + rsti_wake_dir_remove_beside(dir);
}

void rsti_driver_dir_release(const char *dir, int lock_fd, bool remove_dir)
{
    if (lock_fd < 0) {
        return;
    }
    /* Unknown: the handle was copied by a fork, and the directory belongs to the parent. */
    const bool is_own = forget_lock(lock_fd);
    if (is_own && !remove_dir) {
        (void)rsti_wake_dir_remove_beside(dir); /* an ended driver wakes nobody */
    }
    if (is_own && remove_dir) {
        held_dir_t held = {.dir_fd = rsti_dir_open(dir, false), .lock_fd = lock_fd};
        if (held.dir_fd >= 0 && is_current(dir, held.dir_fd, lock_fd)) {
            (void)remove_all(dir, &held);
        }
        rsti_fd_close(held.dir_fd);
    }
    close(lock_fd);
}

static bool is_lock_held(int dir_fd)
{
    const int fd = openat(dir_fd, RSTI_LOCK_FILE_NAME,
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const bool is_held = rsti_driver_lock_is_held(fd);
    close(fd);
    return is_held;
}

rsti_driver_life_t rsti_driver_dir_probe(const char *dir, int64_t driver_timeout_ms, int64_t now_ms)
{
    const int dir_fd = rsti_dir_open(dir, true);
    if (dir_fd < 0) {
        return RSTI_DRIVER_ABSENT;
    }
    rsti_driver_life_t life = RSTI_DRIVER_ABSENT;
    if (is_lock_held(dir_fd)) {
        life = RSTI_DRIVER_ALIVE; /* perhaps starting: cnc.dat follows in a moment */
    } else if (has_foreign_driver(dir_fd, driver_timeout_ms, now_ms)) {
        life = RSTI_DRIVER_FOREIGN;
    } else if (faccessat(dir_fd, RSTI_CNC_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        life = RSTI_DRIVER_DEAD;
    }
    close(dir_fd);
    return life;
}

int rsti_driver_dir_clean(const char *dir, int64_t driver_timeout_ms, int64_t now_ms,
    int32_t *removed)
{
    held_dir_t held;
    *removed = 0;
    int result = hold(dir, false, &held);
    if (result == -RST_ENODRIVER) {
        rsti_error_clear();
        return 0; /* there is no directory: clean */
    }
    if (result != 0) {
        return result;
    }
    result = refuse_foreign(dir, held.dir_fd, driver_timeout_ms, now_ms);
    if (result == 0) {
        rsti_dir_save_error_log(dir, held.dir_fd, now_ms);
        *removed = remove_all(dir, &held);
    }
    held_dir_close(&held);
    return result;
}

int rsti_driver_lock_open(const char *dir)
{
    const int dir_fd = rsti_dir_open(dir, false);
    if (dir_fd < 0) {
        return dir_fd;
    }
    int fd = openat(dir_fd, RSTI_LOCK_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        fd = RST_SET_ERR(RST_ENODRIVER, "%s/%s does not exist: no rstream media driver there", dir,
            RSTI_LOCK_FILE_NAME);
    } else if (fd < 0) {
        fd = RST_SET_ERRNO("opening %s/%s", dir, RSTI_LOCK_FILE_NAME);
    }
    close(dir_fd);
    return fd;
}

bool rsti_driver_lock_is_held(int fd)
{
    int result;
    do {
        result = flock(fd, LOCK_SH | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        return errno == EWOULDBLOCK;
    }
    (void)flock(fd, LOCK_UN);
    return false;
}
