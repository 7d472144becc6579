#include "cnc/loss_report_file.h"

#include "cnc/driver_dir.h"
#include "cnc/files.h"
#include "util/bits.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int rsti_loss_report_file_create(rsti_loss_report_file_t *file, const char *dir, int64_t length,
    int64_t page_size)
{
    char path[RSTI_PATH_MAX];
    *file = (rsti_loss_report_file_t){.base = NULL};
    int result = rsti_path_format(path, sizeof path, "%s/%s", dir, RSTI_LOSS_REPORT_NAME);
    if (result != 0) {
        return result;
    }
    const int64_t file_length = rsti_align_i64(length, page_size);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return RST_SET_ERRNO("creating %s", path);
    }
    result = rsti_file_reserve(fd, 0, file_length, path, dir);
    if (result == 0) {
        result = rsti_file_map(fd, (size_t)file_length, false, path, &file->base);
    }
    close(fd);
    if (result != 0) {
        unlink(path);
        return result;
    }
    file->length = (size_t)file_length;
    return 0;
}

static int open_file(const char *dir, char *path, size_t path_size)
{
    int result = rsti_path_format(path, path_size, "%s/%s", dir, RSTI_LOSS_REPORT_NAME);
    if (result != 0) {
        return result;
    }
    const int dir_fd = rsti_dir_open(dir, true);
    if (dir_fd < 0) {
        return dir_fd;
    }
    const int fd = openat(dir_fd, RSTI_LOSS_REPORT_NAME,
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        result = RST_SET_ERR(RST_ENODRIVER, "%s does not exist", path);
    } else if (fd < 0) {
        result = RST_SET_ERRNO("opening %s", path);
    }
    close(dir_fd);
    return result != 0 ? result : fd;
}

int rsti_loss_report_file_open(rsti_loss_report_file_t *file, const char *dir)
{
    char path[RSTI_PATH_MAX];
    *file = (rsti_loss_report_file_t){.base = NULL};
    const int fd = open_file(dir, path, sizeof path);
    if (fd < 0) {
        return fd;
    }
    const int64_t length = rsti_file_length(fd, true, path);
    int result = length < 0 ? (int)length : 0;
    if (result == 0 && (length == 0 || length > INT32_MAX)) {
        result = RST_SET_ERR(RST_ECORRUPT, "%s has %lld bytes", path, (long long)length);
    }
    if (result == 0) {
        result = rsti_file_map(fd, (size_t)length, true, path, &file->base);
    }
    close(fd);
    if (result == 0) {
        file->length = (size_t)length;
    }
    return result;
}

void rsti_loss_report_file_close(rsti_loss_report_file_t *file)
{
    (void)rsti_file_unmap(file->base, file->length);
    memset(file, 0, sizeof *file);
}
