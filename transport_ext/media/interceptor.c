/* interceptor.c: faults from a seed.
 *
 * Each socket has two flows, out and in. A flow rolls three dice per datagram (lost? doubled?
 * reordered?) and has a hold queue for what leaves later. */
#include "media/interceptor.h"

#include "concurrent/atomics.h"
#include "media/hold_queue.h"
#include "protocol/frame.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

#include <string.h>

#define SEED_STEP UINT64_C(0x9E3779B97F4A7C15)
/* each datagram of a burst may be doubled */
#define OUT_MAX (2 * RSTI_MEDIA_BURST_MAX)

typedef struct flow_t {
    rsti_rng_t rng;
    rsti_hold_queue_t queue;
} flow_t;

typedef struct fate_t {
    bool is_lost, is_doubled, is_reordered;
} fate_t;

typedef struct faulty_socket_t {
    rsti_socket_t *inner;
    int64_t number;
    flow_t out;
    flow_t in;
    /* Scratch of send. */
    rsti_datagram_t datagrams[OUT_MAX];
    int sources[OUT_MAX];                       /* index in the caller's burst */
    fate_t fates[RSTI_MEDIA_BURST_MAX];
    rsti_rng_t rng_before[RSTI_MEDIA_BURST_MAX];
    size_t capacities[RSTI_MEDIA_BURST_MAX];    /* scratch of receive */
} faulty_socket_t;

typedef struct interceptor_t {
    rsti_media_t inner;
    rsti_fault_params_t params;
    rsti_clock_t clock;
    int64_t opened_count;
    /* written by: all agents, atomically */
    int64_t lost, duplicated, reordered;
} interceptor_t;

static faulty_socket_t *faulty(rsti_socket_t *socket)
{
    return (faulty_socket_t *)(void *)socket;
}

static void count(int64_t *counter)
{
    (void)rsti_fetch_add_i64(counter, 1);
}

static bool is_data(const uint8_t *datagram, size_t length)
{
    if (length < RSTI_FRAME_HEADER_LENGTH) {
        return false;
    }
    rsti_frame_header_t header;
    memcpy(&header, datagram, sizeof header);
    return header.type == RSTI_FRAME_DATA || header.type == RSTI_FRAME_PAD
        || header.type == RSTI_FRAME_SETUP;
}

static fate_t roll(flow_t *flow, const rsti_fault_rates_t *rates)
{
    /* All three dice are always rolled, so changing one rate leaves the other dice as they were. */
    const double loss = rsti_rng_unit(&flow->rng);
    const double duplicate = rsti_rng_unit(&flow->rng);
    const double reorder = rsti_rng_unit(&flow->rng);
    const fate_t fate = {
        .is_lost = loss < rates->loss,
        .is_doubled = duplicate < rates->duplicate,
        .is_reordered = reorder < rates->reorder,
    };
    return fate;
}

static bool is_dropped(const interceptor_t *interceptor, const faulty_socket_t *socket,
    const rsti_datagram_t *datagram, bool is_sent)
{
    if (interceptor->params.drop == NULL) {
        return false;
    }
    const rsti_fault_view_t view = {
        .data = datagram->data,
        .length = datagram->length,
        .peer = &datagram->address,
        .is_sent = is_sent,
        .is_data = is_data(datagram->data, datagram->length),
        .socket_number = socket->number,
    };
    return interceptor->params.drop(interceptor->params.drop_arg, &view);
}

/* --- sockets --- */

static int flow_init(flow_t *flow, uint64_t seed, bool is_delay_line)
{
    rsti_rng_init(&flow->rng, seed);
    return rsti_hold_queue_init(&flow->queue, is_delay_line);
}

