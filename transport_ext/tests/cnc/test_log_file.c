/* test_log_file.c: logs are sparse, and writable only where storage is reserved; files and names
 * from other processes are checked before they are mapped. */
#include "cnc/file_system.h"
#include "cnc/log_file.h"
#include "util/error.h"
#include "util/rng.h"

#include "tests/check.h"
#include "tests/cnc/small_fs.h"
#include "tests/cnc/temp_dir.h"

#include <fcntl.h>
#include <sys/resource.h>

#define TERM (64 * 1024)
#define FILE_LENGTH (3 * TERM + 4096)

static const rsti_log_params_t sparse_params = {
    .correlation_id = 7,
    .session_id = 11,
    .stream_id = 13,
    .initial_term_id = -5,
    .term_id = -5,
    .term_length = TERM,
    .mtu = 1408,
    .page_size = 4096,
    .sparse = 1,
    .reliable = 1,
    .name = "ticks",
};

static void make_dir(char *dir, size_t size, const char *name)
{
    char sub[600];
    temp_path(dir, size, name);
    (void)mkdir(dir, 0700);
    path_join(sub, sizeof sub, dir, "publications");
    (void)mkdir(sub, 0700);
    path_join(sub, sizeof sub, dir, "images");
    (void)mkdir(sub, 0700);
}

static int64_t reserved_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (int64_t)status.st_blocks * 512 : -1;
}

/* Reserving the same range again takes no more storage. */
static bool is_reserved(const char *path, int partition)
{
    const int64_t before = reserved_bytes(path);
    const int fd = open(path, O_RDWR);
    const bool done = fd >= 0 && posix_fallocate(fd, partition * TERM, TERM) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return done && reserved_bytes(path) == before;
}

TEST(driver_and_client_share_it)
{
    char dir[512], path[600];
    rsti_log_file_t driver, client;
    struct stat status;
    make_dir(dir, sizeof dir, "shared");
    CHECK_EQ(rsti_log_file_create(&driver, dir, "publications", 7, &sparse_params), 0);
    path_join(path, sizeof path, dir, "publications/7.logbuffer");
    CHECK_STR(driver.path, path);
    CHECK_EQ(stat(path, &status), 0);
    CHECK_EQ(status.st_mode & 07777, 0600);
    CHECK_EQ(status.st_size, FILE_LENGTH);
    CHECK_EQ(driver.log.term_length, TERM);
    CHECK_EQ(driver.log.initial_term_id, -5);

    CHECK_EQ(rsti_log_file_open(&client, dir, path, strlen(path)), 0);
    CHECK_EQ(client.log.term_length, TERM);
    CHECK_EQ(client.log.mtu, 1408);
    CHECK_EQ(client.log.metadata->correlation_id, 7);
    client.log.terms[0][100] = 9;
    CHECK_EQ(driver.log.terms[0][100], 9);
    CHECK_EQ(rsti_log_file_reserve(&client, INT64_MAX - 1), 0); /* not its file */
    rsti_log_file_close(&client, false);
    rsti_log_file_close(&client, false);
    CHECK_EQ(access(path, F_OK), 0);
    rsti_log_file_close(&driver, true);
    CHECK(access(path, F_OK) != 0);
    rsti_log_file_close(&driver, true);
}

/* N27 */
TEST(terms_are_reserved_one_by_one)
{
    char dir[512];
    rsti_log_file_t file;
    make_dir(dir, sizeof dir, "terms");
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &sparse_params), 0);
    CHECK_EQ(reserved_bytes(file.path), TERM + 4096);
    CHECK_EQ(rsti_log_file_reserve(&file, 0), 0);
    CHECK_EQ(rsti_log_file_reserve(&file, TERM - 1), 0);
    CHECK_EQ(reserved_bytes(file.path), TERM + 4096);
    CHECK_EQ(rsti_log_file_reserve(&file, TERM), 0);
    CHECK_EQ(reserved_bytes(file.path), 2 * TERM + 4096);
    CHECK_EQ(rsti_log_file_reserve(&file, 3 * TERM - 1), 0);
    CHECK_EQ(reserved_bytes(file.path), FILE_LENGTH);
    CHECK_EQ(file.reserved_position, INT64_MAX);
    unlink(file.path); /* cheap when done: the file is not even looked at */
    CHECK_EQ(rsti_log_file_reserve(&file, INT64_C(1) << 40), 0);
    rsti_log_file_close(&file, true);
}

