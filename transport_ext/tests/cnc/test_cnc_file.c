/* test_cnc_file.c: the CnC file has the layout of the reference, is marked ready only when it is
 * complete, and hostile files of every kind are refused without a crash. */
#include "cnc/cnc_file.h"
#include "cnc/driver_dir.h"
#include "util/bits.h"
#include "util/error.h"

#include "tests/check.h"
#include "tests/cnc/small_fs.h"
#include "tests/cnc/temp_dir.h"

#include <fcntl.h>

static const rsti_cnc_params_t params = {
    .to_driver_length = 64 * 1024 + RSTI_RB_TRAILER_LENGTH,
    .to_clients_length = 32 * 1024 + RSTI_BROADCAST_TRAILER_LENGTH,
    .counter_values_length = 128 * 100,
    .error_log_length = 16 * 1024,
    .client_liveness_timeout_ns = 5000000000,
    .start_timestamp_ms = 1234567,
    .file_page_size = 4096,
};

#define REGIONS_END (128 + 65536 + 768 + 32768 + 128 + 5 * 12800 + 16384)

static void make_dir(char *dir, size_t size, const char *name)
{
    temp_path(dir, size, name);
    (void)mkdir(dir, 0700);
}

static bool make_ready(const char *dir, const rsti_cnc_params_t *with)
{
    rsti_cnc_t cnc;
    rsti_mpsc_rb_t ring;
    if (rsti_cnc_create(&cnc, dir, with) != 0
        || rsti_rb_init(&ring.rb, cnc.to_driver, cnc.to_driver_length) != 0) {
        return false;
    }
    rsti_mpsc_rb_set_heartbeat(&ring, 1);
    rsti_cnc_publish(&cnc);
    rsti_cnc_close(&cnc);
    return true;
}

/* Overwrites bytes of a ready file. */
static bool poke(const char *dir, int64_t offset, const void *bytes, size_t length)
{
    char path[600];
    path_join(path, sizeof path, dir, "cnc.dat");
    const int fd = open(path, O_WRONLY);
    const bool done = fd >= 0 && pwrite(fd, bytes, length, (off_t)offset) == (ssize_t)length;
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static bool poke_i32(const char *dir, int64_t offset, int32_t value)
{
    return poke(dir, offset, &value, sizeof value);
}

/* E7 */
TEST(layout_is_the_references)
{
    char dir[512], path[600];
    uint8_t bytes[128];
    struct stat status;
    make_dir(dir, sizeof dir, "layout");
    CHECK(make_ready(dir, &params));
    path_join(path, sizeof path, dir, "cnc.dat");
    CHECK_EQ(stat(path, &status), 0);
    CHECK_EQ(status.st_mode & 07777, 0600);
    CHECK_EQ(status.st_size, rsti_align_i64(REGIONS_END, 4096));
    CHECK(status.st_blocks * 512 >= status.st_size); /* every byte is reserved */
    const int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(read(fd, bytes, sizeof bytes), sizeof bytes);
    close(fd);
    CHECK_EQ(rsti_get_i32(bytes), 512);
    CHECK_EQ(rsti_get_i32(bytes + 4), params.to_driver_length);
    CHECK_EQ(rsti_get_i32(bytes + 8), params.to_clients_length);
    CHECK_EQ(rsti_get_i32(bytes + 12), 4 * params.counter_values_length);
    CHECK_EQ(rsti_get_i32(bytes + 16), params.counter_values_length);
    CHECK_EQ(rsti_get_i32(bytes + 20), params.error_log_length);
    CHECK_EQ(rsti_get_i64(bytes + 24), params.client_liveness_timeout_ns);
    CHECK_EQ(rsti_get_i64(bytes + 32), params.start_timestamp_ms);
    CHECK_EQ(rsti_get_i64(bytes + 40), getpid());
    CHECK_EQ(rsti_get_i32(bytes + 48), 4096);
    CHECK_EQ(rsti_get_i32(bytes + 52), RSTI_EXT_MAGIC);
    rsti_cnc_t second;
    CHECK(rsti_cnc_create(&second, dir, &params) < 0); /* never over an existing file */
    CHECK(strstr(rst_last_error_text(), path) != NULL);
}

/* E7 */
TEST(client_sees_it_when_it_is_ready)
{
    char dir[512];
    rsti_cnc_t driver, client;
    rsti_mpsc_rb_t ring;
    temp_path(dir, sizeof dir, "ready");
    CHECK_EQ(rsti_cnc_open(&client, dir, false), -RST_ENODRIVER);
    CHECK_EQ(mkdir(dir, 0700), 0);
    CHECK_EQ(rsti_cnc_open(&client, dir, false), -RST_ENODRIVER);
    CHECK(strstr(rst_last_error_text(), dir) != NULL);
    CHECK_EQ(rsti_cnc_create(&driver, dir, &params), 0);
    CHECK_EQ(rsti_cnc_open(&client, dir, false), -RST_ENODRIVER);
    CHECK_EQ(rsti_rb_init(&ring.rb, driver.to_driver, driver.to_driver_length), 0);
    rsti_cnc_publish(&driver);
    CHECK_EQ(rsti_cnc_open(&client, dir, false), -RST_ENODRIVER);
    rsti_mpsc_rb_set_heartbeat(&ring, 99);
    CHECK_EQ(rsti_cnc_open(&client, dir, false), 0);
    CHECK(rsti_cnc_is_rstream(&client));
    CHECK_EQ(client.to_driver - client.base, 128);
    CHECK_EQ(client.to_clients - client.to_driver, params.to_driver_length);
    CHECK_EQ(client.counter_metadata - client.to_clients, params.to_clients_length);
    CHECK_EQ(client.counter_values - client.counter_metadata, 4 * params.counter_values_length);
    CHECK_EQ(client.error_log - client.counter_values, params.counter_values_length);
    CHECK_EQ(client.error_log_length, params.error_log_length);
    /* Both mappings share their writes. */
    client.error_log[7] = 42;
    CHECK_EQ(driver.error_log[7], 42);
    driver.ext->agent_armed[2] = 1;
    CHECK_EQ(client.ext->agent_armed[2], 1);

    rsti_cnc_t tool;
    CHECK_EQ(rsti_cnc_open(&tool, dir, true), 0);
    CHECK_EQ(tool.error_log[7], 42);
    rsti_cnc_close(&tool);
    rsti_cnc_close(&tool);
    memset(driver.ext, 0, sizeof *driver.ext);
    CHECK(!rsti_cnc_is_rstream(&client));
    rsti_cnc_close(&client);
    rsti_cnc_close(&driver);
    CHECK(!rsti_cnc_is_rstream(&client));
}

/* E7 */
TEST(versions)
{
    char dir[512];
    rsti_cnc_t cnc;
    make_dir(dir, sizeof dir, "versions");
    CHECK(make_ready(dir, &params));
    CHECK(poke_i32(dir, 0, 0x00000901)); /* 0.9.1: newer minor is fine */
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), 0);
    rsti_cnc_close(&cnc);
    CHECK(poke_i32(dir, 0, 0x00010000));
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_EVERSION);
    CHECK(strstr(rst_last_error_text(), "1.0.0") != NULL);
    CHECK(poke_i32(dir, 0, -1));
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_EVERSION);
}

