/* error.h: error codes and the thread's last error.
 *
 * Cold functions return 0 or -RST_E…. rst_last_error_text() gives the text of the thread's last
 * failure: what failed, where, and what to do. Hot functions (offer, poll) return a position or one
 * of the small negative reasons at the end, with Aeron's numbers, and leave no text. */
#ifndef RSTREAM_ERROR_H
#define RSTREAM_ERROR_H

#define RST_API __attribute__((visibility("default")))

#define RST_ERRORS(X)                                                                              \
    X(RST_EINVAL, 101, "invalid argument")                                                         \
    X(RST_ECHANNEL, 102, "invalid channel")                                                        \
    X(RST_ENOMEM, 103, "out of memory")                                                            \
    X(RST_ESYS, 104, "operating system error")                                                     \
    X(RST_ENODRIVER, 105, "no living media driver in the directory")                               \
    X(RST_EDRIVERLOST, 106, "the media driver died or was shut down")                              \
    X(RST_ETIMEDOUT, 107, "timed out")                                                             \
    X(RST_EVERSION, 108, "version mismatch")                                                       \
    X(RST_EINUSE, 109, "already in use")                                                           \
    X(RST_ESTORAGE, 110, "not enough storage")                                                     \
    X(RST_EACCESS, 111, "permission denied")                                                       \
    X(RST_ECLOSED, 112, "closed")                                                                  \
    X(RST_EREGISTRATION, 113, "the media driver refused the command")                              \
    X(RST_EFORKED, 114, "handle was made before fork")                                             \
    X(RST_EBUSY, 115, "another thread is using it")                                                \
    X(RST_ETOOLARGE, 116, "too large")                                                             \
    X(RST_ENOTSUP, 117, "not supported")                                                           \
    X(RST_ECORRUPT, 118, "corrupt content")                                                        \
    X(RST_ECLIENTTIMEOUT, 119, "the media driver gave this client up")                             \
    X(RST_EUNKNOWNHOST, 120, "unknown host")                                                       \
    X(RST_EFULL, 121, "full")

typedef enum rst_error_t {
    RST_OK = 0,
#define RST_ERROR_ENUM(name, value, text) name = value,
    RST_ERRORS(RST_ERROR_ENUM)
#undef RST_ERROR_ENUM
} rst_error_t;

/* Reasons of the hot path, with the numbers of Aeron. */
#define RST_NOT_CONNECTED (-1)
#define RST_BACK_PRESSURED (-2)
#define RST_ADMIN_ACTION (-3)
#define RST_CLOSED (-4)
#define RST_MAX_POSITION_EXCEEDED (-5)
#define RST_ERROR (-6) /* bad argument: see rst_last_error_text() */
/* The languages above report it in place of RST_BACK_PRESSURED when rst_publication_held_by()
 * returns RST_HELD_BY_RATE. */
#define RST_RATE_LIMITED (-7)

RST_API const char *rst_error_name(int code); /* "RST_EINVAL"; "RST_UNKNOWN" for others */
RST_API const char *rst_error_text(int code); /* the text above */
RST_API int rst_last_error_code(void); /* RST_E… of this thread, 0 when none */
RST_API const char *rst_last_error_text(void); /* valid until the thread's next failure */
RST_API int rst_last_error_detail(void); /* errno, or the driver's error code, or 0 */

#endif
