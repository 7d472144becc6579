/* test_custom.c: strategies that are registered by name: invalid ones are refused, the driver calls
 * them with the right arguments, and their answers count. A program of its own, since a
 * registration is permanent. */
#include "flow/flow_control.h"
#include "rstream/error.h"
#include "rstream/flow.h"
#include "tests/check.h"

typedef struct fixed_t {
    int64_t step;
    int32_t inits, messages, idles, elicited, setups, errors;
    rst_flow_message_t last;
} fixed_t;

static int fini_count;

static int fixed_init(void *state, const rst_flow_facts_t *facts)
{
    fixed_t *fixed = state;
    fixed->step = 1000 * facts->group_min_size + (facts->is_group ? 1 : 2);
    fixed->inits++;
    return facts->stream_id == 13 ? -1 : 0;
}

static void fixed_fini(void *state)
{
    (void)state;
    fini_count++;
}

static int64_t fixed_on_message(void *state, const rst_flow_message_t *message, int64_t limit,
    int64_t now_ns)
{
    fixed_t *fixed = state;
    fixed->messages++;
    fixed->last = *message;
    return limit + fixed->step + now_ns;
}

static int64_t fixed_on_idle(void *state, int64_t limit, int64_t now_ns)
{
    ((fixed_t *)state)->idles++;
    return limit - now_ns;
}

static void fixed_on_elicited(void *state, const rst_flow_message_t *message, int64_t now_ns)
{
    (void)message;
    (void)now_ns;
    ((fixed_t *)state)->elicited++;
}

static void fixed_on_setup(void *state, int64_t limit, int64_t now_ns)
{
    (void)limit;
    (void)now_ns;
    ((fixed_t *)state)->setups++;
}

static void fixed_on_error(void *state, int64_t receiver_id, int64_t now_ns)
{
    (void)receiver_id;
    (void)now_ns;
    ((fixed_t *)state)->errors++;
}

static int fixed_has_required(const void *state)
{
    return ((const fixed_t *)state)->messages > 0;
}

static int32_t fixed_count(const void *state)
{
    return ((const fixed_t *)state)->messages;
}

static rst_flow_strategy_t fixed_strategy(const char *name)
{
    return (rst_flow_strategy_t){
        .struct_size = sizeof(rst_flow_strategy_t),
        .name = name,
        .state_bytes = sizeof(fixed_t),
        .init = fixed_init,
        .fini = fixed_fini,
        .on_status_message = fixed_on_message,
        .on_idle = fixed_on_idle,
        .on_setup_elicited = fixed_on_elicited,
        .on_setup = fixed_on_setup,
        .on_error = fixed_on_error,
        .has_required_receivers = fixed_has_required,
        .receiver_count = fixed_count,
    };
}

static rsti_flow_params_t params_of(const char *fc_text, bool is_group)
{
    return (rsti_flow_params_t){
        .fc_text = fc_text,
        .is_group = is_group,
        .default_name = is_group ? "max" : "unicast",
        .default_multiple = 4,
        .channel = "aeron:udp?endpoint=224.0.1.1:4000",
        .stream_id = 10,
    };
}

TEST(errors_are_named)
{
    static const char *const bad_names[] = {
        NULL, "", "Upper", "a b", "a,b", "a|b", "a-name-of-thirty-two-characters-"};
    for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++) {
        const rst_flow_strategy_t strategy = fixed_strategy(bad_names[i]);
        CHECK_EQ(rst_flow_strategy_register(&strategy), -RST_EINVAL);
        CHECK(strstr(rst_last_error_text(), "a name is") != NULL);
    }
    static const char *const taken[] = {"unicast", "max", "min", "tagged"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        const rst_flow_strategy_t strategy = fixed_strategy(taken[i]);
        CHECK_EQ(rst_flow_strategy_register(&strategy), -RST_EINVAL);
        CHECK(strstr(rst_last_error_text(), taken[i]) != NULL);
    }
    rst_flow_strategy_t strategy = fixed_strategy("other");
    strategy.struct_size--;
    CHECK_EQ(rst_flow_strategy_register(&strategy), -RST_EINVAL);
    CHECK_EQ(rst_flow_strategy_register(NULL), -RST_EINVAL);
    strategy = fixed_strategy("other");
    strategy.on_status_message = NULL;
    CHECK_EQ(rst_flow_strategy_register(&strategy), -RST_EINVAL);
    strategy = fixed_strategy("other");
    strategy.state_bytes = 1024 * 1024 + 1;
    CHECK_EQ(rst_flow_strategy_register(&strategy), -RST_EINVAL);
    CHECK(!rsti_flow_is_known("other", true));
}

