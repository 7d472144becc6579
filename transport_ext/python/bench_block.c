/* bench_block.c: makes and checks distinguishable messages, at memory speed.
 *
 * A message of `size` bytes is: number (8 bytes, little endian), checksum (4), pattern. The pattern
 * is a sequence of 64-bit words seeded by the number. The checksum folds the number and the pattern
 * with multiply and xor. So a lost, repeated, swapped, cut or changed message is found. Both sides
 * of every comparison use it, so checking costs the same for all. */
#include "types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER_SIZE 12
#define MULTIPLIER UINT64_C(0x9E3779B97F4A7C15)

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire format and these helpers are little endian"
#endif

static inline uint64_t fold(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * MULTIPLIER;
    return sum ^ (sum >> 32);
}

static inline uint32_t checksum(const uint8_t *message, size_t size)
{
    uint64_t sum = size;
    uint64_t word;
    size_t at = HEADER_SIZE;

    memcpy(&word, message, sizeof(word));
    sum = fold(sum, word);
    for (; at + sizeof(word) <= size; at += sizeof(word)) {
        memcpy(&word, message + at, sizeof(word));
        sum = fold(sum, word);
    }
    if (at < size) {
        word = 0;
        memcpy(&word, message + at, size - at);
        sum = fold(sum, word);
    }
    return (uint32_t)(sum ^ (sum >> 29));
}

static inline void fill_message(uint8_t *message, size_t size, uint64_t number)
{
    uint64_t word = (number + 1) * MULTIPLIER;
    uint32_t sum;
    size_t at = HEADER_SIZE;

    memcpy(message, &number, sizeof(number));
    for (; at + sizeof(word) <= size; at += sizeof(word)) {
        word += MULTIPLIER;
        memcpy(message + at, &word, sizeof(word));
    }
    if (at < size) {
        memcpy(message + at, &word, size - at);
    }
    sum = checksum(message, size);
    memcpy(message + sizeof(number), &sum, sizeof(sum));
}

/* NULL when the message is right; otherwise what is wrong, as a text in buffer. */
static const char *find_fault(const uint8_t *message, size_t size, uint64_t number, char *buffer,
    size_t buffer_size)
{
    uint64_t found;
    uint32_t sum;

    memcpy(&found, message, sizeof(found));
    memcpy(&sum, message + sizeof(found), sizeof(sum));
    if (found == number && sum == checksum(message, size)) {
        return NULL;
    }
    (void)snprintf(buffer, buffer_size, "%s: number %" PRIu64 " where %" PRIu64 " must be",
        sum == checksum(message, size) ? "wrong order" : "wrong checksum", found, number);
    return buffer;
}

static bool get_layout(PyObject *const *args, int64_t *size, int64_t *first)
{
    if (!rsti_py_get_int64(args[1], size) || !rsti_py_get_int64(args[2], first)) {
        return false;
    }
    if (*size < HEADER_SIZE || *first < 0) {
        PyErr_SetString(PyExc_ValueError, "size must be at least 12, first not negative");
        return false;
    }
    return true;
}

static PyObject *fill_block(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_buffer view;
    int64_t size;
    int64_t first;
    int64_t messages;

    (void)module;
    if (!rsti_py_check_count("fill_block", count, 3, 3) || !get_layout(args, &size, &first)
        || PyObject_GetBuffer(args[0], &view, PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    messages = view.len / size;
    for (int64_t i = 0; i < messages; i++) {
        fill_message((uint8_t *)view.buf + i * size, (size_t)size, (uint64_t)(first + i));
    }
    PyBuffer_Release(&view);
    return PyLong_FromLongLong(messages);
}

static PyObject *raise_fault(int64_t index, const char *fault)
{
    return PyErr_Format(PyExc_ValueError, "message %lld of the block: %s", (long long)index, fault);
}

static PyObject *check_list(PyObject *list, int64_t size, int64_t first)
{
    Py_ssize_t count = PyList_Size(list);
    char text[128];

    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(list, i); /* borrowed */
        const char *fault;
        char *data;
        Py_ssize_t length;
        if (!PyBytes_CheckExact(item)) {
            PyErr_SetString(PyExc_TypeError, "a list of bytes is needed");
            return NULL;
        }
        (void)PyBytes_AsStringAndSize(item, &data, &length);
        if (length != size) {
            return raise_fault(i, "wrong length");
        }
        fault = find_fault((const uint8_t *)data, (size_t)size, (uint64_t)(first + i), text,
            sizeof(text));
        if (fault != NULL) {
            return raise_fault(i, fault);
        }
    }
    return PyLong_FromSsize_t(count);
}

static PyObject *check_buffer(PyObject *object, int64_t size, int64_t first)
{
    Py_buffer view;
    int64_t count;
    int64_t index = 0;
    const char *fault = NULL;
    char text[128];

    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    count = view.len / size;
    if (view.len % size != 0) {
        fault = "wrong length of the whole";
    }
    for (; index < count && fault == NULL; index++) {
        fault = find_fault((const uint8_t *)view.buf + index * size, (size_t)size,
            (uint64_t)(first + index), text, sizeof(text));
    }
    PyBuffer_Release(&view);
    return fault != NULL ? raise_fault(index - 1, fault) : PyLong_FromLongLong(count);
}

static PyObject *check_messages(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *list;
    PyObject *result;
    int64_t size;
    int64_t first;

    (void)module;
    if (!rsti_py_check_count("check_messages", count, 3, 3) || !get_layout(args, &size, &first)) {
        return NULL;
    }
    if (PyList_CheckExact(args[0])) {
        return check_list(args[0], size, first);
    }
    if (PyObject_CheckBuffer(args[0])) {
        return check_buffer(args[0], size, first);
    }
    list = PySequence_List(args[0]);
    if (list == NULL) {
        return NULL;
    }
    result = check_list(list, size, first);
    Py_DECREF(list);
    return result;
}

PyMethodDef rsti_py_bench_methods[] = {
    {"fill_block", RSTI_PY_FASTCALL(fill_block), METH_FASTCALL,
        "fill_block($module, block, size, first, /)\n--\n\n"
        "Write numbered messages of size bytes with checksums: their count."},
    {"check_messages", RSTI_PY_FASTCALL(check_messages), METH_FASTCALL,
        "check_messages($module, messages, size, first, /)\n--\n\n"
        "Check numbers and checksums: the count. ValueError names the first bad one."},
    {NULL, NULL, 0, NULL},
};
