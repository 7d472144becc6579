/* main.c: an emulated link between network namespaces, over a TUN device in each.
 *
 *     net_link --left NS[,NS...] --right NS[,NS...] --report FILE [--forward WAY] [--back WAY]
 *              [--extra DELAY[,DELAY...]] [--seed N]
 *
 * WAY, one direction (forward is from left to right): rate=BITS_PER_S,delay=10ms,queue=64k,
 * loss=0.01,reorder=0.01,hold=3ms; what is not given does not limit. --extra: further delays of the
 * hosts on the left, both ways.
 *
 * The device is called net0. Host i of all, left ones first, has the address 10.88.0.(i + 1), which
 * the caller gives it. Prints "ready", and ends when standard input does. A line there
 * "rate AT_NS BITS_PER_S" changes the forward rate at that time of CLOCK_MONOTONIC.
 *
 * The report: a JSON line for each tenth of a second, counters since the beginning, and the time
 * that a packet would have waited at each of its samples; at the end a line of the link's own
 * faults. It runs at real-time priority where it may, for a late link is not the one that was asked
 * for; what came while it was late is spread over that time. */
#include "tests/net/flows.h"
#include "tests/net/way.h"

#include "util/clock.h"
#include "util/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HOSTS_MAX 32
#define CAPACITY 32768 /* packets in a queue, and under way */
#define READS_MAX 64 /* packets of a host in one turn */
#define SAMPLES 20 /* in a line */
#define SAMPLE_NS (5 * RSTI_NS_PER_MS)
#define LATE_NS (RSTI_NS_PER_MS / 5) /* waking up takes less */
#define FAULT_NS RSTI_NS_PER_MS
#define PRIORITY 10
#define COMMAND_BYTES 4096

typedef struct net_host_t {
    int fd;
    bool is_left;
    int64_t extra_ns;
} net_host_t;

typedef struct net_arrival_t {
    int64_t at_ns;
    net_packet_t *packet;
    int from;
} net_arrival_t;

typedef struct net_link_t {
    net_host_t hosts[HOSTS_MAX];
    int host_count;
    net_way_t ways[2]; /* forward, back */
    net_flows_t flows[2];
    net_packet_t *free;
    net_arrival_t arrivals[HOSTS_MAX * READS_MAX];
    size_t arrival_count;
    FILE *report;
    int64_t began_ns, sample_ns; /* the next one */
    int64_t samples_ns[SAMPLES];
    int sample_count;
    int64_t seen_ns; /* when the devices were last read */
    int64_t late_turns, late_most_ns, refused, strangers;
    char commands[COMMAND_BYTES];
    size_t command_bytes;
} net_link_t;

static int64_t now_ns(void)
{
    const rsti_clock_t system = rsti_clock_system();
    return rsti_clock_nano_time(&system);
}

static void die(const char *what)
{
    fprintf(stderr, "net_link: %s: %s\n", what, errno != 0 ? strerror(errno) : "not understood");
    exit(1);
}

/* ---- packets ---- */

static net_packet_t *packet_get(net_link_t *link)
{
    net_packet_t *packet = link->free;
    if (packet != NULL) {
        link->free = packet->next;
    } else if ((packet = malloc(sizeof *packet)) == NULL) {
        die("memory");
    }
    return packet;
}

static void packet_put(net_link_t *link, net_packet_t *packet)
{
    packet->next = link->free;
    link->free = packet;
}

/* ---- report ---- */

static void print_line(net_link_t *link, int64_t at_ns)
{
    fprintf(link->report, "{\"at_ns\": %" PRId64 ", \"waits_us\": [", at_ns);
    for (int i = 0; i < link->sample_count; i++) {
        fprintf(link->report, "%s%" PRId64, i > 0 ? ", " : "", link->samples_ns[i] / 1000);
    }
    fputs("], \"forward\": ", link->report);
    net_flows_print(&link->flows[0], link->report);
    fputs(", \"back\": ", link->report);
    net_flows_print(&link->flows[1], link->report);
    fputs("}\n", link->report);
    link->sample_count = 0;
}

static void sample_until(net_link_t *link, int64_t until_ns)
{
    for (; link->sample_ns <= until_ns; link->sample_ns += SAMPLE_NS) {
        link->samples_ns[link->sample_count++] = net_way_wait_ns(&link->ways[0], link->sample_ns);
        if (link->sample_count == SAMPLES) {
            print_line(link, link->sample_ns);
        }
    }
}

static void print_end(net_link_t *link)
{
    print_line(link, now_ns());
    fprintf(link->report,
        "{\"late_turns\": %" PRId64 ", \"late_most_us\": %" PRId64 ", \"refused\": %" PRId64
        ", \"strangers\": %" PRId64 "}\n",
        link->late_turns, link->late_most_ns / 1000, link->refused, link->strangers);
    if (fclose(link->report) != 0) {
        die("report");
    }
}

/* ---- a turn ---- */

/* Reads what has come from a host since the last turn. late_from_ns: since then the link should
 * have been awake; nobody knows when packets came meanwhile, so they are spread evenly. */
