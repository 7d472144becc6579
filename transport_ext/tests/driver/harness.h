/* harness.h: a driver in invoker mode on a virtual clock, with sockets that are two lists, and a
 * client made of raw commands: a test can inspect every frame and every answer. */
#ifndef RSTI_TESTS_DRIVER_HARNESS_H
#define RSTI_TESTS_DRIVER_HARNESS_H

#include "driver/base/context_checks.h"
#include "driver/base/counters.h"
#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/subscription.h"
#include "driver/driver.h"
#include "driver/receiver/image.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/receiver/receiver_state.h"
#include "driver/sender/network_publication.h"
#include "driver/sender/send_endpoint.h"
#include "driver/sender/sender_state.h"
#include "tests/check.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS RSTI_NS_PER_MS
#define FRAMES_MAX 512
#define SOCKETS_MAX 96
#define CLIENT_ID 77

struct rsti_socket_t {
    struct sockaddr_storage local;
    struct sockaddr_storage remote;
    rsti_socket_params_t params;
    bool is_open;
};

typedef struct frame_t {
    rsti_socket_t *socket;
    struct sockaddr_storage address; /* to (sent) or from (received) */
    size_t length;
    rsti_refusal_t refusal; /* received: the media table opened nothing, and says why */
    uint8_t data[2048];
} frame_t;

typedef struct answer_t {
    int32_t type;
    rsti_response_t response;
    char text[2048]; /* log file, error text or channel */
} answer_t;

typedef struct harness_t {
    rsti_manual_clock_t manual;
    rsti_clock_t clock;
    rsti_media_t media;
    rsti_socket_t sockets[SOCKETS_MAX];
    frame_t *sent; /* the driver's sockets, oldest first */
    int sent_count;
    frame_t *incoming;
    int incoming_count;
    uint16_t next_port;
    int64_t arrived_ns; /* of what is received, on sockets that ask for it */
    /* a send to this address returns bad_result; ss_family 0: none */
    struct sockaddr_storage bad_address;
    int bad_result; /* 0: the socket is full; negative: an error */
    bool is_mute; /* hosts do not answer what a sender asks to prove them (sender/challenge.h) */
    int challenge_count;
    /* false: the sources of injected frames prove themselves at once, and no test sees it */
    bool is_rude;
    bool has_proved;
    rst_driver_t *driver;
    rsti_broadcast_rx_t rx;
    answer_t answers[64];
    int answer_count;
    char dir[128];
} harness_t;

/* ---- sockets in memory ---- */

static inline int memory_open(void *arg, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    harness_t *h = arg;
    for (int i = 0; i < SOCKETS_MAX; i++) {
        rsti_socket_t *s = &h->sockets[i];
        if (s->is_open && params->group_address.ss_family == 0
            && rsti_netaddr_port(&params->bind_address) != 0
            && rsti_netaddr_equal(&s->local, &params->bind_address)) {
            return RST_SET_ERR(RST_EINUSE, "address in use");
        }
    }
    for (int i = 0; i < SOCKETS_MAX; i++) {
        rsti_socket_t *s = &h->sockets[i];
        if (!s->is_open) {
            s->is_open = true;
            s->params = *params;
            s->local = params->bind_address;
            s->remote = params->connect_address;
            if (rsti_netaddr_port(&s->local) == 0) {
                rsti_netaddr_set_port(&s->local, h->next_port++);
            }
            *socket = s;
            return 0;
        }
    }
    return RST_SET_ERR(RST_EFULL, "no socket left");
}

static inline void memory_close(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    socket->is_open = false;
}

static inline void inject_from(harness_t *h, rsti_socket_t *socket,
    const struct sockaddr_storage *from, const void *data, size_t length)
{
    frame_t *frame = &h->incoming[h->incoming_count++];
    frame->socket = socket;
    frame->address = *from;
    frame->length = length;
    frame->refusal = (rsti_refusal_t){RSTI_REFUSED_NOT, 0};
    memcpy(frame->data, data, length);
}

