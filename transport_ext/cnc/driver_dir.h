/* driver_dir.h: the driver directory: creation, the lock that tells a driver's life, cleaning,
 * names. Only this room opens, maps and unlinks files. Everything is made 0700 / 0600,
 * close-on-exec, O_NOFOLLOW; a directory owned by somebody else or writable by others is refused.
 */
#ifndef RSTI_CNC_DRIVER_DIR_H
#define RSTI_CNC_DRIVER_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_PATH_MAX 1024

/* $RSTREAM_DIR, else /dev/shm/rstream-<user>, else $TMPDIR or /tmp/rstream-<user>. */
int rsti_driver_dir_default(char *path, size_t size);

/* Where Aeron's drivers and clients meet: /dev/shm/aeron-<user>, else $TMPDIR or /tmp/aeron-<user>.
 */
int rsti_driver_dir_aeron_default(char *path, size_t size);

/* Driver side. Locks <dir>/driver.lock exclusively (kept open; the kernel drops it at death, kill
 * -9 included; a forked child lets go of it), refuses with -RST_EINUSE when a living driver holds
 * it (after trying for 200 ms) or an Aeron driver's heartbeat in cnc.dat is younger than
 * driver_timeout_ms, and with -RST_EINVAL a directory that holds other things than a driver's;
 * otherwise saves a non-empty error log beside the directory, removes what a dead driver left,
 * makes publications/ images/ wake/. The directory's parent must exist. */
int rsti_driver_dir_acquire(const char *dir, int64_t driver_timeout_ms, int64_t now_ms,
    int *lock_fd);
bool rsti_driver_dir_exists(const char *dir);
/* The directories above it, 0700, where they are missing. 0 or -RST_ESYS. */
int rsti_driver_dir_make_parents(const char *dir);
/* Removes everything and the directory itself when remove_dir, then the lock. */
void rsti_driver_dir_release(const char *dir, int lock_fd, bool remove_dir);

typedef enum rsti_driver_life_t {
    RSTI_DRIVER_ABSENT = 0, /* no directory or no cnc.dat */
    RSTI_DRIVER_DEAD = 1,   /* files are there, nobody holds the lock, no fresh heartbeat */
    RSTI_DRIVER_ALIVE = 2,
    RSTI_DRIVER_FOREIGN = 3 /* alive, no rstream lock: an Aeron driver with a fresh heartbeat */
} rsti_driver_life_t;
rsti_driver_life_t rsti_driver_dir_probe(const char *dir, int64_t driver_timeout_ms,
    int64_t now_ms);
/* Removes what a dead driver left; -RST_EINUSE when it lives. *removed counts files. */
int rsti_driver_dir_clean(const char *dir, int64_t driver_timeout_ms, int64_t now_ms,
    int32_t *removed);

/* Client side: keeps driver.lock open to ask cheaply whether the driver lives. fd, or negative. */
int rsti_driver_lock_open(const char *dir);
bool rsti_driver_lock_is_held(int fd);
void rsti_fd_close(int fd);

/* File system space that a file of this length may still take. */
int64_t rsti_storage_usable(const char *dir);

#endif
