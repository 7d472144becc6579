/* conductor_rates.c: which law of rate a publication gets, and the command that changes it. */
#include "driver/internal.h"

#include "util/error.h"

int rsti_rate_of_channel(const rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_rate_choice_t *rate)
{
    return channel->rate[0] != '\0'
        ? rsti_rate_choice_parse(rate, channel->rate, channel->uri)
        : rsti_rate_choice_parse(rate, driver->params.rate, NULL);
}

int rsti_rate_check_shared(const rsti_publication_t *publication, const rsti_channel_t *channel)
{
    rsti_rate_choice_t asked;
    if (channel->rate[0] == '\0') {
        return 0;
    }
    if (rsti_rate_choice_parse(&asked, channel->rate, channel->uri) < 0) {
        return -RST_ECHANNEL;
    }
    if (rsti_rate_choice_equals(&publication->rate, &asked)) {
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL, "rs-rate=%s differs from that of the existing publication,"
        " which was opened as %s: leave it out to share that one, or change its rate",
        channel->rate, publication->uri);
}
