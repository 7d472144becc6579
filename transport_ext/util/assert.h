/* assert.h: assertions of debug builds. Not assert() of C: build types that define NDEBUG would
 * remove it from the sanitizer builds. */
#ifndef RSTI_UTIL_ASSERT_H
#define RSTI_UTIL_ASSERT_H

#ifdef RST_DEBUG
_Noreturn void rsti_assert_failed(const char *condition, const char *file, int line);
#define RST_ASSERT(condition)                                                                      \
    ((condition) ? (void)0 : rsti_assert_failed(#condition, __FILE__, __LINE__))
#else
#define RST_ASSERT(condition) ((void)0)
#endif

#endif
