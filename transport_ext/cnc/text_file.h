/* text_file.h: a small file of text, read whole. */
#ifndef RSTI_CNC_TEXT_FILE_H
#define RSTI_CNC_TEXT_FILE_H

#include <stddef.h>

/* The content, terminated by a zero byte; free it with rsti_free. NULL with a trail: it cannot be
 * read or is longer than `most` bytes. */
char *rsti_text_file_read(const char *path, size_t most, size_t *length);

#endif
