/* rstreamd: the media driver as a program. Options come from the environment first, then from the
 * command line, under the names of rst_driver_option_list(). Ends at SIGINT, SIGTERM or SIGHUP, or
 * by itself when no client has been there for the idle-exit time.
 *
 * Exit codes: 0 ended in good order, 1 could not run, 2 bad options, 3 another driver has the
 * directory. */
#include "rstream/driver.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Set by the build from the project's version. */
#ifndef RST_TOOL_VERSION
#define RST_TOOL_VERSION "unknown"
#endif

#define EXIT_FAILED 1
#define EXIT_OPTIONS 2
#define EXIT_IN_USE 3
#define OPTION_NAME_MAX 64
#define IDLE_CHECK_MS 250

typedef struct arguments_t {
    bool wants_help;
    bool wants_version;
    bool is_verbose;
} arguments_t;

static int complain(int exit_code)
{
    fprintf(stderr, "rstreamd: %s\n", rst_last_error_text());
    return exit_code;
}

static void print_help(void)
{
    printf("usage: rstreamd [--dir DIR] [--NAME VALUE | --NAME=VALUE ...]\n"
           "       rstreamd --help | --version\n\n"
           "Runs an rstream media driver in the foreground until SIGINT or SIGTERM, or until no\n"
           "client has been there for the idle-exit time.\n\n"
           "  --verbose   print a line when ready\n\n"
           "options (each also as RSTREAM_<NAME> in the environment, upper case, _ for -):\n");
    for (const rst_driver_option_t *option = rst_driver_option_list(); option->name != NULL;
         option++) {
        printf("  --%s VALUE\n        %s (default: %s)\n", option->name, option->help,
            option->default_text != NULL && option->default_text[0] != '\0' ? option->default_text
                                                                            : "none");
    }
    printf("\nexit codes: 0 ended in good order, 1 could not run, 2 bad options, 3 another media\n"
           "driver has the directory\n");
}

/* One "--name=value" or "--name value"; returns how many arguments it took, 0 when it is wrong. */
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
        (void)complain(EXIT_OPTIONS);
        return 0;
    }
    return equals != NULL ? 1 : 2;
}

static int parse(rst_driver_params_t *params, arguments_t *arguments, int argc, char **argv)
{
    int index = 1;
    while (index < argc) {
        int taken = 1;
        if (strcmp(argv[index], "--help") == 0 || strcmp(argv[index], "-h") == 0) {
            arguments->wants_help = true;
        } else if (strcmp(argv[index], "--version") == 0) {
            arguments->wants_version = true;
        } else if (strcmp(argv[index], "--verbose") == 0) {
            arguments->is_verbose = true;
        } else if (strncmp(argv[index], "--", 2) == 0) {
            taken = set_option(params, argc, argv, index);
        } else {
            fprintf(stderr, "rstreamd: unexpected argument %s, see rstreamd --help\n", argv[index]);
            taken = 0;
        }
        if (taken == 0) {
            return EXIT_OPTIONS;
        }
        index += taken;
    }
    return 0;
}

/* Blocked before any thread starts, so that all threads inherit it and only main, which waits for
 * them, gets these signals. */
static void prepare_signals(sigset_t *ending)
{
    (void)sigemptyset(ending);
    (void)sigaddset(ending, SIGINT);
    (void)sigaddset(ending, SIGTERM);
    (void)sigaddset(ending, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, ending, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file limit then fails the one command that met it */
}

/* Whoever started us may wait for the end of what it types; the number 0 stays taken. */
static void close_stdin(void)
{
    (void)freopen("/dev/null", "r", stdin);
}

static void wait_for_end(rst_driver_t *driver, const sigset_t *ending)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = IDLE_CHECK_MS * 1000000L};
    for (;;) {
        if (sigtimedwait(ending, NULL, &pause) > 0 || rst_driver_is_idle(driver) == 1) {
            return;
        }
    }
}

static int run(const rst_driver_params_t *params, bool is_verbose)
{
    sigset_t ending;
    rst_driver_t *driver = NULL;
    prepare_signals(&ending);
    close_stdin();
    (void)umask(077);
    const int opened = rst_driver_open(&driver, params);
    if (opened != 0) {
        return complain(opened == -RST_EINUSE ? EXIT_IN_USE
                : opened == -RST_EINVAL ? EXIT_OPTIONS : EXIT_FAILED);
    }
    if (rst_driver_start(driver) != 0) {
        const int exit_code = complain(EXIT_FAILED);
        rst_driver_close(driver);
        return exit_code;
    }
    if (is_verbose || isatty(STDOUT_FILENO) == 1) {
        printf("rstreamd: ready dir=%s pid=%ld\n", rst_driver_dir(driver), (long)getpid());
        (void)fflush(stdout);
    }
    wait_for_end(driver, &ending);
    rst_driver_close(driver);
    return 0;
}

int main(int argc, char **argv)
{
    rst_driver_params_t *params = NULL;
    arguments_t arguments = {false, false, false};
    if (rst_driver_params_create(&params) != 0) {
        return complain(EXIT_FAILED);
    }
    int exit_code = 0;
    /* The command line is read first only for --help: a bad environment must not hide it. */
    for (int i = 1; i < argc; i++) {
        arguments.wants_help = arguments.wants_help || strcmp(argv[i], "--help") == 0;
    }
    if (!arguments.wants_help && rst_driver_params_from_environment(params) != 0) {
        exit_code = complain(EXIT_OPTIONS);
    }
    if (exit_code == 0 && !arguments.wants_help) {
        exit_code = parse(params, &arguments, argc, argv);
    }
    if (exit_code == 0 && arguments.wants_help) {
        print_help();
    } else if (exit_code == 0 && arguments.wants_version) {
        printf("rstreamd %s\n", RST_TOOL_VERSION);
    } else if (exit_code == 0) {
        exit_code = run(params, arguments.is_verbose);
    }
    rst_driver_params_destroy(params);
    return exit_code;
}
