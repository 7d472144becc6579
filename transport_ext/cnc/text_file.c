#include "cnc/text_file.h"

#include "util/alloc.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static char *read_open(int fd, const char *path, size_t most, size_t *length)
{
    char *text = rsti_alloc(most + 2);
    size_t done = 0;
    while (text != NULL && done <= most) {
        const ssize_t got = read(fd, text + done, most + 1 - done);
        if (got == 0) {
            text[done] = '\0';
            *length = done;
            return text;
        }
        if (got < 0 && errno != EINTR) {
            (void)RST_SET_ERRNO("reading %s", path);
            rsti_free(text);
            return NULL;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    if (text != NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "%s is longer than %zu bytes", path, most);
    }
    rsti_free(text);
    return NULL;
}

char *rsti_text_file_read(const char *path, size_t most, size_t *length)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)RST_SET_ERRNO("opening %s", path);
        return NULL;
    }
    char *text = read_open(fd, path, most, length);
    close(fd);
    return text;
}
