/* fuzz_cnc.c: the content of a CnC file, as a tool and a client read it. The input is a list of
 * patches of a valid file (offset 3 bytes, length 1 byte, bytes): each patch breaks another part.
 * Opening the file either fails, or everything that is read lies inside the file. */
#include "cnc/cnc_file.h"
#include "concurrent/error_log.h"
#include "fuzz/check.h"
#include "rstream/rstream.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTERS 8
#define RECORDS_MAX 64

static char dir[128];
static char path[160];
static uint8_t *base;
static size_t base_length;

static void clean_up(void)
{
    (void)unlink(path);
    (void)rmdir(dir);
}

/* A file with counters, errors, commands and answers, kept as bytes. */
static void fill(rsti_cnc_t *cnc)
{
    rsti_counters_manager_t counters;
    FUZZ_CHECK(rsti_counters_manager_init(&counters, cnc->counter_values,
                   cnc->counter_values_length, cnc->counter_metadata, cnc->counter_metadata_length,
                   1000)
        == 0);
    for (int32_t i = 0; i < COUNTERS - 2; i++) {
        const int32_t id = rsti_counters_allocate(&counters, i, "key", 3, "label of a counter", 18,
            0);
        rsti_counters_set_ids(&counters, id, i, i, i);
    }
    rsti_counters_free(&counters, 2, 0);
    rsti_counters_manager_fini(&counters);
    rsti_error_log_t errors;
    FUZZ_CHECK(rsti_error_log_init(&errors, cnc->error_log, cnc->error_log_length, NULL) == 0);
    rsti_error_log_record(&errors, 1, "something went wrong", 5);
    rsti_error_log_record(&errors, 2, "something else", 6);
    rsti_error_log_fini(&errors);
    rsti_mpsc_rb_t ring;
    FUZZ_CHECK(rsti_rb_init(&ring.rb, cnc->to_driver, cnc->to_driver_length) == 0);
    rsti_mpsc_rb_set_heartbeat(&ring, 1);
    rsti_broadcast_tx_t tx;
    FUZZ_CHECK(rsti_broadcast_tx_init(&tx, cnc->to_clients, cnc->to_clients_length) == 0);
    (void)rsti_broadcast_transmit(&tx, 7, "an answer", 9);
    rsti_cnc_publish(cnc);
}

static void make_base(void)
{
    const rsti_cnc_params_t params = {
        .to_driver_length = 1024 + RSTI_RB_TRAILER_LENGTH,
        .to_clients_length = 1024 + RSTI_BROADCAST_TRAILER_LENGTH,
        .counter_values_length = COUNTERS * RSTI_COUNTER_VALUE_LENGTH,
        .error_log_length = 1024,
        .client_liveness_timeout_ns = 1000,
        .file_page_size = 4096,
    };
    (void)snprintf(dir, sizeof dir, "/dev/shm/rstream-fuzz-cnc-%d", (int)getpid());
    (void)snprintf(path, sizeof path, "%s/%s", dir, "cnc.dat");
    FUZZ_CHECK(mkdir(dir, 0700) == 0);
    (void)atexit(clean_up);
    rsti_cnc_t cnc;
    FUZZ_CHECK(rsti_cnc_create(&cnc, dir, &params) == 0);
    fill(&cnc);
    base_length = cnc.length;
    base = malloc(base_length);
    FUZZ_CHECK(base != NULL);
    memcpy(base, cnc.base, base_length);
    rsti_cnc_close(&cnc);
}

static void on_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text)
{
    (void)observations;
    (void)first_ms;
    (void)last_ms;
    *(size_t *)arg += strlen(text);
}

static void on_answer(void *arg, int32_t type, const void *record, size_t length)
{
    (void)type;
    for (size_t i = 0; i < length; i++) {
        *(size_t *)arg += ((const uint8_t *)record)[i];
    }
}

static void read_as_client(void)
{
    rsti_cnc_t cnc;
    if (rsti_cnc_open(&cnc, dir, false) != 0) {
        return;
    }
    size_t sum = 0;
    rsti_broadcast_rx_t rx;
    if (rsti_broadcast_rx_init(&rx, cnc.to_clients, cnc.to_clients_length) == 0) {
        for (int i = 0; i < RECORDS_MAX && rsti_broadcast_receive(&rx, on_answer, &sum) == 1; i++) {
        }
        rsti_broadcast_rx_fini(&rx);
    }
    rsti_mpsc_rb_t ring;
    if (rsti_rb_init(&ring.rb, cnc.to_driver, cnc.to_driver_length) == 0) {
        (void)rsti_mpsc_rb_write(&ring, 1, "a command", 9);
    }
    rsti_cnc_close(&cnc);
}

static void read_as_tool(void)
{
    static rst_counter_t counters[COUNTERS * 16];
    rst_tool_t *tool;
    if (rst_tool_open(&tool, dir) != 0) {
        return;
    }
    const int count = rst_tool_counters(tool, counters,
        (int)(sizeof counters / sizeof counters[0]));
    for (int i = 0; i < count; i++) {
        FUZZ_CHECK(memchr(counters[i].label, 0, sizeof counters[i].label) != NULL);
    }
    size_t length = 0;
    FUZZ_CHECK(rst_tool_errors(tool, on_error, &length) >= 0);
    (void)rst_tool_heartbeat_age_ms(tool);
    (void)rst_tool_pid(tool);
    rst_tool_close(tool);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (base == NULL) {
        make_base();
    }
    const int fd = open(path, O_RDWR);
    FUZZ_CHECK(fd >= 0 && pwrite(fd, base, base_length, 0) == (ssize_t)base_length);
    for (size_t at = 0; at + 4 <= size;) {
        size_t offset = (size_t)fuzz_read(input + at, 3) % base_length;
        size_t length = input[at + 3];
        at += 4;
        length = length < size - at ? length : size - at;
        length = length < base_length - offset ? length : base_length - offset;
        FUZZ_CHECK(pwrite(fd, input + at, length, (off_t)offset) == (ssize_t)length);
        at += length;
    }
    (void)close(fd);
    read_as_tool();
    read_as_client();
    return 0;
}
