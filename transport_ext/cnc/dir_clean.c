/* dir_clean.c: removes the files of a driver, and saves its error log first. It touches only names
 * that a driver makes, relative to an open directory, so a wrong path does no harm. */
#include "cnc/files.h"

#include "cnc/cnc_file.h"
#include "cnc/file_system.h"
#include "concurrent/error_log.h"
#include "util/alloc.h"
#include "util/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ERROR_LOG_SAVED_MAX (16 * 1024 * 1024)

static const char *const driver_files[] = {RSTI_CNC_FILE_NAME, RSTI_LOSS_REPORT_NAME};
static const char *const driver_subdirs[] = {
    RSTI_PUBLICATIONS_DIR, RSTI_IMAGES_DIR, RSTI_WAKE_DIR, RSTI_KEYS_DIR};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool rsti_dir_is_drivers(int dir_fd, char *stranger, size_t size)
{
    DIR *stream = rsti_dir_read(dir_fd, ".");
    if (stream == NULL) {
        snprintf(stranger, size, "?");
        return false;
    }
    bool has_stranger = false;
    bool has_marker = false;
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, RSTI_CNC_FILE_NAME) == 0 || strcmp(name, RSTI_LOCK_FILE_NAME) == 0) {
            has_marker = true;
        } else if (!is_dot(name) && !is_one_of(name, driver_files, COUNT_OF(driver_files))
            && !is_one_of(name, driver_subdirs, COUNT_OF(driver_subdirs))) {
            has_stranger = true;
            snprintf(stranger, size, "%s", name);
        }
    }
    closedir(stream);
    return has_marker || !has_stranger;
}

/* "<number>.logbuffer", "<number>.<number>", "<number>.life" or "<number>.key": logs, their
 * segments and the FIFOs that wake a client, FIFOs that a client holds while it lives, and keys; or
 * the draft of a key, whose client died while it wrote it. */
static bool is_made_name(const char *name)
{
    if (strncmp(name, RSTI_KEY_DRAFT, sizeof RSTI_KEY_DRAFT - 1) == 0) {
        return true;
    }
    const size_t digits = strspn(name, "0123456789");
    const char *rest = name + digits;
    if (digits == 0 || *rest != '.') {
        return false;
    }
    rest++;
    return strcmp(rest, "logbuffer") == 0 || strcmp(rest, "life") == 0 || strcmp(rest, "key") == 0
        || (rest[0] != '\0' && rest[strspn(rest, "0123456789")] == '\0');
}

int32_t rsti_dir_empty(int dir_fd, const char *name)
{
    DIR *stream = rsti_dir_read(dir_fd, name);
    if (stream == NULL) {
        return 0;
    }
    int32_t removed = 0;
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        if (is_made_name(entry->d_name) && unlinkat(dirfd(stream), entry->d_name, 0) == 0) {
            removed++;
        }
    }
    closedir(stream);
    return removed;
}

int32_t rsti_dir_remove_content(int dir_fd, bool keep_subdirs)
{
    int32_t removed = 0;
    for (size_t i = 0; i < COUNT_OF(driver_subdirs); i++) {
        removed += rsti_dir_empty(dir_fd, driver_subdirs[i]);
        /* Not a directory (perhaps a link): the entry itself is removed. */
        if (unlinkat(dir_fd, driver_subdirs[i], 0) == 0) {
            removed++;
        } else if (!keep_subdirs) {
            (void)unlinkat(dir_fd, driver_subdirs[i], AT_REMOVEDIR);
        }
    }
    for (size_t i = 0; i < COUNT_OF(driver_files); i++) {
        if (unlinkat(dir_fd, driver_files[i], 0) == 0) {
            removed++;
        }
    }
    return removed;
}

