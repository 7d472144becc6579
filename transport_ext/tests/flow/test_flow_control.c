/* test_flow_control.c: strategies against the reference vectors, against a naive model under random
 * events, and at their limits; options; the choice of strategy; registered ones. */
#include "flow/fc_receivers.h"
#include "flow/flow_control.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/vectors/flow.h"
#include "util/rng.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SECOND INT64_C(1000000000)

static rsti_flow_params_t defaults(const char *fc_text, bool is_group)
{
    return (rsti_flow_params_t){
        .fc_text = fc_text,
        .is_group = is_group,
        .default_name = is_group ? "max" : "unicast",
        .default_multiple = is_group ? 4 : 16,
        .group_tag = -1,
        .receiver_timeout_ns = 5 * SECOND,
        .channel = "aeron:udp?endpoint=224.0.1.1:4000",
        .stream_id = 10,
    };
}

static int init(rsti_flow_control_t *flow, const char *fc_text, bool is_group)
{
    const rsti_flow_params_t params = defaults(fc_text, is_group);
    return rsti_flow_control_init(flow, &params);
}

/* The event of a row; false when it has no result. */
static bool apply(rsti_flow_control_t *flow, const vector_flow_control_t *v, int64_t *limit)
{
    const rsti_sm_facts_t sm = {
        .position = v->position,
        .window = v->window,
        .receiver_id = v->receiver_id,
        .is_eos = v->is_eos,
        .has_group_tag = v->has_tag,
        .group_tag = v->tag,
    };
    if (strcmp(v->on, "sm") == 0) {
        *limit = flow->strategy->on_status_message(flow, &sm, v->limit_in, v->now_ns);
        return true;
    }
    if (strcmp(v->on, "idle") == 0) {
        *limit = flow->strategy->on_idle(flow, v->limit_in, v->now_ns);
        return true;
    }
    if (strcmp(v->on, "trigger_setup") == 0) {
        flow->strategy->on_setup_elicited(flow, &sm, v->now_ns);
    } else {
        flow->strategy->on_setup(flow, v->limit_in, v->now_ns);
    }
    return false;
}

/* I2, I3, I4, I5, I6 */
TEST(limits_are_the_vectors)
{
    rsti_flow_control_t flow = {0};
    const char *name = "";
    for (size_t i = 0; i < COUNT(vector_flow_control); i++) {
        const vector_flow_control_t *v = &vector_flow_control[i];
        if (strcmp(v->name, name) != 0) {
            rsti_flow_control_fini(&flow);
            CHECK_EQ(init(&flow, v->fc, v->is_group), 0);
            CHECK(strncmp(v->is_group ? v->fc : "unicast", flow.strategy->name,
                      strlen(flow.strategy->name))
                == 0);
            name = v->name;
        }
        int64_t limit = 0;
        const bool has_limit = apply(&flow, v, &limit);
        CHECK_EQ(has_limit, v->has_limit_out);
        CHECK_EQ(limit, v->limit_out);
        CHECK_EQ(flow.strategy->has_required_receivers(&flow), v->has_required_receivers);
    }
    rsti_flow_control_fini(&flow);
}

/* I2 */
TEST(max_is_changed_by_status_messages_alone)
{
    rsti_flow_control_t flow;
    CHECK_EQ(init(&flow, "", true), 0);
    const rsti_sm_facts_t sm = {.position = INT64_MAX - 5, .window = 10};
    flow.strategy->on_setup_elicited(&flow, &sm, 1);
    flow.strategy->on_setup(&flow, 100, 1);
    flow.strategy->on_error(&flow, 7, 2);
    CHECK_EQ(flow.strategy->on_idle(&flow, 100, INT64_MAX), 100);
    CHECK_EQ(flow.strategy->on_status_message(&flow, &sm, 0, 0), INT64_MAX);
    rsti_flow_control_fini(&flow);
}

/* I1 */
TEST(the_channel_chooses)
{
    rsti_flow_control_t flow;
    /* Unicast ignores fc, even one that groups would refuse. */
    CHECK_EQ(init(&flow, "foo", false), 0);
    CHECK(flow.strategy == &rsti_flow_unicast);
    CHECK_EQ(flow.retransmit_window_multiple, 16);
    CHECK_EQ(init(&flow, NULL, true), 0);
    CHECK(flow.strategy == &rsti_flow_max);
    CHECK_EQ(flow.retransmit_window_multiple, 4);
    CHECK_EQ(init(&flow, "max,rrwm:7", true), 0);
    CHECK_EQ(flow.retransmit_window_multiple, 7);
    CHECK_EQ(init(&flow, "foo", true), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "fc=foo") != NULL);
    CHECK_EQ(init(&flow, "unicast", true), -RST_ECHANNEL);
    CHECK_EQ(init(&flow, "min,t:abc", true), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "fc=min,t:abc: bad option: t:abc") != NULL);
}