static int faulty_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    interceptor_t *interceptor = media;
    faulty_socket_t *opened = rsti_alloc(sizeof *opened);
    if (opened == NULL) {
        return -RST_ENOMEM;
    }
    opened->number = rsti_fetch_add_i64(&interceptor->opened_count, 1);
    const uint64_t number = (uint64_t)opened->number;
    const uint64_t seed = interceptor->params.seed;
    int result = flow_init(&opened->out, seed + (2 * number + 1) * SEED_STEP, false);
    if (result == 0) {
        result = flow_init(&opened->in, seed + (2 * number + 2) * SEED_STEP,
            interceptor->params.delay_ns > 0);
    }
    if (result == 0) {
        rsti_socket_params_t single = *params; /* the fate of each datagram is its own */
        single.use_coalescing = false;
        result = interceptor->inner.table->open(interceptor->inner.arg, &single, &opened->inner);
    }
    if (result != 0) {
        rsti_hold_queue_fini(&opened->out.queue);
        rsti_hold_queue_fini(&opened->in.queue);
        rsti_free(opened);
        return result;
    }
    *socket = (rsti_socket_t *)(void *)opened;
    return 0;
}

static void faulty_close(void *media, rsti_socket_t *socket)
{
    interceptor_t *interceptor = media;
    faulty_socket_t *closed = faulty(socket);
    if (closed != NULL) {
        interceptor->inner.table->close(interceptor->inner.arg, closed->inner);
        rsti_hold_queue_fini(&closed->out.queue);
        rsti_hold_queue_fini(&closed->in.queue);
        rsti_free(closed);
    }
}

/* --- out --- */

static int inner_send(interceptor_t *interceptor, faulty_socket_t *socket,
    const rsti_datagram_t *datagrams, int total)
{
    int done = 0;
    while (done < total) {
        const int burst = total - done < RSTI_MEDIA_BURST_MAX ? total - done : RSTI_MEDIA_BURST_MAX;
        const int taken = interceptor->inner.table->send(interceptor->inner.arg, socket->inner,
            datagrams + done, burst);
        if (taken < 0) {
            return done > 0 ? done : taken;
        }
        done += taken;
        if (taken < burst) {
            break;
        }
    }
    return done;
}

/* A held datagram that the socket cannot take now is lost. A program that loses datagrams on
 * purpose need not keep it. */
static void send_due(interceptor_t *interceptor, faulty_socket_t *socket, int64_t now_ns)
{
    rsti_hold_queue_t *queue = &socket->out.queue;
    if (!rsti_hold_queue_has_due(queue, now_ns)) {
        return;
    }
    uint64_t next = queue->first;
    rsti_held_t *held;
    while ((held = rsti_hold_queue_find_due(queue, &next, now_ns)) != NULL) {
        rsti_datagram_t *datagram = &socket->datagrams[0];
        datagram->data = rsti_hold_queue_bytes(queue, held);
        datagram->length = held->length;
        datagram->address = held->address;
        if (inner_send(interceptor, socket, datagram, 1) != 1) {
            count(&interceptor->lost);
        }
        held->is_live = false;
    }
    rsti_hold_queue_settle(queue);
}

/* Rolls for a burst and lists what goes out now; returns the length of the list. */
static int plan_send(const interceptor_t *interceptor, faulty_socket_t *socket,
    const rsti_datagram_t *datagrams, int burst)
{
    int listed = 0;
    for (int i = 0; i < burst; i++) {
        const rsti_fault_rates_t *rates = is_data(datagrams[i].data, datagrams[i].length)
            ? &interceptor->params.send_data
            : &interceptor->params.send_control;
        socket->rng_before[i] = socket->out.rng;
        socket->fates[i] = roll(&socket->out, rates);
        socket->fates[i].is_lost |= is_dropped(interceptor, socket, &datagrams[i], true);
        const fate_t fate = socket->fates[i];
        const int copies = fate.is_lost || fate.is_reordered ? 0 : fate.is_doubled ? 2 : 1;
        for (int copy = 0; copy < copies; copy++) {
            socket->datagrams[listed] = datagrams[i];
            socket->sources[listed++] = i;
        }
    }
    return listed;
}