static bool read_exactly(int fd, void *to, size_t length, int64_t offset)
{
    size_t done = 0;
    while (done < length) {
        const ssize_t got = pread(fd, (uint8_t *)to + done, length - done,
            (off_t)(offset + (int64_t)done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static int open_cnc(int dir_fd)
{
    return openat(dir_fd, RSTI_CNC_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static void peek_error_log(const rsti_cnc_header_t *header, rsti_cnc_peek_t *peek)
{
    if (header->to_clients_length > 0 && header->counter_metadata_length > 0
        && header->counter_values_length > 0 && header->error_log_length > 0) {
        peek->error_log_offset = (int64_t)RSTI_CNC_HEADER_LENGTH + header->to_driver_length
            + header->to_clients_length + header->counter_metadata_length
            + header->counter_values_length;
        peek->error_log_length = header->error_log_length;
    }
}

bool rsti_cnc_peek(int dir_fd, rsti_cnc_peek_t *peek)
{
    memset(peek, 0, sizeof *peek);
    const int fd = open_cnc(dir_fd);
    if (fd < 0) {
        return false;
    }
    rsti_cnc_header_t header;
    bool found = read_exactly(fd, &header, sizeof header, 0) && header.cnc_version != 0
        && header.to_driver_length > RSTI_RB_TRAILER_LENGTH;
    if (found) {
        const int64_t heartbeat_offset = (int64_t)RSTI_CNC_HEADER_LENGTH + header.to_driver_length
            - RSTI_RB_TRAILER_LENGTH + (int64_t)offsetof(rsti_rb_trailer_t, consumer_heartbeat_ms);
        found = read_exactly(fd, &peek->heartbeat_ms, sizeof peek->heartbeat_ms, heartbeat_offset);
        peek->is_rstream = header.ext.magic == RSTI_EXT_MAGIC;
        peek_error_log(&header, peek);
    }
    close(fd);
    return found;
}

static void format_time(int64_t epoch_ms, char *text, size_t size)
{
    const time_t seconds = (time_t)(epoch_ms / 1000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) == NULL
        || strftime(text, size, "%Y-%m-%d-%H-%M-%S", &parts) == 0) {
        snprintf(text, size, "unknown");
    }
}

static void write_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text, size_t text_length)
{
    char first[32];
    char last[32];
    format_time(first_ms, first, sizeof first);
    format_time(last_ms, last, sizeof last);
    fprintf(arg, "***\n%d observations from %s to %s for:\n%.*s\n", observations, first, last,
        (int)text_length, text);
}

static void ignore_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text, size_t text_length)
{
    (void)arg;
    (void)observations;
    (void)first_ms;
    (void)last_ms;
    (void)text;
    (void)text_length;
}

static void write_error_file(const char *dir, const void *log, size_t length, int64_t now_ms)
{
    char path[RSTI_PATH_MAX];
    char when[32];
    size_t dir_length = strlen(dir);
    while (dir_length > 1 && dir[dir_length - 1] == '/') {
        dir_length--; /* "dir/" would put the file inside */
    }
    format_time(now_ms, when, sizeof when);
    if (rsti_path_format(path, sizeof path, "%.*s-%s-%03d-error.log", (int)dir_length, dir, when,
            (int)(now_ms % 1000))
        != 0) {
        return;
    }
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file != NULL) {
        (void)rsti_error_log_read(log, length, write_error, file);
        fclose(file);
    } else if (fd >= 0) {
        close(fd);
    }
}

void rsti_dir_save_error_log(const char *dir, int dir_fd, int64_t now_ms)
{
    rsti_cnc_peek_t peek;
    if (!rsti_cnc_peek(dir_fd, &peek) || peek.error_log_offset == 0) {
        return;
    }
    const size_t length = (size_t)(peek.error_log_length < ERROR_LOG_SAVED_MAX
            ? peek.error_log_length
            : ERROR_LOG_SAVED_MAX);
    const int fd = open_cnc(dir_fd);
    void *log = fd >= 0 ? rsti_alloc(length) : NULL;
    if (log != NULL && read_exactly(fd, log, length, peek.error_log_offset)
        && rsti_error_log_read(log, length, ignore_error, NULL) > 0) {
        write_error_file(dir, log, length, now_ms);
    }
    rsti_free(log);
    if (fd >= 0) {
        close(fd);
    }
}
