#include "cnc/frame_log_file.h"

#include "cnc/files.h"
#include "concurrent/atomics.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int rsti_frame_log_file_open(rsti_frame_log_file_t *file, const char *path, int64_t length_max)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
        S_IRUSR | S_IWUSR);
    if (fd < 0) {
        return RST_SET_ERRNO("opening the frame log %s", path);
    }
    const int64_t length = rsti_file_length(fd, true, path);
    if (length < 0) {
        close(fd);
        return (int)length;
    }
    *file = (rsti_frame_log_file_t){true, fd, length_max, length};
    return 0;
}

void rsti_frame_log_file_write(void *arg, const char *line, size_t length)
{
    rsti_frame_log_file_t *file = arg;
    const int64_t added = (int64_t)length;
    if (rsti_load_relaxed_i64(&file->length) > file->length_max
        || rsti_fetch_add_i64(&file->length, added) + added > file->length_max) {
        return;
    }
    /* One call that appends: lines of several threads do not mix. */
    if (write(file->fd, line, length) != (ssize_t)length) {
        rsti_store_relaxed_i64(&file->length, file->length_max + 1);
    }
}

void rsti_frame_log_file_close(rsti_frame_log_file_t *file)
{
    if (file->is_open) {
        file->is_open = false;
        close(file->fd);
    }
}
