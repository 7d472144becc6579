/* text.c: text that came from elsewhere, for people. Control characters would move a terminal's
 * cursor, change its colours or its title, or forge lines. So whatever is not meant to be printed
 * becomes an escape such as \x1b, and invalid UTF-8 becomes U+FFFD. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

/* Longest escape: \u202e. */
#define ESCAPE_LENGTH 6

static bool is_printable(Py_UCS4 character, bool keeps_lines)
{
    if (character == '\n' || character == '\t') {
        return keeps_lines;
    }
    return character >= 0x20 && !(character >= 0x7F && character < 0xA0) /* C0, DEL and C1 */
        && !(character >= 0x2028 && character <= 0x202E) /* line ends, direction of writing */
        && !(character >= 0x2066 && character <= 0x2069) && character != 0x200E
        && character != 0x200F && character != 0x61C;
}

static size_t escape(Py_UCS4 character, Py_UCS4 *out)
{
    static const char digits[] = "0123456789abcdef";
    const int digit_count = character < 0x100 ? 2 : 4;
    size_t length = 0;

    out[length++] = '\\';
    out[length++] = digit_count == 2 ? 'x' : 'u';
    for (int shift = 4 * (digit_count - 1); shift >= 0; shift -= 4) {
        out[length++] = (Py_UCS4)digits[(character >> shift) & 0xF];
    }
    return length;
}

/* A new reference to the text with escapes; NULL with an exception. */
static PyObject *escaped(const Py_UCS4 *text, Py_ssize_t length, bool keeps_lines)
{
    Py_UCS4 *out = PyMem_Malloc((size_t)length * ESCAPE_LENGTH * sizeof(*out));
    PyObject *result;
    size_t used = 0;
    int byte_order = 0; /* the machine's */

    if (out == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        if (is_printable(text[i], keeps_lines)) {
            out[used++] = text[i];
        } else {
            used += escape(text[i], out + used);
        }
    }
    result = PyUnicode_DecodeUTF32((const char *)out, (Py_ssize_t)(used * sizeof(*out)),
        "surrogatepass", &byte_order);
    PyMem_Free(out);
    return result;
}

PyObject *rsti_py_printable(PyObject *text, bool keeps_lines)
{
    const Py_ssize_t length = PyUnicode_GetLength(text);
    PyObject *result = NULL;
    Py_UCS4 *characters = length < 0 ? NULL : PyUnicode_AsUCS4Copy(text);
    Py_ssize_t clean = 0;

    if (characters == NULL) {
        return NULL;
    }
    while (clean < length && is_printable(characters[clean], keeps_lines)) {
        clean++;
    }
    if (clean == length) {
        Py_INCREF(text);
        result = text;
    } else {
        result = escaped(characters, length, keeps_lines);
    }
    PyMem_Free(characters);
    return result;
}

PyObject *rsti_py_foreign_text(const char *bytes, size_t length, bool keeps_lines)
{
    PyObject *text = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)length, "replace");
    PyObject *result = text == NULL ? NULL : rsti_py_printable(text, keeps_lines);

    Py_XDECREF(text);
    return result;
}
