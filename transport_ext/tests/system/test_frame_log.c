/* A frame log of a driver whose threads send and receive frames of maximum size. */
#include "cnc/frame_log_file.h"
#include "media/frame_log.h"
#include "tests/system/transport.h"

#define MTU 65504
#define MESSAGES 300

static const char *log_path(void)
{
    static char path[128];
    snprintf(path, sizeof path, "/dev/shm/rstream-test-%d-frames.log", (int)getpid());
    return path;
}

/* A hash of the frames in one direction: of the fields of each data frame and their order. */
typedef struct way_t {
    int64_t frames, bytes, largest;
    uint64_t facts;
} way_t;

/* False: a part of the line is missing, or a payload is not cut where it must be. */
static bool add_line(way_t ways[2], const char *line)
{
    long long ms, length = 0, left_out = 0;
    char way[16], local[64], peer[64], type[16], payload[2 * RSTI_FRAME_LOG_PAYLOAD_MAX + 2] = "";
    const size_t end = strcspn(line, "\n");
    const char *at = strstr(line, " length=");
    if (sscanf(line, "%lld %15s %63s %63s %15s flags=", &ms, way, local, peer, type) != 5
        || ms < 1600000000000 || at == NULL || at > line + end || line[end] != '\n') {
        return false;
    }
    const int facts = sscanf(at, " length=%lld payload=%65[0-9a-f]+%lld", &length, payload,
        &left_out);
    if (strcmp(type, "DATA") != 0 || length == 0) {
        return facts == 1;
    }
    way_t *counted = &ways[strcmp(way, "received") == 0];
    counted->frames++;
    counted->bytes += length;
    counted->largest = length > counted->largest ? length : counted->largest;
    for (const char *c = strstr(line, " DATA "); c < line + end; c++) {
        counted->facts = counted->facts * 31 + (uint8_t)*c;
    }
    const long long shown = (long long)strlen(payload) / 2;
    return length == 32 + shown + left_out
        && (left_out == 0 || shown == RSTI_FRAME_LOG_PAYLOAD_MAX);
}

/* N28: everything that was sent was received, frame by frame, and every line is complete. */
TEST(large_frames_are_logged_whole)
{
    char line[RSTI_FRAME_LOG_LINE_MAX + 1];
    snprintf(line, sizeof line, "frame-log=%s", log_path());
    const char *options[] = {
        line, "threading=dedicated", "mtu=65504", "so-rcvbuf=2m", "term-buffer-length=1m", NULL};
    (void)unlink(log_path());
    rst_driver_t *driver = open_driver("frames", options);
    CHECK(driver != NULL);
    rst_client_t *client = open_client(driver);
    CHECK(client != NULL);
    rst_subscription_t *subscription = add_subscription(client, udp_channel(""));
    rst_publication_t *publication = add_publication(client, udp_channel(""), false);
    CHECK(subscription != NULL && publication != NULL);
    CHECK(stream(publication, subscription, MESSAGES, MTU - 32, INT64_C(60000000000)) >= 0);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_driver_close(driver);

    way_t ways[2] = {{0}};
    FILE *file = fopen(log_path(), "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        if (!add_line(ways, line)) {
            CHECK_FAIL("%s", line);
        }
    }
    CHECK_EQ(fclose(file), 0);
    CHECK(ways[0].frames >= MESSAGES);
    CHECK(ways[0].largest > 65000);
    CHECK_EQ(ways[1].bytes, ways[0].bytes);
    CHECK(ways[1].facts == ways[0].facts);
    CHECK_EQ(unlink(log_path()), 0);
}

/* The log ends at its maximum length, after a complete line; a later log is appended to it. */
TEST(a_full_log_ends_with_a_whole_line)
{
    char text[64] = "";
    rsti_frame_log_file_t file;
    (void)unlink(log_path());
    for (int opened = 0; opened < 3; opened++) {
        CHECK_EQ(rsti_frame_log_file_open(&file, log_path(), 25), 0);
        rsti_frame_log_file_write(&file, "123456789\n", 10);
        rsti_frame_log_file_write(&file, opened == 2 ? "few\n" : "0123456789abcdef", 4);
        rsti_frame_log_file_close(&file);
    }
    FILE *written = fopen(log_path(), "r");
    CHECK(written != NULL);
    CHECK_EQ(fread(text, 1, sizeof text, written), 24);
    CHECK_EQ(strcmp(text, "123456789\n0123123456789\n"), 0);
    CHECK_EQ(fclose(written), 0);
    CHECK_EQ(unlink(log_path()), 0);
    CHECK(rsti_frame_log_file_open(&file, "/dev/shm", 25) < 0);
    CHECK(rsti_frame_log_file_open(&file, "/dev/null", 25) < 0);
}

CHECK_MAIN(RUN(large_frames_are_logged_whole), RUN(a_full_log_ends_with_a_whole_line))
