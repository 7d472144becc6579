/* link.h: two drivers on one clock that is turned by hand, joined by a link in memory. The link has
 * a rate, a queue and a delay, and it loses and reorders datagrams from a seed. Side 0 publishes,
 * side 1 reads. Rate and queue are those from side 0 to side 1; the other direction is as fast as
 * it can be. Only the link takes time, so a test measures the protocol.
 *
 *     link_t *l = link_open(&(link_params_t){.rate_bytes_per_s = …, .delay_ns = …, .loss = 0.01});
 *     link_stream(l, "rcv-wnd=…", "term-length=…");
 *     link_run(l, seconds * RSTI_NS_PER_S);       the publisher offers what fits, the reader reads
 *     … l->bytes_read, l->naks, link_counter(l, side, RSTI_SYSTEM_…) …
 *     link_close(l); */
#ifndef RSTI_TESTS_DRIVER_LINK_H
#define RSTI_TESTS_DRIVER_LINK_H

#include "logbuffer/appender.h"
#include "tests/driver/harness.h"
#include "util/rng.h"

#define LINK_PACKET_BYTES 1536
#define LINK_PACKETS_MAX 16384
#define LINK_STEP_NS INT64_C(20000)
#define LINK_READ_NS INT64_C(100000) /* a slow reader looks so often */
#define LINK_MESSAGE 1376 /* fills a datagram of the standard mtu */
#define LINK_OFFERS_MAX 65536

typedef struct link_params_t {
    int64_t rate_bytes_per_s; /* 0: endless */
    int64_t queue_bytes; /* 0: endless */
    int64_t delay_ns; /* one way */
    double loss; /* of datagrams from 0 to 1 */
    double control_loss; /* … from 1 to 0 */
    double reorder; /* from 0 to 1: held back for reorder_ns */
    int64_t reorder_ns;
    int64_t step_ns; /* how often the agents run at most; 0: LINK_STEP_NS */
    uint64_t seed;
    bool is_own; /* the link is the sender's own interface: what would wait longer than two steps is
                    not taken */
    bool is_aeron; /* the mark of an rstream sender is taken from the SETUPs on their way */
} link_params_t;

typedef struct link_packet_t {
    int64_t arrives_ns;
    struct sockaddr_storage from, to;
    size_t length;
    uint8_t data[LINK_PACKET_BYTES];
} link_packet_t;

typedef struct link_way_t {
    link_packet_t *packets; /* in order of arrival */
    int count;
    int64_t first; /* ring */
    int64_t busy_until_ns;
    int64_t sent, lost, overflowed, reordered;
} link_way_t;

typedef struct link_t link_t;

typedef struct link_side_t {
    link_t *link;
    int index;
    int opened_count; /* sockets that asked for any port */
    harness_t *h;
} link_side_t;

struct link_t {
    link_params_t params;
    rsti_rng_t rng;
    link_side_t sides[2];
    link_way_t ways[2]; /* by the side that sends */
    int64_t now_ns;
    rsti_network_publication_t *publication;
    rsti_image_t *image;
    rsti_appender_t appender;
    int64_t offer_gap_ns; /* 0: as much as fits; else one burst of offer_burst that often */
    int32_t offer_burst;
    int32_t message_length; /* 0: LINK_MESSAGE, which is the most */
    int64_t offer_due_ns;
    int64_t bytes_read;
    int64_t read_bytes_per_s; /* 0: whatever is there */
    int64_t read_ns; /* what was due until then was read, or was not there */
    /* When a message was offered, and how long until it could be read. */
    struct {
        int64_t end, offered_ns;
    } offers[LINK_OFFERS_MAX];
    int64_t offers_begin, offers_end;
    int64_t *latencies;
    int64_t latency_count, latency_capacity;
    bool (*drop)(void *arg, int side, const uint8_t *data, size_t length); /* NULL: the dice */
    void *drop_arg;
};

static inline link_packet_t *link_packet(link_way_t *way, int64_t at)
{
    return &way->packets[at % LINK_PACKETS_MAX];
}

