/* keys.c: see keys.h. */
#include "tests/sim/keys.h"

#include "channel/channel.h"
#include "cnc/files.h"
#include "cnc/key_file.h"
#include "media/sealing.h"
#include "tests/sim/actors.h"
#include "tests/sim/agenda.h"
#include "tests/sim/keys_oracle.h"
#include "tests/sim/network.h"
#include "tests/sim/wire_invariants.h"
#include "tests/sim/world.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define KEYED_SHARE 0.25
#define STEP_NS (200 * SIM_MS) /* longer than the drivers' timers and all but the longest pauses */

int __real_rsti_udp_channel_resolve_with(rsti_udp_channel_t *udp, const rsti_channel_t *channel,
    const rsti_name_resolver_t *resolver);
int __wrap_rsti_udp_channel_resolve_with(rsti_udp_channel_t *udp, const rsti_channel_t *channel,
    const rsti_name_resolver_t *resolver);
rsti_aead_kind_t __wrap_rsti_aead_best(void);
const char *__lsan_default_suppressions(void);

/* What a fiber sends now: a socket belongs to one agent, and an agent sends one batch at a time. */
typedef struct batch_t {
    const rsti_datagram_t *frames;
    int32_t count;
} batch_t;

static sim_keys_choice_t choice;
static bool has_keys;
static rsti_key_t group_keys[2]; /* the second one comes when the first one is rotated */
static int32_t rotation; /* steps that were made: both keys, both turned round, the second one */
static rsti_aead_kind_t aead_kind;
static rsti_media_t media_of[SIM_PROCESSES_MAX]; /* the sealing one of each driver's process */
static batch_t batches[SIM_FIBERS_MAX];

/* A driver that is killed leaves what libcrypto holds for it: memory.c frees the rest. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:libcrypto";
}

/* ---- the file ---- */

static void print_key(FILE *file, const rsti_key_t *key)
{
    for (size_t i = 0; i < sizeof key->secret; i++) {
        fprintf(file, "%02x", key->secret[i]);
    }
    fprintf(file, "\n");
}

/* Takes the place of the last one. */
static void write_key_file(const char *dir)
{
    char path[512], beside[512];
    if (rsti_key_file_of_id(path, sizeof path, dir, group_keys[0].id) < 0) {
        sim_fail("no place for a key in %s", dir);
    }
    snprintf(beside, sizeof beside, "%.400s/" RSTI_KEYS_DIR "/0.key", dir);
    FILE *file = fopen(beside, "w");
    if (file == NULL || chmod(beside, 0600) != 0) {
        sim_fail("cannot write %s", beside);
    }
    print_key(file, &group_keys[rotation >= 2]);
    if (rotation == 1 || rotation == 2) {
        print_key(file, &group_keys[rotation == 1]);
    }
    if (fclose(file) != 0 || rename(beside, path) != 0) {
        sim_fail("cannot write %s", path);
    }
}

void sim_keys_leave(const char *dir)
{
    char path[512];
    snprintf(path, sizeof path, "%.400s/" RSTI_KEYS_DIR, dir);
    if (has_keys && mkdir(path, 0700) != 0) {
        sim_fail("no place for a key in %s", dir);
    }
    if (has_keys) {
        write_key_file(dir);
    }
}

/* ---- the choice ---- */

void sim_keys_choose(sim_keys_choice_t of_runs)
{
    choice = of_runs;
}

const char *sim_keys_choice_text(void)
{
    return choice == SIM_KEYS_ALWAYS ? " KEYS=always"
        : choice == SIM_KEYS_NEVER   ? " KEYS=never"
                                     : "";
}

static void make_key(rsti_key_t *key)
{
    uint8_t secret[RSTI_KEY_BYTES];
    for (size_t i = 0; i < sizeof secret; i++) {
        secret[i] = (uint8_t)sim_below(RNG_KEYS, 256);
    }
    if (rsti_key_make(key, secret) < 0) {
        sim_fail("no key: %s", rst_last_error_text());
    }
}

