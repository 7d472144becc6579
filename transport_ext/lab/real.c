/* real.c: a run with real agents on the system's sockets and clock. */
#include "lab/agents.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"
#include "util/netaddr.h"

#include <time.h>

/* The system adds 50 us. A thread that never sleeps is soon preempted for tens of milliseconds when
 * other threads need its processor. */
#define NAP_NS 20000

/* A driver refuses a window that its socket buffer cannot hold. */
static int check_buffers(const rsti_lab_spec_t *spec)
{
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_IMAGE]; i++) {
        const int64_t wanted = (int64_t)spec->image[i].buffer_bytes;
        rsti_socket_probe_t probe;
        const int result = rsti_media_udp_probe(wanted, 0, &probe);
        if (result < 0) {
            return result;
        }
        if (probe.rcvbuf < wanted) {
            return RST_SET_ERR(RST_EINVAL,
                "image %d: a buffer of %lld bytes, and the system gives"
                " a socket %lld: raise net.core.rmem_max or take a smaller one",
                i, (long long)wanted, (long long)probe.rcvbuf);
        }
    }
    return 0;
}

int rsti_lab_real_check(const rsti_lab_spec_t *spec)
{
    static const rsti_lab_kind_t refused[] = {RSTI_LAB_LIAR, RSTI_LAB_FORGER};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (spec->counts[refused[i]] > 0) {
            return RST_SET_ERR(RST_EINVAL,
                "record %s: on real sockets nobody stands between a"
                " receiver and its sender; take a wire in memory, or the queue engine",
                rsti_lab_records[refused[i]].name);
        }
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_SENDER]; i++) {
        const rsti_lab_sender_spec_t *sender = &spec->sender[i];
        if (sender->loss > 0 || sender->control_loss > 0) {
            return RST_SET_ERR(RST_EINVAL,
                "sender %d: loss %g, control_loss %g: on real sockets"
                " nothing is lost on purpose; leave them out, or take a wire in memory",
                i, sender->loss, sender->control_loss);
        }
    }
    return check_buffers(spec);
}

/* ---- ports ---- */

/* The sockets stay open, so that no port is found twice. */
static int hold_port(const rsti_media_t *media, rsti_socket_t **socket, int32_t *port)
{
    rsti_socket_params_t params = {0};
    struct sockaddr_storage address;
    int result = rsti_netaddr_resolve("127.0.0.1:0", &params.bind_address);
    if (result == 0) {
        result = media->table->open(media->arg, &params, socket);
    }
    if (result == 0) {
        media->table->local_address(media->arg, *socket, &address);
        *port = rsti_netaddr_port(&address);
    }
    return result;
}

int rsti_lab_real_find_ports(rsti_lab_agents_t *agents)
{
    const int32_t senders = agents->spec.counts[RSTI_LAB_SENDER];
    const int32_t images = agents->spec.counts[RSTI_LAB_IMAGE];
    rsti_media_t media;
    rsti_socket_t **held = rsti_alloc((size_t)(senders + images) * sizeof(rsti_socket_t *));
    if (held == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "ports of %d images", images);
    }
    int result = rsti_media_udp_create(&media);
    if (result < 0) {
        rsti_free(held);
        return result;
    }
    for (int32_t i = 0; result == 0 && i < senders; i++) {
        result = hold_port(&media, &held[i], &agents->streams[i].control_port);
    }
    for (int32_t i = 0; result == 0 && i < images; i++) {
        result = hold_port(&media, &held[senders + i], &agents->readers[i].port);
    }
    for (int32_t i = 0; i < senders + images; i++) {
        if (held[i] != NULL) {
            media.table->close(media.arg, held[i]);
        }
    }
    rsti_media_udp_destroy(&media);
    rsti_free(held);
    return result;
}

/* ---- time ---- */

/* Makes all rows whose time has come. */
static void add_rows(rsti_lab_agents_t *agents)
{
    const int64_t step_ns = (int64_t)agents->spec.run->step_ns;
    bool has_facts = false;
    for (;;) {
        const int64_t step = rsti_lab_samples_next(&agents->samples);
        if (step == INT64_MAX || step * step_ns > agents->reached_ns) {
            break;
        }
        if (!has_facts) {
            rsti_lab_agents_gather(agents);
            has_facts = true;
        }
        rsti_lab_samples_add(&agents->samples, step * step_ns);
    }
    if (has_facts) {
        agents->samples.gap_ns = 0;
    }
}

static bool step_to(rsti_lab_agents_t *agents, int64_t to_ns)
{
    const int64_t from_ns = agents->reached_ns;
    agents->gap_most_ns = rsti_max_i64(agents->gap_most_ns, to_ns - from_ns);
    agents->samples.gap_ns = rsti_max_i64(agents->samples.gap_ns, to_ns - from_ns);
    agents->step_count++;
    agents->reached_ns = to_ns;
    agents->wire.now_ns = agents->begin_ns + to_ns;
    const bool has_work = rsti_lab_agents_step(agents, from_ns, to_ns);
    add_rows(agents);
    return has_work;
}

bool rsti_lab_agents_run_real(rsti_lab_agents_t *agents, int64_t most_ns)
{
    const rsti_clock_t *clock = &agents->hosts[0].clock;
    const int64_t end_ns = agents->samples.step_count * (int64_t)agents->spec.run->step_ns;
    const int64_t called_ns = rsti_clock_nano_time(clock);
    if (agents->step_count == 0) {
        agents->begin_ns = called_ns; /* the time since the images came is not counted as a gap */
    }
    for (int64_t now_ns = called_ns; now_ns - called_ns < most_ns;
        now_ns = rsti_clock_nano_time(clock)) {
        const bool has_work = step_to(agents, rsti_min_i64(now_ns - agents->begin_ns, end_ns));
        if (agents->reached_ns == end_ns) {
            rsti_lab_agents_gather(agents);
            return true;
        }
        if (!has_work) {
            const struct timespec nap = {.tv_nsec = NAP_NS};
            (void)nanosleep(&nap, NULL);
        }
    }
    return false;
}
