#include "util/error.h"

#include "util/assert.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct error_state_t {
    int code;
    int detail;
    char text[RSTI_ERROR_TEXT_MAX];
} error_state_t;

#ifdef RSTI_SIM
/* The simulator's threads are fibers of one thread (tests/sim/fibers.c). */
void *rsti_sim_fiber_local(size_t size);
#define last_error (*(error_state_t *)rsti_sim_fiber_local(sizeof(error_state_t)))
#else
static _Thread_local error_state_t last_error;
#endif

#define KEY_DIGITS 64

void rsti_error_hide_keys(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        const size_t digits = strspn(at, "0123456789abcdefABCDEF");
        const bool is_key = digits > 0 && digits % KEY_DIGITS == 0 && (at == text || at[-1] != '/');
        const size_t length = digits == 0 ? 1 : digits;
        const size_t kept = is_key ? strlen(RSTI_ERROR_HIDDEN) : length;
        memmove(to, is_key ? RSTI_ERROR_HIDDEN : at, kept);
        to += kept;
        at += length;
    }
    *to = '\0';
}

/* Formats into another buffer first: an argument may be rst_last_error_text() itself. */
static void store_text(bool is_append, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void store_text(bool is_append, const char *format, va_list arguments)
{
    char text[RSTI_ERROR_TEXT_MAX];
    (void)vsnprintf(text, sizeof text, format, arguments);
    rsti_error_hide_keys(text);
    size_t used = 0;
    if (is_append) {
        used = strlen(last_error.text);
        if (used > 0 && used + 2 < RSTI_ERROR_TEXT_MAX) {
            memcpy(last_error.text + used, "; ", 2);
            used += 2;
        }
    }
    size_t length = strlen(text);
    if (length > RSTI_ERROR_TEXT_MAX - 1 - used) {
        length = RSTI_ERROR_TEXT_MAX - 1 - used;
    }
    memcpy(last_error.text + used, text, length);
    last_error.text[used + length] = '\0';
}

int rsti_error_set(int code, int detail, const char *format, ...)
{
    RST_ASSERT(code > 0);
    va_list arguments;
    va_start(arguments, format);
    store_text(false, format, arguments);
    va_end(arguments);
    last_error.code = code;
    last_error.detail = detail;
    return -code;
}

int rsti_error_append(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    store_text(last_error.code != 0, format, arguments);
    va_end(arguments);
    if (last_error.code == 0) {
        /* An append without a failure before it must not look like success. */
        last_error.code = RST_ESYS;
    }
    return -last_error.code;
}

void rsti_error_clear(void)
{
    last_error.code = 0;
    last_error.detail = 0;
    last_error.text[0] = '\0';
}

static int code_of_errno(int errno_value)
{
    switch (errno_value) {
    case EACCES:
    case EPERM:
        return RST_EACCESS;
    case ENOSPC:
    case EDQUOT:
        return RST_ESTORAGE;
    case EADDRINUSE:
        return RST_EINUSE;
    case ENOMEM:
        return RST_ENOMEM;
    default:
        return RST_ESYS;
    }
}

int rsti_error_set_errno(int errno_value, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    store_text(false, format, arguments);
    va_end(arguments);
    last_error.code = code_of_errno(errno_value);
    last_error.detail = errno_value;
    char buffer[128];
    const char *reason = strerror_r(errno_value, buffer, sizeof buffer);
    size_t used = strlen(last_error.text);
    (void)snprintf(last_error.text + used, RSTI_ERROR_TEXT_MAX - used, ": %s", reason);
    return -last_error.code;
}

RST_API const char *rst_error_name(int code)
{
    switch (code < 0 ? -code : code) {
    case RST_OK:
        return "RST_OK";
#define RST_ERROR_NAME(name, value, text)                                                          \
    case name:                                                                                     \
        return #name;
        RST_ERRORS(RST_ERROR_NAME)
#undef RST_ERROR_NAME
    default:
        return "RST_UNKNOWN";
    }
}

RST_API const char *rst_error_text(int code)
{
    switch (code < 0 ? -code : code) {
    case RST_OK:
        return "no error";
#define RST_ERROR_TEXT(name, value, text)                                                          \
    case name:                                                                                     \
        return text;
        RST_ERRORS(RST_ERROR_TEXT)
#undef RST_ERROR_TEXT
    default:
        return "unknown error";
    }
}

RST_API int rst_last_error_code(void)
{
    return last_error.code;
}

RST_API const char *rst_last_error_text(void)
{
    return last_error.text;
}

RST_API int rst_last_error_detail(void)
{
    return last_error.detail;
}
