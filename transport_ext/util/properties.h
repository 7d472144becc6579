/* properties.h: the text of a Java properties file.
 *
 * Comment lines begin with # or !; a key ends at the first =, : or blank that no backslash
 * protects; blanks around one = or : belong to neither side; the rest of the line is the value,
 * trailing blanks included. A line that ends in an odd number of backslashes goes on in the next
 * one, whose leading blanks are dropped. Escapes: \t \n \r \f \\ \uXXXX (as UTF-8), any other
 * character is itself. Lines end in \n, \r or \r\n. */
#ifndef RSTI_UTIL_PROPERTIES_H
#define RSTI_UTIL_PROPERTIES_H

#include <stddef.h>

/* line: the line of the key, from 1. A result other than 0 ends the parse and is returned. */
typedef int (*rsti_on_property_t)(void *arg, const char *key, const char *value, int line);

/* The text is changed; it must be writable up to and including text[length]. 0, the result of
 * on_property, or -RST_EINVAL with a trail that names the line: an escape \u without four
 * hexadecimal digits or with half a surrogate pair, or a zero byte. */
int rsti_properties_parse(char *text, size_t length, rsti_on_property_t on_property, void *arg);

#endif