/* E7 */
TEST(impossible_lengths)
{
    static const int32_t wrong[] = {0, -1, 1, 767, 896, 1000, INT32_MAX, INT32_MIN, 1 << 30};
    rsti_cnc_t cnc;
    for (int64_t field = 4; field <= 20; field += 4) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            char dir[512], name[64];
            snprintf(name, sizeof name, "wrong-%d-%zu", (int)field, i);
            make_dir(dir, sizeof dir, name);
            CHECK(make_ready(dir, &params));
            /* The error log alone may have 1000 bytes. */
            if (field == 20 && (wrong[i] == 1000 || wrong[i] == 896)) {
                continue;
            }
            CHECK(poke_i32(dir, field, wrong[i]));
            CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_ECORRUPT);
            CHECK_EQ(rsti_cnc_open(&cnc, dir, true), -RST_ECORRUPT);
            CHECK(cnc.base == NULL);
        }
    }
    char dir[512];
    make_dir(dir, sizeof dir, "wrong-page");
    CHECK(make_ready(dir, &params));
    CHECK(poke_i32(dir, 48, 4095));
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_ECORRUPT);
    CHECK(poke_i32(dir, 48, 0)); /* as Aeron's drivers before 1.47 leave it */
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), 0);
    rsti_cnc_close(&cnc);
}

/* E7 */
TEST(truncated_at_every_border)
{
    static const int64_t lengths[] = {0, 1, 127, 128, 129, 4096, 65536, REGIONS_END - 1};
    rsti_cnc_t cnc;
    char dir[512], path[600];
    make_dir(dir, sizeof dir, "cut");
    path_join(path, sizeof path, dir, "cnc.dat");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        unlink(path);
        CHECK(make_ready(dir, &params));
        CHECK_EQ(truncate(path, lengths[i]), 0);
        CHECK_EQ(rsti_cnc_open(&cnc, dir, false),
            lengths[i] <= 128 ? -RST_ENODRIVER : -RST_ECORRUPT);
    }
    unlink(path);
    CHECK(make_ready(dir, &params));
    CHECK_EQ(truncate(path, REGIONS_END), 0); /* all regions are there */
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), 0);
    rsti_cnc_close(&cnc);
    CHECK_EQ(truncate(path, INT64_C(3) << 30), 0);
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_ECORRUPT);
}