TEST(a_channel_chooses_it_by_name)
{
    char name[] = "fixed-step";
    const rst_flow_strategy_t strategy = fixed_strategy(name);
    CHECK_EQ(rst_flow_strategy_register(&strategy), 0);
    CHECK_EQ(rst_flow_strategy_register(&strategy), -RST_EINVAL); /* exists */
    memset(name, 'x', sizeof name - 1); /* it was copied */
    rsti_flow_control_t flow;
    rsti_flow_params_t params = params_of("fixed-step,g:/3,rrwm:9", true);
    CHECK_EQ(rsti_flow_control_init(&flow, &params), 0);
    CHECK_EQ(flow.retransmit_window_multiple, 9);
    CHECK(flow.has_receivers);
    const rsti_flow_strategy_t *law = flow.strategy;
    CHECK(!law->has_required_receivers(&flow));
    const rsti_sm_facts_t sm = {.position = 64,
        .window = 128,
        .receiver_id = 5,
        .is_eos = true,
        .has_group_tag = true,
        .group_tag = 6};
    CHECK_EQ(law->on_status_message(&flow, &sm, 10, 7), 10 + 3001 + 7);
    CHECK(law->has_required_receivers(&flow));
    CHECK_EQ(flow.receiver_count, 1);
    CHECK_EQ(law->on_idle(&flow, 10, 3), 7);
    law->on_setup_elicited(&flow, &sm, 1);
    law->on_setup(&flow, 1, 1);
    law->on_error(&flow, 5, 1);
    const int before = fini_count;
    rsti_flow_control_fini(&flow);
    rsti_flow_control_fini(&flow);
    CHECK_EQ(fini_count, before + 1);
}

TEST(it_may_refuse_a_channel)
{
    rsti_flow_control_t flow;
    rsti_flow_params_t params = params_of("fixed-step", true);
    params.stream_id = 13;
    CHECK_EQ(rsti_flow_control_init(&flow, &params), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "fixed-step") != NULL);
    rsti_flow_control_fini(&flow); /* harmless */
}

TEST(the_driver_chooses_it_for_unicast)
{
    rsti_flow_control_t flow;
    rsti_flow_params_t params = params_of("min", false);
    params.default_name = "fixed-step";
    CHECK_EQ(rsti_flow_control_init(&flow, &params), 0);
    const rsti_sm_facts_t sm = {.receiver_id = 5};
    CHECK_EQ(flow.strategy->on_status_message(&flow, &sm, 0, 0), 2);
    rsti_flow_control_fini(&flow);
}

static int64_t least_on_message(void *state, const rst_flow_message_t *message, int64_t limit,
    int64_t now_ns)
{
    (void)now_ns;
    return state == NULL && message->position > limit ? message->position : limit;
}

TEST(the_least_that_is_needed_is_one_function)
{
    const rst_flow_strategy_t strategy = {
        .struct_size = sizeof strategy, .name = "least.1_2", .on_status_message = least_on_message};
    CHECK_EQ(rst_flow_strategy_register(&strategy), 0);
    rsti_flow_control_t flow;
    rsti_flow_params_t params = params_of("least.1_2", true);
    CHECK_EQ(rsti_flow_control_init(&flow, &params), 0);
    CHECK(!flow.has_receivers);
    const rsti_sm_facts_t sm = {.position = 96, .receiver_id = 5};
    CHECK_EQ(flow.strategy->on_status_message(&flow, &sm, 64, 0), 96);
    CHECK_EQ(flow.strategy->on_idle(&flow, 64, 0), 64);
    flow.strategy->on_setup_elicited(&flow, &sm, 0);
    flow.strategy->on_setup(&flow, 0, 0);
    flow.strategy->on_error(&flow, 5, 0);
    CHECK(flow.strategy->has_required_receivers(&flow));
    rsti_flow_control_fini(&flow);
}

TEST(the_registry_has_an_end)
{
    char name[16];
    int result = 0, added = 0;
    for (; added <= RSTI_FLOW_STRATEGIES_MAX; added++) {
        snprintf(name, sizeof name, "s%d", added);
        const rst_flow_strategy_t strategy = fixed_strategy(name);
        result = rst_flow_strategy_register(&strategy);
        if (result < 0) {
            break;
        }
    }
    CHECK_EQ(result, -RST_EFULL);
    CHECK_EQ(added, RSTI_FLOW_STRATEGIES_MAX - 2); /* the two from above */
    CHECK(rsti_flow_is_known("s0", true) && !rsti_flow_is_known(name, true));
}

CHECK_MAIN(RUN(errors_are_named), RUN(a_channel_chooses_it_by_name), RUN(it_may_refuse_a_channel),
    RUN(the_driver_chooses_it_for_unicast), RUN(the_least_that_is_needed_is_one_function),
    RUN(the_registry_has_an_end))