/* Books the fates of the first `taken` datagrams and holds the reordered ones back. */
static void settle_send(interceptor_t *interceptor, faulty_socket_t *socket,
    const rsti_datagram_t *datagrams, int taken, int64_t now_ns)
{
    rsti_hold_queue_t *queue = &socket->out.queue;
    for (int i = 0; i < taken; i++) {
        const fate_t fate = socket->fates[i];
        if (fate.is_lost) {
            count(&interceptor->lost);
        } else if (fate.is_reordered) {
            count(&interceptor->reordered);
            if (!rsti_hold_queue_put(queue, &datagrams[i], now_ns + RSTI_FAULT_REORDER_NS,
                    queue->passed + RSTI_FAULT_REORDER_COUNT)) {
                (void)inner_send(interceptor, socket, &datagrams[i], 1);
            }
        } else {
            queue->passed++;
            if (fate.is_doubled) {
                count(&interceptor->duplicated);
            }
        }
    }
}

static int send_burst(interceptor_t *interceptor, faulty_socket_t *socket,
    const rsti_datagram_t *datagrams, int burst, int64_t now_ns)
{
    const int listed = plan_send(interceptor, socket, datagrams, burst);
    const int sent = inner_send(interceptor, socket, socket->datagrams, listed);
    if (sent < 0) {
        socket->out.rng = socket->rng_before[0];
        return sent;
    }
    const int taken = sent < listed ? socket->sources[sent] : burst;
    if (taken < burst) {
        /* The caller repeats the call with the rest: its dice must fall the same way. */
        socket->out.rng = socket->rng_before[taken];
    }
    settle_send(interceptor, socket, datagrams, taken, now_ns);
    return taken;
}

static int faulty_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int total)
{
    interceptor_t *interceptor = media;
    const int64_t now_ns = rsti_clock_nano_time(&interceptor->clock);
    int done = 0;
    send_due(interceptor, faulty(socket), now_ns);
    while (done < total) {
        const int burst = total - done < RSTI_MEDIA_BURST_MAX ? total - done : RSTI_MEDIA_BURST_MAX;
        const int taken = send_burst(interceptor, faulty(socket), datagrams + done, burst, now_ns);
        if (taken < 0) {
            return done > 0 ? done : taken;
        }
        done += taken;
        send_due(interceptor, faulty(socket), now_ns);
        if (taken < burst) {
            break;
        }
    }
    return done;
}

/* --- in --- */

static bool copy_in(rsti_datagram_t *slot, size_t capacity, const rsti_datagram_t *from)
{
    if (from->length > capacity) {
        return false;
    }
    if (slot->data != from->data) {
        memcpy(slot->data, from->data, from->length);
        slot->address = from->address;
        slot->arrived_ns = from->arrived_ns;
    }
    slot->refusal = from->refusal;
    slot->length = from->length;
    return true;
}

static int receive_due(interceptor_t *interceptor, faulty_socket_t *socket,
    rsti_datagram_t *datagrams, int capacity, int64_t now_ns)
{
    rsti_hold_queue_t *queue = &socket->in.queue;
    if (!rsti_hold_queue_has_due(queue, now_ns)) {
        return 0;
    }
    int received = 0;
    uint64_t next = queue->first;
    rsti_held_t *held;
    while (received < capacity && (held = rsti_hold_queue_find_due(queue, &next, now_ns)) != NULL) {
        const rsti_datagram_t from = {
            .data = rsti_hold_queue_bytes(queue, held),
            .length = held->length,
            .address = held->address,
            .arrived_ns = held->arrived_ns,
        };
        if (copy_in(&datagrams[received], socket->capacities[received], &from)) {
            received++;
        } else {
            count(&interceptor->lost);
        }
        held->is_live = false;
    }
    rsti_hold_queue_settle(queue);
    return received;
}

