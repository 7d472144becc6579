#include "flow/congestion.h"
#include "flow/sm_due.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/vectors/flow.h"
#include "tests/vectors/logbuffer.h"
#include "util/rng.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static rsti_congestion_params_t params_of(const char *cc, int32_t window, int32_t term_length,
    int32_t mtu)
{
    return (rsti_congestion_params_t){
        .cc_text = cc,
        .default_text = "static",
        .window = window,
        .term_length = term_length,
        .mtu = mtu,
        .cubic_initial_rtt_ns = 100000,
    };
}

static int init(rsti_congestion_t *congestion, const char *cc, int32_t window, int32_t term_length,
    int32_t mtu)
{
    const rsti_congestion_params_t params = params_of(cc, window, term_length, mtu);
    return rsti_congestion_init(congestion, &params);
}

/* I7 */
TEST(the_static_window_is_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_congestion); i++) {
        const vector_congestion_t *v = &vector_congestion[i];
        rsti_congestion_t congestion;
        if (v->cc[0] != '\0') {
            continue;
        }
        CHECK_EQ(init(&congestion, i % 2 == 0 ? "" : "static", v->configured, v->term_length,
                     v->mtu),
            0);
        CHECK_EQ(congestion.max_window, v->max_window);
        const rsti_rebuild_facts_t facts = {
            .now_ns = v->now_ns, .hwm = 4096, .to = 1024, .has_loss = v->is_loss};
        bool force_sm = true;
        CHECK_EQ(congestion.law->on_rebuild(&congestion, &facts, &force_sm), v->window);
        CHECK_EQ(force_sm, v->force_sm);
    }
}

/* I7 */
TEST(receiver_windows_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_windows); i++) {
        const vector_windows_t *v = &vector_windows[i];
        rsti_congestion_t congestion;
        CHECK_EQ(init(&congestion, NULL, v->configured, v->term_length, 1408), 0);
        CHECK_EQ(congestion.window, v->receiver_window);
    }
}

/* The rows of one case, started anew when the name changes; in TCP mode only the times are used. */
static void begin_case(rsti_congestion_t *congestion, const vector_congestion_t *v)
{
    rsti_congestion_params_t params = params_of(v->cc, v->configured, v->term_length, v->mtu);
    params.now_ns = v->created_ns;
    params.cubic_tcp_mode = v->is_tcp_mode;
    CHECK_EQ(rsti_congestion_init(congestion, &params), 0);
    CHECK_EQ(congestion->max_window, v->max_window);
    CHECK_EQ(congestion->window, v->initial_window);
}

static int32_t step(rsti_congestion_t *congestion, const vector_congestion_t *v, bool *force_sm)
{
    const rsti_rebuild_facts_t facts = {.now_ns = v->now_ns, .has_loss = v->is_loss};
    return congestion->law->on_rebuild(congestion, &facts, force_sm);
}

/* I7 */
TEST(cubic_windows_are_the_vectors)
{
    rsti_congestion_t congestion;
    const char *name = "";
    for (size_t i = 0; i < COUNT(vector_congestion); i++) {
        const vector_congestion_t *v = &vector_congestion[i];
        if (strcmp(v->cc, "cubic") != 0 || v->is_tcp_mode) {
            continue;
        }
        if (strcmp(v->name, name) != 0) {
            begin_case(&congestion, v);
            name = v->name;
        }
        bool force_sm = false;
        CHECK_EQ(step(&congestion, v, &force_sm), v->window);
        CHECK_EQ(force_sm, v->force_sm);
        CHECK_EQ(congestion.window, v->window);
    }
}

/* I7, O6: TCP mode at the times of the vector, but within the limit (docs/reference/aeron/wire.md
 * 11.2). */
TEST(tcp_mode_is_clamped)
{
    static const int32_t cwnds[] = {10, 75, 93, 93, 93, 93, 93, 93, 74, 75, 93, 93, 74, 59, 60, 93};
    rsti_congestion_t congestion;
    size_t row = 0;
    for (size_t i = 0; i < COUNT(vector_congestion); i++) {
        const vector_congestion_t *v = &vector_congestion[i];
        if (!v->is_tcp_mode) {
            continue;
        }
        if (row == 0) {
            begin_case(&congestion, v);
        }
        bool force_sm = false;
        CHECK(row < COUNT(cwnds));
        CHECK_EQ(step(&congestion, v, &force_sm), cwnds[row] * v->mtu);
        CHECK(congestion.window <= v->max_window);
        CHECK_EQ(force_sm, v->is_loss);
        row++;
    }
    CHECK_EQ(row, COUNT(cwnds));
}