/* N27: long terms are reserved step by step, also when the log begins within a term: after three
 * terms of steps the first term is complete too. */
TEST(long_terms_are_reserved_step_by_step)
{
    const int64_t term = 4 * (int64_t)RSTI_RESERVE_STEP;
    char dir[512];
    rsti_log_file_t file;
    rsti_log_params_t params = sparse_params;
    params.term_length = (int32_t)term;
    params.term_id = params.initial_term_id + 2;
    params.term_offset = 2 * RSTI_RESERVE_STEP + 4096;
    make_dir(dir, sizeof dir, "steps");
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &params), 0);
    CHECK_EQ(reserved_bytes(file.path), RSTI_RESERVE_STEP + 4096);
    const int64_t first = 2 * term + 2 * RSTI_RESERVE_STEP;
    CHECK_EQ(file.reserved_position, first + RSTI_RESERVE_STEP);
    CHECK_EQ(rsti_log_file_reserve(&file, first + RSTI_RESERVE_STEP), 0);
    CHECK_EQ(reserved_bytes(file.path), 2 * RSTI_RESERVE_STEP + 4096);
    CHECK_EQ(file.reserved_terms, 1);
    CHECK_EQ(rsti_log_file_reserve(&file, first + 3 * term - 1), 0);
    CHECK_EQ(reserved_bytes(file.path), 3 * term + 4096);
    CHECK_EQ(file.reserved_terms, 3);
    CHECK_EQ(file.reserved_position, INT64_MAX);
    rsti_log_file_close(&file, true);
}

/* Memory that is given back reads as zeros, and is reserved again in the same order. */
TEST(memory_is_given_back_but_for_what_is_in_use)
{
    const int64_t step = RSTI_RESERVE_STEP, term = 4 * step;
    char dir[512];
    rsti_log_file_t file;
    rsti_log_params_t params = sparse_params;
    params.term_length = (int32_t)term;
    make_dir(dir, sizeof dir, "back");
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &params), 0);
    CHECK_EQ(rsti_log_file_reserve(&file, 3 * step - 1), 0);
    CHECK_EQ(rsti_log_file_give_back(&file, 0, 2 * step), -1); /* all of it is in use */
    memset(file.log.base, 7, (size_t)(3 * step));
    CHECK_EQ(rsti_log_file_give_back(&file, step + 32, 9 * step), step);
    CHECK_EQ(file.reserved_position, 3 * step); /* no further than it was */
    CHECK_EQ(reserved_bytes(file.path), 2 * step + 4096);
    CHECK_EQ(file.log.base[step - 1], 0);
    CHECK_EQ(file.log.base[step], 7);
    CHECK_EQ(reserved_bytes(file.path), 2 * step + 2 * 4096); /* to read it takes a page */
    CHECK_EQ(rsti_log_file_reserve(&file, step + 3 * term - 1), 0);
    CHECK_EQ(reserved_bytes(file.path), 3 * term + 4096);
    CHECK_EQ(file.reserved_position, INT64_MAX);
    /* In use: the last two steps of the file and the first one, in the second turn. */
    memset(file.log.base, 7, (size_t)(3 * term));
    CHECK_EQ(rsti_log_file_give_back(&file, 6 * term - 2 * step, 6 * term + 5),
        6 * term - 2 * step);
    CHECK_EQ(reserved_bytes(file.path), 3 * step + 4096);
    CHECK_EQ(file.reserved_terms, 1);
    CHECK_EQ(file.reserved_position, 6 * term + step);
    CHECK_EQ(file.log.base[0], 7);
    CHECK_EQ(file.log.base[3 * term - 2 * step], 7);
    CHECK_EQ(rsti_log_file_reserve(&file, 6 * term + step), 0);
    CHECK_EQ(reserved_bytes(file.path), 4 * step + 4096);
    rsti_log_file_close(&file, true);
}