/* True when the datagram asks a source for its proof (receiver/admission.h). Then its echo arrives,
 * as from every driver of Aeron and rstream. */
static inline bool memory_prove(harness_t *h, rsti_socket_t *socket,
    const rsti_datagram_t *datagram)
{
    rsti_rttm_t rttm;
    if (h->is_rude || datagram->length != sizeof rttm) {
        return false;
    }
    memcpy(&rttm, datagram->data, sizeof rttm);
    const rsti_candidates_t *candidates = &h->driver->receiver->candidates;
    for (int i = 0;
        rttm.frame.type == RSTI_FRAME_RTTM && i < RSTI_CANDIDATE_SETS * RSTI_CANDIDATE_WAYS; i++) {
        const rsti_candidate_t *candidate = &candidates->places[i];
        const struct sockaddr_storage source = rsti_netaddr_unpack(&candidate->source);
        const rsti_origin_t origin = {
            candidate->transport, &source, candidate->stream_id, candidate->session_id};
        if (candidate->transport != NULL && candidate->transport->socket == socket
            && rsti_candidates_is_stamp(candidates, &origin, rttm.echo_timestamp,
                h->manual.now_ns)) {
            rttm.frame.flags = 0;
            inject_from(h, socket, &source, &rttm, sizeof rttm);
            h->has_proved = true;
            return true;
        }
    }
    return false;
}

/* A host answers the sender's question for a proof, as the drivers of receivers do. Such questions
 * are not among the sent frames. */
static inline bool memory_answer(harness_t *h, rsti_socket_t *socket,
    const struct sockaddr_storage *host, const rsti_datagram_t *datagram)
{
    rsti_rttm_t rttm;
    if (datagram->length != sizeof rttm) {
        return false;
    }
    memcpy(&rttm, datagram->data, sizeof rttm);
    if (rttm.frame.type != RSTI_FRAME_RTTM || rttm.receiver_id != 0
        || (rttm.frame.flags & RSTI_RTTM_FLAG_REPLY) == 0) {
        return false;
    }
    h->challenge_count++;
    if (!h->is_mute) {
        rttm.frame.flags = 0;
        inject_from(h, socket, host, &rttm, sizeof rttm);
    }
    return true;
}

static inline int memory_send(void *arg, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int count)
{
    harness_t *h = arg;
    int taken = 0;
    for (; taken < count && h->sent_count < FRAMES_MAX; taken++) {
        const struct sockaddr_storage *to = socket->remote.ss_family != 0
            ? &socket->remote
            : &datagrams[taken].address;
        if (h->bad_address.ss_family != 0 && rsti_netaddr_equal(to, &h->bad_address)) {
            return taken > 0 || h->bad_result == 0
                ? taken
                : RST_SET_ERR(-h->bad_result, "the network says no");
        }
        if (memory_prove(h, socket, &datagrams[taken])
            || memory_answer(h, socket, to, &datagrams[taken])) {
            continue;
        }
        frame_t *frame = &h->sent[h->sent_count++];
        frame->socket = socket;
        frame->address = *to;
        frame->length = datagrams[taken].length;
        memcpy(frame->data, datagrams[taken].data, frame->length);
    }
    return taken;
}

static inline int memory_receive(void *arg, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    harness_t *h = arg;
    int count = 0, kept = 0;
    for (int i = 0; i < h->incoming_count; i++) {
        if (h->incoming[i].socket == socket && count < capacity) {
            memcpy(datagrams[count].data, h->incoming[i].data, h->incoming[i].length);
            datagrams[count].length = h->incoming[i].length;
            datagrams[count].address = h->incoming[i].address;
            datagrams[count].refusal = h->incoming[i].refusal;
            datagrams[count].arrived_ns = socket->params.has_arrival_times ? h->arrived_ns : 0;
            count++;
        } else {
            h->incoming[kept++] = h->incoming[i];
        }
    }
    h->incoming_count = kept;
    return count;
}

