/* seal_strangers [SENDERS]: what a socket with a key spends on one datagram of 1 392 bytes, by who
 * sent it, with so many senders that it knows (default 1). The median of five runs. Prints JSON. */
#include "seal/opener.h"
#include "seal/sealer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME 1344
#define LENGTH (FRAME + RSTI_SEALED_OVERHEAD)
#define RUNS 5
#define STEPS 20000

typedef struct bench_t {
    rsti_key_t key;
    rsti_sealer_t sealer; /* of a known sender */
    rsti_opener_t opener;
    uint8_t sealed[LENGTH];
    uint64_t salts; /* that were made up */
} bench_t;

static bench_t bench;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void make_sealer(rsti_sealer_t *sealer)
{
    uint8_t salt[RSTI_SEALED_SALT] = {0};
    bench.salts++;
    memcpy(salt, &bench.salts, sizeof bench.salts);
    const rsti_sealer_params_t params = {.key = &bench.key, .kind = rsti_aead_best(), .salt = salt};
    if (rsti_sealer_init(sealer, &params) < 0) {
        fprintf(stderr, "seal_strangers: no cipher\n");
        exit(1);
    }
}

static void seal(rsti_sealer_t *sealer)
{
    static const uint8_t frame[FRAME];
    if (rsti_sealer_seal(sealer, frame, sizeof frame, bench.sealed) != LENGTH) {
        exit(1);
    }
}

/* Each makes the next datagram. */
static void genuine(void)
{
    seal(&bench.sealer);
}

static void altered(void)
{
    seal(&bench.sealer);
    bench.sealed[LENGTH - 1] ^= 1;
}

static void stranger(void)
{
    bench.salts++;
    memcpy(bench.sealed + 12, &bench.salts, sizeof bench.salts);
}

static void stranger_of_both(void)
{
    stranger();
    bench.sealed[5] = bench.salts % 2 == 0 ? RSTI_AEAD_AES_128_GCM : RSTI_AEAD_CHACHA20_POLY1305;
}

static void unknown_key(void)
{
    stranger();
    bench.sealed[8] ^= 1;
    bench.sealed[9] = 0x5A;
}

static void plain(void)
{
    bench.sealed[7] = 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of opening one, with two looks at the clock. */
static double measure(void (*make)(void), rsti_opened_t expected)
{
    double runs[RUNS];
    for (int run = 0; run < RUNS; run++) {
        int64_t spent_ns = 0;
        genuine();
        for (int i = 0; i < STEPS; i++) {
            make();
            const int64_t begin = now_ns();
            const rsti_opened_t opened = rsti_opener_open(&bench.opener, bench.sealed, LENGTH, 1);
            spent_ns += now_ns() - begin;
            if (opened != expected) {
                fprintf(stderr, "seal_strangers: %d, not %d\n", opened, expected);
                exit(1);
            }
        }
        runs[run] = (double)spent_ns / STEPS;
    }
    qsort(runs, RUNS, sizeof runs[0], compare);
    return runs[RUNS / 2];
}

int main(int argc, char **argv)
{
    const int senders = argc > 1 ? atoi(argv[1]) : 1;
    const uint8_t secret[RSTI_KEY_BYTES] = {7}, own[RSTI_SEALED_SALT] = {0xFF, 0xFF};
    rsti_keys_t keys = {.count = 1};
    if (senders < 1 || senders > RSTI_OPENER_SENDERS || rsti_key_make(&bench.key, secret) < 0) {
        fprintf(stderr, "usage: seal_strangers [1...%d]\n", RSTI_OPENER_SENDERS);
        return 1;
    }
    keys.keys[0] = bench.key;
    rsti_opener_init(&bench.opener, own);
    rsti_opener_set_keys(&bench.opener, &keys);
    for (int i = 0; i < senders; i++) {
        rsti_sealer_fini(&bench.sealer);
        make_sealer(&bench.sealer);
        seal(&bench.sealer);
        (void)rsti_opener_open(&bench.opener, bench.sealed, LENGTH, 0);
    }
    bench.salts = UINT64_C(1) << 40;
    const double genuine_ns = measure(genuine, RSTI_OPENED);
    const double altered_ns = measure(altered, RSTI_OPENED_FORGED);
    const double stranger_ns = measure(stranger, RSTI_OPENED_FORGED);
    const double both_ns = measure(stranger_of_both, RSTI_OPENED_FORGED);
    const double unknown_ns = measure(unknown_key, RSTI_OPENED_UNKNOWN_KEY);
    const double plain_ns = measure(plain, RSTI_OPENED_PLAIN);
    printf("{\"senders\": %d, \"genuine_ns\": %.0f, \"altered_ns\": %.0f, \"stranger_ns\": %.0f, "
           "\"stranger_of_either_kind_ns\": %.0f, \"unknown_key_ns\": %.0f, \"plain_ns\": %.0f}\n",
        bench.opener.sender_count, genuine_ns, altered_ns, stranger_ns, both_ns, unknown_ns,
        plain_ns);
    rsti_sealer_fini(&bench.sealer);
    rsti_opener_fini(&bench.opener);
    return 0;
}
