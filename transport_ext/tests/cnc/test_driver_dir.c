/* test_driver_dir.c: one driver per directory; its death is detected at once whatever killed it;
 * the files that it left are cleaned, and no other file is touched. */
#include "cnc/cnc_file.h"
#include "cnc/driver_dir.h"
#include "concurrent/error_log.h"
#include "util/error.h"

#include "tests/check.h"
#include "tests/cnc/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#define TIMEOUT_MS 10000
#define NOW_MS INT64_C(1700000000000)

static const rsti_cnc_params_t small_cnc = {
    .to_driver_length = 4096 + RSTI_RB_TRAILER_LENGTH,
    .to_clients_length = 4096 + RSTI_BROADCAST_TRAILER_LENGTH,
    .counter_values_length = 4096,
    .error_log_length = 4096,
    .client_liveness_timeout_ns = 1,
    .start_timestamp_ms = NOW_MS,
    .file_page_size = 4096,
};

/* Makes a ready cnc.dat; is_ours false: as an Aeron driver would leave it. */
static bool make_cnc(const char *dir, int64_t heartbeat_ms, bool is_ours, const char *error)
{
    rsti_cnc_t cnc;
    rsti_mpsc_rb_t ring;
    if (rsti_cnc_create(&cnc, dir, &small_cnc) != 0
        || rsti_rb_init(&ring.rb, cnc.to_driver, cnc.to_driver_length) != 0) {
        return false;
    }
    rsti_mpsc_rb_set_heartbeat(&ring, heartbeat_ms);
    if (!is_ours) {
        memset(cnc.ext, 0, sizeof *cnc.ext);
    }
    if (error != NULL) {
        rsti_error_log_t log;
        if (rsti_error_log_init(&log, cnc.error_log, cnc.error_log_length, NULL) != 0) {
            return false;
        }
        rsti_error_log_record(&log, RST_ESYS, error, NOW_MS);
        rsti_error_log_fini(&log);
    }
    rsti_cnc_publish(&cnc);
    rsti_cnc_close(&cnc);
    return true;
}

static bool exists(const char *dir, const char *name)
{
    char path[512];
    struct stat status;
    path_join(path, sizeof path, dir, name);
    return lstat(path, &status) == 0;
}

static void touch(const char *dir, const char *name)
{
    char path[512];
    path_join(path, sizeof path, dir, name);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd >= 0) {
        close(fd);
    }
}

/* N27 */
TEST(acquire_makes_a_private_directory)
{
    char dir[512];
    struct stat status;
    int lock_fd = -1;
    temp_path(dir, sizeof dir, "fresh");
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_ABSENT);
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    CHECK_EQ(stat(dir, &status), 0);
    CHECK_EQ(status.st_mode & 07777, 0700);
    CHECK(exists(dir, "publications") && exists(dir, "images") && exists(dir, "wake"));
    CHECK_EQ(fstat(lock_fd, &status), 0);
    CHECK_EQ(status.st_mode & 07777, 0600);
    CHECK((fcntl(lock_fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_ALIVE);

    int second = -1;
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &second), -RST_EINUSE);
    char pid[32];
    snprintf(pid, sizeof pid, "pid %ld", (long)getpid());
    CHECK(strstr(rst_last_error_text(), pid) != NULL);
    CHECK(strstr(rst_last_error_text(), dir) != NULL);
    int32_t removed = 0;
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), -RST_EINUSE);
    CHECK_EQ(removed, 0);

    rsti_driver_dir_release(dir, lock_fd, true);
    CHECK(access(dir, F_OK) != 0);
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_ABSENT);
}

/* N27 */
TEST(release_without_removal_leaves_a_dead_driver)
{
    char dir[512];
    int lock_fd = -1;
    int32_t removed = 0;
    temp_path(dir, sizeof dir, "kept");
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    CHECK(make_cnc(dir, NOW_MS, true, NULL));
    rsti_driver_dir_release(dir, lock_fd, false);
    /* The heartbeat is fresh, but no process holds the lock. */
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_DEAD);
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), 0);
    CHECK_EQ(removed, 1);
    CHECK(access(dir, F_OK) != 0);
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), 0);
    CHECK_EQ(removed, 0);
}