/* A step is made everywhere at once, and each driver notices it when its timer runs. */
static void rotate(void *arg, int64_t step)
{
    (void)arg;
    rotation = (int32_t)step;
    sim_event("the keys rotate, step %d", rotation);
    sim_count("keys: steps of a rotation");
    for (int32_t i = 0; i < actors.driver_count; i++) {
        if (actors.drivers[i].driver != NULL) {
            write_key_file(actors.drivers[i].params.dir);
        }
    }
}

void sim_generate_keys(void)
{
    const bool is_chosen = sim_chance(RNG_KEYS, KEYED_SHARE);
    has_keys = rsti_aead_is_built()
        && (choice == SIM_KEYS_ALWAYS || (choice == SIM_KEYS_SOME && is_chosen));
    for (int i = 0; has_keys && i < 2; i++) {
        make_key(&group_keys[i]);
    }
    aead_kind = sim_chance(RNG_KEYS, 0.5) ? RSTI_AEAD_AES_128_GCM : RSTI_AEAD_CHACHA20_POLY1305;
    sim_oracle_init();
    memset(batches, 0, sizeof batches);
    rotation = 0;
    const bool rotates = has_keys && sim_chance(RNG_KEYS, 0.4);
    for (int64_t step = 1; rotates && step <= 3; step++) {
        sim_agenda_add(SIM_S + sim_between(RNG_KEYS, 0, STEP_NS) + step * 2 * STEP_NS, rotate, NULL,
            step);
    }
    sim_count(has_keys ? "run: with keys" : "run: plain");
}

bool sim_has_keys(void)
{
    return has_keys;
}

uint32_t sim_keys_id(void)
{
    return group_keys[rotation >= 2].id;
}

bool sim_keys_has(uint32_t key_id)
{
    return key_id == group_keys[0].id || (rotation > 0 && key_id == group_keys[1].id);
}

/* ---- taken over by the linker ---- */

int __wrap_rsti_udp_channel_resolve_with(rsti_udp_channel_t *udp, const rsti_channel_t *channel,
    const rsti_name_resolver_t *resolver)
{
    const int result = __real_rsti_udp_channel_resolve_with(udp, channel, resolver);
    if (has_keys && result == 0 && udp->key[0] == '\0') {
        snprintf(udp->key, sizeof udp->key, "id:%08" PRIx32, group_keys[0].id);
    }
    return result;
}

/* Processors differ, and runs do not. */
rsti_aead_kind_t __wrap_rsti_aead_best(void)
{
    return aead_kind;
}

/* ---- the media table: above the sealing one, it sees frames ---- */

static int keyed_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    const rsti_media_t *inner = media;
    const int result = inner->table->open(inner->arg, params, socket);
    if (result == 0) {
        sim_oracle_note_socket(*socket, sim_network_last_socket());
    }
    return result;
}

static void keyed_close(void *media, rsti_socket_t *socket)
{
    const rsti_media_t *inner = media;
    inner->table->close(inner->arg, socket);
}

static int keyed_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int count)
{
    const rsti_media_t *inner = media;
    batch_t *batch = &batches[sim_fiber_current()->id];
    *batch = (batch_t){datagrams, count};
    const int taken = inner->table->send(inner->arg, socket, datagrams, count);
    if (taken >= 0 && batch->count != count - taken) {
        sim_fail("of %d datagrams %d are taken, and %d were sent", count, taken,
            count - batch->count);
    }
    *batch = (batch_t){0};
    return taken;
}

