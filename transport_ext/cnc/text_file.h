/* text_file.h: a small file of text, read whole. */
#ifndef RSTI_CNC_TEXT_FILE_H
#define RSTI_CNC_TEXT_FILE_H

#include <stddef.h>

/* The content with a zero byte behind it, to be freed with rsti_free; NULL with a trail when it
 * cannot be read or is longer than most bytes. */
char *rsti_text_file_read(const char *path, size_t most, size_t *length);

#endif
