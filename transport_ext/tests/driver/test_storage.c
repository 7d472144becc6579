/* test_storage.c: a driver directory without room. A log that cannot grow says so to its
 * publishers, and grows as soon as there is room again. */
#include "tests/cnc/small_fs.h"
#include "tests/driver/harness.h"

#include "cnc/file_system.h"
#include "driver/conductor/logs.h"
#include "logbuffer/appender.h"

#include <fcntl.h>

#define TERM 65536
#define SHM_SIZE ((size_t)64 << 20)

static int64_t usable_in(const harness_t *h)
{
    return rsti_storage_usable(h->dir);
}

/* Takes the whole file system but left bytes. Returns a descriptor of the file that has them. */
static int take_all_but(const harness_t *h, int64_t left)
{
    const int fd = open("/dev/shm/ballast", O_RDWR | O_CREAT, 0600);
    return fd >= 0 && posix_fallocate(fd, 0, (off_t)(usable_in(h) - left)) == 0 ? fd : -1;
}

/* A producer that writes as much as it may, and a reader that reads it at once. */
static int64_t write_all(harness_t *h, rsti_publication_t *base, rsti_appender_t *appender)
{
    static const uint8_t message[992] = {0};
    int64_t position = 0;
    for (int refused = 0; refused < 3;) {
        const rsti_iovec_t part = {message, sizeof message};
        const int64_t result = rsti_append(appender, &part, 1, sizeof message, 0);
        refused += result <= 0;
        if (result > 0) {
            position = result;
            *base->subscribers.items[0].position = position;
            refused = 0;
            advance_alive(h, MS, MS);
        }
        if (position > 6 * (int64_t)TERM) {
            break;
        }
    }
    return position;
}

static int fill_shared_memory(const char *dir)
{
    (void)dir;
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    SMALL_FS_CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, id) != NULL);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    const rsti_log_storage_t *told = &base->file.log.metadata->ext.storage;
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    const int fd = take_all_but(h, 8192);
    SMALL_FS_CHECK(fd >= 0);
    SMALL_FS_CHECK(told->needed == 0);
    const int64_t errors = counter(h, RSTI_SYSTEM_ERRORS);
    const int64_t position = write_all(h, base, &appender);
    SMALL_FS_CHECK(position > 0 && position < 2 * (int64_t)TERM);
    SMALL_FS_CHECK(told->needed == TERM);
    SMALL_FS_CHECK(told->usable == 8192);
    SMALL_FS_CHECK(counter(h, RSTI_SYSTEM_ERRORS) == errors + 1); /* however often it is tried */
    advance_alive(h, 200 * MS, MS);
    SMALL_FS_CHECK(counter(h, RSTI_SYSTEM_ERRORS) == errors + 1);
    SMALL_FS_CHECK(usable_in(h) == 8192);

    /* Room again: the limit rises without anything else happening. */
    SMALL_FS_CHECK(ftruncate(fd, 0) == 0);
    advance_alive(h, 2 * RSTI_RESERVE_RETRY_NS, MS);
    SMALL_FS_CHECK(told->needed == 0);
    SMALL_FS_CHECK(told->usable == 0);
    SMALL_FS_CHECK(write_all(h, base, &appender) > 6 * (int64_t)TERM);
    close(fd);
    harness_close(h);
    return 0;
}

TEST(a_log_that_cannot_grow_says_how_much_it_needs)
{
    CHECK_EQ(small_fs_run("/dev/shm", SHM_SIZE, fill_shared_memory), 0);
}

static int end_without_room(const char *dir)
{
    (void)dir;
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    const rsti_log_storage_t *told = &base->file.log.metadata->ext.storage;
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    const int fd = take_all_but(h, 0);
    SMALL_FS_CHECK(fd >= 0);
    (void)write_all(h, base, &appender);
    SMALL_FS_CHECK(told->needed == TERM);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, id);
    SMALL_FS_CHECK(base->life >= RSTI_LIFE_DRAINING);
    SMALL_FS_CHECK(told->needed == 0);
    close(fd);
    harness_close(h);
    return 0;
}

TEST(an_ended_log_waits_for_no_storage)
{
    CHECK_EQ(small_fs_run("/dev/shm", SHM_SIZE, end_without_room), 0);
}

CHECK_MAIN(RUN(a_log_that_cannot_grow_says_how_much_it_needs),
    RUN(an_ended_log_waits_for_no_storage))
