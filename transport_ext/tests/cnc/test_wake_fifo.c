/* test_wake_fifo.c: a wake-up reaches the sleeper across processes, never kills the waker, and
 * finds a FIFO that was made anew. */
#include "cnc/wake_fifo.h"
#include "util/clock.h"
#include "util/error.h"

#include "tests/check.h"
#include "tests/cnc/temp_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void make_dir(char *dir, size_t size, const char *name)
{
    char wake[600];
    temp_path(dir, size, name);
    (void)mkdir(dir, 0700);
    path_join(wake, sizeof wake, dir, "wake");
    (void)mkdir(wake, 0700);
}

static bool is_fifo(const char *dir, const char *name)
{
    char path[700];
    struct stat status;
    path_join(path, sizeof path, dir, name);
    return lstat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

static int64_t now_ns(void)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_clock_nano_time(&clock);
}

TEST(wakes_and_drains)
{
    char dir[512];
    rsti_waker_t *waker = NULL;
    make_dir(dir, sizeof dir, "plain");
    const int fd = rsti_wake_fifo_create(dir, 17, 3);
    CHECK(fd >= 0);
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 0);
    for (int i = 0; i < 1000; i++) {
        rsti_waker_wake(waker, 17, 3);
    }
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NO_DEADLINE), 1);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 0); /* drained */
    const int64_t begin_ns = now_ns();
    CHECK_EQ(rsti_wake_fifo_wait(fd, 2 * RSTI_NS_PER_MS), 0);
    CHECK(now_ns() - begin_ns >= 2 * RSTI_NS_PER_MS);
    /* More than the pipe holds: the waker does not block. */
    for (int i = 0; i < 70000; i++) {
        rsti_waker_wake(waker, 17, 3);
    }
    CHECK_EQ(rsti_wake_fifo_wait(fd, -1), 1);
    rsti_waker_destroy(waker);
    rsti_wake_fifo_remove(dir, 17, 3);
    close(fd);
}

TEST(wakes_another_process)
{
    char dir[512];
    make_dir(dir, sizeof dir, "processes");
    const int fd = rsti_wake_fifo_create(dir, 0, 1);
    CHECK(fd >= 0);
    const pid_t child = fork();
    if (child == 0) {
        rsti_waker_t *waker = NULL;
        if (rsti_waker_create(&waker, dir) != 0) {
            _exit(1);
        }
        rsti_waker_wake(waker, 0, 1);
        rsti_waker_destroy(waker);
        _exit(0);
    }
    CHECK_EQ(rsti_wake_fifo_wait(fd, 10 * RSTI_NS_PER_S), 1);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fd);
}

/* SIGPIPE keeps its deadly default action here. */
TEST(vanished_sleeper_harms_no_waker)
{
    char dir[512];
    rsti_waker_t *waker = NULL;
    make_dir(dir, sizeof dir, "vanished");
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    rsti_waker_wake(waker, 5, 1); /* it never existed */
    int fd = rsti_wake_fifo_create(dir, 5, 1);
    CHECK(fd >= 0);
    rsti_waker_wake(waker, 5, 1);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 1);
    close(fd); /* killed: the name still exists */
    for (int i = 0; i < 70000; i++) {
        rsti_waker_wake(waker, 5, 1);
    }
    rsti_wake_fifo_remove(dir, 5, 1);
    rsti_waker_wake(waker, 5, 1);
    /* The same name again: the new FIFO is found, without data of the old one. */
    fd = rsti_wake_fifo_create(dir, 5, 1);
    CHECK(fd >= 0);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 0);
    rsti_waker_wake(waker, 5, 1);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 1);
    close(fd);
    /* Made over the leftover of an earlier process. */
    fd = rsti_wake_fifo_create(dir, 5, 1);
    CHECK(fd >= 0);
    rsti_waker_wake(waker, 5, 1);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 1);
    close(fd);
    rsti_waker_destroy(waker);
    rsti_waker_destroy(NULL);
}