static inline void memory_local_address(void *arg, rsti_socket_t *socket,
    struct sockaddr_storage *address)
{
    (void)arg;
    *address = socket->local;
}

static inline int memory_fd(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    (void)socket;
    return -1;
}

static inline int32_t memory_rcvbuf(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    (void)socket;
    return 128 * 1024;
}

static inline int64_t memory_deadline(void *arg, rsti_socket_t *socket)
{
    (void)arg;
    (void)socket;
    return RSTI_NO_DEADLINE;
}

static inline int memory_reconnect(void *arg, rsti_socket_t *socket,
    const struct sockaddr_storage *address)
{
    (void)arg;
    socket->remote = *address;
    return 0;
}

static const rsti_media_table_t memory_table = {
    .name = "memory",
    .open = memory_open,
    .close = memory_close,
    .send = memory_send,
    .receive = memory_receive,
    .local_address = memory_local_address,
    .fd = memory_fd,
    .granted_rcvbuf = memory_rcvbuf,
    .next_deadline_ns = memory_deadline,
    .reconnect = memory_reconnect,
};

/* ---- life ---- */

/* Driver options of the next harness: names and values alternately, then NULL. */
static const char *const *harness_options;

static int harness_count; /* opened so far by this process */

static inline void harness_dir(char *dir, size_t size, int pid, int number)
{
    snprintf(dir, size, "/dev/shm/rstream-driver-test-%d-%d", pid, number);
}

static inline int harness_remove(const char *path, const struct stat *status, int type,
    struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

static inline void harness_remove_dir(int pid, int number)
{
    char dir[128];
    harness_dir(dir, sizeof dir, pid, number);
    if (access(dir, F_OK) == 0) {
        (void)nftw(dir, harness_remove, 8, FTW_DEPTH | FTW_PHYS);
    }
}

/* A failed test or fuzz target does not close its driver: its files are removed at exit. */
static inline void harness_at_exit(void)
{
    for (int i = 0; i < harness_count; i++) {
        harness_remove_dir((int)getpid(), i);
    }
}

/* CTest kills a test at its time limit, which then removes nothing: a later test does. */
static inline void harness_remove_left_dirs(void)
{
    static const char prefix[] = "rstream-driver-test-";
    DIR *shared_memory = opendir("/dev/shm");
    const struct dirent *entry;
    while (shared_memory != NULL && (entry = readdir(shared_memory)) != NULL) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        char name[128];
        char *end;
        const int pid = (int)strtol(entry->d_name + strlen(prefix), &end, 10);
        const int number = *end == '-' ? (int)strtol(end + 1, NULL, 10) : 0;
        harness_dir(name, sizeof name, pid, number);
        if (strcmp(name + strlen("/dev/shm/"), entry->d_name) == 0 && pid > 0 && kill(pid, 0) != 0
            && errno == ESRCH) {
            harness_remove_dir(pid, number);
        }
    }
    if (shared_memory != NULL) {
        closedir(shared_memory);
    }
}

