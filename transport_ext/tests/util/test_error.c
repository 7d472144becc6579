#include "util/error.h"

#include "tests/check.h"

#include <errno.h>
#include <pthread.h>

TEST(set_keeps_code_and_text)
{
    CHECK_EQ(RST_SET_ERR(RST_EINVAL, "mtu %d: must be a multiple of %d", 33, 32), -RST_EINVAL);
    CHECK_EQ(rst_last_error_code(), RST_EINVAL);
    CHECK_EQ(rst_last_error_detail(), 0);
    CHECK_STR(rst_last_error_text(), "mtu 33: must be a multiple of 32");
    CHECK_EQ(RST_APPEND_ERR("channel %s", "aeron:ipc"), -RST_EINVAL);
    CHECK_STR(rst_last_error_text(), "mtu 33: must be a multiple of 32; channel aeron:ipc");
    CHECK_EQ(rsti_error_set(RST_EREGISTRATION, 9, "no"), -RST_EREGISTRATION);
    CHECK_EQ(rst_last_error_detail(), 9);
    CHECK_STR(rst_last_error_text(), "no");
    rsti_error_clear();
    CHECK_EQ(rst_last_error_code(), 0);
    CHECK_STR(rst_last_error_text(), "");
}

TEST(set_may_take_the_old_text)
{
    (void)RST_SET_ERR(RST_ESYS, "inner");
    (void)RST_SET_ERR(RST_ECHANNEL, "outer: %s", rst_last_error_text());
    CHECK_STR(rst_last_error_text(), "outer: inner");
}

TEST(errno_is_mapped)
{
    static const struct {
        int errno_value;
        int code;
    } cases[] = {{EACCES, RST_EACCESS}, {EPERM, RST_EACCESS}, {ENOSPC, RST_ESTORAGE},
        {EADDRINUSE, RST_EINUSE}, {ENOMEM, RST_ENOMEM}, {EIO, RST_ESYS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        errno = cases[i].errno_value;
        CHECK_EQ(RST_SET_ERRNO("open %s", "x"), -cases[i].code);
        CHECK_EQ(rst_last_error_code(), cases[i].code);
        CHECK_EQ(rst_last_error_detail(), cases[i].errno_value);
    }
    CHECK_STR(rst_last_error_text(), "open x: Input/output error");
}

TEST(long_texts_are_cut)
{
    char text[4000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)RST_SET_ERR(RST_ECHANNEL, "%s", text);
    CHECK_EQ(strlen(rst_last_error_text()), RSTI_ERROR_TEXT_MAX - 1);
    (void)RST_APPEND_ERR("more");
    CHECK_EQ(strlen(rst_last_error_text()), RSTI_ERROR_TEXT_MAX - 1);
    (void)rsti_error_set_errno(EIO, "%s", text);
    CHECK_EQ(strlen(rst_last_error_text()), RSTI_ERROR_TEXT_MAX - 1);
}

TEST(append_alone_is_a_failure)
{
    rsti_error_clear();
    CHECK_EQ(RST_APPEND_ERR("somewhere"), -RST_ESYS);
    CHECK_STR(rst_last_error_text(), "somewhere");
}

static void *fail_elsewhere(void *arg)
{
    (void)RST_SET_ERR(RST_EBUSY, "other thread");
    *(int *)arg = rst_last_error_code();
    return NULL;
}

TEST(threads_have_their_own)
{
    rsti_error_clear();
    int code = 0;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, fail_elsewhere, &code), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(code, RST_EBUSY);
    CHECK_EQ(rst_last_error_code(), 0);
}

TEST(names_and_texts)
{
    CHECK_STR(rst_error_name(RST_EINVAL), "RST_EINVAL");
    CHECK_STR(rst_error_name(-RST_EFULL), "RST_EFULL");
    CHECK_STR(rst_error_text(RST_EUNKNOWNHOST), "unknown host");
    CHECK_STR(rst_error_name(RST_OK), "RST_OK");
    CHECK_STR(rst_error_name(9999), "RST_UNKNOWN");
    CHECK_STR(rst_error_text(9999), "unknown error");
}

#define DIGITS "0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdef012"

TEST(no_text_has_a_key)
{
    static const struct {
        const char *given, *kept;
    } rows[] = {
        {DIGITS, DIGITS}, /* 63 */
        {DIGITS "a", RSTI_ERROR_HIDDEN},
        {DIGITS "ab", DIGITS "ab"}, /* a long number */
        {"rs-key=" DIGITS "a" DIGITS "b|mtu=1408, " DIGITS "fg",
            "rs-key=" RSTI_ERROR_HIDDEN "|mtu=1408, " RSTI_ERROR_HIDDEN "g"},
        {"file:/" DIGITS "ab: no file", "file:/" DIGITS "ab: no file"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)RST_SET_ERR(RST_EINVAL, "%s", rows[i].given);
        CHECK_STR(rst_last_error_text(), rows[i].kept);
        rsti_error_clear();
        (void)RST_APPEND_ERR("%s", rows[i].given);
        CHECK_STR(rst_last_error_text(), rows[i].kept);
    }
}

CHECK_MAIN(RUN(set_keeps_code_and_text), RUN(no_text_has_a_key), RUN(set_may_take_the_old_text),
    RUN(errno_is_mapped), RUN(long_texts_are_cut), RUN(append_alone_is_a_failure),
    RUN(threads_have_their_own), RUN(names_and_texts))
