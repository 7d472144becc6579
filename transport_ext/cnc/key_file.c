/* key_file.c: see key_file.h. */
#include "cnc/key_file.h"

#include "cnc/files.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX 4096
#define DIGITS ((size_t)2 * RSTI_KEY_BYTES)

static rsti_key_file_stamp_t stamp_of(const struct stat *facts)
{
    return (rsti_key_file_stamp_t){
        .device = facts->st_dev,
        .inode = facts->st_ino,
        .size = facts->st_size,
        .changed_ns = (int64_t)facts->st_ctim.tv_sec * 1000000000 + facts->st_ctim.tv_nsec,
    };
}

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* length bytes without their line end. 0, -RST_EINVAL, or what rsti_key_make returns. */
static int read_line(const char *line, size_t length, rsti_keys_t *keys)
{
    uint8_t secret[RSTI_KEY_BYTES];
    if (length == 0 || line[0] == '#') {
        return 0;
    }
    if (keys->count == RSTI_KEYS_MAX) {
        return RST_SET_ERR(RST_EINVAL, "more than %d keys", RSTI_KEYS_MAX);
    }
    bool is_key = length == DIGITS;
    for (size_t i = 0; is_key && i < sizeof secret; i++) {
        const int high = digit(line[2 * i]);
        const int low = digit(line[2 * i + 1]);
        is_key = high >= 0 && low >= 0;
        secret[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
    }
    const int result = is_key
        ? rsti_key_make(&keys->keys[keys->count], secret)
        : RST_SET_ERR(RST_EINVAL, "a line that is no key of %zu hex digits", DIGITS);
    explicit_bzero(secret, sizeof secret);
    keys->count += result == 0;
    return result;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

int rsti_key_text_read(const char *text, size_t length, rsti_keys_t *keys)
{
    *keys = (rsti_keys_t){0};
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        const size_t next = end == NULL ? length : (size_t)(end - text);
        size_t line = next - at;
        while (line > 0 && is_blank(text[at + line - 1])) {
            line--;
        }
        const int result = read_line(text + at, line, keys);
        if (result < 0) {
            return result;
        }
        at = next + 1;
    }
    return keys->count > 0 ? 0 : RST_SET_ERR(RST_EINVAL, "no key");
}

static int read_open(int fd, rsti_keys_t *keys, rsti_key_file_stamp_t *stamp)
{
    struct stat facts;
    char text[FILE_BYTES_MAX];
    if (fstat(fd, &facts) != 0) {
        return RST_SET_ERRNO("stat");
    }
    *stamp = stamp_of(&facts);
    if (!S_ISREG(facts.st_mode) || facts.st_size > FILE_BYTES_MAX) {
        return RST_SET_ERR(RST_EINVAL, "no regular file of at most %d bytes", FILE_BYTES_MAX);
    }
    if ((facts.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
        return RST_SET_ERR(RST_EACCESS, "others may read or write it (mode %04o): chmod 600 it",
            (unsigned)facts.st_mode & 07777U);
    }
    const ssize_t length = pread(fd, text, sizeof text, 0);
    const int result = length < 0 ? RST_SET_ERRNO("reading")
                                  : rsti_key_text_read(text, (size_t)length, keys);
    explicit_bzero(text, sizeof text);
    return result;
}

int rsti_key_file_read(const char *path, rsti_keys_t *keys, rsti_key_file_stamp_t *stamp)
{
    *keys = (rsti_keys_t){0};
    *stamp = (rsti_key_file_stamp_t){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int result = fd < 0 ? RST_SET_ERRNO("opening") : read_open(fd, keys, stamp);
    if (fd >= 0) {
        close(fd);
    }
    if (result < 0) {
        explicit_bzero(keys, sizeof *keys);
        (void)RST_APPEND_ERR("key file %s", path);
    }
    return result;
}

bool rsti_key_file_has_changed(const char *path, const rsti_key_file_stamp_t *stamp)
{
    struct stat facts = {0};
    const rsti_key_file_stamp_t now = stat(path, &facts) == 0 ? stamp_of(&facts)
                                                              : (rsti_key_file_stamp_t){0};
    return now.device != stamp->device || now.inode != stamp->inode || now.size != stamp->size
        || now.changed_ns != stamp->changed_ns;
}

int rsti_key_file_of_id(char *path, size_t size, const char *dir, uint32_t id)
{
    return rsti_path_format(path, size, "%s/%s/%" PRIu32 ".key", dir, RSTI_KEYS_DIR, id);
}
