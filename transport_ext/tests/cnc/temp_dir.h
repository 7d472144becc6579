/* temp_dir.h: a directory of this test run, in shared memory where there is some, removed at the
 * end. */
#ifndef RSTI_TESTS_TEMP_DIR_H
#define RSTI_TESTS_TEMP_DIR_H

#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char temp_root[256];

static inline bool temp_dir_make(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(temp_root, sizeof temp_root, "/dev/shm/rstream-test-XXXXXX");
    if (access("/dev/shm", W_OK) == 0 && mkdtemp(temp_root) != NULL) {
        return true;
    }
    snprintf(temp_root, sizeof temp_root, "%s/rstream-test-XXXXXX",
        temporary != NULL ? temporary : "/tmp");
    return mkdtemp(temp_root) != NULL;
}

static inline void path_join(char *path, size_t size, const char *dir, const char *name)
{
    const int length = snprintf(path, size, "%s/%s", dir, name);
    if (length < 0 || (size_t)length >= size) {
        fprintf(stderr, "path too long: %s/%s\n", dir, name);
        abort();
    }
}

static inline void temp_path(char *path, size_t size, const char *name)
{
    path_join(path, size, temp_root, name);
}

static inline int temp_remove_entry(const char *path, const struct stat *status, int kind,
    struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline void temp_dir_remove(void)
{
    (void)nftw(temp_root, temp_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#define TEMP_DIR_MAIN(...)                                                                         \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const check_case_t cases[] = {__VA_ARGS__};                                         \
        if (!temp_dir_make()) {                                                                    \
            perror("making a directory for the test");                                             \
            return 1;                                                                              \
        }                                                                                          \
        const int result = check_run(cases, sizeof cases / sizeof cases[0],                        \
            argc > 1 ? argv[1] : NULL);                                                            \
        temp_dir_remove();                                                                         \
        return result;                                                                             \
    }

#endif
