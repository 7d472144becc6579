/* driver.c: runs one fuzz target without libFuzzer.
 *
 *     fuzz_frame CORPUS_FOLDER ITERATIONS|SECONDSs [SEED]
 *
 * First every file of the folder, in the order of names, then ITERATIONS mutations of them, or as
 * many as fit into so many seconds ("30s"). The same seed and corpus give the same run; without
 * SEED it is $RSTREAM_SEED, else random. When a run dies, the input is printed as hex. */
#include "fuzz/check.h"
#include "util/clock.h"
#include "util/rng.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>

#define CORPUS_MAX 1024
#define INPUT_MAX 8192
#define CLOCK_EVERY 64

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

typedef struct input_t {
    uint8_t *bytes;
    size_t size;
} input_t;

static input_t corpus[CORPUS_MAX];
static size_t corpus_count;
static uint8_t current[INPUT_MAX];
static size_t current_size;

static void print_current(void)
{
    /* A signal may have stopped printf halfway: write is all that is safe here. */
    static const char digits[] = "0123456789abcdef";
    static char text[2 * INPUT_MAX + 1];
    for (size_t i = 0; i < current_size; i++) {
        text[2 * i] = digits[current[i] >> 4];
        text[2 * i + 1] = digits[current[i] & 15];
    }
    text[2 * current_size] = '\n';
    static const char head[] = "input: ";
    (void)!write(STDERR_FILENO, head, sizeof head - 1);
    (void)!write(STDERR_FILENO, text, 2 * current_size + 1);
}

static void on_abort(int number)
{
    print_current();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_input(const char *folder, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return;
    }
    input_t *input = &corpus[corpus_count];
    size_t size = fread(current, 1, sizeof current, file);
    (void)fclose(file);
    input->bytes = malloc(size > 0 ? size : 1);
    if (input->bytes != NULL) {
        memcpy(input->bytes, current, size);
        input->size = size;
        corpus_count++;
    }
}

static void read_corpus(const char *folder)
{
    static char *names[CORPUS_MAX];
    size_t count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] != '.' && count < CORPUS_MAX) {
            names[count++] = strdup(entry->d_name);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    qsort(names, count, sizeof names[0], by_name);
    for (size_t i = 0; i < count; i++) {
        read_input(folder, names[i]);
        free(names[i]);
    }
}

/* --- mutation --------------------------------------------------------------------------------- */

static size_t below(rsti_rng_t *rng, size_t limit)
{
    return (size_t)rsti_rng_below(rng, limit);
}

/* Boundary values at which decoders fail. */
static uint32_t edge_number(rsti_rng_t *rng)
{
    static const uint32_t edges[] = {0, 1, 0x1F, 0x20, 0x21, 0x7F, 0x80, 0xFF, 0x100, 0x580, 0x7FFF,
        0x8000, 0xFFE0, 0xFFFF, 0x10000, 0x10001, 0x3FFFFFFF, 0x40000000, 0x40000001, 0x7FFFFFE0,
        0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFE0, 0xFFFFFFFF};
    return edges[below(rng, sizeof edges / sizeof edges[0])];
}

static void overwrite_number(rsti_rng_t *rng)
{
    size_t width = (size_t)1 << below(rng, 3);
    if (current_size >= width) {
        uint32_t number = edge_number(rng);
        /* Most fields are aligned. */
        size_t at = below(rng, current_size - width + 1);
        at = below(rng, 4) == 0 ? at : at & ~(width - 1);
        memcpy(current + at, &number, width);
    }
}

static void resize(rsti_rng_t *rng)
{
    size_t size = below(rng, 2) == 0 ? below(rng, current_size + 1)
                                     : current_size + 1 + below(rng, 64);
    if (below(rng, 2) == 0) {
        size &= ~(size_t)31;
    }
    size = size < INPUT_MAX ? size : INPUT_MAX;
    for (size_t i = current_size; i < size; i++) {
        current[i] = (uint8_t)rsti_rng_next(rng);
    }
    current_size = size;
}

/* Replaces the end of the input by the end of another one, or appends it. */
static void splice(rsti_rng_t *rng)
{
    const input_t *other = &corpus[below(rng, corpus_count)];
    size_t at = below(rng, 2) == 0 ? current_size : below(rng, current_size + 1);
    size_t from = below(rng, other->size + 1);
    size_t length = other->size - from;
    length = length < INPUT_MAX - at ? length : INPUT_MAX - at;
    memcpy(current + at, other->bytes + from, length);
    current_size = at + length;
}

static void mutate(rsti_rng_t *rng)
{
    const input_t *input = &corpus[below(rng, corpus_count)];
    memcpy(current, input->bytes, input->size);
    current_size = input->size;
    for (size_t steps = 1 + below(rng, 4); steps > 0; steps--) {
        uint64_t roll = below(rng, 16);
        if (roll == 0) {
            resize(rng);
        } else if (roll == 1) {
            splice(rng);
        } else if (current_size == 0) {
            continue;
        } else if (roll < 7) {
            overwrite_number(rng);
        } else if (roll < 12) {
            size_t bit = below(rng, current_size * 8);
            current[bit / 8] = (uint8_t)(current[bit / 8] ^ 1U << bit % 8);
        } else {
            current[below(rng, current_size)] = (uint8_t)rsti_rng_next(rng);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER ITERATIONS|SECONDSs [SEED]\n", argv[0]);
        return 2;
    }
    read_corpus(argv[1]);
    if (corpus_count == 0) {
        fprintf(stderr, "%s: no inputs there\n", argv[1]);
        return 2;
    }
    char *unit;
    uint64_t iterations = strtoull(argv[2], &unit, 0);
    const char *seed_text = argc > 3 ? argv[3] : getenv("RSTREAM_SEED");
    uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : rsti_rng_entropy();
    fprintf(stderr, "seed %" PRIu64 "\n", seed);
    (void)signal(SIGABRT, on_abort);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(print_current);
    }
    rsti_clock_t clock = rsti_clock_system();
    int64_t started_ns = rsti_clock_nano_time(&clock);
    for (size_t i = 0; i < corpus_count; i++) {
        memcpy(current, corpus[i].bytes, corpus[i].size);
        current_size = corpus[i].size;
        (void)LLVMFuzzerTestOneInput(current, current_size);
    }
    rsti_rng_t rng;
    rsti_rng_init(&rng, seed);
    int64_t end_ns = INT64_MAX;
    if (*unit == 's') {
        end_ns = started_ns + (int64_t)iterations * RSTI_NS_PER_S;
        iterations = UINT64_MAX;
    }
    uint64_t done = 0;
    for (; done < iterations; done++) {
        if (done % CLOCK_EVERY == 0 && rsti_clock_nano_time(&clock) >= end_ns) {
            break;
        }
        mutate(&rng);
        (void)LLVMFuzzerTestOneInput(current, current_size);
    }
    double elapsed_s = (double)(rsti_clock_nano_time(&clock) - started_ns) / (double)RSTI_NS_PER_S;
    printf("%zu inputs of the corpus, %" PRIu64 " mutations, %.0f per second, seed %" PRIu64 "\n",
        corpus_count, done, (double)(corpus_count + done) / elapsed_s, seed);
    for (size_t i = 0; i < corpus_count; i++) {
        free(corpus[i].bytes);
    }
    return 0;
}
