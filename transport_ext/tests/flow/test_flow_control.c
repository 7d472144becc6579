#include "flow/flow_control.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/vectors/flow.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

TEST(limits_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_flow_control); i++) {
        const vector_flow_control_t *v = &vector_flow_control[i];
        rsti_flow_control_t flow;
        const bool is_group = strcmp(v->name, "unicast") != 0;
        CHECK_EQ(rsti_flow_control_init(&flow, is_group ? "max" : "", is_group), 0);
        CHECK_STR(flow.strategy->name, is_group ? "max" : "unicast");
        const rsti_sm_facts_t sm
            = {.position = v->position, .window = v->window, .receiver_id = v->receiver_id};
        const int64_t limit
            = strcmp(v->on, "sm") == 0
                  ? flow.strategy->on_status_message(&flow, &sm, v->limit_in, v->now_ns)
                  : flow.strategy->on_idle(&flow, v->limit_in, v->now_ns);
        CHECK_EQ(limit, v->limit_out);
        CHECK_EQ(flow.strategy->has_required_receivers(&flow), v->has_required_receivers);
        rsti_flow_control_fini(&flow);
    }
}

TEST(setups_errors_and_idle_change_nothing)
{
    rsti_flow_control_t flow;
    CHECK_EQ(rsti_flow_control_init(&flow, "", true), 0);
    flow.strategy->on_setup(&flow, 100, 1);
    flow.strategy->on_error(&flow, 7, 2);
    CHECK_EQ(flow.strategy->on_idle(&flow, 100, INT64_MAX), 100);
    const rsti_sm_facts_t sm = {.position = INT64_MAX - 5, .window = 10};
    CHECK_EQ(flow.strategy->on_status_message(&flow, &sm, 0, 0), INT64_MAX);
    rsti_flow_control_fini(&flow);
}

TEST(the_channel_chooses)
{
    rsti_flow_control_t flow;
    /* Unicast ignores fc, even one that groups would refuse. */
    CHECK_EQ(rsti_flow_control_init(&flow, "foo", false), 0);
    CHECK(flow.strategy == &rsti_flow_unicast);
    CHECK_EQ(flow.retransmit_window_multiple, 16);
    CHECK_EQ(rsti_flow_control_init(&flow, NULL, true), 0);
    CHECK(flow.strategy == &rsti_flow_max);
    CHECK_EQ(flow.retransmit_window_multiple, 4);
    CHECK_EQ(rsti_flow_control_init(&flow, "max,rrwm:7", true), 0);
    CHECK_EQ(flow.retransmit_window_multiple, 7);
    CHECK_EQ(rsti_flow_control_init(&flow, "min,g:/3", true), -RST_ENOTSUP);
    CHECK_EQ(rsti_flow_control_init(&flow, "tagged,g:5", true), -RST_ENOTSUP);
    CHECK_EQ(rsti_flow_control_init(&flow, "foo", true), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "fc=foo") != NULL);
}

TEST(options_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_flow_options); i++) {
        const vector_flow_options_t *v = &vector_flow_options[i];
        rsti_flow_options_t options;
        CHECK_EQ(
            rsti_flow_options_parse(v->text, &options), v->is_accepted ? 0 : -RST_ECHANNEL);
        if (v->is_accepted) {
            CHECK_STR(options.name, v->strategy);
            CHECK_EQ(options.has_group_tag, v->has_tag);
            CHECK_EQ(options.has_group_min_size, v->has_min_size);
            CHECK_EQ(options.has_timeout, v->has_timeout);
            CHECK_EQ(options.group_tag, v->tag);
            CHECK_EQ(options.group_min_size, v->min_size);
            CHECK_EQ(options.timeout_ns, v->timeout_ns);
            CHECK_EQ(options.retransmit_window_multiple, v->multiple);
        }
    }
}

TEST(bad_options_are_refused)
{
    static const char *const bad[] = {"", "maxx", "ma", "max,", "max,,rrwm:1", "max,t:1s",
        "max,g:/1", "max,rrwm:-1", "max,rrwm:1x", "min,g:/-1", "min,g:5/", "min,rrwm",
        "min,rrwm:99999999999", "tagged,g:"
        "1111111111111111111111111111111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        rsti_flow_options_t options;
        CHECK_EQ(rsti_flow_options_parse(bad[i], &options), -RST_ECHANNEL);
    }
}

TEST(a_resend_is_clamped)
{
    const rsti_flow_control_t unicast = {.retransmit_window_multiple = 16};
    const rsti_flow_control_t group = {.retransmit_window_multiple = 4};
    const rsti_flow_control_t huge = {.retransmit_window_multiple = INT32_MAX};
    const int32_t term = 16 * 1024 * 1024;
    CHECK_EQ(rsti_retransmit_length(&unicast, term, 0, 1408), 1408);
    CHECK_EQ(rsti_retransmit_length(&unicast, term, 16384, 10000000), 2097152);
    CHECK_EQ(rsti_retransmit_length(&group, term, 16384, 10000000), 524288);
    CHECK_EQ(rsti_retransmit_length(&unicast, term, term - 64, 10000000), 64);
    CHECK_EQ(rsti_retransmit_length(&group, 65536, 0, 65536), 65536);
    CHECK_EQ(rsti_retransmit_length(&huge, term, 32, INT32_MAX), term - 32);
}

CHECK_MAIN(RUN(limits_are_the_vectors), RUN(setups_errors_and_idle_change_nothing),
    RUN(the_channel_chooses), RUN(options_are_the_vectors), RUN(bad_options_are_refused),
    RUN(a_resend_is_clamped))
