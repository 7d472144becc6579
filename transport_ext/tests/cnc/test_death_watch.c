/* test_death_watch.c: the death of a process is told at once, that of a stranger with its number
 * never. */
#include "cnc/death_watch.h"
#include "cnc/driver_dir.h"
#include "util/error.h"

#include "tests/check.h"
#include "tests/cnc/temp_dir.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define CLIENT 4711

static void make_dir(char *dir, size_t size, const char *name)
{
    char wake[600];
    temp_path(dir, size, name);
    (void)mkdir(dir, 0700);
    path_join(wake, sizeof wake, dir, "wake");
    (void)mkdir(wake, 0700);
}

static bool has_name(const char *dir)
{
    char path[600];
    path_join(path, sizeof path, dir, "wake/4711.life");
    return access(path, F_OK) == 0;
}

typedef struct child_t {
    pid_t pid;
    rsti_process_t process; /* as it sees itself */
} child_t;

/* A process that holds the FIFO of the client if it is told to, and lives until it is killed. */
static void start_child(child_t *child, const char *held_dir)
{
    int pipe_fds[2];
    CHECK_EQ(pipe(pipe_fds), 0);
    (void)fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        const rsti_process_t self = rsti_process_self();
        if (held_dir != NULL && rsti_life_hold(held_dir, CLIENT, &self) < 0) {
            _exit(1);
        }
        (void)!write(pipe_fds[1], &self, sizeof self);
        for (;;) {
            (void)pause();
        }
    }
    CHECK_EQ(read(pipe_fds[0], &child->process, sizeof child->process), sizeof child->process);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void kill_child(const child_t *child)
{
    (void)kill(child->pid, SIGKILL);
    CHECK_EQ(waitpid(child->pid, NULL, 0), child->pid);
}

/* Whether a thread that sleeps on the watch is woken. */
static bool wakes(const rsti_death_watch_t *watch)
{
    struct pollfd watched = {.fd = watch->epoll_fd, .events = POLLIN, .revents = 0};
    return poll(&watched, 1, 5000) == 1;
}

static void check_dies(rsti_death_watch_t *watch, const child_t *child, int *fd)
{
    int64_t ids[4];
    CHECK_EQ(rsti_death_watch_poll(watch, ids, 4), 0);
    kill_child(child);
    CHECK(wakes(watch));
    CHECK_EQ(rsti_death_watch_poll(watch, ids, 4), 1);
    CHECK_EQ(ids[0], CLIENT);
    rsti_death_watch_remove(watch, fd);
    CHECK_EQ(*fd, -1);
    CHECK_EQ(rsti_death_watch_poll(watch, ids, 4), 0);
    rsti_death_watch_remove(watch, fd); /* does nothing */
}

TEST(a_process_knows_itself)
{
    const rsti_process_t self = rsti_process_self();
    CHECK_EQ(self.pid, getpid());
    CHECK(self.start_time > 0);
    CHECK(self.pid_namespace > 0);
    CHECK_EQ(rsti_process_start_time(self.pid), self.start_time);
    CHECK_EQ(rsti_process_start_time(INT64_C(4194304) + 7), 0); /* above every pid of Linux */
    child_t child;
    start_child(&child, NULL);
    CHECK_EQ(child.process.pid, child.pid);
    CHECK_EQ(child.process.pid_namespace, self.pid_namespace);
    CHECK_EQ(rsti_process_start_time(child.pid), child.process.start_time);
    kill_child(&child);
}

TEST(pids_are_compared_only_in_one_namespace)
{
    const rsti_process_t self = {.pid = 10, .start_time = 20, .pid_namespace = 30};
    static const struct {
        rsti_process_t told;
        bool is_comparable;
    } rows[] = {
        {{11, 21, 30}, true},
        {{11, 21, 31}, false},
        {{11, 21, 0}, false},
        {{11, 0, 30}, false},
        {{0, 21, 30}, false},
        {{-11, 21, 30}, false},
        {{INT64_MAX, 21, 30}, false},
        {{11, -21, 30}, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_EQ(rsti_process_is_comparable(&rows[i].told, &self), rows[i].is_comparable);
    }
    const rsti_process_t unknown = {.pid = 10};
    const rsti_process_t told = {.pid = 11};
    CHECK(!rsti_process_is_comparable(&told, &unknown));
}

TEST(the_death_of_a_process_is_told)
{
    char dir[512];
    rsti_death_watch_t watch;
    int fd;
    make_dir(dir, sizeof dir, "process");
    CHECK_EQ(rsti_death_watch_open(&watch), 0);
    child_t child;
    start_child(&child, dir);
    CHECK(has_name(dir));
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &child.process, &fd), RSTI_WATCHED_PROCESS);
    CHECK(fd >= 0);
    CHECK(!has_name(dir)); /* not needed any more */
    check_dies(&watch, &child, &fd);
    rsti_death_watch_close(&watch);
}

