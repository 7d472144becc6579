/* small_fs.h: a tiny tmpfs, mounted in a mount namespace of a child process, so that nothing is
 * left after any outcome. Needs root; the test prints when it is skipped. */
#ifndef RSTI_TESTS_SMALL_FS_H
#define RSTI_TESTS_SMALL_FS_H

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL_FS_SKIPPED 77

/* Runs check(dir) in a child with `dir` on a file system of size bytes; 0 = it returned 0. */
static inline int small_fs_run(const char *dir, size_t size_bytes, int (*check)(const char *dir))
{
    (void)mkdir(dir, 0700);
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        char options[64];
        snprintf(options, sizeof options, "size=%zu,mode=0700", size_bytes);
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
            || mount("tmpfs", dir, "tmpfs", 0, options) != 0) {
            printf("skipped: no tmpfs of our own (%s)\n", strerror(errno));
            (void)fflush(stdout);
            _exit(SMALL_FS_SKIPPED);
        }
        const int result = check(dir);
        (void)fflush(NULL);
        _exit(result);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
        return WEXITSTATUS(status) == SMALL_FS_SKIPPED ? 0 : WEXITSTATUS(status);
    }
    return -1; /* a signal, perhaps the bus error that must not happen */
}

/* In the child of small_fs_run: the line number is the exit code. */
#define SMALL_FS_CHECK(expression)                                                                 \
    do {                                                                                           \
        if (!(expression)) {                                                                       \
            fprintf(stderr, "%s:%d: failed: %s (%s)\n", __FILE__, __LINE__, #expression,           \
                rst_last_error_text());                                                            \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

#endif
