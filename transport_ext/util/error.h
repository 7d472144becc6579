/* error.h: the thread-local error trail. The first failure sets code and text; its callers append
 * where they were:
 *
 *     return RST_SET_ERR(RST_EINVAL, "mtu %d: must be a multiple of 32", mtu);
 *
 * Both macros evaluate to -code, so that they can be returned. */
#ifndef RSTI_UTIL_ERROR_H
#define RSTI_UTIL_ERROR_H

#include "rstream/error.h"

#define RSTI_ERROR_TEXT_MAX 2048

int rsti_error_set(int code, int detail, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int rsti_error_append(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rsti_error_clear(void);
/* A key that somebody gave in the wrong place must not reach a log: 64 hex digits in sequence, or
 * several keys, become RSTI_ERROR_HIDDEN, unless they are part of a path. Error texts of this file
 * have none; for those that are made otherwise. */
void rsti_error_hide_keys(char *text);

#define RSTI_ERROR_HIDDEN "(hidden)"

#define RST_SET_ERR(code, ...) rsti_error_set((code), 0, __VA_ARGS__)
/* errno-carrying form: maps EACCES/EPERM, ENOSPC, EADDRINUSE, ENOMEM to their codes, others to
 * RST_ESYS, and appends strerror(errno_value). */
int rsti_error_set_errno(int errno_value, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define RST_SET_ERRNO(...) rsti_error_set_errno(errno, __VA_ARGS__)
#define RST_APPEND_ERR(...) rsti_error_append(__VA_ARGS__)

#endif