static void read_host(net_link_t *link, int from, int64_t late_from_ns)
{
    const size_t first = link->arrival_count;
    for (int i = 0; i < READS_MAX; i++) {
        net_packet_t *packet = packet_get(link);
        const ssize_t length = read(link->hosts[from].fd, packet->data, sizeof packet->data);
        if (length <= 0) {
            packet_put(link, packet);
            break;
        }
        packet->length = (size_t)length;
        link->arrivals[link->arrival_count++] = (net_arrival_t){.packet = packet, .from = from};
    }
    const int64_t now = now_ns();
    const int64_t count = (int64_t)(link->arrival_count - first);
    const int64_t since_ns = now - late_from_ns < LATE_NS ? now : late_from_ns;
    for (size_t i = first; i < link->arrival_count; i++) {
        link->arrivals[i].at_ns = since_ns + (now - since_ns) * (int64_t)(i - first + 1) / count;
    }
}

static void sort_arrivals(net_link_t *link)
{
    for (size_t i = 1; i < link->arrival_count; i++) {
        const net_arrival_t arrival = link->arrivals[i];
        size_t at = i;
        for (; at > 0 && link->arrivals[at - 1].at_ns > arrival.at_ns; at--) {
            link->arrivals[at] = link->arrivals[at - 1];
        }
        link->arrivals[at] = arrival;
    }
}

static void arrive(net_link_t *link, const net_arrival_t *arrival)
{
    net_packet_t *packet = arrival->packet;
    const net_host_t *from = &link->hosts[arrival->from];
    const int host = net_host_of(packet->data, packet->length);
    if (host < 0 || host >= link->host_count || link->hosts[host].is_left == from->is_left) {
        link->strangers++;
        packet_put(link, packet);
        return;
    }
    const int way = from->is_left ? 0 : 1;
    packet->host = host;
    packet->flow = net_flows_find(&link->flows[way], packet->data, packet->length);
    packet->extra_ns = from->extra_ns + link->hosts[host].extra_ns;
    net_flow_t *flow = &link->flows[way].all[packet->flow];
    flow->came++;
    flow->came_bytes += (int64_t)packet->length;
    sample_until(link, arrival->at_ns);
    if (!net_way_offer(&link->ways[way], arrival->at_ns, packet)) {
        flow->dropped++;
        packet_put(link, packet);
    }
}

static void deliver(net_link_t *link, int way, int64_t now)
{
    net_packet_t *packet;
    while ((packet = net_way_take(&link->ways[way], now)) != NULL) {
        net_flow_t *flow = &link->flows[way].all[packet->flow];
        if (packet->is_lost) {
            flow->lost++;
        } else {
            const ssize_t written = write(link->hosts[packet->host].fd, packet->data,
                packet->length);
            link->refused += written != (ssize_t)packet->length;
            flow->passed++;
            flow->passed_bytes += (int64_t)packet->length;
        }
        packet_put(link, packet);
    }
}

/* False: standard input has ended. */
static bool obey(net_link_t *link)
{
    const ssize_t got = read(STDIN_FILENO, link->commands + link->command_bytes,
        sizeof link->commands - 1 - link->command_bytes);
    if (got <= 0) {
        return false;
    }
    link->command_bytes += (size_t)got;
    link->commands[link->command_bytes] = '\0';
    char *line = link->commands;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        int64_t at_ns, bits_per_s;
        *end = '\0';
        errno = 0;
        if (sscanf(line, "rate %" SCNd64 " %" SCNd64, &at_ns, &bits_per_s) != 2
            || !net_way_step(&link->ways[0], at_ns, bits_per_s)) {
            die(line);
        }
    }
    link->command_bytes -= (size_t)(line - link->commands);
    memmove(link->commands, line, link->command_bytes);
    return true;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* False: it is over. */
static bool turn(net_link_t *link)
{
    struct pollfd polled[HOSTS_MAX + 1];
    for (int i = 0; i < link->host_count; i++) {
        polled[i] = (struct pollfd){.fd = link->hosts[i].fd, .events = POLLIN};
    }
    struct pollfd *input = &polled[link->host_count];
    *input = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    const int64_t before_ns = now_ns();
    const int64_t due_ns = earlier(net_way_next_ns(&link->ways[0]),
        net_way_next_ns(&link->ways[1]));
    const int64_t sleep_ns = due_ns > before_ns ? due_ns - before_ns : 0;
    const struct timespec timeout = {sleep_ns / RSTI_NS_PER_S, sleep_ns % RSTI_NS_PER_S};
    if (ppoll(polled, (nfds_t)link->host_count + 1, due_ns == INT64_MAX ? NULL : &timeout, NULL) < 0
        && errno != EINTR) {
        die("ppoll");
    }
    const int64_t woken_ns = now_ns();
    const int64_t late_ns = woken_ns - due_ns;
    link->late_turns += late_ns > FAULT_NS;
    link->late_most_ns = late_ns > link->late_most_ns ? late_ns : link->late_most_ns;
    /* Before the last turn everything had been read. */
    const int64_t late_from_ns = due_ns > link->seen_ns ? due_ns : link->seen_ns;
    link->arrival_count = 0;
    for (int i = 0; i < link->host_count; i++) {
        if (polled[i].revents != 0) {
            read_host(link, i, late_from_ns);
        }
    }
    link->seen_ns = woken_ns;
    sort_arrivals(link);
    for (size_t i = 0; i < link->arrival_count; i++) {
        arrive(link, &link->arrivals[i]);
    }
    const int64_t now = now_ns();
    deliver(link, 0, now);
    deliver(link, 1, now);
    sample_until(link, now);
    return input->revents == 0 || obey(link);
}

