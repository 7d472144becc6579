/* probe.c: the buffer sizes that the system grants to a socket. */
#include "media/media.h"

#include "util/error.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Linux doubles the requested size for its own accounting, and reports the double. */
static int read_usable(int fd, int option, const char *name, int64_t *usable)
{
    int reported = 0;
    socklen_t length = sizeof reported;
    if (getsockopt(fd, SOL_SOCKET, option, &reported, &length) != 0) {
        return RST_SET_ERRNO("reading %s", name);
    }
    *usable = reported / 2;
    return 0;
}

static int ask(int fd, int option, int64_t wanted, const char *name)
{
    const int value = (int)(wanted > INT32_MAX ? INT32_MAX : wanted);
    if (wanted > 0 && setsockopt(fd, SOL_SOCKET, option, &value, sizeof value) != 0) {
        return RST_SET_ERRNO("setting %s=%d", name, value);
    }
    return 0;
}

int rsti_media_udp_probe(int64_t so_rcvbuf, int64_t so_sndbuf, rsti_socket_probe_t *probe)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return RST_SET_ERRNO("opening a socket to look at its buffers");
    }
    int result = ask(fd, SO_RCVBUF, so_rcvbuf, "SO_RCVBUF");
    result = result < 0 ? result : ask(fd, SO_SNDBUF, so_sndbuf, "SO_SNDBUF");
    result = result < 0 ? result : read_usable(fd, SO_RCVBUF, "SO_RCVBUF", &probe->rcvbuf);
    result = result < 0 ? result : read_usable(fd, SO_SNDBUF, "SO_SNDBUF", &probe->sndbuf);
    close(fd);
    return result;
}
