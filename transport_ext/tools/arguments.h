/* arguments.h: the options of rstreamd, from the environment, files and the command line.
 *
 * Later sources win: defaults, AERON_* variables, RSTREAM_* variables, then the command line from
 * left to right: --NAME VALUE, -Daeron.NAME=VALUE and FILE.properties alike. */
#ifndef RSTI_TOOLS_ARGUMENTS_H
#define RSTI_TOOLS_ARGUMENTS_H

#include "rstream/driver.h"

#include <stdbool.h>

#define NOTICES_MAX 64
#define NOTICE_LENGTH_MAX 256

typedef struct arguments_t {
    bool wants_help;
    bool wants_version;
    bool is_verbose;
    /* Of names without effect and of values out of range. A harness may take any text on standard
     * error for a failure, so they go there only with --verbose, else to the driver's error log. */
    int notice_count;
    char notices[NOTICES_MAX][NOTICE_LENGTH_MAX];
} arguments_t;

/* 0, or EXIT_OPTIONS with a message on stderr. */
int arguments_parse(rst_driver_params_t *params, arguments_t *arguments, int argc, char **argv);
void arguments_print_help(void);
/* Every option and its value, one line each. */
void arguments_print_configuration(const rst_driver_params_t *params);

#define EXIT_FAILED 1
#define EXIT_OPTIONS 2
#define EXIT_IN_USE 3

#endif
