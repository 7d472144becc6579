#include "flow/congestion.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/vectors/flow.h"
#include "tests/vectors/logbuffer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int init(rsti_congestion_t *congestion, const char *cc, int32_t window, int32_t term_length,
    int32_t mtu)
{
    const rsti_congestion_params_t params = {
        .cc_text = cc,
        .default_text = "static",
        .window = window,
        .term_length = term_length,
        .mtu = mtu,
    };
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

TEST(receiver_windows_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_windows); i++) {
        const vector_windows_t *v = &vector_windows[i];
        rsti_congestion_t congestion;
        CHECK_EQ(init(&congestion, NULL, v->configured, v->term_length, 1408), 0);
        CHECK_EQ(congestion.window, v->receiver_window);
    }
}

TEST(other_laws_are_refused_by_name)
{
    rsti_congestion_t congestion;
    CHECK_EQ(init(&congestion, "unknown", 131072, 65536, 1408), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "cc=unknown") != NULL);
}

CHECK_MAIN(RUN(the_static_window_is_the_vectors), RUN(receiver_windows_are_the_vectors),
    RUN(other_laws_are_refused_by_name))
