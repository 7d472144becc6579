/* fuzz_rate.c: any bytes as rs-rate; an accepted text is in range, the law uses its values
 * unchanged, and nothing is clamped silently. */
#include "flow/rate_text.h"
#include "fuzz/check.h"

static void check_bytes(double value, double least)
{
    FUZZ_CHECK(value >= least && value <= RSTI_RATE_MAX);
}

static void check_law(const rsti_rate_choice_t *choice)
{
    rsti_rate_t rate;
    rsti_rate_init(&rate, choice->law, &choice->params);
    FUZZ_CHECK(rate.bytes_per_s >= 1 && rate.bytes_per_s <= RSTI_RATE_MAX);
    FUZZ_CHECK(rate.datagrams_per_s >= 1 && rate.datagrams_per_s <= RSTI_RATE_MAX);
    if (choice->law == &rsti_rate_fixed || choice->law == &rsti_rate_unlimited) {
        return;
    }
    rsti_rate_choice_t taken = {choice->law, rate.params};
    FUZZ_CHECK(rsti_rate_choice_equals(&taken, choice));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    uint8_t terminated[FUZZ_BLOCK_MAX];
    const uint8_t *zero = size == 0 ? NULL : memchr(input, 0, size);
    const size_t length = zero != NULL ? (size_t)(zero - input) : size;
    if (length >= sizeof terminated) {
        return 0;
    }
    if (length > 0) {
        memcpy(terminated, input, length);
    }
    terminated[length] = '\0';
    const char *text = (const char *)fuzz_exact_copy(terminated, length + 1);
    rsti_rate_choice_t choice;
    rsti_rate_choice_t again;
    const int result = rsti_rate_choice_parse(&choice, text, "aeron:ipc");
    FUZZ_CHECK((rsti_rate_choice_parse(&again, text, NULL) == 0) == (result == 0));
    if (result < 0) {
        return 0;
    }
    FUZZ_CHECK(length <= RSTI_RATE_TEXT_MAX);
    FUZZ_CHECK(rsti_rate_choice_equals(&choice, &again));
    FUZZ_CHECK(strncmp(text, choice.law->name, strlen(choice.law->name)) == 0);
    check_bytes(choice.params.initial, 0);
    check_bytes(choice.params.least, 1);
    check_bytes(choice.params.most, choice.params.least);
    FUZZ_CHECK(choice.params.trigger_count >= 1
        && choice.params.trigger_count <= RSTI_RATE_TRIGGERS_MAX);
    check_law(&choice);
    return 0;
}