static inline void link_put(link_way_t *way, const link_packet_t *packet)
{
    if (way->count == LINK_PACKETS_MAX) {
        way->overflowed++;
        return;
    }
    int64_t at = way->first + way->count++;
    for (; at > way->first && link_packet(way, at - 1)->arrives_ns > packet->arrives_ns; at--) {
        *link_packet(way, at) = *link_packet(way, at - 1);
    }
    *link_packet(way, at) = *packet;
}

static inline bool link_is_lost(link_t *l, int side, const uint8_t *data, size_t length)
{
    const double rate = side == 0 ? l->params.loss : l->params.control_loss;
    const bool is_unlucky = rsti_rng_unit(&l->rng) < rate;
    return l->drop != NULL ? l->drop(l->drop_arg, side, data, length) : is_unlucky;
}

static inline void link_send_one(link_side_t *side, const struct sockaddr_storage *from,
    const struct sockaddr_storage *to, const uint8_t *data, size_t length)
{
    link_t *l = side->link;
    const link_params_t *params = &l->params;
    link_way_t *way = &l->ways[side->index];
    int64_t leaves_ns = l->now_ns;
    way->sent++;
    if (side->index == 0 && params->rate_bytes_per_s > 0) {
        leaves_ns = rsti_max_i64(way->busy_until_ns, l->now_ns);
        if (params->queue_bytes > 0
            && (leaves_ns - l->now_ns) / 1000 * params->rate_bytes_per_s / 1000000
                > params->queue_bytes) {
            way->overflowed++;
            return;
        }
        leaves_ns += (int64_t)length * RSTI_NS_PER_S / params->rate_bytes_per_s;
        way->busy_until_ns = leaves_ns;
    }
    if (link_is_lost(l, side->index, data, length)) {
        way->lost++;
        return;
    }
    static link_packet_t packet;
    packet.arrives_ns = leaves_ns + params->delay_ns;
    if (side->index == 0 && rsti_rng_unit(&l->rng) < params->reorder) {
        packet.arrives_ns += params->reorder_ns;
        way->reordered++;
    }
    packet.from = *from;
    packet.to = *to;
    packet.length = length;
    memcpy(packet.data, data, length);
    rsti_frame_header_t *header = (void *)packet.data;
    if (params->is_aeron && header->type == RSTI_FRAME_SETUP) {
        header->flags &= (uint8_t)~RSTI_SETUP_FLAG_RSTREAM;
    }
    link_put(way, &packet);
}

static inline int link_media_open(void *arg, const rsti_socket_params_t *params,
    rsti_socket_t **socket)
{
    link_side_t *side = arg;
    const int result = memory_open(side->h, params, socket);
    if (result == 0 && rsti_netaddr_port(&params->bind_address) == 0) {
        (*socket)->local = address_of(side->index == 0 ? "10.0.0.1:50000" : "10.0.0.2:50000");
        rsti_netaddr_set_port(&(*socket)->local, (uint16_t)(50000 + side->opened_count++));
    }
    return result;
}

static inline int link_media_send(void *arg, rsti_socket_t *socket,
    const rsti_datagram_t *datagrams, int count)
{
    const link_side_t *side = arg;
    const link_t *l = side->link;
    for (int i = 0; i < count; i++) {
        if (l->params.is_own && side->index == 0
            && l->ways[0].busy_until_ns - l->now_ns > 2 * l->params.step_ns) {
            return i;
        }
        link_send_one(arg, &socket->local,
            socket->remote.ss_family != 0 ? &socket->remote : &datagrams[i].address,
            datagrams[i].data, datagrams[i].length);
    }
    return count;
}

static inline int link_media_receive(void *arg, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    link_side_t *side = arg;
    link_way_t *way = &side->link->ways[1 - side->index];
    int count = 0;
    while (count < capacity && way->count > 0
        && link_packet(way, way->first)->arrives_ns <= side->link->now_ns
        && rsti_netaddr_equal(&link_packet(way, way->first)->to, &socket->local)) {
        const link_packet_t *packet = link_packet(way, way->first);
        memcpy(datagrams[count].data, packet->data, packet->length);
        datagrams[count].length = packet->length;
        datagrams[count].address = packet->from;
        count++;
        way->first++;
        way->count--;
    }
    return count;
}

