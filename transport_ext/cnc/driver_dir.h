/* driver_dir.h: the driver directory: creation, the lock that shows a living driver, cleaning,
 * names. Only this room opens, maps and unlinks files. Everything is made 0700 / 0600,
 * close-on-exec, O_NOFOLLOW. A directory of another user, or writable by others, is refused. */
#ifndef RSTI_CNC_DRIVER_DIR_H
#define RSTI_CNC_DRIVER_DIR_H

#include "cnc/file_system.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* $RSTREAM_DIR, else /dev/shm/rstream-<user>, else $TMPDIR or /tmp/rstream-<user>. */
int rsti_driver_dir_default(char *path, size_t size);

/* The directory of Aeron's drivers and clients: /dev/shm/aeron-<user>, else $TMPDIR or
 * /tmp/aeron-<user>. */
int rsti_driver_dir_aeron_default(char *path, size_t size);

/* Driver side. Locks <dir>/driver.lock exclusively. The lock stays open; the kernel drops it at
 * death (kill -9 too), and a forked child releases it.
 *
 * -RST_EINUSE: a living driver holds the lock (tried for 200 ms), or an Aeron driver's heartbeat in
 * cnc.dat is younger than driver_timeout_ms. -RST_EINVAL: the directory holds files that are not a
 * driver's. Otherwise it saves a non-empty error log beside the directory, removes the files of a
 * dead driver and makes publications/ images/ wake/. The parent directory must exist. */
int rsti_driver_dir_acquire(const char *dir, int64_t driver_timeout_ms, int64_t now_ms,
    int *lock_fd);
bool rsti_driver_dir_exists(const char *dir);
/* Whether a driver could start in dir, which may be missing: 0, or the error that it would get.
 * Nothing is made, locked or changed; whether a driver lives there already is not looked at. */
int rsti_driver_dir_check(const char *dir);
/* Makes the missing directories above it, 0700. 0 or -RST_ESYS. */
int rsti_driver_dir_make_parents(const char *dir);
/* Removes everything, with remove_dir also the directory itself, then the lock. */
void rsti_driver_dir_release(const char *dir, int lock_fd, bool remove_dir);

typedef enum rsti_driver_life_t {
    RSTI_DRIVER_ABSENT = 0, /* no directory or no cnc.dat */
    RSTI_DRIVER_DEAD = 1,   /* files exist, the lock is free, and no heartbeat is fresh */
    RSTI_DRIVER_ALIVE = 2,
    RSTI_DRIVER_FOREIGN = 3 /* alive, no rstream lock: an Aeron driver with a fresh heartbeat */
} rsti_driver_life_t;
rsti_driver_life_t rsti_driver_dir_probe(const char *dir, int64_t driver_timeout_ms,
    int64_t now_ms);
/* Removes the files of a dead driver; *removed counts them. -RST_EINUSE: it is alive. */
int rsti_driver_dir_clean(const char *dir, int64_t driver_timeout_ms, int64_t now_ms,
    int32_t *removed);

/* Client side: opens driver.lock, to ask cheaply whether the driver lives. fd, or negative. */
int rsti_driver_lock_open(const char *dir);
bool rsti_driver_lock_is_held(int fd);

#endif
