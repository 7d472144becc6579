/* files.c: opens, reserves and maps files, with the checks that every file of this room gets. */
#include "cnc/files.h"

#include "cnc/file_system.h"
#include "cnc/map_guard.h"
#include "util/error.h"
#include "util/int_math.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
        return RST_SET_ERR(RST_EACCESS,
            "driver directory %s is a link or not a directory: choose another directory", dir);
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

#ifdef MADV_POPULATE_WRITE
#define POPULATE_WRITE MADV_POPULATE_WRITE
#else
#define POPULATE_WRITE 23
#endif

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

int rsti_file_populate(uint8_t *base, int64_t length, const char *path, const char *dir)
{
    const int64_t usable = rsti_storage_usable(dir);
    if (usable < length) {
        return rsti_storage_error(path, length, usable, dir);
    }
    int result;
    do {
        result = madvise(base, (size_t)length, POPULATE_WRITE);
    } while (result != 0 && (errno == EINTR || errno == EAGAIN));
    if (result == 0) {
        return 0;
    }
    if (errno == EFAULT || errno == ENOMEM) { /* no room: a write would raise a bus error */
        return rsti_storage_error(path, length, rsti_min_i64(rsti_storage_usable(dir), length),
            dir);
    }
    errno = EMFILE; /* what led here; an older system has no other way */
    return RST_SET_ERRNO("opening %s to reserve %lld bytes", path, (long long)length);
}

int rsti_file_map(int fd, size_t length, bool read_only, const char *path, uint8_t **base)
{
    const int protection = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    void *mapped = mmap(NULL, length, protection, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) {
        return RST_SET_ERRNO("mapping %zu bytes of %s", length, path);
    }
    *base = mapped;
    rsti_map_guard_add(*base, length, read_only);
    return 0;
}

int rsti_file_unmap(uint8_t *base, size_t length)
{
    if (base == NULL) {
        return 0;
    }
    rsti_map_guard_remove(base);
    return munmap(base, length) == 0 ? 0 : RST_SET_ERRNO("unmapping %zu bytes", length);
}

int64_t rsti_file_length(int fd, bool any_owner, const char *path)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return RST_SET_ERRNO("looking at %s", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return RST_SET_ERR(RST_ECORRUPT, "%s is not a regular file", path);
    }
    if (!any_owner && status.st_uid != geteuid()) {
        return RST_SET_ERR(RST_EACCESS,
            "%s belongs to user %u, not to %u: remove it, and chmod 700 its directory", path,
            (unsigned)status.st_uid, (unsigned)geteuid());
    }
    return (int64_t)status.st_size;
}
