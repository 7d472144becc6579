/* log_file.c: log buffer files. They are sparse, but written only where the file system has
 * reserved the space. */
#include "cnc/log_file.h"

#include "cnc/driver_dir.h"
#include "cnc/files.h"
#include "cnc/segment_file.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/fault.h"
#include "util/int_math.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(((rsti_log_file_t *)0)->path) == RSTI_PATH_MAX, "paths of logs");

static int64_t term_count_at(const rsti_log_params_t *params)
{
    return (int64_t)(uint32_t)rsti_wrap_sub_i32(params->term_id, params->initial_term_id);
}

static int64_t step_of(int64_t term_length)
{
    return term_length < RSTI_RESERVE_STEP ? term_length : RSTI_RESERVE_STEP;
}

static void set_reserved(rsti_log_file_t *file, int64_t term_length, int64_t bytes, int64_t end)
{
    file->reserved_bytes = bytes;
    file->reserved_terms = (int32_t)((bytes + term_length - 1) / term_length);
    file->reserved_position = bytes < RSTI_PARTITIONS * term_length ? end : INT64_MAX;
}

/* Reserves the step that begins at position. fd -1: through the mapping. Steps follow one another
 * from the first one on, so that all three terms are reserved after so many steps as fit into
 * them. */
static int reserve_step(rsti_log_file_t *file, int fd, int64_t position, int64_t term_length,
    const char *dir)
{
    const int64_t step = step_of(term_length);
    const int64_t offset = position % (RSTI_PARTITIONS * term_length);
    const int result = fd >= 0 ? rsti_file_reserve(fd, offset, step, file->path, dir)
                               : rsti_file_populate(file->log.base + offset, step, file->path, dir);
    if (result != 0) {
        return result;
    }
    set_reserved(file, term_length, file->reserved_bytes + step, position + step);
    return 0;
}

/* The metadata and the step of the start position; everything when the log is not sparse. */
static int reserve_first(rsti_log_file_t *file, int fd, int64_t file_length, const char *dir,
    const rsti_log_params_t *params)
{
    file->is_sparse = params->sparse;
    if (!params->sparse) {
        file->reserved_position = INT64_MAX;
        file->reserved_terms = RSTI_PARTITIONS;
        file->reserved_bytes = RSTI_PARTITIONS * (int64_t)params->term_length;
        return rsti_file_reserve(fd, 0, file_length, file->path, dir);
    }
    if (ftruncate(fd, (off_t)file_length) != 0) {
        return RST_SET_ERRNO("giving %s its %lld bytes", file->path, (long long)file_length);
    }
    const int64_t term_length = params->term_length;
    const int64_t start = term_count_at(params) * term_length + params->term_offset;
    const int result = rsti_file_reserve(fd, file_length - RSTI_LOG_METADATA_LENGTH,
        RSTI_LOG_METADATA_LENGTH, file->path, dir);
    return result != 0
        ? result
        : reserve_step(file, fd, start - start % step_of(term_length), term_length, dir);
}

static int check_params(const rsti_log_params_t *params)
{
    if (!rsti_is_power_of_two(params->term_length) || params->term_length < RSTI_TERM_MIN_LENGTH
        || params->term_length > RSTI_TERM_MAX_LENGTH) {
        return RST_SET_ERR(RST_EINVAL, "term length %d: must be a power of two from %d to %d",
            params->term_length, RSTI_TERM_MIN_LENGTH, RSTI_TERM_MAX_LENGTH);
    }
    return 0;
}

int rsti_log_file_create(rsti_log_file_t *file, const char *dir, const char *kind, int64_t id,
    const rsti_log_params_t *params)
{
    memset(file, 0, sizeof *file);
    file->fd = -1;
    int result = check_params(params);
    if (result == 0) {
        result = rsti_path_format(file->path, sizeof file->path, "%s/%s/%lld.logbuffer", dir, kind,
            (long long)id);
    }
    if (result != 0) {
        return result;
    }
    const int64_t length = rsti_log_file_length(params->term_length, params->page_size);
    const int fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        result = RST_SET_ERRNO("creating %s", file->path);
        file->path[0] = '\0'; /* another process owns the file: closing must not remove it */
        return result;
    }
    uint8_t *base = NULL;
    result = reserve_first(file, fd, length, dir, params);
    if (result == 0) {
        result = rsti_file_map(fd, (size_t)length, false, file->path, &base);
    }
    close(fd);
    if (result == 0) {
        rsti_log_metadata_init((rsti_log_metadata_t *)(void *)(base + length
                                   - RSTI_LOG_METADATA_LENGTH),
            params);
        result = rsti_log_init(&file->log, base, (size_t)length);
    }
    if (result != 0) {
        RST_APPEND_ERR("creating %s", file->path);
        (void)rsti_file_unmap(base, (size_t)length);
        unlink(file->path);
        file->path[0] = '\0';
        memset(&file->log, 0, sizeof file->log);
        return result;
    }
    return 0;
}

/* The directory of the driver, for the free space in an error: two components up. */
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

int rsti_log_file_reserve(rsti_log_file_t *file, int64_t position)
{
    if (position < file->reserved_position) {
        return 0;
    }
    const int64_t term_length = file->log.term_length;
    char dir[RSTI_PATH_MAX];
    dir_of(file->path, dir, sizeof dir);
    /* A few times in the life of a log: not worth a descriptor in each of a thousand logs. */
    const int fd = open(file->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != EMFILE && errno != ENFILE) {
        return RST_SET_ERRNO("opening %s to reserve a term", file->path);
    }
    int result = 0;
    while (result == 0 && position >= file->reserved_position) {
        result = reserve_step(file, fd, file->reserved_position, term_length, dir);
    }
    rsti_fd_close(fd);
    return result;
}

