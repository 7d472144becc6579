/* rstreamd: the media driver as a program. Its options: arguments.h. It ends at SIGINT, SIGTERM or
 * SIGHUP, when an allowed client asks it to, or when no client was connected for the idle-exit
 * time.
 *
 * Exit codes: 0 ended in good order, 1 could not run, 2 bad options, 3 another driver has the
 * directory. */
#include "rstream/driver.h"
#include "tools/arguments.h"

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

#define IDLE_CHECK_MS 250
#define INVOKER_PAUSE_FIRST_NS 20000L
#define INVOKER_PAUSE_MAX_NS 1000000L

static int complain(int exit_code)
{
    fprintf(stderr, "rstreamd: %s\n", rst_last_error_text());
    return exit_code;
}

/* Blocked before any thread starts, so all threads inherit the mask. Only main, which waits for
 * these signals, gets them. */
static void prepare_signals(sigset_t *ending)
{
    (void)sigemptyset(ending);
    (void)sigaddset(ending, SIGINT);
    (void)sigaddset(ending, SIGTERM);
    (void)sigaddset(ending, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, ending, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file size limit then fails only the command that met it */
}

/* The parent process may wait for the end of standard input. Descriptor 0 stays in use. */
static void close_stdin(void)
{
    if (freopen("/dev/null", "r", stdin) == NULL) {
        return; /* no /dev/null: the descriptor is closed all the same */
    }
}

static void wait_for_end(rst_driver_t *driver, const sigset_t *ending)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = IDLE_CHECK_MS * 1000000L};
    for (;;) {
        if (sigtimedwait(ending, NULL, &pause) > 0 || rst_driver_is_idle(driver) == 1
            || rst_driver_is_terminated(driver) == 1) {
            return;
        }
    }
}

static bool is_set_to(const rst_driver_params_t *params, const char *name, const char *wanted)
{
    char value[32];
    return rst_driver_params_get(params, name, value, sizeof value) == 0
        && strcmp(value, wanted) == 0;
}

/* threading=invoker: this thread runs the agents. Nobody wakes it, so that it looks again within
 * a millisecond while it is idle. */
static void work_until_end(rst_driver_t *driver, const sigset_t *ending)
{
    long pause_ns = 0;
    while (rst_driver_is_idle(driver) != 1 && rst_driver_is_terminated(driver) != 1) {
        int64_t deadline;
        const bool has_worked = rst_driver_do_work(driver, &deadline) > 0;
        pause_ns = has_worked ? 0 : pause_ns == 0 ? INVOKER_PAUSE_FIRST_NS : 2 * pause_ns;
        pause_ns = pause_ns > INVOKER_PAUSE_MAX_NS ? INVOKER_PAUSE_MAX_NS : pause_ns;
        const struct timespec pause = {.tv_sec = 0, .tv_nsec = pause_ns};
        if (sigtimedwait(ending, NULL, &pause) > 0) {
            return;
        }
    }
}

static void tell_notices(rst_driver_t *driver, const arguments_t *arguments)
{
    for (int i = 0; i < arguments->notice_count; i++) {
        if (arguments->is_verbose) {
            fprintf(stderr, "rstreamd: notice: %s\n", arguments->notices[i]);
        } else {
            rst_driver_notice(driver, arguments->notices[i]);
        }
    }
}

static int run(const rst_driver_params_t *params, const arguments_t *arguments)
{
    sigset_t ending;
    rst_driver_t *driver = NULL;
    prepare_signals(&ending);
    close_stdin();
    (void)umask(077);
    const int opened = rst_driver_open(&driver, params);
    if (opened != 0) {
        return complain(opened == -RST_EINUSE ? EXIT_IN_USE
                : opened == -RST_EINVAL       ? EXIT_OPTIONS
                                              : EXIT_FAILED);
    }
    const bool is_invoker = is_set_to(params, "threading", "invoker");
    if (!is_invoker && rst_driver_start(driver) != 0) {
        const int exit_code = complain(EXIT_FAILED);
        rst_driver_close(driver);
        return exit_code;
    }
    tell_notices(driver, arguments);
    if (arguments->is_verbose || isatty(STDOUT_FILENO) == 1) {
        printf("rstreamd: ready dir=%s pid=%ld\n", rst_driver_dir(driver), (long)getpid());
        (void)fflush(stdout);
    }
    if (is_invoker) {
        work_until_end(driver, &ending);
    } else {
        wait_for_end(driver, &ending);
    }
    rst_driver_close(driver);
    return 0;
}

int main(int argc, char **argv)
{
    rst_driver_params_t *params = NULL;
    static arguments_t arguments;
    if (rst_driver_params_create(&params) != 0) {
        return complain(EXIT_FAILED);
    }
    int exit_code = arguments_parse(params, &arguments, argc, argv);
    if (exit_code == 0 && arguments.wants_help) {
        arguments_print_help();
    } else if (exit_code == 0 && arguments.wants_version) {
        printf("rstreamd %s\n", RST_TOOL_VERSION);
    } else if (exit_code == 0) {
        if (is_set_to(params, "print-configuration", "true")) {
            arguments_print_configuration(params);
        }
        exit_code = run(params, &arguments);
    }
    rst_driver_params_destroy(params);
    return exit_code;
}
