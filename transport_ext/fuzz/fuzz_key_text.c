/* fuzz_key_text.c: the content of a key file, beside a second reading of it. No error text repeats
 * what is in it. */
#include "cnc/key_file.h"
#include "fuzz/check.h"
#include "rstream/error.h"

#include <stdio.h>

#define DIGITS ((size_t)2 * RSTI_KEY_BYTES)

/* The keys of the text, or -1: something else is in it. */
static int32_t expected_keys(const char *text, size_t size, rsti_keys_t *keys)
{
    size_t at = 0;
    *keys = (rsti_keys_t){0};
    while (at < size) {
        size_t end = at;
        while (end < size && text[end] != '\n') {
            end++;
        }
        size_t length = end - at;
        while (length > 0 && memchr(" \t\r", text[at + length - 1], 3) != NULL) {
            length--;
        }
        if (length > 0 && text[at] != '#') {
            if (length != DIGITS || keys->count == RSTI_KEYS_MAX) {
                return -1;
            }
            rsti_key_t *key = &keys->keys[keys->count++];
            for (size_t i = 0; i < DIGITS; i++) {
                char digit[2] = {text[at + i], '\0'};
                char *rest;
                const unsigned long value = strtoul(digit, &rest, 16);
                if (rest != digit + 1) {
                    return -1;
                }
                key->secret[i / 2] = (uint8_t)((unsigned long)key->secret[i / 2] << 4 | value);
            }
        }
        at = end + 1;
    }
    return keys->count == 0 ? -1 : keys->count;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static rsti_keys_t keys, expected;
    const char *text = (const char *)fuzz_exact_copy(input, size);
    const int32_t count = expected_keys(text, size, &expected);
    const int result = rsti_key_text_read(text, size, &keys);
    FUZZ_CHECK((result == 0) == (count > 0));
    for (int32_t i = 0; result == 0 && i < count; i++) {
        FUZZ_CHECK(keys.count == count);
        FUZZ_CHECK(memcmp(keys.keys[i].secret, expected.keys[i].secret, RSTI_KEY_BYTES) == 0);
    }
    if (result < 0) {
        const char *why = rst_last_error_text();
        FUZZ_CHECK(strspn(why, "0123456789abcdefABCDEF") < 4 && strlen(why) < 64);
        for (size_t at = 0; at + 8 <= size; at++) {
            FUZZ_CHECK(memmem(why, strlen(why), text + at, 8) == NULL
                || memmem("a line that is no key of 64 hex digits", 38, text + at, 8) != NULL
                || memmem("more than 2 keys", 16, text + at, 8) != NULL);
        }
    }
    return 0;
}
