/* files.h: helpers that the files of this room share. Not for other rooms. */
#ifndef RSTI_CNC_FILES_H
#define RSTI_CNC_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_CNC_FILE_NAME "cnc.dat"
#define RSTI_LOCK_FILE_NAME "driver.lock"
#define RSTI_LOSS_REPORT_NAME "loss-report.dat"
#define RSTI_PUBLICATIONS_DIR "publications"
#define RSTI_IMAGES_DIR "images"
#define RSTI_WAKE_DIR "wake"
#define RSTI_KEYS_DIR "keys" /* made by clients */
#define RSTI_KEY_DRAFT ".rstream-key-" /* there, until it has its name (rstream/keys.py) */

/* Formats a path into path[size]; -RST_EINVAL with a trail when it does not fit. */
int rsti_path_format(char *path, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens a driver directory: not a link, and ours unless any_owner (tools that only look).
 * Descriptor, or -RST_ENODRIVER when absent, -RST_EACCESS, -RST_ESYS with a trail. */
int rsti_dir_open(const char *dir, bool any_owner);

/* A second, independent descriptor of the same directory, for reading entries. NULL on failure. */

DIR *rsti_dir_read(int dir_fd, const char *name);

/* Reserves [offset, offset + length) in the file system, so that a later write cannot raise a bus
 * error. -RST_ESTORAGE names the size needed and the space left in dir. */
int rsti_file_reserve(int fd, int64_t offset, int64_t length, const char *path, const char *dir);
/* The same without a descriptor, through a writable shared mapping (Linux 5.14). */
int rsti_file_populate(uint8_t *base, int64_t length, const char *path, const char *dir);
/* Shared mapping, guarded against a file that is cut short (map_guard.h). */
int rsti_file_map(int fd, size_t length, bool read_only, const char *path, uint8_t **base);
/* 0 or -RST_ESYS with a trail. base NULL: nothing. */
int rsti_file_unmap(uint8_t *base, size_t length);
/* The length of a regular file. -RST_ECORRUPT: it is no regular file; -RST_EACCESS: it belongs to
 * another user, who may have put it into a directory that the group may write; -RST_ESYS. */
int64_t rsti_file_length(int fd, bool any_owner, const char *path);

/* dir_clean.c: removes all files of a folder, "." for the directory itself. Returns how many. */
int32_t rsti_dir_empty(int dir_fd, const char *name);
/* dir_clean.c: removes the files of a driver and returns how many. keep_subdirs leaves the emptied
 * sub-directories. The lock file stays. */
int32_t rsti_dir_remove_content(int dir_fd, bool keep_subdirs);
/* True: every entry is a name that a driver makes, or one of them is a name that only a driver
 * makes. False: stranger[size] gets the name of a foreign entry. */
bool rsti_dir_is_drivers(int dir_fd, char *stranger, size_t size);
/* Writes a non-empty error log beside dir. Best effort. */
void rsti_dir_save_error_log(const char *dir, int dir_fd, int64_t now_ms);

/* The parts of cnc.dat that show a living driver, read with pread: the file may be cut at any
 * time. */
typedef struct rsti_cnc_peek_t {
    bool is_rstream;
    int64_t heartbeat_ms;     /* 0 = none, -1 = clean shutdown */
    int64_t error_log_offset; /* in the file, 0 when lengths are impossible */
    int64_t error_log_length;
} rsti_cnc_peek_t;
/* False: there is no cnc.dat, it is not ready, or it is another file. */
bool rsti_cnc_peek(int dir_fd, rsti_cnc_peek_t *peek);

#endif
