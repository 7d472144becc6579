/* file_system.h: paths, descriptors and free space, for this room and the rooms above. */
#ifndef RSTI_CNC_FILE_SYSTEM_H
#define RSTI_CNC_FILE_SYSTEM_H

#include <stdint.h>

#define RSTI_PATH_MAX 1024

/* Closes a descriptor; a negative one is none. */
void rsti_fd_close(int fd);
/* The bytes that files in dir may still take of the file system; INT64_MAX: unknown. */
int64_t rsti_storage_usable(const char *dir);
/* Sets the error "what needs so many bytes", with the number that is missing and with ways to get
 * it. Returns -RST_ESTORAGE. */
int rsti_storage_error(const char *what, int64_t needed, int64_t usable, const char *dir);

#endif
