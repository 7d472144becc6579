/* rates.c: see rates.h. */
#include "driver/conductor/rates.h"

#include "driver/base/proxies.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/publication_lists.h"
#include "driver/conductor/rate_counters.h"
#include "driver/conductor/responses.h"
#include "driver/sender/network_publication.h"
#include "util/error.h"

#include <string.h>

int rsti_rate_of_channel(const rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_rate_choice_t *rate)
{
    const bool is_default = strcmp(channel->rate, RSTI_RATE_DEFAULT) == 0;
    return channel->rate[0] == '\0' || is_default
        ? rsti_rate_choice_default(rate, driver->params.rate, is_default)
        : rsti_rate_choice_parse(rate, channel->rate, channel->uri);
}

int rsti_rate_check_shared(const rst_driver_t *driver, const rsti_publication_t *publication,
    const rsti_channel_t *channel)
{
    rsti_rate_choice_t asked;
    if (channel->rate[0] == '\0') {
        return 0;
    }
    if (rsti_rate_of_channel(driver, channel, &asked) < 0) {
        return -RST_ECHANNEL;
    }
    if (rsti_rate_choice_equals(&publication->rate, &asked)) {
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL,
        "rs-rate=%s differs from that of the existing publication,"
        " which was opened as %s: leave it out to share that one, or change its rate",
        channel->rate, publication->uri);
}

static int parse_text(const rst_driver_t *driver, const rsti_text_t *text, rsti_rate_choice_t *rate)
{
    char copy[RSTI_RATE_TEXT_MAX + 2];
    size_t length = text->length > 0 ? (size_t)text->length : 0;
    /* a text that is too long is refused by the parser */
    length = length < sizeof copy ? length : sizeof copy - 1;
    if (length > 0) {
        memcpy(copy, text->text, length);
    }
    copy[length] = '\0';
    return strcmp(copy, RSTI_RATE_DEFAULT) == 0
        ? rsti_rate_choice_default(rate, driver->params.rate, true)
        : rsti_rate_choice_parse(rate, copy, NULL);
}

/* The sender uses the new rate from its next pass. The command carries the counters, because the
 * sender may still handle an earlier command while the conductor allocates them one after the
 * other. */
static void set_network_rate(rst_driver_t *driver, rsti_network_publication_t *publication,
    const rsti_rate_choice_t *rate, const rsti_command_t *command)
{
    rsti_agent_command_t set = {.object = publication, .rate = *rate};
    if (rate->law != &rsti_rate_unlimited) {
        if (rsti_rate_counters_allocate(driver, &publication->send_rate.made, &publication->base,
                command->client_id)
            < 0) {
            rsti_respond_trail(driver, command->correlation_id);
            return;
        }
        set.rate_counters = publication->send_rate.made.at;
    }
    rsti_tell_sender(driver, RSTI_AGENT_SET_RATE, &set);
    rsti_respond_ok(driver, command->correlation_id);
}

/* The new law starts from its initial state. publication->rate keeps the rate of the opening, and
 * later openings are compared with that. A program that opens the stream as before is therefore
 * accepted, even if another program has changed the rate. */
void rsti_on_set_rate(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_rate_choice_t rate;
    rsti_publication_t *publication = rsti_publication_of_id(driver, command->registration_id);
    if (publication == NULL) {
        rsti_respond_unknown_publication(driver, command);
        return;
    }
    if (parse_text(driver, &command->channel, &rate) < 0) {
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    if (publication->is_network) {
        set_network_rate(driver, (rsti_network_publication_t *)(void *)publication, &rate, command);
        return;
    }
    if (rsti_ipc_publication_set_rate(driver, (rsti_ipc_publication_t *)(void *)publication, &rate,
            command->client_id)
        < 0) {
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    rsti_respond_ok(driver, command->correlation_id);
}
