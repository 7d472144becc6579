/* keys.h: key files for drivers of harness.h, in their own directories. */
#ifndef RSTI_TESTS_DRIVER_KEYS_H
#define RSTI_TESTS_DRIVER_KEYS_H

#include "cnc/files.h"
#include "driver/base/group_keys_state.h"
#include "tests/driver/harness.h"

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_B "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

/* number: of the file. */
static inline const char *key_path(const harness_t *h, int number)
{
    static char path[192];
    snprintf(path, sizeof path, "%s/" RSTI_KEYS_DIR "/%d.key", h->dir, number);
    return path;
}

/* Another file takes the place of the last one. */
static inline void write_keys(const harness_t *h, int number, const char *text)
{
    char beside[192];
    snprintf(beside, sizeof beside, "%s/" RSTI_KEYS_DIR, h->dir);
    (void)mkdir(beside, 0700);
    snprintf(beside, sizeof beside, "%s", key_path(h, 99));
    FILE *file = fopen(beside, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || chmod(beside, 0600) != 0
        || rename(beside, key_path(h, number)) != 0) {
        perror(beside);
        exit(1);
    }
}

static inline uint32_t id_of(const char *digits)
{
    rsti_keys_t keys;
    return rsti_key_text_read(digits, strlen(digits), &keys) == 0 ? keys.keys[0].id : 0;
}

/* A channel with the key of that file; 0: without one. */
static inline const char *keyed(const harness_t *h, const char *channel, int number)
{
    static char text[512];
    if (number == 0) {
        return channel;
    }
    snprintf(text, sizeof text, "%s|rs-key=file:%s", channel, key_path(h, number));
    return text;
}

/* A driver that has KEY_A in the file 1. */
static inline harness_t *keyed_open(void)
{
    harness_t *h = harness_open();
    write_keys(h, 1, KEY_A);
    return h;
}

/* The error that answers a command, or "". */
static inline const char *refusal_text(const harness_t *h, int64_t correlation_id)
{
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, correlation_id);
    return error == NULL ? "" : error->text;
}

#endif