/* A child takes the directory, reports it through a pipe, and is killed. */
static pid_t start_driver(const char *dir)
{
    int ready[2];
    if (pipe(ready) != 0) {
        return -1;
    }
    const pid_t child = fork();
    if (child == 0) {
        int lock_fd = -1;
        close(ready[0]);
        char answer = rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd) == 0
                && make_cnc(dir, NOW_MS, true, NULL)
            ? 'y'
            : 'n';
        if (write(ready[1], &answer, 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    char answer = 'n';
    const bool is_ready = read(ready[0], &answer, 1) == 1 && answer == 'y';
    close(ready[0]);
    if (!is_ready && child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        return -1;
    }
    return child;
}

static void kill_driver(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* N27 */
TEST(kill_is_seen_at_once_and_the_next_driver_takes_over)
{
    char dir[512];
    temp_path(dir, sizeof dir, "killed");
    const pid_t child = start_driver(dir);
    CHECK(child > 0);
    const int fd = rsti_driver_lock_open(dir);
    CHECK(fd >= 0);
    CHECK(rsti_driver_lock_is_held(fd));
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_ALIVE);
    touch(dir, "publications/1.logbuffer");
    touch(dir, "images/2.logbuffer");
    touch(dir, "wake/3.0");
    touch(dir, "loss-report.dat");
    kill_driver(child);
    CHECK(!rsti_driver_lock_is_held(fd));
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_DEAD);

    int lock_fd = -1;
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    CHECK(!exists(dir, "cnc.dat") && !exists(dir, "loss-report.dat"));
    CHECK(!exists(dir, "publications/1.logbuffer") && !exists(dir, "images/2.logbuffer"));
    CHECK(!exists(dir, "wake/3.0"));
    CHECK(exists(dir, "publications") && exists(dir, "images") && exists(dir, "wake"));
    CHECK(rsti_driver_lock_is_held(fd)); /* the lock file still existed */
    rsti_fd_close(fd);
    rsti_driver_dir_release(dir, lock_fd, true);
}

TEST(clean_counts_what_it_removes)
{
    char dir[512];
    int32_t removed = 0;
    temp_path(dir, sizeof dir, "cleaned");
    const pid_t child = start_driver(dir);
    CHECK(child > 0);
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), -RST_EINUSE);
    touch(dir, "publications/1.logbuffer");
    touch(dir, "images/2.logbuffer");
    kill_driver(child);
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), 0);
    CHECK_EQ(removed, 3);
    CHECK(access(dir, F_OK) != 0);
}

TEST(clean_leaves_files_that_no_driver_makes)
{
    static const char *const kept[] = {
        "publications/notes.txt", "images/7.logbuffer.bak", "wake/.logbuffer", "wake/8.", "mine"};
    char dir[512];
    int32_t removed = 0;
    int lock_fd = -1;
    temp_path(dir, sizeof dir, "shared");
    const pid_t child = start_driver(dir);
    CHECK(child > 0);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        touch(dir, kept[i]);
    }
    touch(dir, "publications/1.logbuffer");
    touch(dir, "wake/1.0");
    kill_driver(child);
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), 0);
    CHECK_EQ(removed, 3);
    CHECK(!exists(dir, "publications/1.logbuffer") && !exists(dir, "wake/1.0"));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        CHECK(exists(dir, kept[i]));
    }
    char path[600];
    path_join(path, sizeof path, dir, "mine");
    CHECK_EQ(unlink(path), 0); /* the next driver can live beside the others */
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    rsti_driver_dir_release(dir, lock_fd, true);
    CHECK(exists(dir, "publications/notes.txt"));
}

/* A process that probes in a tight loop must not make a starting driver fail. */
TEST(askers_do_not_disturb_a_start)
{
    char dir[512];
    int lock_fd = -1;
    temp_path(dir, sizeof dir, "asked");
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    rsti_driver_dir_release(dir, lock_fd, false);
    const pid_t asker = fork();
    if (asker == 0) {
        const int fd = rsti_driver_lock_open(dir);
        for (;;) {
            (void)rsti_driver_lock_is_held(fd);
        }
    }
    int failures = 0;
    for (int i = 0; i < 200; i++) {
        failures += rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd) != 0;
        rsti_driver_dir_release(dir, lock_fd, false);
        lock_fd = -1;
    }
    kill(asker, SIGKILL);
    waitpid(asker, NULL, 0);
    CHECK_EQ(failures, 0);
}