/* I1 */
TEST(the_driver_s_defaults_complete_the_channel)
{
    rsti_flow_control_t flow;
    rsti_flow_params_t params = defaults("", true);
    params.default_name = "tagged";
    params.default_multiple = 9;
    params.group_tag = 77;
    params.group_min_size = 3;
    params.receiver_timeout_ns = 42;
    CHECK_EQ(rsti_flow_control_init(&flow, &params), 0);
    CHECK(flow.strategy == &rsti_flow_tagged && flow.has_receivers);
    const rsti_flow_group_t *group = flow.state;
    CHECK_EQ(group->group_tag, 77);
    CHECK_EQ(group->group_min_size, 3);
    CHECK_EQ(group->timeout_ns, 42);
    CHECK_EQ(flow.retransmit_window_multiple, 9);
    rsti_flow_control_fini(&flow);
    params.fc_text = "min,g:/5,rrwm:2,t:1s";
    CHECK_EQ(rsti_flow_control_init(&flow, &params), 0);
    group = flow.state;
    CHECK(flow.strategy == &rsti_flow_min);
    CHECK_EQ(group->group_tag, 77);
    CHECK_EQ(group->group_min_size, 5);
    CHECK_EQ(group->timeout_ns, SECOND);
    CHECK_EQ(flow.retransmit_window_multiple, 2);
    rsti_flow_control_fini(&flow);
    params.fc_text = NULL;
    params.default_name = "nobody";
    CHECK_EQ(rsti_flow_control_init(&flow, &params), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "multicast-flow-control=nobody") != NULL);
    rsti_flow_control_fini(&flow); /* harmless */
    CHECK(rsti_flow_is_known("min", true) && !rsti_flow_is_known("unicast", true));
    CHECK(rsti_flow_is_known("unicast", false) && !rsti_flow_is_known("nobody", false));
}

