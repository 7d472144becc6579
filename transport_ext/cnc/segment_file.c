/* segment_file.c: see segment_file.h. */
#include "cnc/segment_file.h"

#include "cnc/driver_dir.h"
#include "cnc/files.h"
#include "cnc/map_guard.h"
#include "concurrent/atomics.h"
#include "util/error.h"
#include "util/int_math.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_SUFFIX ".logbuffer"
/* What may lie behind the end of a file in its last page. */
#define PAGE_LENGTH_MAX 65536

/* "<dir>/publications/<id>.<number>" from "<dir>/publications/<id>.logbuffer". */
static int path_of(const rsti_log_file_t *log, int32_t number, char *path, size_t size)
{
    const size_t length = strlen(log->path);
    const size_t suffix = strlen(LOG_SUFFIX);
    if (length <= suffix || strcmp(log->path + length - suffix, LOG_SUFFIX) != 0) {
        return RST_SET_ERR(RST_EINVAL, "%s is not the path of a log", log->path);
    }
    return rsti_path_format(path, size, "%.*s.%d", (int)(length - suffix), log->path, number);
}

/* The directory of the driver: two components up. */
static void dir_of(const char *path, char *dir, size_t size)
{
    snprintf(dir, size, "%s", path);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(dir, '/');
        if (slash != NULL && slash != dir) {
            *slash = '\0';
        }
    }
}

/* Opens the file without following a link on the way from the driver's directory on. */
static int open_file(const char *path, int flags)
{
    char dir[RSTI_PATH_MAX];
    dir_of(path, dir, sizeof dir);
    const int dir_fd = rsti_dir_open(dir, false);
    if (dir_fd < 0) {
        return dir_fd;
    }
    const int folder_fd = openat(dir_fd, RSTI_PUBLICATIONS_DIR,
        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = folder_fd < 0 ? -1
                           : openat(folder_fd, strrchr(path, '/') + 1,
                                 flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0) {
        fd = RST_SET_ERRNO("opening segment %s", path);
    }
    rsti_fd_close(folder_fd);
    close(dir_fd);
    return fd;
}

static int check_length(int fd, const char *path)
{
    const int64_t length = rsti_file_length(fd, false, path);
    if (length >= 0 && length != RSTI_SEGMENT_LENGTH) {
        return RST_SET_ERR(RST_ECORRUPT, "%s has %lld bytes: a segment has %lld", path,
            (long long)length, (long long)RSTI_SEGMENT_LENGTH);
    }
    return length < 0 ? (int)length : 0;
}

int rsti_segment_create(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number)
{
    char path[RSTI_PATH_MAX];
    *segment = (rsti_segment_file_t){0};
    int result = path_of(log, number, path, sizeof path);
    const int fd = result < 0 ? result : open_file(path, O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0) {
        return fd;
    }
    if (ftruncate(fd, (off_t)RSTI_SEGMENT_LENGTH) != 0) {
        result = RST_SET_ERRNO("giving %s its %lld bytes", path, (long long)RSTI_SEGMENT_LENGTH);
    } else {
        result = rsti_file_map(fd, (size_t)RSTI_SEGMENT_LENGTH, false, path, &segment->base);
    }
    close(fd);
    if (result < 0) {
        (void)unlink(path);
    }
    return result;
}

int rsti_segment_reserve(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number,
    int64_t length)
{
    char path[RSTI_PATH_MAX];
    char dir[RSTI_PATH_MAX];
    const int64_t wanted = rsti_align_i64(length, RSTI_SEGMENT_STEP);
    if (wanted <= segment->reserved) {
        return 0;
    }
    int result = path_of(log, number, path, sizeof path);
    const int fd = result < 0 ? result : open_file(path, O_RDWR);
    if (fd < 0) {
        return fd;
    }
    dir_of(path, dir, sizeof dir);
    result = check_length(fd, path); /* to reserve memory would make a file longer that was cut */
    if (result == 0) {
        result = rsti_file_reserve(fd, segment->reserved, wanted - segment->reserved, path, dir);
    }
    close(fd);
    if (result == 0) {
        segment->reserved = wanted;
    }
    return result;
}

int rsti_segment_trim(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number,
    int64_t keep)
{
    char path[RSTI_PATH_MAX];
    int result = path_of(log, number, path, sizeof path);
    const int fd = result < 0 ? result : open_file(path, O_RDWR);
    if (fd < 0) {
        return fd;
    }
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)keep,
            (off_t)(segment->reserved - keep))
        != 0) {
        result = RST_SET_ERRNO("giving the memory of %s back", path);
    } else {
        segment->reserved = keep;
    }
    close(fd);
    return result;
}

int rsti_segment_open(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number)
{
    char path[RSTI_PATH_MAX];
    *segment = (rsti_segment_file_t){0};
    int result = path_of(log, number, path, sizeof path);
    const int fd = result < 0 ? result : open_file(path, O_RDONLY);
    if (fd < 0) {
        return fd;
    }
    result = check_length(fd, path);
    if (result == 0) {
        result = rsti_file_map(fd, (size_t)RSTI_SEGMENT_LENGTH, true, path, &segment->base);
    }
    close(fd);
    return result;
}

/* Without a bus error the rest of the page in which a file ends reads as zeros. */
static int look_at_file(const char *path)
{
    const int fd = open_file(path, O_RDONLY);
    const int result = fd < 0 ? fd : check_length(fd, path);
    rsti_fd_close(fd);
    return result;
}

int rsti_segment_check(const rsti_segment_file_t *segment, const rsti_log_file_t *log,
    int32_t number, int64_t length)
{
    char path[RSTI_PATH_MAX];
    const int64_t end = rsti_align_i64(length, RSTI_SEGMENT_STEP);
    int result = path_of(log, number, path, sizeof path);
    if (result < 0 || length < 1) {
        return result;
    }
    (void)rsti_load_relaxed_u8(&segment->base[end - 1]);
    if (rsti_map_guard_damaged() > 0 && rsti_map_guard_is_damaged(segment->base)) {
        result = RST_SET_ERR(RST_ECORRUPT, "%s was cut short by another program", path);
    } else if (end - length < PAGE_LENGTH_MAX) {
        result = look_at_file(path);
    }
    return result;
}

void rsti_segment_close(rsti_segment_file_t *segment)
{
    (void)rsti_file_unmap(segment->base, (size_t)RSTI_SEGMENT_LENGTH);
    *segment = (rsti_segment_file_t){0};
}

void rsti_segments_remove(const rsti_log_file_t *log)
{
    char path[RSTI_PATH_MAX];
    for (int32_t number = 0; number < RSTI_SEGMENTS_MAX; number++) {
        if (path_of(log, number, path, sizeof path) < 0 || unlink(path) != 0) {
            return; /* they have no gap: this was the last one */
        }
    }
}