/* N27 */
/* N27 */
/* Many drivers start at once, again and again: at any time at most one has the directory, and each
 * round one gets it, although the loser may see the directory removed during its start. */
TEST(racing_starters_exclude_each_other)
{
    enum {
        STARTERS = 4,
        ROUNDS = 25
    };
    char dir[512], proof[512];
    pid_t starters[STARTERS];
    temp_path(dir, sizeof dir, "raced");
    temp_path(proof, sizeof proof, "raced.proof");
    for (int i = 0; i < STARTERS; i++) {
        starters[i] = fork();
        if (starters[i] == 0) {
            int won = 0;
            for (int round = 0; round < ROUNDS; round++) {
                int lock_fd = -1;
                const int result = rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd);
                if (result == 0) {
                    const int fd = open(proof, O_WRONLY | O_CREAT | O_EXCL, 0600);
                    if (fd < 0) {
                        _exit(100); /* two at once */
                    }
                    close(fd);
                    unlink(proof);
                    won++;
                } else if (result != -RST_EINUSE) {
                    fprintf(stderr, "%s\n", rst_last_error_text());
                    _exit(101);
                }
                rsti_driver_dir_release(dir, lock_fd, true);
            }
            _exit(won > 0 ? 0 : 102);
        }
    }
    int failures = 0;
    for (int i = 0; i < STARTERS; i++) {
        int status = 0;
        waitpid(starters[i], &status, 0);
        failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
            fprintf(stderr, "starter ended with %d\n", WEXITSTATUS(status));
        }
    }
    CHECK_EQ(failures, 0);
    CHECK(access(dir, F_OK) != 0);
}

/* The process of an embedded driver forks a worker and dies: the worker must not keep the driver
 * alive. */
TEST(forked_child_lets_go_of_the_lock)
{
    char dir[512];
    int ready[2];
    temp_path(dir, sizeof dir, "forked");
    CHECK_EQ(pipe(ready), 0);
    const pid_t driver = fork();
    if (driver == 0) {
        int lock_fd = -1;
        if (rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd) != 0
            || !make_cnc(dir, NOW_MS, true, NULL)) {
            _exit(1);
        }
        const pid_t worker = fork();
        if (worker == 0) {
            /* A handle of the parent's driver: the child closes it and must remove nothing. */
            rsti_driver_dir_release(dir, lock_fd, true);
            const pid_t self = getpid();
            if (write(ready[1], &self, sizeof self) != (ssize_t)sizeof self) {
                _exit(1);
            }
            pause();
            _exit(0);
        }
        for (;;) {
            pause();
        }
    }
    pid_t worker = 0;
    CHECK_EQ(read(ready[0], &worker, sizeof worker), sizeof worker);
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_ALIVE);
    kill_driver(driver);
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_DEAD);
    CHECK_EQ(kill(worker, 0), 0);
    kill(worker, SIGKILL);
    close(ready[0]);
    close(ready[1]);
}

/* N27 */
TEST(foreign_driver_is_seen_by_its_heartbeat)
{
    char dir[512];
    int lock_fd = -1;
    int32_t removed = 0;
    temp_path(dir, sizeof dir, "foreign");
    CHECK_EQ(mkdir(dir, 0755), 0);
    CHECK(make_cnc(dir, NOW_MS - TIMEOUT_MS + 1, false, NULL));
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_FOREIGN);
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), -RST_EINUSE);
    CHECK(strstr(rst_last_error_text(), "not rstream's") != NULL);
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), -RST_EINUSE);
    CHECK(!exists(dir, "driver.lock")); /* otherwise its clients would take it for dead */
    CHECK(exists(dir, "cnc.dat"));
    CHECK_EQ(rsti_driver_lock_open(dir), -RST_ENODRIVER);
    /* At the timeout it counts as dead. */
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS + 1), RSTI_DRIVER_DEAD);
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS + 1, &lock_fd), 0);
    rsti_driver_dir_release(dir, lock_fd, true);
}

/* N27 */
TEST(ended_foreign_driver_is_dead)
{
    char dir[512];
    temp_path(dir, sizeof dir, "ended");
    CHECK_EQ(mkdir(dir, 0700), 0);
    CHECK(make_cnc(dir, -1, false, NULL));
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_DEAD);
}