TEST(a_log_that_is_not_sparse_keeps_its_memory)
{
    char dir[512];
    rsti_log_file_t file;
    rsti_log_params_t params = sparse_params;
    params.sparse = false;
    make_dir(dir, sizeof dir, "kept");
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &params), 0);
    CHECK_EQ(rsti_log_file_give_back(&file, TERM, TERM), -1);
    CHECK_EQ(reserved_bytes(file.path), FILE_LENGTH);
    rsti_log_file_close(&file, true);
}

/* A driver that may open no file more goes on with the logs that it has. */
TEST(a_log_grows_without_a_free_descriptor)
{
    char dir[512];
    rsti_log_file_t file;
    make_dir(dir, sizeof dir, "full");
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &sparse_params), 0);
    struct rlimit before, none;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int result = rsti_log_file_reserve(&file, file.reserved_position);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(reserved_bytes(file.path), 2 * TERM + 4096);
    rsti_log_file_close(&file, true);
}

/* A log that begins in a later term reserves that term's partition, not the first one. */
TEST(start_position_decides_which_term_is_first)
{
    char dir[512];
    rsti_log_file_t file;
    rsti_log_params_t params = sparse_params;
    params.term_id = params.initial_term_id + 5; /* partition 2 */
    params.term_offset = 1024;
    make_dir(dir, sizeof dir, "start");
    CHECK_EQ(rsti_log_file_create(&file, dir, "images", 2, &params), 0);
    CHECK(is_reserved(file.path, 2) && reserved_bytes(file.path) == TERM + 4096);
    CHECK_EQ(file.reserved_position, 6 * TERM);
    CHECK_EQ(rsti_log_file_reserve(&file, 6 * TERM - 1), 0);
    CHECK_EQ(reserved_bytes(file.path), TERM + 4096);
    CHECK_EQ(rsti_log_file_reserve(&file, 6 * TERM), 0);
    CHECK(is_reserved(file.path, 0) && reserved_bytes(file.path) == 2 * TERM + 4096);
    /* A jump over several terms reserves the rest. */
    CHECK_EQ(rsti_log_file_reserve(&file, 60 * TERM), 0);
    CHECK_EQ(reserved_bytes(file.path), FILE_LENGTH);
    rsti_log_file_close(&file, true);
}

/* N27 */
TEST(not_sparse_takes_everything_at_once)
{
    char dir[512];
    rsti_log_file_t file;
    rsti_log_params_t params = sparse_params;
    params.sparse = 0;
    params.page_size = 16 * 1024;
    make_dir(dir, sizeof dir, "dense");
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &params), 0);
    CHECK_EQ(file.log.length, 3 * TERM + 16 * 1024);
    CHECK(reserved_bytes(file.path) >= 3 * TERM + 16 * 1024);
    CHECK_EQ(file.reserved_position, INT64_MAX);
    rsti_log_file_t second;
    CHECK(rsti_log_file_create(&second, dir, "publications", 1, &params) < 0); /* exists */
    rsti_log_file_close(&second, true);
    CHECK_EQ(access(file.path, F_OK), 0);
    rsti_log_file_close(&file, true);
    params.term_length = TERM + 1;
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &params), -RST_EINVAL);
    params.term_length = TERM / 2;
    CHECK_EQ(rsti_log_file_create(&file, dir, "publications", 1, &params), -RST_EINVAL);
}

