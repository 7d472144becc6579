/* file_system.c: see file_system.h. */
#include "cnc/file_system.h"

#include "util/error.h"

#include <sys/statvfs.h>
#include <unistd.h>

void rsti_fd_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
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