static int count_open_descriptors(void)
{
    int count = 0;
    DIR *stream = opendir("/proc/self/fd");
    while (stream != NULL && readdir(stream) != NULL) {
        count++;
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return count;
}

TEST(cache_is_bounded_and_right)
{
    enum {
        SLEEPERS = 300
    };
    static int fds[SLEEPERS];
    char dir[512];
    rsti_waker_t *waker = NULL;
    make_dir(dir, sizeof dir, "many");
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    for (int i = 0; i < SLEEPERS; i++) {
        fds[i] = rsti_wake_fifo_create(dir, i / 3, i % 3);
        CHECK(fds[i] >= 0);
    }
    const int before = count_open_descriptors();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SLEEPERS; i++) {
            rsti_waker_wake(waker, i / 3, i % 3);
            CHECK_EQ(rsti_wake_fifo_wait(fds[i], 0), 1);
        }
    }
    CHECK(count_open_descriptors() - before <= 64);
    rsti_waker_destroy(waker);
    CHECK_EQ(count_open_descriptors(), before);
    for (int i = 0; i < SLEEPERS; i++) {
        close(fds[i]);
    }
}

TEST(fifos_of_a_dead_client_go)
{
    char dir[512], path[600];
    make_dir(dir, sizeof dir, "dead");
    const int a = rsti_wake_fifo_create(dir, 12, 0);
    const int b = rsti_wake_fifo_create(dir, 12, 1);
    const int c = rsti_wake_fifo_create(dir, 123, 0);
    CHECK(a >= 0 && b >= 0 && c >= 0);
    rsti_wake_fifo_remove_client(dir, 12);
    path_join(path, sizeof path, dir, "wake/12.0");
    CHECK(access(path, F_OK) != 0);
    path_join(path, sizeof path, dir, "wake/12.1");
    CHECK(access(path, F_OK) != 0);
    path_join(path, sizeof path, dir, "wake/123.0");
    CHECK(access(path, F_OK) == 0);
    close(a);
    close(b);
    close(c);
}

/* A driver may keep them beside its directory: wakers and sleepers find them there, and nothing is
 * left in the end. */
TEST(fifos_lie_beside_the_directory)
{
    char dir[512], beside[600], inside[600];
    rsti_waker_t *waker = NULL;
    make_dir(dir, sizeof dir, "beside");
    snprintf(beside, sizeof beside, "%s.wake", dir);
    snprintf(inside, sizeof inside, "%s/wake", dir);
    CHECK_EQ(rsti_wake_dir_move_beside(dir), 0);
    CHECK(access(inside, F_OK) != 0);
    const int fd = rsti_wake_fifo_create(dir, 7, 1);
    CHECK(fd >= 0);
    CHECK(is_fifo(beside, "7.1"));
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    rsti_waker_wake(waker, 7, 1);
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NS_PER_S), 1);
    rsti_wake_fifo_remove_client(dir, 7);
    CHECK(!is_fifo(beside, "7.1"));
    const int left = rsti_wake_fifo_create(dir, 8, 1);
    close(left);
    CHECK_EQ(mkdir(inside, 0700), 0); /* the next driver: what the last one left is removed */
    CHECK_EQ(rsti_wake_dir_move_beside(dir), 0);
    CHECK(!is_fifo(beside, "8.1"));
    CHECK_EQ(rsti_wake_dir_remove_beside(dir), 1);
    CHECK_EQ(rsti_wake_dir_remove_beside(dir), 0);
    CHECK(access(beside, F_OK) != 0);
    rsti_waker_destroy(waker);
    close(fd);
}

TEST(other_file_types_are_not_written)
{
    char dir[512], path[600];
    struct stat status;
    rsti_waker_t *waker = NULL;
    make_dir(dir, sizeof dir, "file");
    path_join(path, sizeof path, dir, "wake/1.0");
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    close(fd);
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    rsti_waker_wake(waker, 1, 0);
    CHECK_EQ(stat(path, &status), 0);
    CHECK_EQ(status.st_size, 0);
    rsti_waker_destroy(waker);
    temp_path(dir, sizeof dir, "absent");
    CHECK(rsti_wake_fifo_create(dir, 1, 0) < 0);
    CHECK(strstr(rst_last_error_text(), "1.0") != NULL);
}

