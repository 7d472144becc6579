/* agents_set_up.c: sets up a run with real agents: a host for each sender and each consumer, lanes
 * between a sender and its consumers, channels made from the records. */
#include "lab/agents.h"

#include "flow/rate.h"
#include "util/alloc.h"
#include "util/error.h"

#include <stdio.h>

#define TEXT_MAX 512
#define TERM_LEAST 65536
#define TERM_MOST (INT64_C(1) << 30)
#define PASSES_MAX 4
#define CONNECT_STEP_NS INT64_C(100000)
#define CONNECT_NS (20 * RSTI_NS_PER_S)
#define PORT 40001
#define STREAM_ID 1000
#define AHEAD_STEPS 2

static const char *const fc_names[] = {"max", "min"};
static const char *const congestion_names[] = {"static", "cubic", "auto"};

/* ---- channels ---- */

static int32_t image_count_of(const rsti_lab_spec_t *spec, int32_t sender, int32_t *first)
{
    int32_t count = 0;
    for (int32_t i = spec->counts[RSTI_LAB_IMAGE] - 1; i >= 0; i--) {
        if ((int32_t)spec->image[i].sender == sender) {
            *first = i;
            count++;
        }
    }
    return count;
}

int32_t rsti_lab_agents_consumer_host(const rsti_lab_agents_t *agents, int32_t image)
{
    return agents->spec.counts[RSTI_LAB_SENDER] + (int32_t)agents->spec.image[image].consumer;
}

static bool are_alike(const rsti_lab_image_spec_t *one, const rsti_lab_image_spec_t *other)
{
    return one->consumer == other->consumer && one->buffer_bytes == other->buffer_bytes
        && one->congestion == other->congestion;
}

/* The first unicast image that may share this one's subscription. */
static int32_t lead_of(const rsti_lab_spec_t *spec, int32_t image)
{
    int32_t first = 0;
    if (image_count_of(spec, (int32_t)spec->image[image].sender, &first) > 1) {
        return image;
    }
    for (int32_t i = 0; i < image; i++) {
        if (are_alike(&spec->image[i], &spec->image[image])
            && image_count_of(spec, (int32_t)spec->image[i].sender, &first) == 1) {
            return i;
        }
    }
    return image;
}

static void find_leads(rsti_lab_agents_t *agents)
{
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        const int32_t lead = lead_of(&agents->spec, i);
        agents->readers[i].lead = lead;
        agents->streams[(int32_t)agents->spec.image[i].sender].stream_id = STREAM_ID
            + (int32_t)agents->spec.image[lead].sender;
    }
}

/* On the loopback; is_sender: of the sender's channel, else of the image's. */
static void real_address_of(const rsti_lab_agents_t *agents, int32_t sender, int32_t images,
    int32_t image, bool is_sender, char *text)
{
    const int32_t port = agents->readers[agents->readers[image].lead].port;
    const int32_t control = agents->streams[sender].control_port;
    if (images == 1) {
        (void)snprintf(text, TEXT_MAX, "endpoint=127.0.0.1:%d", port);
    } else if (is_sender) {
        (void)snprintf(text, TEXT_MAX, "control=127.0.0.1:%d|control-mode=dynamic", control);
    } else {
        (void)snprintf(text, TEXT_MAX, "endpoint=127.0.0.1:%d|control=127.0.0.1:%d", port, control);
    }
}

/* Aeron's group addresses end in an odd number; the next address is for control. */
static void address_of(const rsti_lab_agents_t *agents, int32_t sender, int32_t images,
    int32_t image, bool is_sender, char *text)
{
    if (agents->is_real) {
        real_address_of(agents, sender, images, image, is_sender, text);
    } else if (images > 1) {
        (void)snprintf(text, TEXT_MAX, "endpoint=224.0.1.%d:%d", 2 * sender + 1, PORT + sender);
    } else {
        (void)snprintf(text, TEXT_MAX, "endpoint=10.0.0.%d:%d",
            rsti_lab_agents_consumer_host(agents, image) + 1, PORT + agents->readers[image].lead);
    }
}

