/* process.c: see process.h. */
#include "cnc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_TIME_FIELD 22

/* A /proc of another pid namespace, for instance the host's, has other numbers. */
static bool is_proc_ours(void)
{
    char text[32];
    const ssize_t length = readlink("/proc/self", text, sizeof text - 1);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    return strtoll(text, NULL, 10) == (long long)getpid();
}

/* The command in field 2 may hold blanks and parentheses: fields are counted after its last one. */
static int64_t parse_start_time(const char *stat_line)
{
    const char *at = strrchr(stat_line, ')');
    for (int field = 2; at != NULL && field < START_TIME_FIELD; field++) {
        at = strchr(at + 1, ' ');
    }
    const int64_t value = at != NULL ? (int64_t)strtoll(at + 1, NULL, 10) : 0;
    return value > 0 ? value : 0;
}

int64_t rsti_process_start_time(int64_t pid)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t length;
    do {
        length = read(fd, text, sizeof text - 1);
    } while (length < 0 && errno == EINTR);
    close(fd);
    if (length <= 0) {
        return 0;
    }
    text[length] = '\0';
    return parse_start_time(text);
}

rsti_process_t rsti_process_self(void)
{
    rsti_process_t self = {.pid = (int64_t)getpid()};
    struct stat status;
    if (is_proc_ours() && stat("/proc/self/ns/pid", &status) == 0) {
        self.pid_namespace = (int64_t)status.st_ino;
        self.start_time = rsti_process_start_time(self.pid);
    }
    return self;
}

bool rsti_process_is_comparable(const rsti_process_t *told, const rsti_process_t *self)
{
    return told->pid > 0 && told->pid <= INT32_MAX && told->start_time > 0
        && told->pid_namespace != 0 && told->pid_namespace == self->pid_namespace
        && self->start_time > 0;
}
