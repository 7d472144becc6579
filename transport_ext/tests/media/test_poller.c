/* test_poller.c: a poller reports readable descriptors by tag, is woken by its wake FIFO without a
 * tag, and obeys its timeout. Pipes stand in for sockets. */
#include "media/media.h"
#include "util/clock.h"

#include "tests/check.h"

#include <fcntl.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_clock_nano_time(&clock);
}

TEST(tells_readable_ones_by_tag)
{
    int a[2], b[2];
    int tag_a = 0, tag_b = 0;
    void *tags[4];
    rsti_poller_t poller;
    CHECK_EQ(pipe2(a, O_NONBLOCK | O_CLOEXEC), 0);
    CHECK_EQ(pipe2(b, O_NONBLOCK | O_CLOEXEC), 0);
    CHECK_EQ(rsti_poller_open(&poller, -1), 0);
    CHECK_EQ(rsti_poller_add(&poller, a[0], &tag_a), 0);
    CHECK_EQ(rsti_poller_add(&poller, b[0], &tag_b), 0);
    CHECK_EQ(rsti_poller_wait(&poller, 0, tags, 4), 0);
    CHECK_EQ(write(b[1], "x", 1), 1);
    CHECK_EQ(rsti_poller_wait(&poller, RSTI_NO_DEADLINE, tags, 4), 1);
    CHECK(tags[0] == &tag_b);
    /* Level triggered: an unread descriptor is reported again; those beyond the limit come next
     * time. */
    CHECK_EQ(write(a[1], "x", 1), 1);
    CHECK_EQ(rsti_poller_wait(&poller, 0, tags, 4), 2);
    CHECK_EQ(rsti_poller_wait(&poller, 0, tags, 1), 1);
    rsti_poller_remove(&poller, b[0]);
    CHECK_EQ(rsti_poller_wait(&poller, 0, tags, 4), 1);
    CHECK(tags[0] == &tag_a);
    rsti_poller_close(&poller);
    rsti_poller_close(&poller);
    for (int i = 0; i < 2; i++) {
        close(a[i]);
        close(b[i]);
    }
}

TEST(wake_fd_ends_the_wait_and_is_drained)
{
    int wake[2], other[2];
    int tag = 0;
    void *tags[1];
    rsti_poller_t poller;
    CHECK_EQ(pipe2(wake, O_NONBLOCK | O_CLOEXEC), 0);
    CHECK_EQ(pipe2(other, O_NONBLOCK | O_CLOEXEC), 0);
    CHECK_EQ(rsti_poller_open(&poller, wake[0]), 0);
    CHECK_EQ(rsti_poller_add(&poller, other[0], &tag), 0);
    for (int i = 0; i < 600; i++) {
        CHECK_EQ(write(wake[1], "w", 1), 1);
    }
    /* A caller with room for one tag gets the socket, and the wake fd is drained as well. */
    CHECK_EQ(write(other[1], "x", 1), 1);
    CHECK_EQ(rsti_poller_wait(&poller, RSTI_NO_DEADLINE, tags, 1), 1);
    CHECK(tags[0] == &tag);
    uint8_t byte;
    CHECK(read(wake[0], &byte, 1) < 0);
    CHECK_EQ(read(other[0], &byte, 1), 1);
    CHECK_EQ(write(wake[1], "w", 1), 1);
    CHECK_EQ(rsti_poller_wait(&poller, RSTI_NO_DEADLINE, tags, 0), 0);
    rsti_poller_close(&poller);
    for (int i = 0; i < 2; i++) {
        close(wake[i]);
        close(other[i]);
    }
}

TEST(waits_at_least_the_timeout)
{
    rsti_poller_t poller;
    void *tags[1];
    CHECK_EQ(rsti_poller_open(&poller, -1), 0);
    const int64_t begin_ns = now_ns();
    CHECK_EQ(rsti_poller_wait(&poller, 3 * RSTI_NS_PER_MS, tags, 1), 0);
    const int64_t waited_ns = now_ns() - begin_ns;
    CHECK(waited_ns >= 3 * RSTI_NS_PER_MS);
    CHECK_EQ(rsti_poller_wait(&poller, -5, tags, 1), 0);
    rsti_poller_close(&poller);
}

TEST(bad_descriptor_is_an_error)
{
    rsti_poller_t poller;
    CHECK(rsti_poller_open(&poller, 1000000) < 0);
    CHECK_EQ(poller.epoll_fd, -1);
    CHECK_EQ(rsti_poller_open(&poller, -1), 0);
    CHECK(rsti_poller_add(&poller, 1000000, NULL) < 0);
    rsti_poller_close(&poller);
}

CHECK_MAIN(RUN(tells_readable_ones_by_tag), RUN(wake_fd_ends_the_wait_and_is_drained),
    RUN(waits_at_least_the_timeout), RUN(bad_descriptor_is_an_error))
