/* format.h: numbers in a form for people. */
#ifndef RSTI_UTIL_FORMAT_H
#define RSTI_UTIL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define RSTI_DURATION_TEXT_MAX 32

/* In the largest unit that divides it: 5s, 100ms, 1500us, 7ns. */
void rsti_format_duration(char *text, size_t size, int64_t ns);

#endif
