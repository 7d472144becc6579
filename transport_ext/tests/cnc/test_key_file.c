/* test_key_file.c: the file that holds the keys of a group. No error text repeats what is in it. */
#include "cnc/key_file.h"

#include "cnc/files.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/cnc/temp_dir.h"

#include <errno.h>

#define ONE "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define TWO "FEDCBA9876543210FEDCBA9876543210fedcba9876543210fedcba9876543210"
#define THREE "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"

static char path[512];
static rsti_keys_t keys;
static rsti_key_file_stamp_t stamp;

static void make_path(void)
{
    temp_path(path, sizeof path, "group.key");
}

/* A new file takes the place of the last one. */
static void write_file(const char *text, size_t length)
{
    char beside[512];
    make_path();
    temp_path(beside, sizeof beside, "group.key.new");
    FILE *file = fopen(beside, "w");
    CHECK(file != NULL);
    CHECK_EQ(fwrite(text, 1, length, file), length);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(chmod(beside, 0600), 0);
    CHECK_EQ(rename(beside, path), 0);
}

static int read_of(const char *text)
{
    write_file(text, strlen(text));
    return rsti_key_file_read(path, &keys, &stamp);
}

/* Whether the text has four hex digits of a key in sequence: less may be a number. */
static bool repeats_key(const char *text)
{
    static const char *const secrets[] = {ONE, TWO, THREE};
    for (size_t i = 0; i < 3; i++) {
        for (size_t at = 0; at + 4 <= strlen(secrets[i]); at++) {
            const char part[5] = {
                secrets[i][at], secrets[i][at + 1], secrets[i][at + 2], secrets[i][at + 3]};
            if (strstr(text, part) != NULL) {
                return true;
            }
        }
    }
    return false;
}

static void check_refused(int result, int code, const char *word)
{
    static const rsti_keys_t none;
    const char *text = rst_last_error_text();
    CHECK_EQ(result, -code);
    if (strstr(text, word) == NULL || strstr(text, path) == NULL || repeats_key(text)) {
        CHECK_FAIL("\"%s\": wanted %s and %s, and no key", text, word, path);
    }
    CHECK_MEM(&keys, &none, sizeof keys);
}

static void check_secret(int32_t index, const char *digits)
{
    for (size_t i = 0; i < RSTI_KEY_BYTES; i++) {
        unsigned byte;
        CHECK_EQ(sscanf(digits + 2 * i, "%2x", &byte), 1);
        CHECK_EQ(keys.keys[index].secret[i], byte);
    }
}

TEST(one_key_and_two)
{
    CHECK_EQ(read_of(ONE), 0);
    CHECK_EQ(keys.count, 1);
    check_secret(0, ONE);
    const uint32_t id = keys.keys[0].id;
    CHECK_EQ(read_of(TWO "\n" ONE "\n"), 0);
    CHECK_EQ(keys.count, 2);
    check_secret(0, TWO);
    check_secret(1, ONE);
    CHECK_EQ(keys.keys[1].id, id); /* it follows from the key */
    CHECK(keys.keys[0].id != id);
}

TEST(comments_empty_lines_and_line_ends)
{
    CHECK_EQ(read_of("# group a\r\n\r\n" ONE "\r\n \t\n#" THREE "\n\n" TWO " \t \n# end"), 0);
    CHECK_EQ(keys.count, 2);
    check_secret(0, ONE);
    check_secret(1, TWO);
}

TEST(what_is_no_key)
{
    static const char *const texts[] = {
        ONE "0\n", /* one digit too many */
        "0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n",
        "g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n",
        "00112233445566778899aabbccddeeff 0112233445566778899aabbccddeeff\n",
        " " ONE "\n",
        ONE " # mine\n",
        ONE ONE "\n",
        "key=" ONE "\n",
        ONE "\n-\n",
        "-----BEGIN PRIVATE KEY-----\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_refused(read_of(texts[i]), RST_EINVAL, "no key of 64 hex digits");
    }
    static const char zeros[] = ONE "\0\0\n";
    write_file(zeros, sizeof zeros - 1);
    check_refused(rsti_key_file_read(path, &keys, &stamp), RST_EINVAL, "no key of 64 hex digits");
}

