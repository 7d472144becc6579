/* key_file.h: the file that holds the keys of a group: text, one key of 64 hex digits a line, at
 * most RSTI_KEYS_MAX of them, of which the first one seals. Empty lines and lines that begin with
 * "#" mean nothing. No error text repeats a line. */
#ifndef RSTI_CNC_KEY_FILE_H
#define RSTI_CNC_KEY_FILE_H

#include "seal/keyring.h"

/* What differs once a file is written anew, or another one takes its place. */
typedef struct rsti_key_file_stamp_t {
    uint64_t device, inode;
    int64_t size, changed_ns;
} rsti_key_file_stamp_t;

/* 0; or with a trail: the file cannot be opened (its errno), every user of the host may read or
 * write it (-RST_EACCESS), it holds something else (-RST_EINVAL), or rstream was built without
 * libcrypto (-RST_ENOTSUP). *stamp: of what was read, or tried;
 * zeros: it could not be opened. */
int rsti_key_file_read(const char *path, rsti_keys_t *keys, rsti_key_file_stamp_t *stamp);
/* The content of such a file. 0, -RST_EINVAL or -RST_ENOTSUP with a trail; *keys may then hold some
 * of its keys. */
int rsti_key_text_read(const char *text, size_t length, rsti_keys_t *keys);
/* Whether there is another file now, or none any more. */
bool rsti_key_file_has_changed(const char *path, const rsti_key_file_stamp_t *stamp);
/* The file in a driver directory where clients leave the key with this id. 0 or -RST_EINVAL. */
int rsti_key_file_of_id(char *path, size_t size, const char *dir, uint32_t id);

#endif
