/* rates.c: publications with a law of rate, and laws that change while they run: in a share of the
 * worlds, with dice of their own, so that all else is as it was. */
#include "tests/sim/rolls.h"

#include <stdio.h>
#include <string.h>

#define AWAIT_NS (2 * SIM_S)

static bool maybe(double probability)
{
    return sim_chance(DICE_RATES, probability);
}

static int64_t roll(int64_t least, int64_t most)
{
    return sim_between(DICE_RATES, least, most);
}

/* No slower than a megabyte per second where nothing is reported: worlds end in time. */
static void roll_law(char *text, size_t size)
{
    switch (sim_below(DICE_RATES, 6)) {
    case 0:
        snprintf(text, size, "fixed,r:%dm", (int)roll(1, 20));
        break;
    case 1:
        snprintf(text, size, "fixed,p:%d", (int)roll(1000, 20000));
        break;
    case 2:
        snprintf(text, size, "nak,w:%dms,i:%dm%s", (int)roll(1, 60), (int)roll(2, 100),
            maybe(0.5) ? ",t:40/80.5,c:20/60,s:2.5" : "");
        break;
    case 3:
        snprintf(text, size, "aimd,a:%dm,b:%d,i:1m", (int)roll(1, 8), (int)roll(20, 90));
        break;
    case 4:
        snprintf(text, size, "adaptive,d:%dms,i:%dm", (int)roll(1, 20), (int)roll(1, 50));
        break;
    default:
        snprintf(text, size, "adaptive");
        break;
    }
}

static void append(sim_publisher_t *publisher, const char *law)
{
    char *channel = publisher->channel;
    const size_t used = strlen(channel);
    snprintf(channel + used, sizeof publisher->channel - used, "%crs-rate=%s",
        strchr(channel, '?') == NULL ? '?' : '|', law);
}

/* Whoever shares a publication has to name the same law. */
static void roll_stream(int32_t first)
{
    char law[64];
    const bool is_changing = maybe(0.4);
    roll_law(law, sizeof law);
    for (int32_t i = first; i < cast.publisher_count; i++) {
        if (cast.publishers[i].stream_id == cast.publishers[first].stream_id) {
            append(&cast.publishers[i], law);
            cast.publishers[i].rate_changes = is_changing ? 0.02 : 0;
        }
    }
    sim_count(cast.publishers[first].is_ipc ? "stream: law of rate, shared memory"
                                            : "stream: law of rate");
}

static bool is_first_of_stream(int32_t index)
{
    for (int32_t i = 0; i < index; i++) {
        if (cast.publishers[i].stream_id == cast.publishers[index].stream_id) {
            return false;
        }
    }
    return true;
}

void sim_roll_rates(void)
{
    if (!maybe(0.3)) {
        return;
    }
    sim_count("run: laws of rate");
    for (int32_t i = 0; i < cast.publisher_count; i++) {
        /* One that follows a reader has but the rest of a channel. */
        if (is_first_of_stream(i) && maybe(0.7) && cast.publishers[i].follows == NULL) {
            roll_stream(i);
        }
    }
}

static bool change_rate(const sim_publisher_t *self, const char *law)
{
    const int64_t id = rst_publication_set_rate(self->publication, law);
    if (id >= 0 && rst_client_await(self->client->client, id, AWAIT_NS) == 1) {
        return true;
    }
    sim_event("a rate is refused: %s", rst_last_error_text());
    if (id >= 0) {
        rst_client_cancel(self->client->client, id);
    }
    return false;
}

/* What a user may write who has not read the page. */
static const char *const wrong_laws[] = {"", "quick", "fixed", "fixed,r:", "fixed,r:0",
    "fixed,r:-1", "fixed,r:10x", "fixed,p:0", "fixed,r:1m,r:2m", "unlimited,r:1m", "adaptive,d:0ms",
    "adaptive,d:10y", "adaptive,w:1ms", "adaptive,r", "adaptive,:1", "adaptive,l:2m,m:1m",
    "nak,t:50/0,c:1/2", "nak,t:50", "nak,t:50/60,c:1", "nak,s:200", "nak,t:1/2/3/4/5/6/7/8/9",
    "aimd,b:101", "aimd,a:1m,,", "aimd,a:99999999999999999999"};

void sim_publisher_change_rate(sim_publisher_t *self)
{
    char law[64];
    if (self->rate_changes <= 0 || !maybe(self->rate_changes)) {
        return;
    }
    const char *wrong = wrong_laws[sim_below(DICE_RATES, sizeof wrong_laws / sizeof wrong_laws[0])];
    if (maybe(0.5) && change_rate(self, wrong)) {
        sim_fail("the rate \"%s\" was accepted", wrong);
    }
    roll_law(law, sizeof law);
    if (change_rate(self, maybe(0.2) ? "unlimited" : law)) {
        sim_count("publisher: changed its rate");
    }
}