static int open_named(const char *dir, const char *path)
{
    rsti_log_file_t file;
    const int result = rsti_log_file_open(&file, dir, path, strlen(path));
    rsti_log_file_close(&file, false);
    return result;
}

TEST(only_logs_below_the_directory_can_be_named)
{
    char dir[512], other[512], path[600];
    rsti_log_file_t file, stranger;
    make_dir(dir, sizeof dir, "named");
    make_dir(other, sizeof other, "other");
    CHECK_EQ(rsti_log_file_create(&file, dir, "images", 3, &sparse_params), 0);
    CHECK_EQ(rsti_log_file_create(&stranger, other, "images", 4, &sparse_params), 0);
    CHECK_EQ(open_named(dir, "/mounted/elsewhere/images/3.logbuffer"), 0);
    CHECK_EQ(open_named(dir, "images/3.logbuffer"), 0);
    CHECK(open_named(dir, stranger.path) < 0); /* looked up below dir: not found */
    CHECK_EQ(open_named(dir, "/etc/passwd"), -RST_ECORRUPT);
    CHECK_EQ(open_named(dir, ""), -RST_ECORRUPT);
    CHECK_EQ(open_named(dir, "3.logbuffer"), -RST_ECORRUPT);
    CHECK_EQ(open_named(dir, "/images/../images/3.log"), -RST_ECORRUPT);
    CHECK_EQ(open_named(dir, "images/.logbuffer"), -RST_ECORRUPT);
    CHECK_EQ(open_named(dir, "images/-3.logbuffer"), -RST_ECORRUPT);
    CHECK_EQ(open_named(dir, "images/3.logbuffer/"), -RST_ECORRUPT);
    CHECK_EQ(open_named(dir, "images/99999999999999999999.logbuffer"), -RST_ECORRUPT);
    static char longest[4000];
    memset(longest, 'x', sizeof longest - 1);
    CHECK_EQ(open_named(dir, longest), -RST_ECORRUPT);
    rsti_log_file_t with_zero;
    CHECK_EQ(rsti_log_file_open(&with_zero, dir, "images/3.logbuffer\0", 19), -RST_ECORRUPT);

    path_join(path, sizeof path, dir, "images/5.logbuffer");
    CHECK_EQ(symlink(file.path, path), 0);
    CHECK(open_named(dir, path) < 0);
    path_join(path, sizeof path, dir, "images/6.logbuffer");
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(open_named(dir, path), -RST_ECORRUPT);
    rsti_log_file_close(&file, true);
    rsti_log_file_close(&stranger, true);
}

TEST(truncated_logs_are_refused)
{
    static const int64_t lengths[] = {
        0, 1, 4095, 4096, TERM, FILE_LENGTH - 4096, FILE_LENGTH - 1, FILE_LENGTH + 4096};
    char dir[512];
    make_dir(dir, sizeof dir, "cut");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        rsti_log_file_t file;
        CHECK_EQ(rsti_log_file_create(&file, dir, "images", 1, &sparse_params), 0);
        char path[RSTI_PATH_MAX];
        memcpy(path, file.path, sizeof path);
        rsti_log_file_close(&file, false);
        CHECK_EQ(truncate(path, lengths[i]), 0);
        CHECK_EQ(open_named(dir, path), -RST_ECORRUPT);
        unlink(path);
    }
}

