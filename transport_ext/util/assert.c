/* assert.c: see assert.h. */
#include "util/assert.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef RST_DEBUG
_Noreturn void rsti_assert_failed(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}
#endif
