#include "concurrent/loss_report.h"

#include "tests/check.h"
#include "tests/vectors/logs.h"
#include "util/bits.h"

static _Alignas(64) uint8_t memory[4096];

typedef struct seen_t {
    int count;
    int64_t observations[64];
    int64_t bytes[64];
    int64_t first_ms[64];
    int64_t last_ms[64];
    int32_t session_id[64];
    char channel[64][128];
    char source[64][128];
} seen_t;

static seen_t seen;

static void on_entry(void *arg, const rsti_loss_view_t *view)
{
    seen_t *to = arg;
    const int i = to->count++ % 64;
    to->observations[i] = view->observation_count;
    to->bytes[i] = view->bytes_lost;
    to->first_ms[i] = view->first_ms;
    to->last_ms[i] = view->last_ms;
    to->session_id[i] = view->session_id;
    (void)snprintf(to->channel[i], 128, "%.*s", (int)view->channel_length, view->channel);
    (void)snprintf(to->source[i], 128, "%.*s", (int)view->source_length, view->source);
}

static void start(rsti_loss_report_t *report)
{
    memset(memory, 0, sizeof memory);
    memset(&seen, 0, sizeof seen);
    rsti_loss_report_init(report, memory, sizeof memory);
}

static const rsti_loss_facts_t facts = {.session_id = 42,
    .stream_id = 1001,
    .channel = "aeron:udp?endpoint=localhost:40456",
    .source = "127.0.0.1:50000"};

/* E6 */
TEST(an_entry_matches_the_vector)
{
    rsti_loss_report_t report;
    start(&report);
    rsti_loss_record_t record = {0};
    CHECK_EQ(rsti_loss_report_read(memory, sizeof memory, on_entry, &seen), 0);
    CHECK_EQ(rsti_loss_report_gap(&report, &record, &facts, 0, 1408, 1700000000123), 1408);
    CHECK_EQ(rsti_loss_report_gap(&report, &record, &facts, 4096, 4160, 1700000000500), 64);
    CHECK_MEM(memory, vector_loss_report_first_128, 128);
    CHECK_EQ(report.next_offset, 128);
    CHECK_EQ(rsti_loss_report_read(memory, sizeof memory, on_entry, &seen), 1);
    CHECK_EQ(seen.observations[0], 2);
    CHECK_EQ(seen.bytes[0], 1472);
    CHECK_STR(seen.channel[0], facts.channel);
    CHECK_STR(seen.source[0], facts.source);
}

/* K7, E6 */
TEST(a_byte_is_reported_once)
{
    static const struct {
        int64_t begin, end, wanted;
    } steps[] = {
        {1000, 2000, 1000},
        {1000, 2000, 0},     /* a repeated NAK for the same gap */
        {1500, 2000, 0},     /* its first half arrived */
        {1500, 2500, 500},   /* and it grew */
        {500, 900, 0},       /* behind the reported end: cannot be new */
        {3000, 3064, 64},
        {2600, 2700, 0},
        {3000, 3000, 0},     /* empty */
    };
    rsti_loss_report_t report;
    start(&report);
    rsti_loss_record_t record = {0};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const int64_t added = rsti_loss_report_gap(&report, &record, &facts, steps[i].begin,
            steps[i].end, (int64_t)i + 1);
        CHECK_EQ(added, steps[i].wanted);
        sum += added;
    }
    CHECK_EQ(rsti_loss_report_read(memory, sizeof memory, on_entry, &seen), 1);
    CHECK_EQ(seen.bytes[0], sum);
    CHECK_EQ(seen.observations[0], 3);
    CHECK_EQ(seen.first_ms[0], 1);
    CHECK_EQ(seen.last_ms[0], 6);
}