static int keyed_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    const rsti_media_t *inner = media;
    const int count = inner->table->receive(inner->arg, socket, datagrams, capacity);
    for (int i = 0; i < count; i++) {
        if (datagrams[i].length > 0) {
            if (rsti_netaddr_sealer(&datagrams[i].address) != 0) {
                sim_oracle_on_open(socket, &datagrams[i]);
            }
            sim_wire_on_arrival(sim_process_current()->id, datagrams[i].data, datagrams[i].length);
        } else if (datagrams[i].refusal.why == RSTI_REFUSED_NOT) {
            sim_count("keys: dropped without a word");
        } else {
            static const char *const counts[] = {[RSTI_REFUSED_PLAIN] = "keys: plain refused",
                [RSTI_REFUSED_KEY] = "keys: another key refused",
                [RSTI_REFUSED_SEALED] = "keys: sealed to a plain socket",
                [RSTI_REFUSED_FORGED] = "keys: forged refused",
                [RSTI_REFUSED_BY_PEER] = "keys: refusals received"};
            sim_count(counts[datagrams[i].refusal.why]);
        }
    }
    return count;
}

static void keyed_local_address(void *media, rsti_socket_t *socket,
    struct sockaddr_storage *address)
{
    const rsti_media_t *inner = media;
    inner->table->local_address(inner->arg, socket, address);
}

static int keyed_fd(void *media, rsti_socket_t *socket)
{
    const rsti_media_t *inner = media;
    return inner->table->fd(inner->arg, socket);
}

static int32_t keyed_granted_rcvbuf(void *media, rsti_socket_t *socket)
{
    const rsti_media_t *inner = media;
    return inner->table->granted_rcvbuf(inner->arg, socket);
}

static int64_t keyed_next_deadline_ns(void *media, rsti_socket_t *socket)
{
    const rsti_media_t *inner = media;
    return inner->table->next_deadline_ns(inner->arg, socket);
}

static int keyed_reconnect(void *media, rsti_socket_t *socket,
    const struct sockaddr_storage *address)
{
    const rsti_media_t *inner = media;
    return inner->table->reconnect(inner->arg, socket, address);
}

static const rsti_media_table_t table = {
    .name = "sim with keys",
    .open = keyed_open,
    .close = keyed_close,
    .send = keyed_send,
    .receive = keyed_receive,
    .local_address = keyed_local_address,
    .fd = keyed_fd,
    .granted_rcvbuf = keyed_granted_rcvbuf,
    .next_deadline_ns = keyed_next_deadline_ns,
    .reconnect = keyed_reconnect,
};

rsti_media_t sim_keys_media(int32_t host, const rsti_clock_t *clock)
{
    const rsti_media_t network = sim_network_media(host);
    rsti_media_t *sealing = &media_of[sim_process_current()->id];
    if (!has_keys) {
        return network;
    }
    if (rsti_media_sealing_create(sealing, &network, clock) < 0) {
        sim_fail("no media table: %s", rst_last_error_text());
    }
    return (rsti_media_t){&table, sealing};
}

void sim_keys_media_close(rsti_media_t *media)
{
    static const char *const names[RSTI_OPENED_COUNT] = {[RSTI_OPENED] = "keys: opened",
        [RSTI_OPENED_PLAIN] = "keys: not opened, plain",
        [RSTI_OPENED_MALFORMED] = "keys: not opened, malformed",
        [RSTI_OPENED_UNKNOWN_KEY] = "keys: not opened, unknown key",
        [RSTI_OPENED_OWN] = "keys: not opened, our own",
        [RSTI_OPENED_REPLAY] = "keys: not opened, a replay",
        [RSTI_OPENED_FORGED] = "keys: not opened, forged",
        [RSTI_OPENED_FULL] = "keys: not opened, no room"};
    int64_t counts[RSTI_OPENED_COUNT];
    if (media->table != &table) {
        return;
    }
    rsti_media_sealing_counts(media->arg, counts);
    for (int i = 0; i < RSTI_OPENED_COUNT; i++) {
        sim_count_many(names[i], counts[i]);
    }
    rsti_media_sealing_destroy(media->arg);
}

/* ---- what leaves ---- */

const rsti_datagram_t *sim_keys_frame_of(const rsti_datagram_t *sent)
{
    const sim_fiber_t *fiber = sim_fiber_current();
    batch_t *batch = has_keys && fiber != NULL ? &batches[fiber->id] : NULL;
    if (batch == NULL || batch->count == 0) {
        return sent;
    }
    batch->count--;
    return batch->frames++;
}