TEST(no_key_and_three)
{
    check_refused(read_of(""), RST_EINVAL, "no key");
    check_refused(read_of("# " ONE "\n\n"), RST_EINVAL, "no key");
    check_refused(read_of(ONE "\n" TWO "\n" THREE "\n"), RST_EINVAL, "more than 2 keys");
}

TEST(a_file_has_at_most_4096_bytes)
{
    char text[4098];
    memset(text, '\n', sizeof text);
    memcpy(text + 4096 - 64, ONE, 64);
    write_file(text, 4096);
    CHECK_EQ(rsti_key_file_read(path, &keys, &stamp), 0);
    CHECK_EQ(keys.count, 1);
    write_file(text, 4097);
    check_refused(rsti_key_file_read(path, &keys, &stamp), RST_EINVAL, "at most 4096 bytes");
}

TEST(a_key_is_for_its_user)
{
    static const struct {
        mode_t mode;
        int result;
    } rows[] = {{0400, 0}, {0600, 0}, {0640, 0}, {0660, -RST_EACCESS}, {0604, -RST_EACCESS},
        {0644, -RST_EACCESS}, {0602, -RST_EACCESS}, {0601, -RST_EACCESS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(ONE, 64);
        CHECK_EQ(chmod(path, rows[i].mode), 0);
        const int result = rsti_key_file_read(path, &keys, &stamp);
        CHECK_EQ(result, rows[i].result);
        if (result < 0) {
            check_refused(result, RST_EACCESS, "chmod 600");
        }
    }
}

TEST(what_is_no_regular_file)
{
    make_path();
    (void)unlink(path);
    CHECK_EQ(mkfifo(path, 0600), 0);
    check_refused(rsti_key_file_read(path, &keys, &stamp), RST_EINVAL, "no regular file");
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(mkdir(path, 0700), 0);
    check_refused(rsti_key_file_read(path, &keys, &stamp), RST_EINVAL, "no regular file");
    CHECK_EQ(rmdir(path), 0);
    CHECK(rsti_key_file_read(path, &keys, &stamp) < 0);
    CHECK(strstr(rst_last_error_text(), path) != NULL);
    CHECK(strstr(rst_last_error_text(), strerror(ENOENT)) != NULL);
    CHECK(!rsti_key_file_has_changed(path, &stamp));
}

TEST(a_changed_file_is_noticed)
{
    CHECK_EQ(read_of(ONE), 0);
    CHECK(!rsti_key_file_has_changed(path, &stamp));
    write_file(TWO, 64); /* of the same length */
    CHECK(rsti_key_file_has_changed(path, &stamp));
    CHECK_EQ(rsti_key_file_read(path, &keys, &stamp), 0);
    CHECK(!rsti_key_file_has_changed(path, &stamp));
    /* What cannot be used is looked at once. */
    CHECK(read_of("nothing") < 0);
    CHECK(!rsti_key_file_has_changed(path, &stamp));
    CHECK_EQ(chmod(path, 0644), 0);
    CHECK_EQ(truncate(path, 3), 0);
    CHECK(rsti_key_file_has_changed(path, &stamp));
    CHECK_EQ(unlink(path), 0);
    CHECK(rsti_key_file_has_changed(path, &stamp));
    CHECK(rsti_key_file_read(path, &keys, &stamp) < 0);
    CHECK(!rsti_key_file_has_changed(path, &stamp));
    CHECK_EQ(read_of(ONE), 0);
    CHECK(!rsti_key_file_has_changed(path, &stamp));
}

TEST(the_place_of_an_id)
{
    char place[64];
    CHECK_EQ(rsti_key_file_of_id(place, sizeof place, "/dir", 0xFFFFFFFF), 0);
    CHECK_STR(place, "/dir/" RSTI_KEYS_DIR "/4294967295.key");
    CHECK_EQ(rsti_key_file_of_id(place, 16, "/dir", 1), 0);
    CHECK_EQ(rsti_key_file_of_id(place, 15, "/dir", 1), -RST_EINVAL);
}

TEMP_DIR_MAIN(RUN(one_key_and_two), RUN(comments_empty_lines_and_line_ends), RUN(what_is_no_key),
    RUN(no_key_and_three), RUN(a_file_has_at_most_4096_bytes), RUN(a_key_is_for_its_user),
    RUN(what_is_no_regular_file), RUN(a_changed_file_is_noticed), RUN(the_place_of_an_id))
