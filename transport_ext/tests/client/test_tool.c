/* Reading driver directories, and asking a driver to terminate. */
#include "cnc/cnc_file.h"
#include "cnc/loss_report_file.h"
#include "concurrent/error_log.h"
#include "concurrent/loss_report.h"
#include "protocol/command.h"
#include "rstream/rstream.h"
#include "tests/check.h"
#include "tests/cnc/temp_dir.h"
#include "util/error.h"

static char dir[512];
static rsti_cnc_t cnc;
static rsti_mpsc_rb_t ring;

static const rsti_cnc_params_t params = {
    .to_driver_length = 4096 + RSTI_RB_TRAILER_LENGTH,
    .to_clients_length = 4096 + RSTI_BROADCAST_TRAILER_LENGTH,
    .counter_values_length = 1024 * 1024,
    .error_log_length = 4096,
    .client_liveness_timeout_ns = 1000,
    .file_page_size = 4096,
};

static void begin(const char *name)
{
    temp_path(dir, sizeof dir, name);
    if (mkdir(dir, 0700) != 0 || rsti_cnc_create(&cnc, dir, &params) < 0
        || rsti_rb_init(&ring.rb, cnc.to_driver, cnc.to_driver_length) < 0) {
        fprintf(stderr, "%s\n", rst_last_error_text());
        abort();
    }
    rsti_mpsc_rb_set_heartbeat(&ring, 1);
    rsti_cnc_publish(&cnc);
}

typedef struct terminate_t {
    int count;
    int32_t type;
    char token[512];
    int32_t length;
} terminate_t;

static rsti_rb_action_t on_record(void *arg, int32_t type, const void *record, size_t length)
{
    terminate_t *seen = arg;
    rsti_command_t command;
    seen->count++;
    seen->type = type;
    if (rsti_command_decode(type, record, length, &command) == 0) {
        seen->length = command.channel.length;
        (void)snprintf(seen->token, sizeof seen->token, "%.*s", (int)command.channel.length,
            command.channel.length > 0 ? command.channel.text : "");
    }
    return RSTI_RB_CONTINUE;
}

/* L16 */
TEST(the_request_to_end_carries_its_token)
{
    begin("terminate");
    terminate_t seen = {0};
    CHECK_EQ(rst_tool_terminate(dir, "secret", 6), 0);
    CHECK_EQ(rsti_rb_read(&ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.type, RSTI_CMD_TERMINATE_DRIVER);
    CHECK_STR(seen.token, "secret");
    CHECK_EQ(rst_tool_terminate(dir, NULL, 0), 0);
    CHECK_EQ(rsti_rb_read(&ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.length, 0);
    char token[385];
    memset(token, 'x', sizeof token);
    CHECK_EQ(rst_tool_terminate(dir, token, 384), 0);
    CHECK_EQ(rsti_rb_read(&ring.rb, 10, on_record, &seen), 1);
    CHECK_EQ(seen.length, 384);
    rsti_cnc_close(&cnc);
}

/* L16: token too long, missing file, empty file, wrong version, short file, full ring. */
TEST(requests_that_cannot_be_made)
{
    char path[600];
    char token[385];
    memset(token, 'x', sizeof token);
    temp_path(dir, sizeof dir, "none");
    CHECK_EQ(rst_tool_terminate(dir, "t", 1), -RST_ENODRIVER);
    CHECK_EQ(mkdir(dir, 0700), 0);
    CHECK_EQ(rst_tool_terminate(dir, "t", 1), -RST_ENODRIVER);
    path_join(path, sizeof path, dir, "cnc.dat");
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    (void)fclose(file);
    CHECK_EQ(rst_tool_terminate(dir, "t", 1), -RST_ENODRIVER);
    begin("refused");
    path_join(path, sizeof path, dir, "cnc.dat");
    CHECK_EQ(rst_tool_terminate(dir, token, 385), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "384") != NULL);
    CHECK_EQ(rst_tool_terminate(dir, NULL, 1), -RST_EINVAL);
    cnc.header->cnc_version = 1 << 16;
    CHECK_EQ(rst_tool_terminate(dir, "t", 1), -RST_EVERSION);
    cnc.header->cnc_version = 1 << 8; /* 0.1.0 */
    CHECK_EQ(rst_tool_terminate(dir, "t", 1), -RST_EVERSION);
    cnc.header->cnc_version = 3 << 8;
    CHECK_EQ(rst_tool_terminate(dir, "t", 1), 0);
    int taken = 1;
    while (rst_tool_terminate(dir, token, 384) == 0 && taken < 100) {
        taken++;
    }
    CHECK_EQ(rst_last_error_code(), RST_EFULL);
    CHECK(taken > 5 && taken < 20);
    CHECK_EQ(truncate(path, 8192), 0);
    CHECK_EQ(rst_tool_terminate(dir, "t", 1), -RST_ECORRUPT);
    rsti_cnc_close(&cnc);
}

typedef struct losses_t {
    int count;
    rst_loss_t last;
} losses_t;

static void on_loss(void *arg, const rst_loss_t *loss)
{
    losses_t *losses = arg;
    losses->count++;
    losses->last = *loss;
}

/* E6 */
TEST(losses_of_a_directory)
{
    static losses_t losses;
    rst_tool_t *tool = NULL;
    rsti_loss_report_file_t file;
    begin("losses");
    CHECK_EQ(rst_tool_open(&tool, dir), 0);
    CHECK_EQ(rst_tool_losses(tool, on_loss, &losses), 0); /* none made, none there */
    CHECK_EQ(rsti_loss_report_file_create(&file, dir, 4096, 4096), 0);
    CHECK_EQ(rst_tool_losses(tool, on_loss, &losses), 0);
    rsti_loss_report_t report;
    rsti_loss_record_t record = {0};
    rsti_loss_report_init(&report, file.base, file.length);
    const rsti_loss_facts_t facts = {.session_id = -5,
        .stream_id = 10,
        .channel = "aeron:udp?endpoint=localhost:1",
        .source = "127.0.0.1:2"};
    (void)rsti_loss_report_gap(&report, &record, &facts, 64, 1472, 77);
    CHECK_EQ(rst_tool_losses(tool, on_loss, &losses), 1);
    CHECK_EQ(losses.count, 1);
    CHECK_EQ(losses.last.bytes_lost, 1408);
    CHECK_EQ(losses.last.session_id, -5);
    CHECK_EQ(losses.last.first_ms, 77);
    CHECK_STR(losses.last.channel, facts.channel);
    CHECK_EQ(strncmp(losses.last.source, facts.source, strlen(facts.source)), 0);
    rst_tool_close(tool);
    rsti_loss_report_file_close(&file);
    rsti_cnc_close(&cnc);
}

TEMP_DIR_MAIN(RUN(the_request_to_end_carries_its_token), RUN(requests_that_cannot_be_made),
    RUN(losses_of_a_directory))