/* True when the datagram goes up now; a double, a delay or a reordering is held. */
static bool admit(interceptor_t *interceptor, faulty_socket_t *socket,
    const rsti_datagram_t *datagram, int64_t now_ns)
{
    flow_t *flow = &socket->in;
    rsti_hold_queue_t *queue = &flow->queue;
    if (datagram->refusal.why != RSTI_REFUSED_NOT) {
        return true; /* what could not be opened has no fate */
    }
    const int64_t delay_ns = interceptor->params.delay_ns;
    const fate_t fate = roll(flow,
        is_data(datagram->data, datagram->length) ? &interceptor->params.receive_data
                                                  : &interceptor->params.receive_control);
    if (fate.is_lost || is_dropped(interceptor, socket, datagram, false)) {
        count(&interceptor->lost);
        return false;
    }
    if (fate.is_doubled && rsti_hold_queue_put(queue, datagram, now_ns + delay_ns, INT64_MAX)) {
        count(&interceptor->duplicated);
    }
    if (fate.is_reordered) {
        count(&interceptor->reordered);
        /* In a delay line the passing datagrams are older ones, so only the time counts. */
        if (rsti_hold_queue_put(queue, datagram, now_ns + delay_ns + RSTI_FAULT_REORDER_NS,
                delay_ns > 0 ? INT64_MAX : queue->passed + RSTI_FAULT_REORDER_COUNT)) {
            return false;
        }
    }
    if (delay_ns > 0) {
        if (!rsti_hold_queue_put(queue, datagram, now_ns + delay_ns, INT64_MAX)) {
            count(&interceptor->lost);
        }
        return false;
    }
    queue->passed++;
    return true;
}

static int faulty_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    interceptor_t *interceptor = media;
    faulty_socket_t *from = faulty(socket);
    const int64_t now_ns = rsti_clock_nano_time(&interceptor->clock);
    const int limit = capacity < RSTI_MEDIA_BURST_MAX ? capacity : RSTI_MEDIA_BURST_MAX;
    for (int i = 0; i < limit; i++) {
        from->capacities[i] = datagrams[i].length;
    }
    send_due(interceptor, from, now_ns);
    int received = receive_due(interceptor, from, datagrams, limit, now_ns);
    if (received >= limit) {
        return received;
    }
    const int first = received;
    const int arrived = interceptor->inner.table->receive(interceptor->inner.arg, from->inner,
        datagrams + first, limit - first);
    if (arrived < 0) {
        return received > 0 ? received : arrived;
    }
    for (int i = first; i < first + arrived; i++) {
        rsti_datagram_t *datagram = &datagrams[i];
        if (!admit(interceptor, from, datagram, now_ns)) {
            continue;
        }
        if (copy_in(&datagrams[received], from->capacities[received], datagram)) {
            received++;
        } else {
            count(&interceptor->lost);
        }
    }
    return received;
}

/* --- the rest of the table --- */

static void faulty_local_address(void *media, rsti_socket_t *socket,
    struct sockaddr_storage *address)
{
    interceptor_t *interceptor = media;
    interceptor->inner.table->local_address(interceptor->inner.arg, faulty(socket)->inner, address);
}

static int faulty_fd(void *media, rsti_socket_t *socket)
{
    interceptor_t *interceptor = media;
    return interceptor->inner.table->fd(interceptor->inner.arg, faulty(socket)->inner);
}

static int32_t faulty_granted_rcvbuf(void *media, rsti_socket_t *socket)
{
    interceptor_t *interceptor = media;
    return interceptor->inner.table->granted_rcvbuf(interceptor->inner.arg, faulty(socket)->inner);
}

static void faulty_widen_rcvbuf(void *media, rsti_socket_t *socket, int32_t bytes)
{
    interceptor_t *interceptor = media;
    if (interceptor->inner.table->widen_rcvbuf != NULL) {
        interceptor->inner.table->widen_rcvbuf(interceptor->inner.arg, faulty(socket)->inner,
            bytes);
    }
}

