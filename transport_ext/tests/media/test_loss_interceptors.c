/* test_loss_interceptors.c: Aeron's loss generators by name: what they lose and refuse. */
#include "media/loss_interceptors.h"
#include "protocol/frame.h"
#include "tests/check.h"
#include "util/error.h"

static uint8_t bytes[1408];
static struct sockaddr_storage peer;
static rsti_loss_interceptors_t losses;

static rsti_fault_view_t data_at(int32_t term_id, int32_t offset)
{
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, 77, 10, term_id,
        offset);
    header.frame.frame_length = (int32_t)sizeof bytes;
    memcpy(bytes, &header, sizeof header);
    return (rsti_fault_view_t){bytes, sizeof bytes, &peer, false, true, 0};
}

static int init(const char *names, const char *loss, const char *fixed, const char *multi_gap)
{
    const rsti_loss_texts_t texts = {names, loss, fixed, multi_gap};
    return rsti_loss_interceptors_init(&losses, &texts);
}

/* P1 */
TEST(loss_by_rate_seed_and_type)
{
    int32_t dropped[2] = {0, 0};
    uint64_t fates[2] = {0, 0};
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(init("loss", "rate=0.2|seed=3405691582|recv-msg-mask=0x2", "", ""), 0);
        for (int32_t i = 0; i < 10000; i++) {
            const rsti_fault_view_t view = data_at(5, i * 1408);
            const bool is_dropped = rsti_loss_interceptors_drop(&losses, &view);
            dropped[round] += is_dropped;
            fates[round] = i < 64 ? fates[round] << 1 | is_dropped : fates[round];
        }
    }
    CHECK(dropped[0] > 1800 && dropped[0] < 2200);
    CHECK_EQ(dropped[0], dropped[1]);
    CHECK_EQ(fates[0], fates[1]);
    CHECK_EQ(init("loss", "rate=1.0|recv-msg-mask=C", "", ""), 0);
    rsti_fault_view_t view = data_at(5, 0);
    CHECK(!rsti_loss_interceptors_drop(&losses, &view)); /* the bits of NAK and SM only */
    const rsti_nak_t nak = {.frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK}};
    memcpy(bytes, &nak, sizeof nak);
    view = (rsti_fault_view_t){bytes, sizeof nak, &peer, false, false, 0};
    CHECK(rsti_loss_interceptors_drop(&losses, &view));
    view.is_sent = true;
    CHECK(!rsti_loss_interceptors_drop(&losses, &view));
    view.is_sent = false;
    view.length = 7;
    CHECK(!rsti_loss_interceptors_drop(&losses, &view));
    CHECK_EQ(init("loss", "rate=1", "", ""), 0);
    view = data_at(5, 0);
    CHECK(rsti_loss_interceptors_drop(&losses, &view)); /* data is the default */
}

/* P2 */
TEST(fixed_loss_once)
{
    CHECK_EQ(init("fixed-loss", "", "term-id=-2|term-offset=1500|length=2000", ""), 0);
    for (int round = 0; round < 2; round++) {
        for (int32_t i = 0; i < 10; i++) {
            const rsti_fault_view_t view = data_at(-2, i * 1408);
            CHECK_EQ(rsti_loss_interceptors_drop(&losses, &view), round == 0 && (i == 1 || i == 2));
        }
    }
    const rsti_fault_view_t other = data_at(-1, 1408);
    CHECK(!rsti_loss_interceptors_drop(&losses, &other));
}

/* P3: the radix 6000 becomes 8192, so gaps begin at 8192, 16384 and 24576. */
TEST(multi_gap_loss_once)
{
    CHECK_EQ(init("fixed-loss,multi-gap-loss", "", "term-id=5|term-offset=0|length=1",
                 "term-id=5|gap-radix=6000|gap-length=100|total-gaps=3"),
        0);
    for (int round = 0; round < 2; round++) {
        for (int32_t i = 0; i < 40; i++) {
            const rsti_fault_view_t view = data_at(5, i * 1408);
            const bool is_first = round == 0 && (i == 0 || i == 5 || i == 11 || i == 17);
            CHECK_EQ(rsti_loss_interceptors_drop(&losses, &view), is_first);
        }
    }
}

TEST(refusals_name_the_option)
{
    static const struct {
        const char *names, *args, *text;
    } rows[] = {
        {"losses", "", "incoming-interceptors=losses: there is no interceptor \"losses\""},
        {"loss,,loss", "rate=1", "there is no interceptor \"\""},
        {"loss", "", "-loss-args=: rate is missing"},
        {"loss", "rate=1.5", "at \"rate=1.5\""},
        {"loss", "rate=1|mask=2", "at \"mask=2\""},
        {"loss", "rate=1|recv-msg-mask=0x100000000", "at \"recv-msg-mask=0x100000000\""},
        {"loss", "rate=1|recv-msg-mask=-1", "at \"recv-msg-mask=-1\""},
        {"loss", "rate=1|seed", "at \"seed\""},
        {"fixed-loss", "term-id=5|length=1", "-fixed-loss-args=term-id=5|length=1: term-offset is"},
        {"fixed-loss", "term-id=5|term-offset=0|length=0", "at \"length=0\""},
        {"multi-gap-loss", "term-id=5|gap-radix=8|gap-length=8|total-gaps=1", "below gap-radix"},
        {"multi-gap-loss", "term-id=5|gap-radix=8|gap-length=1", "total-gaps is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_EQ(init(rows[i].names, rows[i].args, rows[i].args, rows[i].args), -RST_EINVAL);
        if (strstr(rst_last_error_text(), rows[i].text) == NULL) {
            CHECK_STR(rst_last_error_text(), rows[i].text);
        }
    }
    CHECK_EQ(init("", "nonsense", "nonsense", "nonsense"), 0); /* not named, not read */
}

CHECK_MAIN(RUN(loss_by_rate_seed_and_type), RUN(fixed_loss_once), RUN(multi_gap_loss_once),
    RUN(refusals_name_the_option))