/* The number of a dead client may name another process now, and in another container it always
 * does. Then only the held FIFO counts. */
TEST(a_stranger_with_its_number_is_not_watched)
{
    for (int row = 0; row < 2; row++) {
        char dir[512];
        rsti_death_watch_t watch;
        int fd;
        make_dir(dir, sizeof dir, row == 0 ? "start" : "namespace");
        CHECK_EQ(rsti_death_watch_open(&watch), 0);
        child_t child;
        start_child(&child, dir);
        rsti_process_t told = child.process;
        told.start_time += row == 0;
        told.pid_namespace += row == 1;
        CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &told, &fd), RSTI_WATCHED_HOLD);
        CHECK(!has_name(dir));
        check_dies(&watch, &child, &fd);
        rsti_death_watch_close(&watch);
    }
}

TEST(a_client_that_died_before_the_watch_is_dead)
{
    char dir[512];
    rsti_death_watch_t watch;
    int fd;
    make_dir(dir, sizeof dir, "early");
    CHECK_EQ(rsti_death_watch_open(&watch), 0);
    child_t child;
    start_child(&child, dir);
    kill_child(&child);
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &child.process, &fd), RSTI_WATCHED_DEAD);
    CHECK_EQ(fd, -1);
    CHECK(!has_name(dir));
    rsti_death_watch_close(&watch);
}

/* Its process is known and has gone: that a child holds the FIFO does not keep it alive. */
TEST(a_dead_client_with_a_living_child_is_dead)
{
    char dir[512];
    rsti_death_watch_t watch;
    rsti_process_t told = {0};
    int fd;
    make_dir(dir, sizeof dir, "left");
    CHECK_EQ(rsti_death_watch_open(&watch), 0);
    bool is_dead = true;
    CHECK(!rsti_life_read(dir, CLIENT, &told, &is_dead));
    CHECK(!is_dead); /* it has no FIFO */
    child_t parent;
    start_child(&parent, NULL);
    const int held = rsti_life_hold(dir, CLIENT, &parent.process); /* as its child does */
    CHECK(held >= 0);
    CHECK(rsti_life_read(dir, CLIENT, &told, &is_dead));
    CHECK(!is_dead);
    CHECK_MEM(&told, &parent.process, sizeof told);
    kill_child(&parent);
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &told, &fd), RSTI_WATCHED_DEAD);
    CHECK_EQ(fd, -1);
    rsti_fd_close(held);
    close(rsti_life_hold(dir, CLIENT, &parent.process));
    CHECK(!rsti_life_read(dir, CLIENT, &told, &is_dead));
    CHECK(is_dead); /* what was written has gone with its holder */
    rsti_death_watch_close(&watch);
}

/* Never early: nothing is known, so the heartbeat decides. */
TEST(without_a_sign_nothing_is_known)
{
    char dir[512], path[600];
    rsti_death_watch_t watch;
    int fd;
    make_dir(dir, sizeof dir, "nothing");
    CHECK_EQ(rsti_death_watch_open(&watch), 0);
    const rsti_process_t unknown = {0};
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &unknown, &fd), RSTI_WATCHED_NONE);
    path_join(path, sizeof path, dir, "wake/4711.life");
    const int file = open(path, O_RDWR | O_CREAT, 0600); /* no FIFO */
    CHECK(file >= 0);
    close(file);
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &unknown, &fd), RSTI_WATCHED_NONE);
    CHECK_EQ(symlink("/dev/null", path), 0);
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &unknown, &fd), RSTI_WATCHED_NONE);
    CHECK_EQ(fd, -1);
    CHECK(!has_name(dir));
    rsti_death_watch_close(&watch);
}