static int64_t faulty_next_deadline_ns(void *media, rsti_socket_t *socket)
{
    interceptor_t *interceptor = media;
    const faulty_socket_t *asked = faulty(socket);
    int64_t deadline_ns = interceptor->inner.table->next_deadline_ns(interceptor->inner.arg,
        asked->inner);
    deadline_ns = rsti_min_i64(deadline_ns, asked->out.queue.next_due_ns);
    deadline_ns = rsti_min_i64(deadline_ns, asked->in.queue.next_due_ns);
    if (asked->in.queue.passed >= asked->in.queue.next_due_passed) {
        deadline_ns = rsti_clock_nano_time(&interceptor->clock);
    }
    return deadline_ns;
}

static int faulty_reconnect(void *media, rsti_socket_t *socket,
    const struct sockaddr_storage *address)
{
    interceptor_t *interceptor = media;
    return interceptor->inner.table->reconnect(interceptor->inner.arg, faulty(socket)->inner,
        address);
}

static void interceptor_destroy(void *media)
{
    interceptor_t *interceptor = media;
    if (interceptor->inner.table->destroy != NULL) {
        interceptor->inner.table->destroy(interceptor->inner.arg);
    }
    rsti_free(interceptor);
}

static const rsti_media_table_t faulty_table = {
    .name = "interceptor",
    .open = faulty_open,
    .close = faulty_close,
    .send = faulty_send,
    .receive = faulty_receive,
    .local_address = faulty_local_address,
    .fd = faulty_fd,
    .granted_rcvbuf = faulty_granted_rcvbuf,
    .widen_rcvbuf = faulty_widen_rcvbuf,
    .next_deadline_ns = faulty_next_deadline_ns,
    .destroy = interceptor_destroy,
    .reconnect = faulty_reconnect,
};

static bool are_active(const rsti_fault_rates_t *rates)
{
    return rates->loss > 0 || rates->duplicate > 0 || rates->reorder > 0;
}

bool rsti_fault_is_active(const rsti_fault_params_t *params)
{
    return are_active(&params->send_data) || are_active(&params->send_control)
        || are_active(&params->receive_data) || are_active(&params->receive_control)
        || params->delay_ns > 0 || params->drop != NULL;
}

static bool is_unit(double rate)
{
    return rate >= 0.0 && rate <= 1.0; /* false for NaN */
}

static bool are_valid(const rsti_fault_rates_t *rates)
{
    return is_unit(rates->loss) && is_unit(rates->duplicate) && is_unit(rates->reorder);
}

int rsti_media_interceptor_create(rsti_media_t *media, const rsti_media_t *inner,
    const rsti_fault_params_t *params, const rsti_clock_t *clock)
{
    if (!are_valid(&params->send_data) || !are_valid(&params->send_control)
        || !are_valid(&params->receive_data) || !are_valid(&params->receive_control)
        || params->delay_ns < 0) {
        return RST_SET_ERR(RST_EINVAL,
            "faults: every rate must lie between 0 and 1 and the delay must not be negative");
    }
    interceptor_t *interceptor = rsti_alloc(sizeof *interceptor);
    if (interceptor == NULL) {
        return -RST_ENOMEM;
    }
    interceptor->inner = *inner;
    interceptor->params = *params;
    interceptor->clock = *clock;
    media->table = &faulty_table;
    media->arg = interceptor;
    return 0;
}

void rsti_media_interceptor_destroy(rsti_media_t *media)
{
    if (media->arg != NULL) {
        interceptor_destroy(media->arg);
    }
    media->table = NULL;
    media->arg = NULL;
}

void rsti_media_interceptor_counts(const rsti_media_t *media, rsti_fault_counts_t *counts)
{
    const interceptor_t *interceptor = media->arg;
    counts->lost = rsti_load_acquire_i64(&interceptor->lost);
    counts->duplicated = rsti_load_acquire_i64(&interceptor->duplicated);
    counts->reordered = rsti_load_acquire_i64(&interceptor->reordered);
}
