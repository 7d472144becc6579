/* msgpack.c: see msgpack.h. */
#include "util/msgpack.h"

#include <stdbool.h>

/* Objects of 64-bit CPython, with the header of those that are collected. */
#define NUMBER_BYTES 32
#define TEXT_BYTES 56
#define LIST_BYTES 72
#define MAP_BYTES 80
#define MAP_TABLE_BYTES 170 /* of a map that is not empty */
#define ENTRY_BYTES 40
#define EXTENSION_BYTES 200
#define POINTER_BYTES 8

/* Bytes of one character: CPython gives all of a text as many as its largest one needs. */
static int64_t width_of(const uint8_t *text, size_t length)
{
    uint8_t largest = 0;
    for (size_t i = 0; i < length; i++) {
        largest = text[i] > largest ? text[i] : largest;
    }
    return largest >= 0xF0 ? 4 : largest >= 0xC4 ? 2 : 1;
}

typedef struct scan_t {
    const uint8_t *data;
    size_t length;
    size_t at;
    uint64_t values; /* that must follow */
    int64_t cost;
} scan_t;

static bool take_number(scan_t *scan, size_t width, uint64_t *number)
{
    if (scan->length - scan->at < width) {
        return false;
    }
    *number = 0;
    for (size_t i = 0; i < width; i++) {
        *number = *number << 8 | scan->data[scan->at++];
    }
    return true;
}

static bool skip(scan_t *scan, uint64_t length, int64_t cost)
{
    if (length > scan->length - scan->at) {
        return false;
    }
    scan->at += (size_t)length;
    scan->cost += cost;
    return true;
}

static bool take_text(scan_t *scan, uint64_t length)
{
    if (length > scan->length - scan->at) {
        return false;
    }
    const int64_t width = width_of(scan->data + scan->at, (size_t)length);
    return skip(scan, length, TEXT_BYTES + (width - 1) * (int64_t)length);
}

static bool take_list(scan_t *scan, uint64_t count)
{
    scan->values += count;
    scan->cost += LIST_BYTES + POINTER_BYTES * (int64_t)count;
    return true;
}

static bool take_map(scan_t *scan, uint64_t count)
{
    scan->values += 2 * count;
    scan->cost += MAP_BYTES + (count > 0 ? MAP_TABLE_BYTES : 0) + ENTRY_BYTES * (int64_t)count;
    return true;
}

/* A value whose first byte is 0xc0 to 0xdf. */
static bool take_long(scan_t *scan, uint8_t head)
{
    static const uint8_t widths[32] = {
        0,
        0,
        0,
        0,
        1,
        2,
        4,
        1,
        2,
        4,
        4,
        8,
        1,
        2,
        4,
        8, /* nil to uint64 */
        1,
        2,
        4,
        8,
        1,
        2,
        4,
        8,
        16,
        1,
        2,
        4,
        2,
        4,
        2,
        4, /* int8 to map32 */
    };
    const size_t width = widths[head - 0xC0];
    uint64_t number = 0;
    if (head <= 0xC3) {
        return true; /* nil, false, true; 0xc1 is none */
    }
    if (head >= 0xCA && head <= 0xD3) {
        return skip(scan, width, NUMBER_BYTES);
    }
    if (head >= 0xD4 && head <= 0xD8) { /* a type and 1 to 16 bytes */
        return skip(scan, 1 + (UINT64_C(1) << (head - 0xD4)), EXTENSION_BYTES);
    }
    if (!take_number(scan, width, &number)) {
        return false;
    }
    if (head <= 0xC6) {
        return skip(scan, number, TEXT_BYTES);
    }
    if (head <= 0xC9) {
        return skip(scan, 1 + number, EXTENSION_BYTES);
    }
    if (head <= 0xDB) {
        return take_text(scan, number);
    }
    return head <= 0xDD ? take_list(scan, number) : take_map(scan, number);
}

static bool take_value(scan_t *scan)
{
    const uint8_t head = scan->data[scan->at++];
    if (head <= 0x7F || head >= 0xE0) {
        return true; /* small numbers: CPython has one object of each, nearly */
    }
    if (head <= 0x8F) {
        return take_map(scan, head & 0x0FU);
    }
    if (head <= 0x9F) {
        return take_list(scan, head & 0x0FU);
    }
    return head <= 0xBF ? take_text(scan, head & 0x1FU) : take_long(scan, head);
}

int64_t rsti_msgpack_cost(const uint8_t *data, size_t length, int64_t enough)
{
    scan_t scan = {.data = data, .length = length, .values = 1};
    while (scan.values > 0 && scan.cost <= enough) {
        /* Each value has a byte at least: a count that lies ends here, before it adds up. */
        if (scan.values > scan.length - scan.at) {
            return -1;
        }
        scan.values--;
        if (!take_value(&scan)) {
            return -1;
        }
    }
    return scan.cost;
}
