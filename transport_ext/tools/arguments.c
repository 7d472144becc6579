#include "tools/arguments.h"

#include <stdio.h>
#include <string.h>

#define OPTION_NAME_MAX 64
#define OPTION_VALUE_MAX 1024

static int complain(void)
{
    fprintf(stderr, "rstreamd: %s\n", rst_last_error_text());
    return EXIT_OPTIONS;
}

static void on_notice(void *arg, const char *text)
{
    arguments_t *arguments = arg;
    if (arguments->notice_count < NOTICES_MAX) {
        (void)snprintf(arguments->notices[arguments->notice_count++], NOTICE_LENGTH_MAX, "%s",
            text);
    }
}

void arguments_print_help(void)
{
    printf(
        "usage: rstreamd [--NAME VALUE | --NAME=VALUE | -Daeron.NAME=VALUE | FILE.properties ...]\n"
        "       rstreamd --help | --version\n\n"
        "Runs an rstream media driver in the foreground. It ends at SIGINT or SIGTERM, or when no\n"
        "client was connected for the idle-exit time.\n\n"
        "  --verbose   print a line when ready, and notices of options without effect, which go\n"
        "              to the driver's error log otherwise\n\n"
        "Options also come from the environment, as RSTREAM_<NAME> (upper case, _ for -), and by\n"
        "the names of Aeron's drivers: properties with -D or in files (syntax of Java), and\n"
        "AERON_* variables. Later sources win: AERON_* variables, RSTREAM_* variables, then the\n"
        "command line from left to right. A driver that is started by any of Aeron's names uses\n"
        "Aeron's directory (/dev/shm/aeron-<user>), keeps it at the end, never ends by itself and\n"
        "has dedicated threads, unless told otherwise. docs/reference/configuration.md lists both\n"
        "names of each option.\n\n"
        "options:\n");
    for (const rst_driver_option_t *option = rst_driver_option_list(); option->name != NULL;
        option++) {
        printf("  --%s VALUE\n        %s (default: %s)\n", option->name, option->help,
            option->default_text != NULL && option->default_text[0] != '\0' ? option->default_text
                                                                            : "none");
    }
    printf("\nexit codes: 0 ended in good order, 1 could not run, 2 bad options, 3 another media\n"
           "driver has the directory\n");
}

void arguments_print_configuration(const rst_driver_params_t *params)
{
    for (const rst_driver_option_t *option = rst_driver_option_list(); option->name != NULL;
        option++) {
        char value[OPTION_VALUE_MAX];
        if (rst_driver_params_get(params, option->name, value, sizeof value) == 0) {
            printf("%s=%s\n", option->name, value);
        }
    }
    (void)fflush(stdout);
}

/* One "--name=value" or "--name value". Returns how many arguments it took; 0: it is wrong. */
static int set_option(rst_driver_params_t *params, int argc, char **argv, int index)
{
    const char *text = argv[index] + 2;
    const char *equals = strchr(text, '=');
    const size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    char name[OPTION_NAME_MAX];
    if (length == 0 || length >= sizeof name) {
        fprintf(stderr, "rstreamd: unknown option %s, see rstreamd --help\n", argv[index]);
        return 0;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    if (equals == NULL && index + 1 >= argc) {
        fprintf(stderr, "rstreamd: option --%s needs a value\n", name);
        return 0;
    }
    if (rst_driver_params_set(params, name, equals != NULL ? equals + 1 : argv[index + 1]) != 0) {
        (void)complain();
        return 0;
    }
    return equals != NULL ? 1 : 2;
}

static bool is_property(const char *argument)
{
    return strncmp(argument, "-D", 2) == 0;
}

/* An argument that is no option names a file, as for Aeron's drivers. */
static bool is_file(const char *argument)
{
    return argument[0] != '-';
}

/* Returns how many arguments it took; 0: it is wrong. */
static int take(rst_driver_params_t *params, arguments_t *arguments, int argc, char **argv,
    int index)
{
    const char *argument = argv[index];
    if (strcmp(argument, "--version") == 0) {
        arguments->wants_version = true;
    } else if (strcmp(argument, "--verbose") == 0) {
        arguments->is_verbose = true;
    } else if (strncmp(argument, "--", 2) == 0) {
        return set_option(params, argc, argv, index);
    } else if (is_property(argument)) {
        if (rst_driver_params_set_property(params, argument + 2, on_notice, arguments) < 0) {
            (void)complain();
            return 0;
        }
    } else if (is_file(argument)) {
        if (rst_driver_params_from_properties(params, argument, on_notice, arguments) < 0) {
            (void)complain();
            return 0;
        }
    } else {
        fprintf(stderr, "rstreamd: unexpected argument %s, see rstreamd --help\n", argument);
        return 0;
    }
    return 1;
}

/* set_option decides later whether the argument stands alone or is the value of the option before
 * it. Here it is enough that no value begins with -D or is the name of a file. */
static bool uses_aerons_names(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-Daeron.", 8) == 0 || strncmp(argv[i], "-DAERON_", 8) == 0) {
            return true;
        }
        if (strncmp(argv[i], "--", 2) == 0) {
            const bool has_value = strchr(argv[i], '=') == NULL && strcmp(argv[i], "--version") != 0
                && strcmp(argv[i], "--verbose") != 0;
            i += has_value ? 1 : 0;
        } else if (is_file(argv[i])) {
            return true;
        }
    }
    return rst_driver_has_aeron_environment() == 1;
}

int arguments_parse(rst_driver_params_t *params, arguments_t *arguments, int argc, char **argv)
{
    /* Help is handled first: a bad environment must not hide it. */
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            arguments->wants_help = true;
            return 0;
        }
    }
    if (uses_aerons_names(argc, argv) && rst_driver_params_use_aeron_defaults(params) < 0) {
        return complain();
    }
    if (rst_driver_params_from_aeron_environment(params, on_notice, arguments) < 0
        || rst_driver_params_from_environment(params) < 0) {
        return complain();
    }
    for (int index = 1; index < argc;) {
        const int taken = take(params, arguments, argc, argv, index);
        if (taken == 0) {
            return EXIT_OPTIONS;
        }
        index += taken;
    }
    return 0;
}
