#include "util/properties.h"

#include "rstream/error.h"
#include "util/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct reader_t {
    const char *at;
    const char *end;
    int line;
} reader_t;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static void skip_blanks(reader_t *reader)
{
    while (reader->at < reader->end && is_blank(*reader->at)) {
        reader->at++;
    }
}

/* Skips one line end; \r\n counts as one. */
static void skip_line_end(reader_t *reader)
{
    if (reader->at < reader->end) {
        const char first = *reader->at++;
        if (first == '\r' && reader->at < reader->end && *reader->at == '\n') {
            reader->at++;
        }
        reader->line++;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0'
        : c >= 'a' && c <= 'f'  ? c - 'a' + 10
        : c >= 'A' && c <= 'F'  ? c - 'A' + 10
                                : -1;
}

/* The four digits behind \u. Negative: there are none. */
static int32_t read_unit(reader_t *reader)
{
    int32_t unit = 0;
    if (reader->end - reader->at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(reader->at[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    reader->at += 4;
    return unit;
}

/* Begins at the character behind "\u". Negative: malformed. */
static int32_t read_code_point(reader_t *reader)
{
    const int32_t high = read_unit(reader);
    if (high < 0xD800 || high > 0xDFFF) {
        return high == 0 ? -1 : high;
    }
    if (high > 0xDBFF || reader->end - reader->at < 6 || reader->at[0] != '\\'
        || reader->at[1] != 'u') {
        return -1;
    }
    reader->at += 2;
    const int32_t low = read_unit(reader);
    return low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

/* Writes at most 4 bytes, never more than the escape has in the text. */
static char *write_utf8(char *to, int32_t code_point)
{
    const uint32_t c = (uint32_t)code_point;
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | (c >> 6));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | (c >> 12));
        *to++ = (char)(0x80 | ((c >> 6) & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | (c >> 18));
        *to++ = (char)(0x80 | ((c >> 12) & 0x3F));
        *to++ = (char)(0x80 | ((c >> 6) & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

/* Behind a backslash: writes the character that it means. NULL: malformed. A line end means
 * nothing, together with the leading blanks of the next line. */
static char *read_escape(reader_t *reader, char *to)
{
    if (reader->at == reader->end) {
        return to;
    }
    if (is_line_end(*reader->at)) {
        skip_line_end(reader);
        skip_blanks(reader);
        return to;
    }
    const char c = *reader->at++;
    if (c == 'u') {
        const int32_t code_point = read_code_point(reader);
        return code_point < 0 ? NULL : write_utf8(to, code_point);
    }
    *to++ = (char)(c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c);
    return to;
}

/* Copies to *to without escapes, up to the end of the line, or for a key up to its separator. */
static bool read_text(reader_t *reader, char **to, bool is_key)
{
    while (reader->at < reader->end && !is_line_end(*reader->at)) {
        const char c = *reader->at;
        if (is_key && (c == '=' || c == ':' || is_blank(c))) {
            return true;
        }
        reader->at++;
        if (c != '\\') {
            *(*to)++ = c;
            continue;
        }
        *to = read_escape(reader, *to);
        if (*to == NULL) {
            return false;
        }
    }
    return true;
}

static void skip_separator(reader_t *reader)
{
    skip_blanks(reader);
    if (reader->at < reader->end && (*reader->at == '=' || *reader->at == ':')) {
        reader->at++;
        skip_blanks(reader);
    }
}

static void skip_comment(reader_t *reader)
{
    while (reader->at < reader->end && !is_line_end(*reader->at)) {
        reader->at++;
    }
}

/* The output is never longer than the input plus one byte per property for the end of its key, and
 * the separator or the line end gives that byte. The end of the value lies behind everything read,
 * so the byte there is saved until the value was delivered. */
int rsti_properties_parse(char *text, size_t length, rsti_on_property_t on_property, void *arg)
{
    reader_t reader = {text, text + length, 1};
    if (memchr(text, '\0', length) != NULL) {
        return RST_SET_ERR(RST_EINVAL, "a zero byte in a properties file");
    }
    while (reader.at < reader.end) {
        skip_blanks(&reader);
        if (reader.at == reader.end || is_line_end(*reader.at)) {
            skip_line_end(&reader);
            continue;
        }
        if (*reader.at == '#' || *reader.at == '!') {
            skip_comment(&reader);
            continue;
        }
        const int line = reader.line;
        char *key = text + (reader.at - text);
        char *to = key;
        bool is_well = read_text(&reader, &to, true);
        char *key_end = to;
        skip_separator(&reader);
        char *value = text + (reader.at - text);
        char *value_end = value;
        is_well = is_well && read_text(&reader, &value_end, false);
        if (!is_well) {
            return RST_SET_ERR(RST_EINVAL, "line %d: a malformed \\u escape", line);
        }
        const char behind = *value_end;
        const bool is_key_alone = key_end == value; /* and the value is empty */
        *value_end = '\0';
        *key_end = '\0';
        const int result = on_property(arg, key, is_key_alone ? "" : value, line);
        if (result != 0) {
            return result;
        }
        *value_end = behind;
    }
    return 0;
}