/* A reader that does not add the channel's padding to its step. */
static size_t step_without_padding(size_t offset)
{
    int32_t channel_length;
    int32_t source_length;
    memcpy(&channel_length, memory + offset + 40, 4);
    memcpy(&source_length, memory + offset + ((44 + (size_t)channel_length + 3) & ~(size_t)3), 4);
    return offset + ((48 + (size_t)channel_length + (size_t)source_length + 63) & ~(size_t)63);
}

TEST(all_readers_step_alike_for_every_length)
{
    static const char text[] = "aeron:udp?endpoint=localhost:40456|interface=127.0.0.1|reliable";
    for (size_t channel_length = 1; channel_length < 60; channel_length++) {
        for (size_t source_length = 0; source_length < 30; source_length++) {
            char channel[64];
            char source[64];
            rsti_loss_report_t report;
            rsti_loss_record_t records[2] = {{0}, {0}};
            start(&report);
            (void)snprintf(channel, sizeof channel, "%.*s", (int)channel_length, text);
            (void)snprintf(source, sizeof source, "%.*s", (int)source_length, text);
            rsti_loss_facts_t lengths = {.channel = channel, .source = source, .session_id = 1};
            (void)rsti_loss_report_gap(&report, &records[0], &lengths, 0, 64, 1);
            CHECK_EQ(step_without_padding(0), report.next_offset);
            lengths.session_id = 2;
            (void)rsti_loss_report_gap(&report, &records[1], &lengths, 0, 64, 1);
            CHECK_EQ(rsti_loss_report_read(memory, sizeof memory, on_entry, &seen), 2);
            CHECK_EQ(seen.session_id[1], 2);
            CHECK_STR(seen.channel[0], channel);
            CHECK_EQ(strncmp(seen.source[0], source, source_length), 0);
        }
    }
}

/* E6: at the limit: the last record that fits is written, the next is left out, both still count.
 */
TEST(a_full_report_leaves_records_out)
{
    rsti_loss_report_t report;
    rsti_loss_record_t records[40];
    memset(records, 0, sizeof records);
    start(&report);
    report.length = 4 * 128;
    for (size_t i = 0; i < 40; i++) {
        CHECK_EQ(rsti_loss_report_gap(&report, &records[i], &facts, 0, 64, 1), 64);
        CHECK_EQ(records[i].entry != NULL, i < 4);
        CHECK_EQ(rsti_loss_report_gap(&report, &records[i], &facts, 64, 128, 1), 64);
    }
    CHECK_EQ(rsti_loss_report_read(memory, 4 * 128, on_entry, &seen), 4);
    CHECK_EQ(seen.bytes[3], 128);
    CHECK_EQ(memory[4 * 128], 0);
}

TEST(foreign_bytes_are_not_believed)
{
    static const int32_t lengths[] = {-1, INT32_MIN, INT32_MAX, 4096, 4049};
    rsti_loss_report_t report;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t field = 40; field <= 80; field += 40) {
            rsti_loss_record_t record = {0};
            start(&report);
            (void)rsti_loss_report_gap(&report, &record, &facts, 0, 64, 1);
            memcpy(memory + field, &lengths[i], 4);
            CHECK_EQ(rsti_loss_report_read(memory, sizeof memory, on_entry, &seen), 0);
        }
    }
    /* Cut at any length: no read behind the end (the sanitizers watch a heap block of that size).
     */
    start(&report);
    rsti_loss_record_t record = {0};
    (void)rsti_loss_report_gap(&report, &record, &facts, 0, 64, 1);
    for (size_t length = 0; length <= 128; length++) {
        uint8_t *cut = malloc(length + 1);
        memcpy(cut, memory, length);
        CHECK_EQ(rsti_loss_report_read(cut, length, on_entry, &seen), length >= 99 ? 1 : 0);
        free(cut);
    }
}

CHECK_MAIN(RUN(an_entry_matches_the_vector), RUN(a_byte_is_reported_once),
    RUN(all_readers_step_alike_for_every_length), RUN(a_full_report_leaves_records_out),
    RUN(foreign_bytes_are_not_believed))