static int rate_text(const rsti_lab_sender_spec_t *spec, char *text)
{
    const rsti_rate_params_t usual = rsti_rate_defaults();
    char bounds[64] = "";
    int length = 0;
    if (spec->floor_share != usual.floor_share) {
        return RST_SET_ERR(RST_EINVAL,
            "sender: floor_share cannot be said in a channel: real agents"
            " have %g; take queues (queues = true)",
            usual.floor_share);
    }
    if (spec->initial > 0) {
        length = snprintf(bounds, sizeof bounds, ",i:%.0f", spec->initial);
    }
    if (spec->most > 0) {
        (void)snprintf(bounds + length, sizeof bounds - (size_t)length, ",m:%.0f", spec->most);
    }
    switch ((int32_t)spec->law) {
    case 0:
        (void)snprintf(text, TEXT_MAX, "|rs-rate=adaptive,d:%.0fns%s", spec->target_delay_ns,
            bounds);
        break;
    case 1:
        (void)snprintf(text, TEXT_MAX, "|rs-rate=nak,w:%.0fns,c:%.4f/%.4f/%.4f/%.4f,s:%.4f%s",
            spec->window_ns, 100 * spec->cut50, 100 * spec->cut75, 100 * spec->cut87,
            100 * spec->cut100, 100 * spec->step_share, bounds);
        break;
    case 2:
        (void)snprintf(text, TEXT_MAX, "|rs-rate=fixed,r:%.0f", spec->initial);
        break;
    case 3:
        (void)snprintf(text, TEXT_MAX, "|rs-rate=aimd,a:%.0f,b:%.4f%s", spec->increase,
            100 * spec->decrease, bounds);
        break;
    default:
        text[0] = '\0';
    }
    return 0;
}

static int add_publication(rsti_lab_agents_t *agents, int32_t sender)
{
    rsti_lab_stream_t *stream = &agents->streams[sender];
    const rsti_lab_sender_spec_t *spec = stream->spec;
    int32_t first = 0;
    const int32_t images = image_count_of(&agents->spec, sender, &first);
    char address[TEXT_MAX], rate[TEXT_MAX], flow[TEXT_MAX] = "", channel[4 * TEXT_MAX];
    address_of(agents, sender, images, first, true, address);
    const int result = rate_text(spec, rate);
    if (result < 0) {
        return result;
    }
    if (images > 1) {
        const bool is_min = (int32_t)spec->fc == 1;
        (void)snprintf(flow, sizeof flow, is_min ? "|fc=%s,t:%.0fns" : "|fc=%s",
            fc_names[(int32_t)spec->fc], spec->timeout_ns);
    }
    (void)snprintf(channel, sizeof channel, "aeron:udp?%s|term-length=%d|mtu=%d%s%s", address,
        stream->term_length, (int)spec->mtu, flow, rate);
    return rsti_lab_host_add(stream->host, RSTI_CMD_ADD_PUBLICATION, channel, stream->stream_id);
}

static int add_subscription(rsti_lab_agents_t *agents, int32_t image)
{
    rsti_lab_reader_t *reader = &agents->readers[image];
    const int32_t sender = (int32_t)reader->spec->sender;
    const double evict_ns = agents->spec.consumer[(int32_t)reader->spec->consumer].evict_ns;
    int32_t first = 0;
    const int32_t images = image_count_of(&agents->spec, sender, &first);
    char address[TEXT_MAX], evict[64] = "", channel[2 * TEXT_MAX];
    address_of(agents, sender, images, image, false, address);
    if (evict_ns < RSTI_LAB_NEVER) {
        (void)snprintf(evict, sizeof evict, "|rs-evict=%.0fns", evict_ns);
    }
    /* A window is no longer than the socket's buffer. */
    (void)snprintf(channel, sizeof channel, "aeron:udp?%s|rcv-wnd=%.0f|so-rcvbuf=%.0f|cc=%s%s",
        address, reader->spec->buffer_bytes, reader->spec->buffer_bytes,
        congestion_names[(int32_t)reader->spec->congestion], evict);
    return rsti_lab_host_add(reader->host, RSTI_CMD_ADD_SUBSCRIPTION, channel,
        agents->streams[sender].stream_id);
}