/* The name stands for any reason why the FIFO cannot be opened, such as too many open files. */
TEST(agents_are_woken_without_another_descriptor)
{
    char dir[512];
    rsti_waker_t *waker = NULL;
    make_dir(dir, sizeof dir, "kept");
    const int fd = rsti_wake_fifo_create(dir, 0, 2);
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    rsti_waker_keep(waker, 2, fd);
    rsti_wake_fifo_remove(dir, 0, 2);
    rsti_waker_wake(waker, 0, 1);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 0);
    rsti_waker_wake(waker, 0, 2);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 1);
    rsti_waker_keep(waker, 2, -1);
    rsti_waker_wake(waker, 0, 2);
    CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 0);
    rsti_waker_destroy(waker);
    close(fd);
}

static void limit_descriptors(rlim_t most)
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = most;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A driver that may have 64 descriptors stopped for good when 57 of them were ends of FIFOs that
 * nobody read any more. */
TEST(few_descriptors_are_kept_of_few)
{
    char dir[512];
    rsti_waker_t *waker = NULL;
    struct rlimit before;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    make_dir(dir, sizeof dir, "few");
    limit_descriptors(64);
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    const int open_before = count_open_descriptors();
    for (int client = 1; client < 700; client++) {
        const int fd = rsti_wake_fifo_create(dir, client, 1);
        CHECK(fd >= 0);
        rsti_waker_wake(waker, client, 1);
        CHECK_EQ(rsti_wake_fifo_wait(fd, 0), 1);
        close(fd);
        rsti_wake_fifo_remove(dir, client, 1);
        CHECK(count_open_descriptors() - open_before <= 8);
    }
    rsti_waker_forget_client(waker, 699);
    CHECK(count_open_descriptors() - open_before <= 7);
    limit_descriptors(before.rlim_cur);
    rsti_waker_destroy(waker);
    CHECK_EQ(count_open_descriptors(), open_before);
}

/* Where there is no descriptor left, a sleeper is woken through the place of another one. */
TEST(a_sleeper_is_woken_without_a_free_descriptor)
{
    enum {
        SLEEPERS = 4
    };
    char dir[512];
    int fds[SLEEPERS];
    rsti_waker_t *waker = NULL;
    struct rlimit before;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    make_dir(dir, sizeof dir, "none");
    CHECK_EQ(rsti_waker_create(&waker, dir), 0);
    for (int i = 0; i < SLEEPERS; i++) {
        fds[i] = rsti_wake_fifo_create(dir, 1, i);
    }
    rsti_waker_wake(waker, 1, 0);
    CHECK_EQ(rsti_wake_fifo_wait(fds[0], 0), 1);
    const int next = dup(fds[0]);
    close(next);
    limit_descriptors((rlim_t)next);
    for (int i = SLEEPERS - 1; i >= 0; i--) {
        rsti_waker_wake(waker, 1, i);
        CHECK_EQ(rsti_wake_fifo_wait(fds[i], 0), 1);
    }
    limit_descriptors(before.rlim_cur);
    rsti_waker_destroy(waker);
    for (int i = 0; i < SLEEPERS; i++) {
        close(fds[i]);
    }
}

TEMP_DIR_MAIN(RUN(few_descriptors_are_kept_of_few),
    RUN(a_sleeper_is_woken_without_a_free_descriptor), RUN(wakes_and_drains),
    RUN(wakes_another_process), RUN(vanished_sleeper_harms_no_waker),
    RUN(cache_is_bounded_and_right), RUN(fifos_of_a_dead_client_go),
    RUN(fifos_lie_beside_the_directory), RUN(other_file_types_are_not_written),
    RUN(agents_are_woken_without_another_descriptor))
