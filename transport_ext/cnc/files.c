/* files.c: opens, reserves and maps files, with the checks that every file of this room gets. */
#include "cnc/files.h"

#include "cnc/driver_dir.h"
#include "util/error.h"
#include "util/int_math.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int rsti_path_format(char *path, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(path, size, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= size) {
        return RST_SET_ERR(RST_EINVAL, "path is longer than %zu bytes: %.60s...", size - 1,
            size > 0 ? path : "");
    }
    return 0;
}

int rsti_dir_open(const char *dir, bool any_owner)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return RST_SET_ERR(RST_ENODRIVER, "driver directory %s does not exist", dir);
    }
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR)) {
        return RST_SET_ERR(RST_EACCESS, "driver directory %s is a link or not a directory", dir);
    }
    if (fd < 0) {
        return RST_SET_ERRNO("opening driver directory %s", dir);
    }
    struct stat status;
    int result = 0;
    if (fstat(fd, &status) != 0) {
        result = RST_SET_ERRNO("looking at driver directory %s", dir);
    } else if (!any_owner && status.st_uid != geteuid()) {
        result = RST_SET_ERR(RST_EACCESS,
            "driver directory %s belongs to user %u, not to %u: choose another one", dir,
            (unsigned)status.st_uid, (unsigned)geteuid());
    } else if (!any_owner && (status.st_mode & S_IWOTH) != 0) {
        result = RST_SET_ERR(RST_EACCESS,
            "driver directory %s is writable by everybody: chmod 700 it or choose another one",
            dir);
    }
    if (result != 0) {
        close(fd);
        return result;
    }
    return fd;
}

DIR *rsti_dir_read(int dir_fd, const char *name)
{
    const int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        close(fd);
    }
    return stream;
}

int64_t rsti_storage_usable(const char *dir)
{
    struct statvfs status;
    /* A tmpfs without a limit reports no blocks at all. Then, or if the answer is unknown, only the
     * reservation itself can tell. */
    if (statvfs(dir, &status) != 0 || status.f_blocks == 0) {
        return INT64_MAX;
    }
    int64_t usable;
    if (__builtin_mul_overflow((int64_t)status.f_bavail, (int64_t)status.f_frsize, &usable)) {
        return INT64_MAX;
    }
    return usable;
}

int rsti_storage_error(const char *what, int64_t needed, int64_t usable, const char *dir)
{
    return RST_SET_ERR(RST_ESTORAGE,
        "%s needs %lld bytes, %lld usable in %s: %lld bytes are missing; enlarge that file system "
        "(Docker: --shm-size), use smaller terms (term-length) or fewer streams, or choose another "
        "driver directory (RSTREAM_DIR)",
        what, (long long)needed, (long long)usable, dir, (long long)(needed - usable));
}

static bool is_storage_error(int errno_value)
{
    return errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG;
}

int rsti_file_reserve(int fd, int64_t offset, int64_t length, const char *path, const char *dir)
{
    int errno_value;
    /* An attempt takes what is there before it fails, and other logs miss that meanwhile. */
    const int64_t usable = rsti_storage_usable(dir);
    if (usable < length) {
        return rsti_storage_error(path, length, usable, dir);
    }
    do {
        errno_value = posix_fallocate(fd, (off_t)offset, (off_t)length);
    } while (errno_value == EINTR);
    if (errno_value == 0) {
        return 0;
    }
    if (is_storage_error(errno_value)) {
        return rsti_storage_error(path, length, rsti_min_i64(rsti_storage_usable(dir), length),
            dir);
    }
    return rsti_error_set_errno(errno_value, "reserving %lld bytes of %s", (long long)length, path);
}

int rsti_file_map(int fd, size_t length, bool read_only, const char *path, uint8_t **base)
{
    const int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    void *mapped = mmap(NULL, length, protection, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        return RST_SET_ERRNO("mapping %zu bytes of %s", length, path);
    }
    *base = mapped;
    return 0;
}

int64_t rsti_file_length(int fd, const char *path)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return RST_SET_ERRNO("looking at %s", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return RST_SET_ERR(RST_ECORRUPT, "%s is not a regular file", path);
    }
    return (int64_t)status.st_size;
}

void rsti_fd_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}
