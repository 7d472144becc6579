/* test_map_guard.c: a file that is cut short while it is mapped does not end the process. */
#include "cnc/files.h"
#include "cnc/map_guard.h"

#include "tests/check.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define LENGTH (4 * (size_t)PAGE)

static int file_of(size_t length)
{
    const int fd = memfd_create("cut", MFD_CLOEXEC);
    return fd >= 0 && ftruncate(fd, (off_t)length) == 0 ? fd : -1;
}

TEST(a_cut_file_reads_as_zeros_and_is_marked)
{
    uint8_t *base = NULL, *other = NULL;
    const int fd = file_of(LENGTH), other_fd = file_of(LENGTH);
    CHECK_EQ(rsti_file_map(fd, LENGTH, false, "cut", &base), 0);
    CHECK_EQ(rsti_file_map(other_fd, LENGTH, true, "whole", &other), 0);
    const int64_t before = rsti_map_guard_damaged();
    memset(base, 7, LENGTH);
    CHECK_EQ(ftruncate(fd, PAGE), 0);
    CHECK_EQ(base[PAGE - 1], 7);
    CHECK(!rsti_map_guard_is_damaged(base));
    CHECK_EQ(base[3 * PAGE + 5], 0);
    base[PAGE] = 1;
    CHECK_EQ(base[PAGE], 1);
    CHECK(rsti_map_guard_is_damaged(base));
    CHECK(!rsti_map_guard_is_damaged(other));
    CHECK_EQ(rsti_map_guard_damaged(), before + 1); /* one mapping, two pages */
    CHECK_EQ(ftruncate(other_fd, 0), 0);
    CHECK_EQ(other[LENGTH - 1], 0);
    CHECK(rsti_map_guard_is_damaged(other));
    rsti_file_unmap(base, LENGTH);
    rsti_file_unmap(other, LENGTH);
    CHECK(!rsti_map_guard_is_damaged(base));
    close(fd);
    close(other_fd);
}

/* True: the bus error ended the child, by the signal or by a sanitizer's handler. */
static bool is_ended_by_bus_error(bool was_ours)
{
    const pid_t pid = fork();
    if (pid == 0) {
        uint8_t *base = NULL;
        const int fd = file_of(LENGTH);
        if (was_ours && rsti_file_map(fd, LENGTH, false, "ours", &base) == 0) {
            rsti_file_unmap(base, LENGTH);
        }
        base = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (base == MAP_FAILED || ftruncate(fd, 0) != 0) {
            _exit(1);
        }
        _exit(base[0] == 0 ? 2 : 3);
    }
    int status = 0;
    return waitpid(pid, &status, 0) == pid
        && (!WIFEXITED(status) || (WEXITSTATUS(status) != 2 && WEXITSTATUS(status) != 3));
}

TEST(other_bus_errors_end_the_process)
{
    CHECK(is_ended_by_bus_error(true)); /* the mapping was ours, and is gone */
    CHECK(is_ended_by_bus_error(false));
}

TEST(more_mappings_than_guards)
{
    static uint8_t places[RSTI_MAP_GUARDS_MAX + 10][16];
    for (size_t i = 0; i < RSTI_MAP_GUARDS_MAX + 10; i++) {
        rsti_map_guard_add(places[i], 16, true);
    }
    for (size_t i = 0; i < RSTI_MAP_GUARDS_MAX + 10; i++) {
        rsti_map_guard_remove(places[i]);
    }
    rsti_map_guard_add(places[0], 16, true);
    CHECK(!rsti_map_guard_is_damaged(places[0]));
    rsti_map_guard_remove(places[0]);
}

CHECK_MAIN(RUN(a_cut_file_reads_as_zeros_and_is_marked), RUN(other_bus_errors_end_the_process),
    RUN(more_mappings_than_guards))