/* F9 */
TEST(options_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_flow_options); i++) {
        const vector_flow_options_t *v = &vector_flow_options[i];
        rsti_flow_options_t options;
        CHECK_EQ(rsti_flow_options_parse(v->text, &options), v->is_accepted ? 0 : -RST_ECHANNEL);
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

/* F9 */
TEST(bad_options_are_refused)
{
    static const char *const bad[] = {"", "maxx", "ma", "max,", "max,,rrwm:1", "max,t:1s",
        "max,g:/1", "max,rrwm:-1", "max,rrwm:1x", "min,g:/-1", "min,g:5/", "min,rrwm",
        "min,rrwm:99999999999", "min,t:-1s", "min,t:1kk", "min,t:1m", "tagged,g:/", "tagged,g:abc",
        "tagged,g:99999999999999999999", "tagged,g:1/2/3", "tagged,G:1", "MIN", "min t:1s",
        "a-name-that-is-longer-than-any-that-can-be-registered",
        "tagged,g:1111111111111111111111111111111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        rsti_flow_options_t options;
        CHECK_EQ(rsti_flow_options_parse(bad[i], &options), -RST_ECHANNEL);
        char named[128];
        snprintf(named, sizeof named, "fc=%s", bad[i]);
        CHECK(strstr(rst_last_error_text(), named) != NULL);
    }
}

/* ---- min and tagged against a model ---- */

typedef struct model_receiver_t {
    int64_t id, edge, heard_ns;
    bool is_eos;
} model_receiver_t;

typedef struct model_t {
    model_receiver_t list[64];
    int count, min_size;
    int64_t timeout_ns, guard, guard_ns;
    bool has_guard, is_elicited;
} model_t;

static int64_t model_guard(model_t *m, int64_t now_ns)
{
    m->has_guard = m->has_guard && now_ns <= m->guard_ns + m->timeout_ns;
    return m->has_guard ? m->guard : INT64_MAX;
}

static int64_t model_least(model_t *m, int64_t now_ns)
{
    int64_t least = model_guard(m, now_ns);
    for (int i = 0; i < m->count; i++) {
        least = m->list[i].edge < least ? m->list[i].edge : least;
    }
    return least;
}

static int64_t model_on_sm(model_t *m, const rsti_sm_facts_t *sm, bool matches, int64_t limit,
    int64_t now_ns)
{
    const int64_t edge = sm->position + sm->window;
    model_receiver_t *found = NULL;
    for (int i = 0; matches && i < m->count; i++) {
        found = m->list[i].id == sm->receiver_id ? &m->list[i] : found;
    }
    if (found != NULL) {
        *found = (model_receiver_t){sm->receiver_id, edge, now_ns, sm->is_eos};
    }
    const int64_t least = model_least(m, now_ns);
    const bool is_near = m->count == 0 || edge >= least - sm->window;
    if (found == NULL && matches && !sm->is_eos && is_near) {
        /* The guard still counts for this one result. */
        m->list[m->count++] = (model_receiver_t){sm->receiver_id, edge, now_ns, false};
        m->has_guard = false;
    }
    if (m->count < m->min_size) {
        return limit;
    }
    const int64_t joined = found == NULL && matches && is_near && !sm->is_eos ? edge : INT64_MAX;
    const int64_t result = m->count == 0 ? edge : least < joined ? least : joined;
    return result > limit ? result : limit;
}

static int64_t model_on_idle(model_t *m, int64_t limit, int64_t now_ns)
{
    int kept = 0;
    for (int i = 0; i < m->count; i++) {
        if (!m->list[i].is_eos && now_ns <= m->list[i].heard_ns + m->timeout_ns) {
            m->list[kept++] = m->list[i];
        }
    }
    m->count = kept;
    const int64_t least = model_least(m, now_ns);
    return m->count == 0 || m->count < m->min_size ? limit : least;
}

typedef struct walk_t {
    rsti_rng_t rng;
    rsti_flow_control_t flow;
    model_t model;
    bool is_tagged;
    int64_t now_ns, limit, sent;
} walk_t;

static rsti_sm_facts_t random_sm(walk_t *w)
{
    const int64_t lag = (int64_t)rsti_rng_below(&w->rng, 8) * 8192;
    return (rsti_sm_facts_t){
        .position = w->sent > lag ? w->sent - lag : 0,
        .window = 4096 << rsti_rng_below(&w->rng, 4),
        .receiver_id = 1 + (int64_t)rsti_rng_below(&w->rng, 12),
        .is_eos = rsti_rng_below(&w->rng, 16) == 0,
        .has_group_tag = rsti_rng_below(&w->rng, 2) == 0,
        .group_tag = 5 + (int64_t)rsti_rng_below(&w->rng, 2),
    };
}

static void walk_step(walk_t *w)
{
    const rsti_sm_facts_t sm = random_sm(w);
    const bool matches = !w->is_tagged || (sm.has_group_tag && sm.group_tag == 5);
    const rsti_flow_strategy_t *strategy = w->flow.strategy;
    int64_t expected = w->limit;
    w->now_ns += (int64_t)rsti_rng_below(&w->rng, 30) * 1000;
    switch (rsti_rng_below(&w->rng, 8)) {
    case 0:
        strategy->on_setup_elicited(&w->flow, &sm, w->now_ns);
        w->model.is_elicited = w->model.is_elicited || matches;
        break;
    case 1:
        strategy->on_setup(&w->flow, w->limit, w->now_ns);
        if (w->model.is_elicited && w->model.count > 0) {
            w->model.has_guard = true;
            w->model.guard = w->limit;
            w->model.guard_ns = w->now_ns;
        }
        w->model.is_elicited = false;
        break;
    case 2:
        strategy->on_error(&w->flow, sm.receiver_id, w->now_ns);
        for (int i = 0; i < w->model.count; i++) {
            w->model.list[i].is_eos |= w->model.list[i].id == sm.receiver_id;
        }
        break;
    case 3:
    case 4:
        expected = model_on_idle(&w->model, w->limit, w->now_ns);
        w->limit = strategy->on_idle(&w->flow, w->limit, w->now_ns);
        break;
    default:
        expected = model_on_sm(&w->model, &sm, matches, w->limit, w->now_ns);
        w->limit = strategy->on_status_message(&w->flow, &sm, w->limit, w->now_ns);
        break;
    }
    CHECK_EQ(w->limit, expected);
    CHECK_EQ(w->flow.receiver_count, w->model.count);
    CHECK_EQ(strategy->has_required_receivers(&w->flow), w->model.count >= w->model.min_size);
    w->sent = w->limit > w->sent ? w->limit : w->sent;
}

/* I2, I3, I4, I5, I6 */
TEST(min_and_tagged_are_the_model)
{
    for (uint64_t run = 0; run < 400 && check_failures == 0; run++) {
        walk_t w = {.is_tagged = run % 2 == 0, .now_ns = 1};
        rsti_rng_init(&w.rng, check_seed() + run);
        w.model.min_size = (int)rsti_rng_below(&w.rng, 4);
        w.model.timeout_ns = 200 * 1000;
        rsti_flow_params_t params = defaults(NULL, true);
        params.default_name = w.is_tagged ? "tagged" : "min";
        params.group_tag = 5;
        params.group_min_size = w.model.min_size;
        params.receiver_timeout_ns = w.model.timeout_ns;
        CHECK_EQ(rsti_flow_control_init(&w.flow, &params), 0);
        for (int step = 0; step < 400 && check_failures == 0; step++) {
            walk_step(&w);
        }
        rsti_flow_control_fini(&w.flow);
    }
}

static int64_t hear(rsti_flow_control_t *flow, int64_t id, int64_t position, int64_t limit)
{
    const rsti_sm_facts_t sm = {.position = position, .window = 65536, .receiver_id = id};
    return flow->strategy->on_status_message(flow, &sm, limit, 0);
}

/* A receiver beyond the limit is served, and slows no stream (docs/reference/aeron/driver.md 13,
 * mistake 23). */
TEST(full_group_takes_no_member_and_says_so)
{
    rsti_flow_control_t flow;
    CHECK_EQ(init(&flow, "min", true), 0);
    int64_t limit = 0;
    for (int i = 1; i <= RSTI_FLOW_RECEIVERS_MAX; i++) {
        limit = hear(&flow, i, 65536, limit);
        CHECK_EQ(limit, 131072); /* a rush of joiners does not move it */
    }
    CHECK_EQ(flow.receiver_count, RSTI_FLOW_RECEIVERS_MAX);
    CHECK_EQ(flow.refused_count, 0);
    limit = hear(&flow, -1, 32768, limit);
    CHECK_EQ(flow.receiver_count, RSTI_FLOW_RECEIVERS_MAX);
    CHECK_EQ(flow.refused_count, 1);
    CHECK_EQ(flow.strategy->on_idle(&flow, limit, 0), 131072);
    /* One leaves, and there is room again. */
    flow.strategy->on_error(&flow, 17, 0);
    CHECK_EQ(flow.strategy->on_idle(&flow, limit, 0), 131072);
    limit = hear(&flow, -1, 32768, limit);
    CHECK_EQ(flow.receiver_count, RSTI_FLOW_RECEIVERS_MAX);
    CHECK_EQ(flow.strategy->on_idle(&flow, limit, 0), 98304);
    rsti_flow_control_fini(&flow);
}

/* Wire reference 22, 3: kept, because it is how Aeron's behave. */
TEST(an_overtaken_status_message_lowers_the_limit_at_idle)
{
    rsti_flow_control_t flow;
    CHECK_EQ(init(&flow, "min", true), 0);
    int64_t limit = hear(&flow, 1, 65536, 0);
    limit = hear(&flow, 1, 32768, limit);
    CHECK_EQ(limit, 131072);
    CHECK_EQ(flow.strategy->on_idle(&flow, limit, 0), 98304);
    rsti_flow_control_fini(&flow);
}

/* H5 */
TEST(a_resend_is_clamped)
{
    const rsti_flow_control_t unicast = {.retransmit_window_multiple = 16};
    const rsti_flow_control_t group = {.retransmit_window_multiple = 4};
    const rsti_flow_control_t single = {.retransmit_window_multiple = 1};
    const rsti_flow_control_t huge = {.retransmit_window_multiple = INT32_MAX};
    const int32_t term = 16 * 1024 * 1024;
    CHECK_EQ(rsti_retransmit_length(&unicast, term, 0, 1408), 1408);
    CHECK_EQ(rsti_retransmit_length(&unicast, term, 16384, 10000000), 2097152);
    CHECK_EQ(rsti_retransmit_length(&group, term, 16384, 10000000), 524288);
    CHECK_EQ(rsti_retransmit_length(&unicast, term, term - 64, 10000000), 64);
    CHECK_EQ(rsti_retransmit_length(&group, 65536, 0, 65536), 65536);
    CHECK_EQ(rsti_retransmit_length(&single, 65536, 0, 65536), 32768); /* half a short term */
    CHECK_EQ(rsti_retransmit_length(&huge, term, 32, INT32_MAX), term - 32);
}

CHECK_MAIN(RUN(limits_are_the_vectors), RUN(max_is_changed_by_status_messages_alone),
    RUN(the_channel_chooses), RUN(the_driver_s_defaults_complete_the_channel),
    RUN(options_are_the_vectors), RUN(bad_options_are_refused), RUN(min_and_tagged_are_the_model),
    RUN(full_group_takes_no_member_and_says_so),
    RUN(an_overtaken_status_message_lowers_the_limit_at_idle), RUN(a_resend_is_clamped))