/* media NULL: the two lists. */
static inline harness_t *harness_open_on(const rsti_media_t *media)
{
    if (harness_count == 0) {
        harness_remove_left_dirs();
        (void)atexit(harness_at_exit);
    }
    harness_t *h = calloc(1, sizeof *h);
    h->sent = calloc(FRAMES_MAX, sizeof *h->sent);
    h->incoming = calloc(FRAMES_MAX, sizeof *h->incoming);
    h->next_port = 50000;
    h->manual.now_ns = RSTI_NS_PER_S;
    h->manual.epoch_ms_at_zero = 1700000000000;
    h->clock = rsti_clock_manual(&h->manual);
    h->media = media != NULL ? *media : (rsti_media_t){&memory_table, h};
    harness_dir(h->dir, sizeof h->dir, (int)getpid(), harness_count++);
    rst_driver_params_t params;
    rsti_driver_params_init(&params);
    snprintf(params.dir, sizeof params.dir, "%s", h->dir);
    params.threading = RSTI_THREADING_INVOKER;
    params.term_length = 64 * 1024;
    params.ipc_term_length = 64 * 1024;
    for (; harness_options != NULL && *harness_options != NULL; harness_options += 2) {
        if (rst_driver_params_set(&params, harness_options[0], harness_options[1]) < 0) {
            fprintf(stderr, "harness: %s\n", rst_last_error_text());
            exit(1);
        }
    }
    const rsti_secret_t secret = rsti_secret_of_seed(42);
    if (rsti_driver_open_with(&h->driver, &params, &h->clock, &h->media, &secret) < 0
        || rsti_broadcast_rx_init(&h->rx, h->driver->cnc.to_clients,
               h->driver->cnc.to_clients_length)
            < 0) {
        fprintf(stderr, "harness: %s\n", rst_last_error_text());
        exit(1);
    }
    return h;
}

static inline harness_t *harness_open(void)
{
    return harness_open_on(NULL);
}

static inline void harness_close(harness_t *h)
{
    rsti_broadcast_rx_fini(&h->rx);
    rst_driver_close(h->driver);
    free(h->sent);
    free(h->incoming);
    free(h);
}

static inline void on_answer(void *arg, int32_t type, const void *record, size_t length)
{
    harness_t *h = arg;
    answer_t *answer = &h->answers[h->answer_count];
    memset(answer, 0, sizeof *answer);
    answer->type = type;
    if (h->answer_count < 63
        && rsti_response_decode(type, record, length, &answer->response) == 0) {
        snprintf(answer->text, sizeof answer->text, "%.*s", (int)answer->response.log_file.length,
            answer->response.log_file.text == NULL ? "" : answer->response.log_file.text);
        h->answer_count++;
    }
}

/* One pass; answers are collected. */
static inline void pass(harness_t *h)
{
    int64_t deadline;
    do {
        h->has_proved = false;
        (void)rst_driver_do_work(h->driver, &deadline);
    } while (h->has_proved);
    while (rsti_broadcast_receive(&h->rx, on_answer, h) == 1) {
    }
}

/* Advances the clock step by step for ns. */
/* Enough passes for what came to go through all agents and back. */
static inline void settle(harness_t *h)
{
    for (int i = 0; i < 3; i++) {
        pass(h);
    }
}

static inline void advance(harness_t *h, int64_t ns, int64_t step_ns)
{
    for (int64_t end = h->manual.now_ns + ns; h->manual.now_ns < end;) {
        h->manual.now_ns += step_ns;
        pass(h);
    }
}

static inline void keepalive(harness_t *h)
{
    const int32_t id = rsti_counters_find(&h->driver->counters.counters,
        RSTI_COUNTER_CLIENT_HEARTBEAT, CLIENT_ID);
    if (id >= 0) {
        rsti_counter_store(h->driver, id, rsti_clock_epoch_ms(&h->clock));
    }
}

/* Marks the client as one of rstream's; until then the driver takes it for one of Aeron's. */
static inline void become_rstream(harness_t *h)
{
    const int32_t id = rsti_counters_find(&h->driver->counters.counters,
        RSTI_COUNTER_CLIENT_HEARTBEAT, CLIENT_ID);
    rsti_heartbeat_ext_t
        *ext = (rsti_heartbeat_ext_t *)(void *)h->driver->counters.counters.values[id].spare;
    rsti_store_release_i32(&ext->magic, RSTI_EXT_MAGIC);
}

static inline void advance_alive(harness_t *h, int64_t ns, int64_t step_ns)
{
    for (int64_t end = h->manual.now_ns + ns; h->manual.now_ns < end;) {
        h->manual.now_ns += step_ns;
        keepalive(h);
        pass(h);
    }
}