/* ---- setting up ---- */

static void open_host(net_link_t *link, const char *name, bool is_left)
{
    char path[256];
    errno = 0;
    if (link->host_count == HOSTS_MAX) {
        die("too many hosts");
    }
    (void)snprintf(path, sizeof path, "/run/netns/%s", name);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) {
        die(path);
    }
    close(space);
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    memcpy(request.ifr_name, "net0", sizeof "net0");
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0) {
        die("/dev/net/tun");
    }
    link->hosts[link->host_count++] = (net_host_t){.fd = fd, .is_left = is_left};
}

static void open_hosts(net_link_t *link, char *names, bool is_left)
{
    const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name != NULL;
        name = strtok_r(NULL, ",", &rest)) {
        open_host(link, name, is_left);
    }
    if (home < 0 || setns(home, CLONE_NEWNET) != 0) {
        die("/proc/self/ns/net");
    }
    close(home);
}

static bool parse_key(net_way_params_t *params, const char *key, const char *value)
{
    if (strcmp(key, "rate") == 0) {
        return rsti_parse_i64(value, &params->bits_per_s);
    }
    if (strcmp(key, "delay") == 0) {
        return rsti_parse_duration_ns(value, &params->delay_ns);
    }
    if (strcmp(key, "queue") == 0) {
        return rsti_parse_size(value, &params->queue_bytes);
    }
    if (strcmp(key, "loss") == 0) {
        return rsti_parse_unit(value, &params->loss);
    }
    if (strcmp(key, "reorder") == 0) {
        return rsti_parse_unit(value, &params->reorder);
    }
    return strcmp(key, "hold") == 0 && rsti_parse_duration_ns(value, &params->reorder_ns);
}

static void parse_way(net_way_params_t *params, char *text)
{
    char *rest = NULL;
    for (char *key = strtok_r(text, ",", &rest); key != NULL; key = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(key, '=');
        errno = 0;
        if (value == NULL) {
            die(key);
        }
        *value++ = '\0';
        if (!parse_key(params, key, value)) {
            die(value);
        }
    }
}

static void parse_extra(net_link_t *link, char *text)
{
    char *rest = NULL;
    char *one = strtok_r(text, ",", &rest);
    for (int host = 0; one != NULL; host++) {
        errno = 0;
        if (host == HOSTS_MAX || !rsti_parse_duration_ns(one, &link->hosts[host].extra_ns)) {
            die(one);
        }
        one = strtok_r(NULL, ",", &rest);
    }
}

/* --extra comes after --left. */
static void parse(net_link_t *link, net_way_params_t params[2], int argc, char **argv)
{
    int64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i];
        char *value = argv[i + 1];
        errno = 0;
        if (strcmp(name, "--left") == 0 || strcmp(name, "--right") == 0) {
            open_hosts(link, value, name[2] == 'l');
        } else if (strcmp(name, "--forward") == 0 || strcmp(name, "--back") == 0) {
            parse_way(&params[name[2] == 'b'], value);
        } else if (strcmp(name, "--extra") == 0) {
            parse_extra(link, value);
        } else if (strcmp(name, "--report") == 0) {
            link->report = fopen(value, "we");
        } else if (strcmp(name, "--seed") != 0 || !rsti_parse_i64(value, &seed)) {
            die(name);
        }
    }
    if (link->host_count == 0 || link->report == NULL) {
        die("--left, --right and --report are needed");
    }
    params[0].seed = (uint64_t)seed;
    params[1].seed = (uint64_t)seed + 1;
}

int main(int argc, char **argv)
{
    net_link_t *link = calloc(1, sizeof *link);
    net_way_params_t params[2] = {{0}, {0}};
    if (link == NULL) {
        die("memory");
    }
    parse(link, params, argc, argv);
    for (int i = 0; i < 2; i++) {
        net_flows_init(&link->flows[i], i == 0);
        if (!net_way_init(&link->ways[i], &params[i], CAPACITY)) {
            die("memory");
        }
    }
    const struct sched_param priority = {.sched_priority = PRIORITY};
    (void)sched_setscheduler(0, SCHED_FIFO,
        &priority); /* where it may not, it is late more often */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    link->seen_ns = link->sample_ns = now_ns();
    puts("ready");
    (void)fflush(stdout);
    while (turn(link)) {
    }
    print_end(link);
    return 0;
}