/* A child of the client holds the FIFO too: late, but never early. */
TEST(a_child_of_the_client_holds_it)
{
    char dir[512];
    rsti_death_watch_t watch;
    int fd;
    int64_t ids[4];
    make_dir(dir, sizeof dir, "fork");
    CHECK_EQ(rsti_death_watch_open(&watch), 0);
    const rsti_process_t self = rsti_process_self();
    const int held = rsti_life_hold(dir, CLIENT, &self);
    CHECK(held >= 0);
    CHECK((fcntl(held, F_GETFD) & FD_CLOEXEC) != 0);
    child_t child;
    start_child(&child, NULL); /* inherits it */
    const rsti_process_t unknown = {0};
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &unknown, &fd), RSTI_WATCHED_HOLD);
    rsti_fd_close(held);
    CHECK_EQ(rsti_death_watch_poll(&watch, ids, 4), 0);
    check_dies(&watch, &child, &fd);
    rsti_death_watch_close(&watch);
}

#define SKIPPED 77

/* A process in a container: its pid 1 is not ours. */
static int run_container(const char *dir, int ready_fd)
{
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0
        || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        return SKIPPED;
    }
    const pid_t inner = fork();
    if (inner == 0) {
        if (mount("proc", "/proc", "proc", 0, NULL) != 0) {
            _exit(SKIPPED);
        }
        const rsti_process_t self = rsti_process_self();
        if (self.pid != 1 || self.start_time <= 0 || rsti_life_hold(dir, CLIENT, &self) < 0) {
            _exit(1);
        }
        (void)!write(ready_fd, &self, sizeof self);
        for (;;) {
            (void)pause();
        }
    }
    int status = 0;
    (void)waitpid(inner, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

TEST(a_process_of_another_container_is_known_by_what_it_holds)
{
    char dir[512];
    int pipe_fds[2];
    rsti_process_t told;
    make_dir(dir, sizeof dir, "container");
    CHECK_EQ(pipe(pipe_fds), 0);
    (void)fflush(NULL);
    const pid_t outer = fork();
    if (outer == 0) {
        close(pipe_fds[0]);
        _exit(run_container(dir, pipe_fds[1]));
    }
    close(pipe_fds[1]);
    const bool is_running = read(pipe_fds[0], &told, sizeof told) == (ssize_t)sizeof told;
    close(pipe_fds[0]);
    int status = 0;
    if (!is_running) {
        CHECK_EQ(waitpid(outer, &status, 0), outer);
        CHECK_EQ(WEXITSTATUS(status), SKIPPED);
        printf("skipped: no pid namespace of our own\n");
        return;
    }
    rsti_death_watch_t watch;
    int fd;
    CHECK_EQ(rsti_death_watch_open(&watch), 0);
    CHECK(told.pid_namespace != watch.self.pid_namespace);
    CHECK_EQ(rsti_death_watch_add(&watch, dir, CLIENT, &told, &fd), RSTI_WATCHED_HOLD);
    int64_t ids[4];
    CHECK_EQ(rsti_death_watch_poll(&watch, ids, 4), 0);
    char path[64];
    char text[32] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)outer, (int)outer);
    const int children = open(path, O_RDONLY);
    CHECK(children >= 0 && read(children, text, sizeof text - 1) > 0);
    close(children);
    (void)kill((pid_t)strtol(text, NULL, 10), SIGKILL);
    CHECK(wakes(&watch));
    CHECK_EQ(rsti_death_watch_poll(&watch, ids, 4), 1);
    CHECK_EQ(waitpid(outer, &status, 0), outer);
    rsti_death_watch_remove(&watch, &fd);
    rsti_death_watch_close(&watch);
}

TEMP_DIR_MAIN(RUN(a_process_knows_itself), RUN(pids_are_compared_only_in_one_namespace),
    RUN(the_death_of_a_process_is_told), RUN(a_stranger_with_its_number_is_not_watched),
    RUN(a_client_that_died_before_the_watch_is_dead), RUN(without_a_sign_nothing_is_known),
    RUN(a_dead_client_with_a_living_child_is_dead), RUN(a_child_of_the_client_holds_it),
    RUN(a_process_of_another_container_is_known_by_what_it_holds))
