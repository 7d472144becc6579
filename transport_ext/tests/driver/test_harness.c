/* The harness itself: it removes the directories of earlier test programs that were killed. */
#include "tests/driver/harness.h"

#include <sys/wait.h>

/* Opens a driver in a process that ends without closing it, and returns its process id. */
static pid_t leave_a_driver(void)
{
    const pid_t child = fork();
    if (child == 0) {
        const harness_t *h = harness_open();
        _exit(access(h->dir, F_OK));
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? child : -1;
}

/* A driver directory of a living process, and a directory with a longer name, are not touched. */
TEST(directories_of_dead_processes_are_removed)
{
    char left[128], alive[128], longer[160];
    const pid_t dead = leave_a_driver();
    CHECK(dead > 0);
    harness_dir(left, sizeof left, (int)dead, 0);
    harness_dir(alive, sizeof alive, (int)getpid(), 9);
    snprintf(longer, sizeof longer, "%s-of-another", left);
    CHECK_EQ(mkdir(alive, 0700), 0);
    CHECK_EQ(mkdir(longer, 0700), 0);
    harness_t *h = harness_open();
    const bool was_left = access(left, F_OK) == 0;
    const bool keeps_others = rmdir(alive) == 0 && rmdir(longer) == 0;
    harness_close(h);
    CHECK(!was_left);
    CHECK(keeps_others);
}

CHECK_MAIN(RUN(directories_of_dead_processes_are_removed))