/* ---- hosts ---- */

static int32_t term_length_for(const rsti_lab_spec_t *spec, int32_t sender)
{
    double most = 0;
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_IMAGE]; i++) {
        if ((int32_t)spec->image[i].sender == sender && spec->image[i].buffer_bytes > most) {
            most = spec->image[i].buffer_bytes;
        }
    }
    int64_t length = TERM_LEAST;
    while (length < TERM_MOST && (double)length < 2 * most) {
        length *= 2;
    }
    return (int32_t)length;
}

/* Half of the longest round trip of the streams that the host sends or receives. The host delays
 * the datagrams it receives by that. */
static double half_round_trip_ns(const rsti_lab_agents_t *agents, int32_t host)
{
    double most_ns = 0;
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        const int32_t sender = (int32_t)agents->spec.image[i].sender;
        const double rtt_ns = agents->spec.sender[sender].rtt_ns;
        if ((host == sender || host == rsti_lab_agents_consumer_host(agents, i))
            && rtt_ns > most_ns) {
            most_ns = rtt_ns;
        }
    }
    return most_ns / 2;
}

static int open_host(rsti_lab_agents_t *agents, int32_t number, const char *dir)
{
    /* Cubic's numbers, the size of its group and D are the driver's: those of its first image. */
    const rsti_lab_image_spec_t *image = NULL;
    for (int32_t i = agents->spec.counts[RSTI_LAB_IMAGE] - 1; i >= 0; i--) {
        if (rsti_lab_agents_consumer_host(agents, i) == number) {
            image = &agents->spec.image[i];
        }
    }
    char own[TEXT_MAX], rtt[32] = "100us", delay[32] = "0", group[16] = "10", detect[32];
    if (image != NULL) {
        int32_t first = 0;
        (void)snprintf(rtt, sizeof rtt, "%.0fns", image->cubic_rtt_ns);
        (void)snprintf(group, sizeof group, "%d",
            (int)image_count_of(&agents->spec, (int32_t)image->sender, &first));
    }
    if (agents->is_real) {
        (void)snprintf(delay, sizeof delay, "%.0fns", half_round_trip_ns(agents, number));
    }
    const int32_t sender = image != NULL ? (int32_t)image->sender : number;
    (void)snprintf(detect, sizeof detect, "%.0fns", agents->spec.sender[sender].detect_ns);
    const char *const options[] = {"fill-detect", detect, "cubic-measure-rtt", "true",
        "cubic-initial-rtt", rtt, "cubic-tcp-mode",
        image != NULL && image->cubic_tcp > 0 ? "true" : "false", "fault-delay", delay,
        "nak-multicast-group-size", group, NULL};
    (void)snprintf(own, sizeof own, "%s/h%d", dir, number);
    return rsti_lab_host_open(&agents->hosts[number],
        agents->is_real ? NULL : &agents->wire.ports[number], own, options,
        (uint64_t)agents->spec.run->seed * 1000 + (uint64_t)number);
}

static void lay_lanes(rsti_lab_agents_t *agents)
{
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        const int32_t from = (int32_t)agents->spec.image[i].sender;
        const int32_t to = rsti_lab_agents_consumer_host(agents, i);
        const rsti_lab_sender_spec_t *sender = &agents->spec.sender[from];
        const int64_t delay_ns = (int64_t)(sender->rtt_ns / 2);
        rsti_lab_wire_lay(&agents->wire, from, to, delay_ns, sender->loss);
        rsti_lab_wire_lay(&agents->wire, to, from, delay_ns, sender->control_loss);
        agents->wire.ports[from].rate_bytes_per_s = (int64_t)sender->link_rate;
    }
}

bool rsti_lab_agents_work(rsti_lab_agents_t *agents)
{
    int64_t work = 1;
    for (int32_t pass = 0; pass < PASSES_MAX && work > 0; pass++) {
        work = 0;
        for (int32_t i = 0; i < agents->wire.host_count; i++) {
            if (!agents->wire.ports[i].is_cut_off) {
                work += rsti_lab_host_work(&agents->hosts[i], agents->wire.now_ns);
            }
        }
    }
    return work > 0;
}