/* ---- commands and answers ---- */

/* Of any client. */
static inline int64_t command_of(harness_t *h, rsti_command_t *command)
{
    uint8_t buffer[4096];
    command->correlation_id = rsti_mpsc_rb_next_correlation_id(&h->driver->to_driver);
    const int64_t length = rsti_command_encode(command, buffer, sizeof buffer);
    if (length < 0
        || rsti_mpsc_rb_write(&h->driver->to_driver, command->type, buffer, (size_t)length)
            != RSTI_RB_OK) {
        fprintf(stderr, "command did not fit\n");
        exit(1);
    }
    pass(h);
    return command->correlation_id;
}

static inline int64_t command(harness_t *h, rsti_command_t *command)
{
    command->client_id = CLIENT_ID;
    return command_of(h, command);
}

static inline int64_t add(harness_t *h, int32_t type, const char *channel, int32_t stream_id)
{
    rsti_command_t c = {
        .type = type,
        .registration_id = -1,
        .stream_id = stream_id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    return command(h, &c);
}

static inline int64_t take_away(harness_t *h, int32_t type, int64_t registration_id)
{
    rsti_command_t c = {.type = type, .registration_id = registration_id};
    return command(h, &c);
}

/* The answer of that type to that correlation id; NULL when there was none. */
static inline const answer_t *answer(const harness_t *h, int32_t type, int64_t correlation_id)
{
    for (int i = 0; i < h->answer_count; i++) {
        if (h->answers[i].type == type && h->answers[i].response.correlation_id == correlation_id) {
            return &h->answers[i];
        }
    }
    return NULL;
}

static inline const answer_t *answer_of_type(const harness_t *h, int32_t type)
{
    for (int i = 0; i < h->answer_count; i++) {
        if (h->answers[i].type == type) {
            return &h->answers[i];
        }
    }
    return NULL;
}

/* ---- frames ---- */

static inline int16_t frame_type(const frame_t *frame)
{
    return ((const rsti_frame_header_t *)(const void *)frame->data)->type;
}

static inline int count_frames(const harness_t *h, int16_t type)
{
    int count = 0;
    for (int i = 0; i < h->sent_count; i++) {
        count += frame_type(&h->sent[i]) == type;
    }
    return count;
}

static inline const frame_t *last_frame(const harness_t *h, int16_t type)
{
    for (int i = h->sent_count; i > 0; i--) {
        if (frame_type(&h->sent[i - 1]) == type) {
            return &h->sent[i - 1];
        }
    }
    return NULL;
}

static inline void forget_frames(harness_t *h)
{
    h->sent_count = 0;
}

static inline struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address;
    (void)rsti_netaddr_resolve(text, &address);
    return address;
}

static inline void inject(harness_t *h, rsti_socket_t *socket, const char *from, const void *data,
    size_t length)
{
    const struct sockaddr_storage address = address_of(from);
    inject_from(h, socket, &address, data, length);
}

static inline int64_t counter(const harness_t *h, int32_t id)
{
    return rsti_load_acquire_i64(rsti_counter_address(&h->driver->counters.counters, id));
}

typedef struct error_search_t {
    const char *word;
    int found;
} error_search_t;

static inline void on_error_entry(void *arg, int32_t count, int64_t first_ms, int64_t last_ms,
    const char *text, size_t length)
{
    error_search_t *search = arg;
    char copy[RSTI_ERROR_TEXT_MAX];
    (void)count;
    (void)first_ms;
    (void)last_ms;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    search->found += strstr(copy, search->word) != NULL;
}

/* The number of distinct error log entries that contain the word. */
static inline int error_count(const harness_t *h, const char *word)
{
    error_search_t search = {.word = word};
    (void)rsti_error_log_read(h->driver->cnc.error_log, h->driver->cnc.error_log_length,
        on_error_entry, &search);
    return search.found;
}

#endif