static inline void link_media_close(void *arg, rsti_socket_t *socket)
{
    memory_close(((link_side_t *)arg)->h, socket);
}

static inline int32_t link_media_rcvbuf(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    (void)socket;
    return 64 * RSTI_MB;
}

static const rsti_media_table_t link_table = {
    .name = "link",
    .open = link_media_open,
    .close = link_media_close,
    .send = link_media_send,
    .receive = link_media_receive,
    .local_address = memory_local_address,
    .fd = memory_fd,
    .granted_rcvbuf = link_media_rcvbuf,
    .next_deadline_ns = memory_deadline,
};

static inline link_t *link_open(const link_params_t *params)
{
    link_t *l = calloc(1, sizeof *l);
    l->params = *params;
    l->params.step_ns = params->step_ns > 0 ? params->step_ns : LINK_STEP_NS;
    rsti_rng_init(&l->rng, params->seed);
    const char *const *options = harness_options; /* of both */
    for (int i = 0; i < 2; i++) {
        harness_options = options;
        l->ways[i].packets = calloc(LINK_PACKETS_MAX, sizeof *l->ways[i].packets);
        l->sides[i].link = l;
        l->sides[i].index = i;
        const rsti_media_t media = {&link_table, &l->sides[i]};
        l->sides[i].h = harness_open_on(&media);
    }
    l->now_ns = l->sides[0].h->manual.now_ns;
    l->latency_capacity = 1 << 20;
    l->latencies = calloc((size_t)l->latency_capacity, sizeof *l->latencies);
    return l;
}

static inline void link_close(link_t *l)
{
    for (int i = 0; i < 2; i++) {
        harness_close(l->sides[i].h);
        free(l->ways[i].packets);
    }
    free(l->latencies);
    free(l);
}

/* A slow reader: whole frames, and time in which there was nothing to read is lost to it. */
static inline int64_t link_read_end(link_t *l, int64_t from)
{
    const rsti_log_t *log = &l->image->file.log;
    int64_t end = from;
    while (end < l->image->received) {
        const int32_t offset = rsti_position_offset(end, log->term_length);
        const uint8_t *term = log->terms[rsti_position_index(end, log->position_bits)];
        const int32_t length = rsti_get_i32(term + offset);
        const int64_t took_ns = length * RSTI_NS_PER_S / l->read_bytes_per_s;
        if (l->read_ns + took_ns > l->now_ns) {
            return end;
        }
        l->read_ns += took_ns;
        end += rsti_align_i32(length, RSTI_FRAME_ALIGNMENT);
    }
    l->read_ns = l->now_ns;
    return end;
}

static inline void link_read(link_t *l)
{
    int64_t *position = l->image->subscribers.items[0].position;
    const int64_t end = l->read_bytes_per_s > 0 ? link_read_end(l, *position) : l->image->received;
    l->bytes_read += end - *position;
    *position = end;
    while (l->offers_begin < l->offers_end
        && l->offers[l->offers_begin % LINK_OFFERS_MAX].end <= end) {
        if (l->latency_count < l->latency_capacity) {
            l->latencies[l->latency_count++] = l->now_ns
                - l->offers[l->offers_begin % LINK_OFFERS_MAX].offered_ns;
        }
        l->offers_begin++;
    }
}