/* Random bytes in the metadata: refused, or mapped with a view that lies inside the file. */
TEST(hostile_metadata_never_leads_outside)
{
    char dir[512];
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    make_dir(dir, sizeof dir, "hostile");
    rsti_log_file_t file;
    CHECK_EQ(rsti_log_file_create(&file, dir, "images", 1, &sparse_params), 0);
    int accepted = 0;
    for (int round = 0; round < 3000; round++) {
        rsti_log_metadata_init(file.log.metadata, &sparse_params);
        uint8_t *bytes = (uint8_t *)file.log.metadata;
        const uint64_t changes = 1 + rsti_rng_below(&rng, 8);
        for (uint64_t i = 0; i < changes; i++) {
            const uint64_t at = 256 + rsti_rng_below(&rng, 64);
            bytes[at] = rsti_rng_below(&rng, 4) == 0 ? 0xFF : (uint8_t)rsti_rng_next(&rng);
        }
        rsti_log_file_t opened;
        const int result = rsti_log_file_open(&opened, dir, file.path, strlen(file.path));
        if (result == 0) {
            accepted++;
            CHECK_EQ(opened.log.length, FILE_LENGTH);
            CHECK_EQ(opened.log.term_length, TERM);
            for (int i = 0; i < RSTI_PARTITIONS; i++) {
                CHECK_EQ(opened.log.terms[i] - opened.log.base, i * TERM);
            }
            rsti_log_file_close(&opened, false);
        } else {
            CHECK_EQ(result, -RST_ECORRUPT);
        }
    }
    CHECK(accepted > 0 && accepted < 3000);
    rsti_log_file_close(&file, true);
}

/* Room for two terms and the metadata: the third is refused with its name and number, and succeeds
 * once storage is free. Everything reserved can be written. */
static int reserve_in_small_fs(const char *dir)
{
    char sub[600];
    rsti_log_file_t file;
    path_join(sub, sizeof sub, dir, "publications");
    SMALL_FS_CHECK(mkdir(sub, 0700) == 0);
    path_join(sub, sizeof sub, dir, "ballast");
    const int fd = open(sub, O_RDWR | O_CREAT, 0600);
    SMALL_FS_CHECK(fd >= 0 && posix_fallocate(fd, 0, TERM) == 0);
    SMALL_FS_CHECK(rsti_log_file_create(&file, dir, "publications", 1, &sparse_params) == 0);
    SMALL_FS_CHECK(rsti_log_file_reserve(&file, TERM) == 0);
    memset(file.log.terms[0], 1, TERM);
    memset(file.log.terms[1], 1, TERM);
    for (int i = 0; i < 3; i++) {
        SMALL_FS_CHECK(rsti_log_file_reserve(&file, 2 * TERM) == -RST_ESTORAGE);
    }
    SMALL_FS_CHECK(strstr(rst_last_error_text(), "needs 65536 bytes, 0 usable in") != NULL);
    SMALL_FS_CHECK(file.reserved_position == 2 * TERM);
    rsti_log_file_t second;
    SMALL_FS_CHECK(rsti_log_file_create(&second, dir, "publications", 2, &sparse_params)
        == -RST_ESTORAGE);
    path_join(sub, sizeof sub, dir, "publications/2.logbuffer");
    SMALL_FS_CHECK(access(sub, F_OK) != 0);
    SMALL_FS_CHECK(ftruncate(fd, 0) == 0);
    SMALL_FS_CHECK(rsti_log_file_reserve(&file, 2 * TERM) == 0);
    memset(file.log.terms[2], 1, TERM);
    close(fd);
    rsti_log_file_close(&file, true);
    return 0;
}

/* L10 */
TEST(full_storage_stops_before_the_term)
{
    char dir[512];
    temp_path(dir, sizeof dir, "small");
    CHECK_EQ(small_fs_run(dir, 3 * TERM + 4096, reserve_in_small_fs), 0);
}

TEMP_DIR_MAIN(RUN(driver_and_client_share_it), RUN(terms_are_reserved_one_by_one),
    RUN(long_terms_are_reserved_step_by_step), RUN(a_log_grows_without_a_free_descriptor),
    RUN(start_position_decides_which_term_is_first), RUN(not_sparse_takes_everything_at_once),
    RUN(only_logs_below_the_directory_can_be_named), RUN(truncated_logs_are_refused),
    RUN(hostile_metadata_never_leads_outside), RUN(full_storage_stops_before_the_term),
    RUN(memory_is_given_back_but_for_what_is_in_use),
    RUN(a_log_that_is_not_sparse_keeps_its_memory))
