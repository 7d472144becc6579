#include "cnc/host_token.h"

#include "cnc/driver_dir.h"
#include "util/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

static int read_boot_id(char *text, size_t size)
{
    const int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return RST_SET_ERRNO("cannot open %s (set RSTREAM_HOST_TOKEN)", BOOT_ID_PATH);
    }
    const ssize_t length = read(fd, text, size - 1);
    const int error = errno;
    (void)close(fd);
    if (length <= 0) {
        errno = error;
        return RST_SET_ERRNO("cannot read %s (set RSTREAM_HOST_TOKEN)", BOOT_ID_PATH);
    }
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

/* Cuts the last component off; false at the root. */
static bool go_up(char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        if (strcmp(path, ".") == 0) {
            return false;
        }
        (void)snprintf(path, 2, ".");
        return true;
    }
    if (slash == path) {
        const bool was_root = path[1] == '\0';
        path[1] = '\0';
        return !was_root;
    }
    *slash = '\0';
    return true;
}

/* The highest directory on the same device: the root of the mount. */
static int find_mount_root(const char *dir, struct stat *root)
{
    char path[RSTI_PATH_MAX];
    char resolved[4096]; /* PATH_MAX, as realpath wants */
    if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path) {
        return RST_SET_ERR(RST_EINVAL, "driver directory of %zu bytes is too long", strlen(dir));
    }
    while (realpath(path, resolved) == NULL) {
        if (errno != ENOENT || !go_up(path)) {
            return RST_SET_ERRNO("cannot resolve %s", dir);
        }
    }
    if (stat(resolved, root) != 0) {
        return RST_SET_ERRNO("cannot look at %s", resolved);
    }
    struct stat above;
    while (go_up(resolved) && stat(resolved, &above) == 0 && above.st_dev == root->st_dev) {
        *root = above;
    }
    return 0;
}

int rsti_host_token(const char *dir, char *token, size_t size)
{
    const char *given = getenv("RSTREAM_HOST_TOKEN");
    int length;
    if (given != NULL && given[0] != '\0') {
        length = snprintf(token, size, "%s", given);
    } else {
        char boot_id[64];
        struct stat root;
        int result = read_boot_id(boot_id, sizeof boot_id);
        if (result == 0) {
            result = find_mount_root(dir, &root);
        }
        if (result < 0) {
            return result;
        }
        length = snprintf(token, size, "%s-%llx-%llx", boot_id, (unsigned long long)root.st_dev,
            (unsigned long long)root.st_ino);
    }
    if (length < 0 || (size_t)length >= size) {
        return RST_SET_ERR(RST_EINVAL, "host token of %d bytes does not fit %zu", length, size);
    }
    return 0;
}