TEST(no_links_no_fifos_no_foreign_directories)
{
    char dir[512], path[600], real[600];
    rsti_cnc_t cnc;
    make_dir(dir, sizeof dir, "odd");
    path_join(path, sizeof path, dir, "cnc.dat");
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_ECORRUPT); /* and does not block */
    unlink(path);
    CHECK_EQ(mkdir(path, 0700), 0);
    CHECK(rsti_cnc_open(&cnc, dir, false) < 0);
    CHECK_EQ(rsti_cnc_open(&cnc, dir, true), -RST_ECORRUPT);
    rmdir(path);
    CHECK(make_ready(dir, &params));
    path_join(real, sizeof real, dir, "real");
    CHECK_EQ(rename(path, real), 0);
    CHECK_EQ(symlink(real, path), 0);
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_EACCESS);
    CHECK_EQ(chmod(dir, 0775), 0);
    unlink(path);
    CHECK_EQ(rename(real, path), 0);
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), 0); /* as Aeron makes its directory */
    rsti_cnc_close(&cnc);
    if (geteuid() == 0) {
        /* A member of the group can put a file of his own there. */
        CHECK_EQ(chown(path, 12345, 12345), 0);
        CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_EACCESS);
        CHECK(strstr(rst_last_error_text(), "12345") != NULL);
        CHECK_EQ(chown(path, 0, 0), 0);
    }
    CHECK_EQ(chmod(dir, 0777), 0);
    CHECK_EQ(rsti_cnc_open(&cnc, dir, false), -RST_EACCESS);
    CHECK_EQ(rsti_cnc_open(&cnc, dir, true), 0); /* looking is allowed */
    rsti_cnc_close(&cnc);
}

TEST(impossible_parameters_are_refused)
{
    char dir[512];
    rsti_cnc_t cnc;
    make_dir(dir, sizeof dir, "params");
    rsti_cnc_params_t wrong = params;
    wrong.to_driver_length = 65536;
    CHECK_EQ(rsti_cnc_create(&cnc, dir, &wrong), -RST_EINVAL);
    wrong = params;
    wrong.file_page_size = 1024;
    CHECK_EQ(rsti_cnc_create(&cnc, dir, &wrong), -RST_EINVAL);
    wrong = params;
    wrong.counter_values_length = INT32_MAX;
    CHECK_EQ(rsti_cnc_create(&cnc, dir, &wrong), -RST_EINVAL);
    wrong = params;
    wrong.counter_values_length = 128 * 4 * 1024 * 1024; /* 2.5 GiB with the metadata */
    CHECK_EQ(rsti_cnc_create(&cnc, dir, &wrong), -RST_EINVAL);
}

static int create_in_small_fs(const char *dir)
{
    char path[600];
    rsti_cnc_t cnc;
    SMALL_FS_CHECK(rsti_cnc_create(&cnc, dir, &params) == -RST_ESTORAGE);
    const char *text = rst_last_error_text();
    char needed[64];
    snprintf(needed, sizeof needed, "needs %lld bytes",
        (long long)rsti_align_i64(REGIONS_END, 4096));
    SMALL_FS_CHECK(strstr(text, needed) != NULL);
    SMALL_FS_CHECK(strstr(text, "65536 usable in") != NULL && strstr(text, dir) != NULL);
    path_join(path, sizeof path, dir, "cnc.dat");
    SMALL_FS_CHECK(access(path, F_OK) != 0); /* no incomplete file stays */
    SMALL_FS_CHECK(rsti_storage_usable(dir) == 65536);
    return 0;
}

/* N27, L10 */
TEST(full_storage_is_an_error_with_numbers)
{
    char dir[512];
    temp_path(dir, sizeof dir, "small");
    CHECK_EQ(small_fs_run(dir, 65536, create_in_small_fs), 0);
}

TEMP_DIR_MAIN(RUN(layout_is_the_references), RUN(client_sees_it_when_it_is_ready), RUN(versions),
    RUN(impossible_lengths), RUN(truncated_at_every_border),
    RUN(no_links_no_fifos_no_foreign_directories), RUN(impossible_parameters_are_refused),
    RUN(full_storage_is_an_error_with_numbers))
