/* host_token.h: tells whether two directories are the same shared memory of the same running
 * machine. */
#ifndef RSTI_CNC_HOST_TOKEN_H
#define RSTI_CNC_HOST_TOKEN_H

#include <stddef.h>

/* "<boot id>-<device>-<inode>" of the file system mounted where dir lies (dir itself may not exist
 * yet), or $RSTREAM_HOST_TOKEN. Containers of one host that see the same mount get the same token;
 * those with a shared memory of their own do not. 0, or negative with a trail. */
int rsti_host_token(const char *dir, char *token, size_t size);

#endif