static bool find_error_log(char *path, size_t size)
{
    DIR *stream = opendir(temp_root);
    const struct dirent *entry;
    bool found = false;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (strncmp(entry->d_name, "faulty-20", 9) == 0
            && strstr(entry->d_name, "-error.log") != NULL) {
            path_join(path, size, temp_root, entry->d_name);
            found = true;
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return found;
}

/* N27 */
TEST(error_log_is_saved_beside)
{
    char dir[512], with_slash[520], path[600], text[1024];
    int lock_fd = -1;
    temp_path(dir, sizeof dir, "faulty");
    path_join(with_slash, sizeof with_slash, dir, "");
    CHECK_EQ(mkdir(dir, 0700), 0);
    CHECK(make_cnc(dir, 1, true, "something went wrong"));
    CHECK_EQ(rsti_driver_dir_acquire(with_slash, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    rsti_driver_dir_release(dir, lock_fd, true);
    CHECK(find_error_log(path, sizeof path));
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    CHECK(strstr(text, "something went wrong") != NULL);
    CHECK(strstr(text, "2023-11-14-22-13-20") != NULL);
}

TEST(other_directories_are_refused)
{
    char dir[512], link_path[512];
    int lock_fd = -1;
    int32_t removed = 0;
    temp_path(dir, sizeof dir, "photos");
    CHECK_EQ(mkdir(dir, 0755), 0);
    CHECK_EQ(rsti_driver_dir_check(dir), 0);
    touch(dir, "holiday.jpg");
    CHECK_EQ(rsti_driver_dir_check(dir), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "it contains holiday.jpg; move that away") != NULL);
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "holiday.jpg") != NULL);
    CHECK_EQ(rsti_driver_dir_clean(dir, TIMEOUT_MS, NOW_MS, &removed), -RST_EINVAL);
    CHECK(exists(dir, "holiday.jpg") && !exists(dir, "driver.lock"));

    temp_path(link_path, sizeof link_path, "link");
    CHECK_EQ(symlink(dir, link_path), 0);
    CHECK_EQ(rsti_driver_dir_acquire(link_path, TIMEOUT_MS, NOW_MS, &lock_fd), -RST_EACCESS);
    CHECK_EQ(rsti_driver_dir_check(link_path), -RST_EACCESS);
    CHECK_EQ(rsti_driver_lock_open(link_path), -RST_EACCESS);

    temp_path(dir, sizeof dir, "open-to-all");
    CHECK_EQ(mkdir(dir, 0700), 0);
    CHECK_EQ(chmod(dir, 0777), 0);
    CHECK_EQ(rsti_driver_dir_check(dir), -RST_EACCESS);
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), -RST_EACCESS);

    temp_path(dir, sizeof dir, "missing/parent");
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), -RST_ESYS);
    CHECK(strstr(rst_last_error_text(), "missing/parent") != NULL);

    if (geteuid() == 0) {
        temp_path(dir, sizeof dir, "somebody-else");
        CHECK_EQ(mkdir(dir, 0700), 0);
        CHECK_EQ(chown(dir, 12345, 12345), 0);
        CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), -RST_EACCESS);
        CHECK(strstr(rst_last_error_text(), "12345") != NULL);
    }
}

TEST(check_of_a_missing_directory_looks_at_its_parents)
{
    char path[512];
    temp_path(path, sizeof path, "not/there/yet");
    CHECK_EQ(rsti_driver_dir_check(path), 0);
    CHECK(access(path, F_OK) != 0);
    CHECK_EQ(rsti_driver_dir_check("not-there-either"), 0);
    CHECK_EQ(rsti_driver_dir_check("/dev/null/x"), -RST_EACCESS);
    if (geteuid() != 0) { /* root may write everywhere */
        CHECK_EQ(rsti_driver_dir_check("/etc/x/y"), -RST_EACCESS);
        CHECK(strstr(rst_last_error_text(), "/etc/x/y cannot be made: /etc is no") != NULL);
    }
}

