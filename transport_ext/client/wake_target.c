/* wake_target.c: see wake_target.h. */
#include "client/wake_target.h"

#include "concurrent/atomics.h"

#include <errno.h>
#include <unistd.h>

void rsti_fd_kick(int fd)
{
    const uint64_t one = 1; /* an event descriptor wants a number; a FIFO takes it as eight bytes */
    ssize_t written;
    do {
        written = write(fd, &one, sizeof one);
    } while (written < 0 && errno == EINTR);
}

void rsti_wake_target_kick(rsti_wake_target_t *target)
{
    if (rsti_exchange_i32(&target->armed, 0) != 0) {
        rsti_fd_kick(target->fd);
    }
}
