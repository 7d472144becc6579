/* hex.h: bytes of a test vector, in heap memory of exactly their length, so that a sanitizer sees
 * every read beyond them. The caller frees. */
#ifndef RSTI_TESTS_HEX_H
#define RSTI_TESTS_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline uint8_t *hex_copy(const void *from, size_t length)
{
    uint8_t *bytes = malloc(length > 0 ? length : 1);
    if (bytes == NULL) {
        abort();
    }
    memcpy(bytes, from, length);
    return bytes;
}

static inline uint8_t *hex_bytes(const char *hex, size_t *length)
{
    *length = strlen(hex) / 2;
    uint8_t *bytes = hex_copy(hex, *length); /* any content of this size */
    for (size_t i = 0; i < *length; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return bytes;
}

#endif
