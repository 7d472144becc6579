#include "cnc/loss_report_file.h"

#include "rstream/error.h"
#include "tests/check.h"
#include "tests/cnc/temp_dir.h"

static int64_t file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (int64_t)status.st_size : -1;
}

/* E6 */
TEST(a_report_is_made_of_whole_pages_and_read_again)
{
    char path[512];
    rsti_loss_report_file_t file;
    rsti_loss_report_file_t tool;
    CHECK_EQ(rsti_loss_report_file_open(&tool, temp_root), -RST_ENODRIVER);
    CHECK_EQ(rsti_loss_report_file_create(&file, temp_root, 5000, 4096), 0);
    temp_path(path, sizeof path, "loss-report.dat");
    CHECK_EQ(file_size(path), 8192);
    CHECK_EQ(file.length, 8192);
    CHECK_EQ(file.base[8191], 0);
    file.base[8191] = 7;
    CHECK_EQ(rsti_loss_report_file_open(&tool, temp_root), 0);
    CHECK_EQ(tool.length, 8192);
    CHECK_EQ(tool.base[8191], 7);
    rsti_loss_report_file_close(&tool);
    rsti_loss_report_file_close(&tool);
    /* An existing file belongs to another driver: it is never taken over. */
    rsti_loss_report_file_t second;
    CHECK_EQ(rsti_loss_report_file_create(&second, temp_root, 5000, 4096), -RST_ESYS);
    rsti_loss_report_file_close(&file);
    CHECK_EQ(truncate(path, 0), 0);
    CHECK_EQ(rsti_loss_report_file_open(&tool, temp_root), -RST_ECORRUPT);
    CHECK_EQ(remove(path), 0);
}

TEMP_DIR_MAIN(RUN(a_report_is_made_of_whole_pages_and_read_again))