/* Links inside are removed, their targets stay. */
TEST(cleaning_follows_no_links)
{
    char dir[512], outside[512], inside[560];
    int lock_fd = -1;
    temp_path(outside, sizeof outside, "outside");
    CHECK_EQ(mkdir(outside, 0700), 0);
    touch(outside, "precious");
    temp_path(dir, sizeof dir, "linked");
    CHECK_EQ(mkdir(dir, 0700), 0);
    path_join(inside, sizeof inside, dir, "publications");
    CHECK_EQ(symlink(outside, inside), 0);
    path_join(inside, sizeof inside, outside, "precious");
    char link_path[560];
    path_join(link_path, sizeof link_path, dir, "cnc.dat");
    CHECK_EQ(symlink(inside, link_path), 0);
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    CHECK(exists(outside, "precious"));
    rsti_driver_dir_release(dir, lock_fd, true);
    CHECK(exists(outside, "precious"));
}

/* The directory was removed by hand and another driver made it anew. */
TEST(release_leaves_a_successor_alone)
{
    char dir[512], moved[512];
    int first = -1, second = -1;
    temp_path(dir, sizeof dir, "replaced");
    temp_path(moved, sizeof moved, "replaced.old");
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &first), 0);
    CHECK_EQ(rename(dir, moved), 0);
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &second), 0);
    CHECK(make_cnc(dir, NOW_MS, true, NULL));
    rsti_driver_dir_release(dir, first, true);
    CHECK(exists(dir, "cnc.dat") && exists(dir, "driver.lock"));
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_ALIVE);
    rsti_driver_dir_release(dir, second, true);
}

TEST(hostile_cnc_does_not_confuse_a_probe)
{
    char dir[512], path[560];
    temp_path(dir, sizeof dir, "hostile");
    CHECK_EQ(mkdir(dir, 0700), 0);
    path_join(path, sizeof path, dir, "cnc.dat");
    int32_t header[32];
    for (int step = 0; step < 4; step++) {
        memset(header, step == 1 ? 0xFF : 0x7F, sizeof header);
        const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        CHECK(fd >= 0);
        CHECK_EQ(write(fd, header, step == 0 ? 3 : sizeof header), step == 0 ? 3 : sizeof header);
        if (step == 3) {
            CHECK_EQ(ftruncate(fd, INT64_C(0x80000000)), 0);
        }
        close(fd);
        CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_DEAD);
    }
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkfifo(path, 0600), 0); /* must not block */
    CHECK_EQ(rsti_driver_dir_probe(dir, TIMEOUT_MS, NOW_MS), RSTI_DRIVER_DEAD);
    int lock_fd = -1;
    CHECK_EQ(rsti_driver_dir_acquire(dir, TIMEOUT_MS, NOW_MS, &lock_fd), 0);
    rsti_driver_dir_release(dir, lock_fd, true);
}

TEST(default_directory)
{
    char path[RSTI_PATH_MAX], short_path[8];
    CHECK_EQ(setenv("RSTREAM_DIR", "/somewhere/else", 1), 0);
    CHECK_EQ(rsti_driver_dir_default(path, sizeof path), 0);
    CHECK_STR(path, "/somewhere/else");
    CHECK_EQ(rsti_driver_dir_default(short_path, sizeof short_path), -RST_EINVAL);
    CHECK_EQ(setenv("RSTREAM_DIR", "", 1), 0);
    CHECK_EQ(rsti_driver_dir_default(path, sizeof path), 0);
    CHECK(strstr(path, "/rstream-") != NULL);
    CHECK(rsti_storage_usable(temp_root) > 0);
    CHECK_EQ(rsti_storage_usable("/nowhere/at/all"), INT64_MAX);
}

TEMP_DIR_MAIN(RUN(acquire_makes_a_private_directory),
    RUN(release_without_removal_leaves_a_dead_driver),
    RUN(kill_is_seen_at_once_and_the_next_driver_takes_over), RUN(clean_counts_what_it_removes),
    RUN(clean_leaves_files_that_no_driver_makes), RUN(askers_do_not_disturb_a_start),
    RUN(racing_starters_exclude_each_other), RUN(forked_child_lets_go_of_the_lock),
    RUN(foreign_driver_is_seen_by_its_heartbeat), RUN(ended_foreign_driver_is_dead),
    RUN(error_log_is_saved_beside), RUN(other_directories_are_refused),
    RUN(check_of_a_missing_directory_looks_at_its_parents), RUN(cleaning_follows_no_links),
    RUN(release_leaves_a_successor_alone), RUN(hostile_cnc_does_not_confuse_a_probe),
    RUN(default_directory))