/* O6 */
TEST(cubic_bounds_hold_everywhere)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int run = 0; run < 300 && check_failures == 0; run++) {
        const int32_t mtu = 64 + 32 * (int32_t)rsti_rng_below(&rng, 2046);
        const int32_t term = 65536 << rsti_rng_below(&rng, 15);
        rsti_congestion_params_t params = params_of("cubic",
            256 + (int32_t)rsti_rng_below(&rng, 1 << 30), term, mtu);
        params.cubic_tcp_mode = run % 2 == 0;
        params.now_ns = (int64_t)rsti_rng_below(&rng, 1000) - 500;
        rsti_congestion_t congestion;
        CHECK_EQ(rsti_congestion_init(&congestion, &params), 0);
        int64_t now_ns = params.now_ns;
        for (int i = 0; i < 200; i++) {
            now_ns += (int64_t)rsti_rng_below(&rng, UINT64_C(1) << rsti_rng_below(&rng, 50));
            const rsti_rebuild_facts_t facts = {
                .now_ns = now_ns,
                .rtt_ns = (int64_t)rsti_rng_below(&rng, 1000000),
                .has_loss = rsti_rng_below(&rng, 4) == 0,
            };
            bool force_sm = false;
            const int32_t window = congestion.law->on_rebuild(&congestion, &facts, &force_sm);
            CHECK(window <= congestion.max_window && window <= term / 2);
            CHECK(window >= (mtu < congestion.max_window ? mtu : congestion.max_window));
            CHECK_EQ(force_sm, facts.has_loss);
        }
    }
}

/* A quarter of a window of one datagram is never exceeded by less than one: it is reported at once.
 */
TEST(a_window_of_one_datagram_is_acknowledged_at_once)
{
    rsti_congestion_t congestion;
    CHECK_EQ(init(&congestion, "cubic", 1500, 65536, 1408), 0);
    CHECK_EQ(congestion.window, 1408);
    bool force_sm = true;
    rsti_rebuild_facts_t facts = {.now_ns = 1};
    CHECK_EQ(congestion.law->on_rebuild(&congestion, &facts, &force_sm), 1408);
    CHECK(!force_sm);
    facts.consumed = 32;
    CHECK_EQ(congestion.law->on_rebuild(&congestion, &facts, &force_sm), 1408);
    CHECK(force_sm);
    /* Less than one datagram: half a small term under large ones. */
    CHECK_EQ(init(&congestion, "cubic", 65536, 65536, 65504), 0);
    CHECK_EQ(congestion.window, 32768);
}

TEST(round_trips_are_asked_for_when_the_law_wants_them)
{
    rsti_congestion_t congestion;
    rsti_congestion_params_t params = params_of("cubic", 131072, 1 << 20, 1408);
    CHECK_EQ(rsti_congestion_init(&congestion, &params), 0);
    CHECK(!congestion.is_measuring);
    CHECK_EQ(congestion.rtt_ns, 100000);
    params.cubic_measure_rtt = true;
    CHECK_EQ(rsti_congestion_init(&congestion, &params), 0);
    CHECK(congestion.is_measuring);
    CHECK_EQ(congestion.rtt_floor_ns, 100000);
    CHECK_EQ(init(&congestion, "auto", 131072, 1 << 20, 1408), 0);
    CHECK(congestion.is_measuring);
    CHECK_EQ(init(&congestion, "static", 131072, 1 << 20, 1408), 0);
    CHECK(!congestion.is_measuring);
}

/* Wire reference 8.2. */
TEST(status_messages_are_due_by_the_rules)
{
    const rsti_sm_due_t rest = {
        .consumed = 65536 + 8192,
        .position = 65536,
        .window = 32768,
        .last_window = 32768,
        .position_bits = 16,
    };
    rsti_sm_due_t due = rest;
    CHECK(!rsti_sm_is_due(&due)); /* a quarter: not yet */
    due.consumed += 32;
    CHECK(rsti_sm_is_due(&due));
    due = rest;
    due.is_ack_due = true;
    CHECK(rsti_sm_is_due(&due));
    due.consumed = due.position;
    CHECK(!rsti_sm_is_due(&due)); /* nothing to acknowledge */
    due = rest;
    due.is_forced = true;
    CHECK(rsti_sm_is_due(&due));
    due = rest;
    due.last_window = 32736;
    CHECK(rsti_sm_is_due(&due));
    due = rest;
    due.position = 65536 - 32; /* the next term */
    due.consumed = 65536;
    CHECK(rsti_sm_is_due(&due));
    due.consumed = 65536 - 32;
    CHECK(!rsti_sm_is_due(&due));
}

/* I7 */
TEST(other_laws_are_refused_by_name)
{
    rsti_congestion_t congestion;
    CHECK_EQ(init(&congestion, "unknown", 131072, 65536, 1408), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "cc=unknown") != NULL);
    CHECK_EQ(init(&congestion, "Static", 131072, 65536, 1408), -RST_ECHANNEL);
    rsti_congestion_params_t params = params_of(NULL, 131072, 65536, 1408);
    params.default_text = "cubic";
    CHECK_EQ(rsti_congestion_init(&congestion, &params), 0);
    CHECK_STR(congestion.law->name, "cubic");
    params.default_text = "nothing";
    CHECK_EQ(rsti_congestion_init(&congestion, &params), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "congestion-control=nothing") != NULL);
    CHECK(rsti_congestion_is_known("auto") && !rsti_congestion_is_known("nothing"));
}

CHECK_MAIN(RUN(the_static_window_is_the_vectors), RUN(receiver_windows_are_the_vectors),
    RUN(cubic_windows_are_the_vectors), RUN(tcp_mode_is_clamped), RUN(cubic_bounds_hold_everywhere),
    RUN(a_window_of_one_datagram_is_acknowledged_at_once),
    RUN(round_trips_are_asked_for_when_the_law_wants_them),
    RUN(status_messages_are_due_by_the_rules), RUN(other_laws_are_refused_by_name))