static inline void link_offer(link_t *l)
{
    static uint8_t message[LINK_MESSAGE];
    const size_t length = l->message_length > 0 ? (size_t)l->message_length : sizeof message;
    const rsti_iovec_t part = {message, length};
    int32_t left = INT32_MAX;
    if (l->offer_gap_ns > 0) {
        left = l->now_ns >= l->offer_due_ns ? l->offer_burst : 0;
        l->offer_due_ns += left > 0 ? l->offer_gap_ns : 0;
    }
    while (left-- > 0 && l->offers_end - l->offers_begin < LINK_OFFERS_MAX) {
        const int64_t end = rsti_append(&l->appender, &part, 1, length, 0);
        if (end == RST_ADMIN_ACTION) {
            left++;
            continue;
        }
        if (end < 0) {
            return;
        }
        l->offers[l->offers_end % LINK_OFFERS_MAX].end = end;
        l->offers[l->offers_end++ % LINK_OFFERS_MAX].offered_ns = l->now_ns;
    }
}

/* Everything that can happen now, then the clock moves on to the next event. */
static inline void link_step(link_t *l, int64_t until_ns)
{
    int64_t next_ns = rsti_min_i64(until_ns, l->now_ns + 50 * MS);
    for (int busy = 8; busy > 0; busy--) {
        int64_t work = 0;
        for (int i = 0; i < 2; i++) {
            harness_t *h = l->sides[i].h;
            int64_t deadline_ns = RSTI_NO_DEADLINE;
            h->manual.now_ns = l->now_ns;
            keepalive(h);
            work += rst_driver_do_work(h->driver, &deadline_ns);
            next_ns = rsti_min_i64(next_ns, rsti_max_i64(deadline_ns, l->now_ns));
        }
        if (l->image != NULL) {
            link_read(l);
            link_offer(l);
        }
        if (work == 0 && busy < 7) {
            break;
        }
    }
    for (int i = 0; i < 2; i++) {
        if (l->ways[i].count > 0) {
            next_ns = rsti_min_i64(next_ns, link_packet(&l->ways[i], l->ways[i].first)->arrives_ns);
        }
    }
    if (l->offer_gap_ns > 0) {
        next_ns = rsti_min_i64(next_ns, l->offer_due_ns);
    }
    if (l->read_bytes_per_s > 0 && l->image != NULL) {
        next_ns = rsti_min_i64(next_ns, l->now_ns + LINK_READ_NS);
    }
    l->now_ns = rsti_max_i64(next_ns, l->now_ns + l->params.step_ns);
}

static inline void link_run(link_t *l, int64_t ns)
{
    for (const int64_t end_ns = l->now_ns + ns; l->now_ns < end_ns;) {
        link_step(l, end_ns);
    }
}

/* One stream from side 0 to side 1, connected. False when it does not come. */
static inline bool link_stream(link_t *l, const char *reader, const char *publisher)
{
    char channel[256];
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=10.0.0.2:24600|so-rcvbuf=16m|%s", reader);
    (void)add(l->sides[1].h, RSTI_CMD_ADD_SUBSCRIPTION, channel, 10);
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=10.0.0.2:24600|%s", publisher);
    (void)add(l->sides[0].h, RSTI_CMD_ADD_PUBLICATION, channel, 10);
    if (l->sides[0].h->driver->conductor->publications.count != 1) {
        return false;
    }
    l->publication = l->sides[0].h->driver->conductor->publications.items[0];
    rsti_publication_t *base = &l->publication->base;
    rsti_appender_init(&l->appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    for (int i = 0; i < 10000 && !base->file.log.metadata->is_connected; i++) {
        link_step(l, INT64_MAX);
    }
    const rsti_ptr_array_t *images = &l->sides[1].h->driver->conductor->images;
    l->image = images->count == 1 ? images->items[0] : NULL;
    return l->image != NULL && base->file.log.metadata->is_connected;
}

static inline int64_t link_counter(const link_t *l, int side, rsti_system_counter_t id)
{
    return counter(l->sides[side].h, (int32_t)id);
}

static inline int link_compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts what was measured so far. */
static inline int64_t link_latency_ns(link_t *l, double share)
{
    qsort(l->latencies, (size_t)l->latency_count, sizeof *l->latencies, link_compare);
    return l->latency_count == 0 ? 0
                                 : l->latencies[(int64_t)(share * (double)(l->latency_count - 1))];
}

#endif