static int punch(const rsti_log_file_t *file, int fd, int64_t offset, int64_t length)
{
    if (length > 0
        && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)length)
            != 0) {
        return RST_SET_ERRNO("giving memory of %s back", file->path);
    }
    return 0;
}

int64_t rsti_log_file_give_back(rsti_log_file_t *file, int64_t from, int64_t to)
{
    const int64_t term_length = file->log.term_length;
    const int64_t step = step_of(term_length), ring = RSTI_PARTITIONS * term_length;
    const int64_t begin = from - from % step;
    const int64_t end = rsti_min_i64(to - to % step + step, file->reserved_position);
    if (!file->is_sparse || end - begin >= file->reserved_bytes) {
        return -1;
    }
    const int fd = open(file->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return RST_SET_ERRNO("opening %s to give memory back", file->path);
    }
    set_reserved(file, term_length, end - begin, end);
    /* From the end round to the beginning. */
    const int64_t hole = end % ring, length = ring - (end - begin);
    const int64_t first = rsti_min_i64(length, ring - hole);
    int result = punch(file, fd, hole, first);
    if (result == 0) {
        result = punch(file, fd, 0, length - first);
    }
    close(fd);
    return result == 0 ? begin : result;
}

/* "<kind>/<id>.logbuffer" at the end of path: the file is looked up under our own dir by these, so
 * that nothing outside can be named, and the driver may know the directory by another path. */
static bool split_path(const char *path, size_t path_length, const char **kind, int64_t *id)
{
    char text[RSTI_PATH_MAX];
    if (path_length == 0 || path_length >= sizeof text || memchr(path, '\0', path_length) != NULL) {
        return false;
    }
    memcpy(text, path, path_length);
    text[path_length] = '\0';
    char *name = strrchr(text, '/');
    if (name == NULL) {
        return false;
    }
    *name++ = '\0';
    const char *parent = strrchr(text, '/');
    parent = parent != NULL ? parent + 1 : text;
    if (strcmp(parent, RSTI_PUBLICATIONS_DIR) == 0) {
        *kind = RSTI_PUBLICATIONS_DIR;
    } else if (strcmp(parent, RSTI_IMAGES_DIR) == 0) {
        *kind = RSTI_IMAGES_DIR;
    } else {
        return false;
    }
    int64_t value = 0;
    size_t digits = 0;
    for (; name[digits] >= '0' && name[digits] <= '9'; digits++) {
        if (__builtin_mul_overflow(value, INT64_C(10), &value)
            || __builtin_add_overflow(value, (int64_t)(name[digits] - '0'), &value)) {
            return false;
        }
    }
    *id = value;
    return digits > 0 && strcmp(name + digits, ".logbuffer") == 0;
}

static int open_log(const char *dir, const char *kind, const char *path)
{
    const int dir_fd = rsti_dir_open(dir, false);
    if (dir_fd < 0) {
        return dir_fd;
    }
    const int kind_fd = openat(dir_fd, kind, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = kind_fd < 0
        ? -1
        : openat(kind_fd, strrchr(path, '/') + 1, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        fd = RST_SET_ERRNO("opening log %s", path);
    }
    rsti_fd_close(kind_fd);
    close(dir_fd);
    return fd;
}

int rsti_log_file_open(rsti_log_file_t *file, const char *dir, const char *path, size_t path_length)
{
    const char *kind = NULL;
    int64_t id = 0;
    memset(file, 0, sizeof *file);
    file->fd = -1;
    file->reserved_position = INT64_MAX; /* the driver reserves */
    if (!split_path(path, path_length, &kind, &id)) {
        return RST_SET_ERR(RST_ECORRUPT, "the driver named a log that cannot be one: %.*s",
            path_length < 200 ? (int)path_length : 200, path);
    }
    int result = rsti_path_format(file->path, sizeof file->path, "%s/%s/%lld.logbuffer", dir, kind,
        (long long)id);
    if (result != 0) {
        return result;
    }
    const int fd = open_log(dir, kind, file->path);
    if (fd < 0) {
        return fd;
    }
    uint8_t *base = NULL;
    const int64_t length = rsti_file_length(fd, false, file->path);
    result = length < 0 ? (int)length : 0;
    if (result == 0 && length < RSTI_PARTITIONS * RSTI_TERM_MIN_LENGTH + RSTI_LOG_METADATA_LENGTH) {
        result = RST_SET_ERR(RST_ECORRUPT, "%s has %lld bytes: too short for a log", file->path,
            (long long)length);
    }
    if (result == 0) {
        result = rsti_file_map(fd, (size_t)length, false, file->path, &base);
    }
    close(fd);
    if (result == 0) {
        result = rsti_log_init(&file->log, base, (size_t)length);
        if (result != 0) {
            RST_APPEND_ERR("mapping %s", file->path);
            (void)rsti_file_unmap(base, (size_t)length);
            memset(&file->log, 0, sizeof file->log);
        }
    }
    return result;
}

int rsti_log_file_close(rsti_log_file_t *file, bool remove)
{
    if (file->log.base != NULL) {
        if (rsti_file_unmap(file->log.base, file->log.length) < 0) {
            return RST_APPEND_ERR("unmapping %s", file->path);
        }
        memset(&file->log, 0, sizeof file->log);
    }
    if (remove && file->path[0] != '\0' && RSTI_FAULT != RSTI_FAULT_LOG_FILE) {
        if (unlink(file->path) != 0 && errno != ENOENT) {
            return RST_SET_ERRNO("removing %s", file->path);
        }
        rsti_segments_remove(file);
        file->path[0] = '\0';
    }
    return 0;
}
