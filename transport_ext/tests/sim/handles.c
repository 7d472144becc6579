/* handles.c: replaces the system calls that create and close descriptors and mappings (by the
 * linker's --wrap). Each has an owner: a killed process loses its own, and a process that ends in
 * order must have closed all. */
#include "tests/sim/process.h"
#include "tests/sim/resource_faults.h"
#include "tests/sim/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef struct mapping_t {
    void *base;
    size_t length;
    int32_t process_id;
} mapping_t;

static int32_t owner_of[SIM_FDS_MAX]; /* process id + 1, 0 = not ours */
static mapping_t mappings[SIM_MAPPINGS_MAX];
static int mapping_count;

int __real_open(const char *path, int flags, ...);
int __real_openat(int dir_fd, const char *path, int flags, ...);
int __real_close(int fd);
int __real_eventfd(unsigned count, int flags);
int __real_epoll_create1(int flags);
int __real_closedir(DIR *stream);
int __real_fclose(FILE *file);
void *__real_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *base, size_t length);
int __real_ftruncate(int fd, off_t length);
int __real_unlink(const char *path);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir_fd, const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_epoll_create1(int flags);
int __wrap_closedir(DIR *stream);
int __wrap_fclose(FILE *file);
void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *base, size_t length);
int __wrap_ftruncate(int fd, off_t length);
int __wrap_posix_fallocate(int fd, off_t offset, off_t length);
int __wrap_unlink(const char *path);
int __wrap_statvfs(const char *path, struct statvfs *status);

void sim_handles_init(void)
{
    memset(owner_of, 0, sizeof owner_of);
    mapping_count = 0;
}

/* ---- descriptors ---- */

static int adopt(int fd)
{
    if (fd >= SIM_FDS_MAX) {
        sim_fail("more than %d descriptors", SIM_FDS_MAX);
    }
    if (fd >= 0) {
        owner_of[fd] = sim_process_current()->id + 1;
    }
    return fd;
}

static void forget(int fd)
{
    if (fd >= 0 && fd < SIM_FDS_MAX) {
        owner_of[fd] = 0;
    }
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (sim_resource_fails(RESOURCE_DESCRIPTORS)) {
        errno = EMFILE;
        return -1;
    }
    return adopt(__real_open(path, flags, mode));
}

int __wrap_openat(int dir_fd, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return adopt(__real_openat(dir_fd, path, flags, mode));
}

int __wrap_eventfd(unsigned count, int flags)
{
    return adopt(__real_eventfd(count, flags));
}

int __wrap_epoll_create1(int flags)
{
    return adopt(__real_epoll_create1(flags));
}

int __wrap_close(int fd)
{
    const sim_process_t *process = sim_process_current();
    if (fd >= 0 && fd < SIM_FDS_MAX && owner_of[fd] != process->id + 1) {
        sim_fail("a descriptor is closed that %s",
            owner_of[fd] == 0 ? "is not open" : "belongs to another process");
    }
    forget(fd);
    return __real_close(fd);
}

int __wrap_closedir(DIR *stream)
{
    forget(dirfd(stream));
    return __real_closedir(stream);
}

int __wrap_fclose(FILE *file)
{
    forget(fileno(file));
    return __real_fclose(file);
}

/* ---- files ---- */

int __wrap_ftruncate(int fd, off_t length)
{
    if (sim_resource_fails(RESOURCE_STORAGE)) {
        errno = EFBIG;
        return -1;
    }
    return __real_ftruncate(fd, length);
}

/* The scenario decides whether there is room; untouched pages need no storage. */
int __wrap_posix_fallocate(int fd, off_t offset, off_t length)
{
    struct stat status;
    if (sim_resource_fails(RESOURCE_STORAGE)) {
        return ENOSPC;
    }
    if (fstat(fd, &status) != 0
        || (status.st_size < offset + length && __real_ftruncate(fd, offset + length) != 0)) {
        return errno;
    }
    return 0;
}

int __wrap_unlink(const char *path)
{
    if (strstr(path, ".logbuffer") != NULL && sim_resource_fails(RESOURCE_REMOVALS)) {
        errno = EBUSY;
        return -1;
    }
    return __real_unlink(path);
}

/* A constant: the real free space changes while others use the disk, and error texts contain it. */
int __wrap_statvfs(const char *path, struct statvfs *status)
{
    if (access(path, F_OK) != 0) {
        return -1;
    }
    *status = (struct statvfs){
        .f_bsize = 4096, .f_frsize = 4096, .f_blocks = 1 << 22, .f_bavail = 1 << 22};
    return 0;
}

/* ---- mappings ---- */

void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && sim_resource_fails(RESOURCE_MAPPINGS)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *base = __real_mmap(at, length, protection, flags, fd, offset);
    if (base != MAP_FAILED && fd >= 0) {
        if (mapping_count == SIM_MAPPINGS_MAX) {
            sim_fail("more than %d mappings", SIM_MAPPINGS_MAX);
        }
        mappings[mapping_count++] = (mapping_t){base, length, sim_process_current()->id};
    }
    return base;
}

int __wrap_munmap(void *base, size_t length)
{
    for (int i = 0; i < mapping_count; i++) {
        if (mappings[i].base == base) {
            if (mappings[i].length != length
                || mappings[i].process_id != sim_process_current()->id) {
                sim_fail("a mapping of %zu bytes is unmapped as %zu bytes, or by another process",
                    mappings[i].length, length);
            }
            mappings[i] = mappings[--mapping_count];
            return __real_munmap(base, length);
        }
    }
    sim_fail("an address is unmapped that is not mapped");
}

/* ---- ends ---- */

void sim_handles_close_all(int32_t process_id)
{
    for (int fd = 0; fd < SIM_FDS_MAX; fd++) {
        if (owner_of[fd] == process_id + 1) {
            forget(fd);
            (void)__real_close(fd);
        }
    }
    for (int i = 0; i < mapping_count;) {
        if (mappings[i].process_id == process_id) {
            (void)__real_munmap(mappings[i].base, mappings[i].length);
            mappings[i] = mappings[--mapping_count];
        } else {
            i++;
        }
    }
}

int32_t sim_handles_held(int32_t process_id, char *text, size_t size)
{
    int32_t fds = 0;
    int32_t mapped = 0;
    for (int fd = 0; fd < SIM_FDS_MAX; fd++) {
        fds += owner_of[fd] == process_id + 1;
    }
    for (int i = 0; i < mapping_count; i++) {
        mapped += mappings[i].process_id == process_id;
    }
    snprintf(text, size, "%d descriptors, %d mappings", fds, mapped);
    return fds + mapped;
}
