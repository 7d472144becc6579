/* rates.c: publications with a law of rate that changes while they run, in a share of the worlds.
 * The random numbers are its own, so all else stays as it was. */
#include "tests/sim/generator.h"

#include <stdio.h>
#include <string.h>

#define AWAIT_NS (2 * SIM_S)

static bool maybe(double probability)
{
    return sim_chance(RNG_RATES, probability);
}

static int64_t draw(int64_t least, int64_t most)
{
    return sim_between(RNG_RATES, least, most);
}

/* At least a megabyte per second where nothing is reported, so that worlds end in time. */
static void generate_law(char *text, size_t size)
{
    switch (sim_below(RNG_RATES, 6)) {
    case 0:
        snprintf(text, size, "fixed,r:%dm", (int)draw(1, 20));
        break;
    case 1:
        snprintf(text, size, "fixed,p:%d", (int)draw(1000, 20000));
        break;
    case 2:
        snprintf(text, size, "nak,w:%dms,i:%dm%s", (int)draw(1, 60), (int)draw(2, 100),
            maybe(0.5) ? ",t:40/80.5,c:20/60,s:2.5" : "");
        break;
    case 3:
        snprintf(text, size, "aimd,a:%dm,b:%d,i:1m", (int)draw(1, 8), (int)draw(20, 90));
        break;
    case 4:
        snprintf(text, size, "adaptive,d:%dms,i:%dm", (int)draw(1, 20), (int)draw(1, 50));
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

/* All users of a shared publication must give the same law. */
static void generate_stream(int32_t first)
{
    char law[64];
    const bool is_changing = maybe(0.4);
    generate_law(law, sizeof law);
    for (int32_t i = first; i < actors.publisher_count; i++) {
        if (actors.publishers[i].stream_id == actors.publishers[first].stream_id) {
            append(&actors.publishers[i], law);
            actors.publishers[i].rate_changes = is_changing ? 0.02 : 0;
        }
    }
    sim_count(actors.publishers[first].is_ipc ? "stream: law of rate, shared memory"
                                              : "stream: law of rate");
}

static bool is_first_of_stream(int32_t index)
{
    for (int32_t i = 0; i < index; i++) {
        if (actors.publishers[i].stream_id == actors.publishers[index].stream_id) {
            return false;
        }
    }
    return true;
}

void sim_generate_rates(void)
{
    if (!maybe(0.3)) {
        return;
    }
    sim_count("run: laws of rate");
    for (int32_t i = 0; i < actors.publisher_count; i++) {
        /* The channel of a publisher that follows a reader leaves little room. */
        if (is_first_of_stream(i) && maybe(0.7) && actors.publishers[i].follows == NULL) {
            generate_stream(i);
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

/* Texts that a user may write by mistake. */
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
    const char *wrong = wrong_laws[sim_below(RNG_RATES, sizeof wrong_laws / sizeof wrong_laws[0])];
    if (maybe(0.5) && change_rate(self, wrong)) {
        sim_fail("the rate \"%s\" was accepted", wrong);
    }
    generate_law(law, sizeof law);
    if (change_rate(self, maybe(0.2) ? "unlimited" : law)) {
        sim_count("publisher: changed its rate");
    }
}