static void begin_streams(rsti_lab_agents_t *agents)
{
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_SENDER]; i++) {
        rsti_lab_stream_t *stream = &agents->streams[i];
        stream->publication = stream->host->driver->conductor->publications.items[0];
        rsti_publication_t *base = &stream->publication->base;
        rsti_appender_init(&stream->appender, &base->file.log, base->pub_lmt, base->session_id,
            base->stream_id, false);
    }
}

static void let_time_pass(rsti_lab_agents_t *agents)
{
    agents->wire.now_ns = agents->is_real ? rsti_clock_nano_time(&agents->hosts[0].clock)
                                          : agents->wire.now_ns + CONNECT_STEP_NS;
}

/* Runs until all images exist and every sender knows a receiver. */
static int connect_all(rsti_lab_agents_t *agents)
{
    const int64_t end_ns = agents->wire.now_ns + CONNECT_NS;
    for (; agents->wire.now_ns < end_ns; let_time_pass(agents)) {
        bool is_whole = true;
        (void)rsti_lab_agents_work(agents);
        for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
            const int32_t sender = (int32_t)agents->spec.image[i].sender;
            rsti_lab_reader_refresh(&agents->readers[i], &agents->streams[sender]);
            const rsti_log_t *log = &agents->streams[sender].publication->base.file.log;
            is_whole = is_whole && agents->readers[i].image != NULL
                && rsti_load_acquire_i32(&log->metadata->is_connected) != 0;
        }
        if (is_whole) {
            agents->begin_ns = agents->wire.now_ns;
            return 0;
        }
    }
    return RST_SET_ERR(RST_ETIMEDOUT, "real agents: not all images came within %d s",
        (int)(CONNECT_NS / RSTI_NS_PER_S));
}

static int add_subscriptions(rsti_lab_agents_t *agents)
{
    int result = 0;
    for (int32_t i = 0; result == 0 && i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        agents->readers[i].host = &agents->hosts[rsti_lab_agents_consumer_host(agents, i)];
        result = agents->readers[i].lead == i ? add_subscription(agents, i) : 0;
    }
    return result;
}

static int add_publications(rsti_lab_agents_t *agents)
{
    int result = 0;
    for (int32_t i = 0; result == 0 && i < agents->spec.counts[RSTI_LAB_SENDER]; i++) {
        agents->streams[i].host = &agents->hosts[i];
        agents->streams[i].term_length = term_length_for(&agents->spec, i);
        result = add_publication(agents, i);
    }
    return result;
}

int rsti_lab_agents_set_up(rsti_lab_agents_t *agents, const char *dir)
{
    const int32_t *counts = agents->spec.counts;
    const int32_t hosts = counts[RSTI_LAB_SENDER] + counts[RSTI_LAB_CONSUMER];
    const int64_t step_ns = (int64_t)agents->spec.run->step_ns;
    int result = rsti_lab_wire_init(&agents->wire, hosts, AHEAD_STEPS * step_ns,
        (uint64_t)agents->spec.run->seed + 1);
    agents->wire.now_ns = RSTI_NS_PER_S;
    find_leads(agents);
    if (result == 0) {
        result = rsti_lab_interference_init(agents);
    }
    if (result == 0 && agents->is_real) {
        result = rsti_lab_real_find_ports(agents);
    }
    for (int32_t i = 0; result == 0 && i < hosts; i++) {
        result = open_host(agents, i, dir);
    }
    if (result == 0) {
        lay_lanes(agents);
    }
    if (result == 0 && agents->is_real) {
        /* A subscription to a stream that does not exist yet asks again after a second of real
         * time. */
        result = add_publications(agents);
    }
    if (result == 0) {
        result = add_subscriptions(agents);
    }
    if (result == 0 && !agents->is_real) {
        result = add_publications(agents);
    }
    if (result < 0) {
        return result;
    }
    begin_streams(agents);
    if (agents->is_real) {
        let_time_pass(agents); /* to the clock's time */
    }
    return connect_all(agents);
}
