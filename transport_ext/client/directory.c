/* directory.c: questions about a driver directory that need no client. */
#include "cnc/driver_dir.h"
#include "cnc/host_token.h"
#include "rstream/driver.h"
#include "util/clock.h"
#include "util/error.h"

#include <string.h>

#define DRIVER_TIMEOUT_MS 10000

static int resolve(const char *dir, char *path)
{
    if (dir == NULL) {
        return rsti_driver_dir_default(path, RSTI_PATH_MAX);
    }
    if (dir[0] == '\0' || strlen(dir) >= RSTI_PATH_MAX) {
        return RST_SET_ERR(RST_EINVAL, "driver directory \"%s\": must be 1 to %d bytes long", dir,
            RSTI_PATH_MAX - 1);
    }
    memcpy(path, dir, strlen(dir) + 1);
    return 0;
}

static int64_t epoch_ms(void)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_clock_epoch_ms(&clock);
}

RST_API int rst_default_dir(char *path, size_t size)
{
    if (path == NULL || size == 0) {
        return RST_SET_ERR(RST_EINVAL, "no room for the path");
    }
    return rsti_driver_dir_default(path, size);
}

RST_API int rst_driver_probe(const char *dir)
{
    char path[RSTI_PATH_MAX];
    const int resolved = resolve(dir, path);
    return resolved < 0 ? resolved
                        : (int)rsti_driver_dir_probe(path, DRIVER_TIMEOUT_MS, epoch_ms());
}

RST_API int rst_driver_check_dir(const char *dir)
{
    char path[RSTI_PATH_MAX];
    const int resolved = resolve(dir, path);
    return resolved < 0 ? resolved : rsti_driver_dir_check(path);
}

RST_API int rst_driver_clean(const char *dir)
{
    char path[RSTI_PATH_MAX];
    int32_t removed = 0;
    int result = resolve(dir, path);
    if (result == 0) {
        result = rsti_driver_dir_clean(path, DRIVER_TIMEOUT_MS, epoch_ms(), &removed);
    }
    return result < 0 ? result : (int)removed;
}

RST_API int rst_host_token(const char *dir, char *token, size_t size)
{
    char path[RSTI_PATH_MAX];
    if (token == NULL || size == 0) {
        return RST_SET_ERR(RST_EINVAL, "no room for the token");
    }
    const int resolved = resolve(dir, path);
    return resolved < 0 ? resolved : rsti_host_token(path, token, size);
}
