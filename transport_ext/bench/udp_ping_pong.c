/* udp_ping_pong SIZE SECONDS: the baseline of a UDP round trip. Two processes on loopback,
 * connected sockets, blocking send and recv, nothing else. Prints JSON. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 4000000

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int bound_socket(struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, sizeof *address) != 0
        || getsockname(fd, (struct sockaddr *)address, &length) != 0) {
        perror("udp_ping_pong: socket");
        exit(1);
    }
    return fd;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void pong(int fd, size_t size)
{
    uint8_t buffer[65536];
    for (;;) {
        if (recv(fd, buffer, sizeof buffer, 0) < 0 || send(fd, buffer, size, 0) < 0) {
            _exit(0);
        }
    }
}

int main(int argc, char **argv)
{
    const size_t size = argc > 1 ? (size_t)atoi(argv[1]) : 70;
    const int64_t seconds = argc > 2 ? atoi(argv[2]) : 5;
    struct sockaddr_in ping_address, pong_address;
    const int ping_fd = bound_socket(&ping_address);
    const int pong_fd = bound_socket(&pong_address);
    if (size == 0 || size > 65000
        || connect(ping_fd, (struct sockaddr *)&pong_address, sizeof pong_address) != 0
        || connect(pong_fd, (struct sockaddr *)&ping_address, sizeof ping_address) != 0) {
        perror("udp_ping_pong: connect");
        return 1;
    }
    const pid_t child = fork();
    if (child == 0) {
        pong(pong_fd, size);
    }
    int64_t *samples = malloc(sizeof(int64_t) * SAMPLES_MAX);
    uint8_t buffer[65536] = {0};
    int64_t count = 0;
    const int64_t begin = now_ns() + 1000000000, end = begin + seconds * 1000000000;
    for (int64_t now = now_ns(); samples != NULL && now < end && count < SAMPLES_MAX;) {
        if (send(ping_fd, buffer, size, 0) < 0 || recv(ping_fd, buffer, sizeof buffer, 0) < 0) {
            perror("udp_ping_pong: round trip");
            return 1;
        }
        const int64_t after = now_ns();
        if (now >= begin) {
            samples[count++] = after - now;
        }
        now = after;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    qsort(samples, (size_t)count, sizeof samples[0], compare);
    printf("{\"p50_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f, \"round_trips\": %lld}\n",
        (double)samples[count / 2] / 1000, (double)samples[count * 99 / 100] / 1000,
        (double)samples[count * 999 / 1000] / 1000, (long long)count);
    free(samples);
    return 0;
}
