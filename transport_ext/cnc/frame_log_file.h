/* frame_log_file.h: the file of a frame log (media/frame_log.h). It takes the lines of all threads,
 * up to a length, and stays when the driver ends. */
#ifndef RSTI_CNC_FRAME_LOG_FILE_H
#define RSTI_CNC_FRAME_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rsti_frame_log_file_t {
    bool is_open;
    int fd;
    int64_t length_max;
    int64_t length; /* atomic; more than length_max: it is full */
} rsti_frame_log_file_t;

/* Opens the file and appends to it. Returns 0, or -RST_ESYS / -RST_ECORRUPT with a trail that names
 * the path. */
int rsti_frame_log_file_open(rsti_frame_log_file_t *file, const char *path, int64_t length_max);
/* A line that does not fit is left out, and so are all later ones. */
void rsti_frame_log_file_write(void *arg, const char *line, size_t length);
void rsti_frame_log_file_close(rsti_frame_log_file_t *file);

#endif
