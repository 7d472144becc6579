#include "flow/congestion.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/vectors/flow.h"
#include "tests/vectors/logbuffer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

TEST(the_static_window_is_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_congestion_static); i++) {
        const vector_congestion_static_t *v = &vector_congestion_static[i];
        rsti_congestion_t congestion;
        CHECK_EQ(rsti_congestion_init(&congestion, i % 2 == 0 ? "" : "static", v->configured,
                     v->term_length, v->mtu),
            0);
        CHECK_EQ(congestion.max_window, v->max_window);
        bool force_sm = true;
        CHECK_EQ(congestion.law->on_track_rebuild(&congestion, v->now_ns, 0, 0, 4096, 0, 1024,
                     v->is_loss, &force_sm),
            v->window);
        CHECK_EQ(force_sm, v->force_sm);
    }
}

TEST(receiver_windows_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_windows); i++) {
        const vector_windows_t *v = &vector_windows[i];
        rsti_congestion_t congestion;
        CHECK_EQ(rsti_congestion_init(
                     &congestion, NULL, v->configured, v->term_length, 1408),
            0);
        CHECK_EQ(congestion.window, v->receiver_window);
    }
}

TEST(the_static_law_measures_no_round_trip)
{
    rsti_congestion_t congestion;
    CHECK_EQ(rsti_congestion_init(&congestion, "static", 131072, 65536, 1408), 0);
    CHECK_STR(congestion.law->name, "static");
    CHECK(!congestion.law->should_measure_rtt(&congestion, INT64_MAX));
    congestion.law->on_rtt_sent(&congestion, 5);
    CHECK_EQ(congestion.rtt_ns, 0);
    congestion.law->on_rtt(&congestion, 5, 1000);
    CHECK_EQ(congestion.rtt_ns, 1000);
    CHECK_EQ(congestion.window, 32768);
}

TEST(other_laws_are_refused_by_name)
{
    rsti_congestion_t congestion;
    CHECK_EQ(rsti_congestion_init(&congestion, "cubic", 131072, 65536, 1408), -RST_ENOTSUP);
    CHECK_EQ(rsti_congestion_init(&congestion, "unknown", 131072, 65536, 1408), -RST_ECHANNEL);
    CHECK(strstr(rst_last_error_text(), "cc=unknown") != NULL);
}

CHECK_MAIN(RUN(the_static_window_is_the_vectors), RUN(receiver_windows_are_the_vectors),
    RUN(the_static_law_measures_no_round_trip), RUN(other_laws_are_refused_by_name))
