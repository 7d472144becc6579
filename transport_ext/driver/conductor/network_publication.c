/* network_publication.c: see network_publication.h. */
#include "driver/conductor/network_publication.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/base/subscribers.h"
#include "driver/conductor/channels.h"
#include "driver/conductor/publication.h"
#include "driver/conductor/rate_counters.h"
#include "driver/conductor/subscriber_news.h"
#include "driver/sender/send_rate.h"
#include "util/alloc.h"
#include "util/error.h"

static int allocate_counters(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t client_id)
{
    rsti_publication_t *base = &publication->base;
    const struct {
        int32_t type_id;
        const char *name;
        int32_t *id;
        int64_t **address;
        bool is_position;
    } wanted[] = {
        {RSTI_COUNTER_SENDER_POSITION, "snd-pos", &publication->snd_pos_id, &publication->snd_pos,
            true},
        {RSTI_COUNTER_SENDER_LIMIT, "snd-lmt", &publication->snd_lmt_id, &publication->snd_lmt,
            true},
        {RSTI_COUNTER_SENDER_BPE, "snd-bpe", &publication->snd_bpe_id, &publication->snd_bpe,
            false},
        {RSTI_COUNTER_SENDER_NAKS_RECEIVED, "snd-naks-received", &publication->snd_naks_id,
            &publication->snd_naks, false},
        {RSTI_COUNTER_SENDER_CONSUMED, "snd-consumed", &publication->snd_consumed_id,
            &publication->snd_consumed, true},
    };
    const int64_t start = rsti_publication_start_position(base);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        rsti_stream_counter_t counter = rsti_publication_counter(base, client_id, wanted[i].type_id,
            wanted[i].name);
        counter.value = wanted[i].is_position ? start : 0;
        *wanted[i].id = rsti_stream_counter_allocate(driver, &counter, wanted[i].address);
        if (*wanted[i].id < 0) {
            return -rst_last_error_code();
        }
    }
    return 0;
}

/* The counter is allocated before the other counters of the publication
 * (docs/reference/aeron/memory.md 18). */
static int init_flow(rst_driver_t *driver, rsti_network_publication_t *publication,
    const rsti_publication_facts_t *facts)
{
    const rst_driver_params_t *params = &driver->params;
    const bool is_group = publication->is_group;
    const rsti_flow_params_t flow = {
        .fc_text = facts->channel->fc,
        .is_group = is_group,
        .default_name = is_group ? params->multicast_fc : params->unicast_fc,
        .default_multiple = (int32_t)(is_group ? params->multicast_rrwm : params->unicast_rrwm),
        .group_tag = params->fc_group_tag,
        .group_min_size = (int32_t)params->fc_group_min_size,
        .receiver_timeout_ns = params->fc_receiver_timeout_ns,
        .channel = facts->channel->uri,
        .stream_id = facts->stream_id,
        .session_id = facts->session_id,
    };
    publication->fc_receivers_id = RSTI_NULL_COUNTER;
    publication->receiver_capacity = is_group ? RSTI_GROUP_RECEIVERS_MAX : RSTI_RECEIVERS_MAX;
    publication->receivers = rsti_alloc((size_t)publication->receiver_capacity
        * sizeof *publication->receivers);
    if (publication->receivers == NULL || rsti_flow_control_init(&publication->flow, &flow) < 0) {
        return -rst_last_error_code();
    }
    if (!publication->flow.has_receivers) {
        return 0;
    }
    const rsti_stream_counter_t counter = {
        .type_id = RSTI_COUNTER_FC_RECEIVERS,
        .name = "fc-receivers",
        .registration_id = facts->registration_id,
        .client_id = -1,
        .session_id = facts->session_id,
        .stream_id = facts->stream_id,
        .uri = facts->channel->uri,
    };
    publication->fc_receivers_id = rsti_stream_counter_allocate(driver, &counter,
        &publication->fc_receivers);
    return publication->fc_receivers_id < 0 ? -rst_last_error_code() : 0;
}

static void fini_flow(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    rsti_counter_release(driver, &publication->fc_receivers_id);
    rsti_flow_control_fini(&publication->flow);
    rsti_free(publication->receivers);
}

static int init_retransmit(rst_driver_t *driver, rsti_network_publication_t *publication,
    const rsti_channel_t *channel)
{
    const rst_driver_params_t *params = &driver->params;
    const int64_t max_resend = channel->max_resend == RSTI_CHANNEL_UNSET ? params->max_resend
                                                                         : channel->max_resend;
    return rsti_retransmit_init(&publication->retransmit, publication->is_group,
        publication->is_group ? (int32_t)max_resend : 1, params->retransmit_delay_ns,
        params->retransmit_linger_ns);
}

static int allocate_path_counters(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t client_id)
{
    static const struct {
        int32_t type_id;
        const char *name;
    } wanted[RSTI_PATH_TOLD_COUNT] = {
        [RSTI_PATH_TOLD_BANDWIDTH] = {RSTI_COUNTER_PATH_BANDWIDTH, "rs-path-bandwidth"},
        [RSTI_PATH_TOLD_RTT] = {RSTI_COUNTER_PATH_RTT, "rs-path-rtt"},
        [RSTI_PATH_TOLD_LOSS] = {RSTI_COUNTER_PATH_LOSS, "rs-path-loss"},
        [RSTI_PATH_TOLD_UNDER_WAY] = {RSTI_COUNTER_PATH_UNDER_WAY, "rs-path-under-way"},
    };
    rsti_send_path_t *send_path = &publication->send_path;
    for (int32_t i = 0; i < RSTI_PATH_TOLD_COUNT; i++) {
        const rsti_stream_counter_t counter = rsti_publication_counter(&publication->base,
            client_id, wanted[i].type_id, wanted[i].name);
        send_path->told_ids[i] = rsti_stream_counter_allocate(driver, &counter,
            &send_path->told[i]);
        if (send_path->told_ids[i] < 0) {
            return -rst_last_error_code();
        }
    }
    return 0;
}

/* By the driver's option, where the channel leaves that open. */
static bool follows_by_default(const rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_send_endpoint_t *endpoint)
{
    return driver->params.follow_path != 0 && channel->name[0] != '\0' && channel->cc[0] == '\0'
        && !endpoint->is_group && channel->control_mode != RSTI_CONTROL_RESPONSE;
}

bool rsti_network_publication_wants_path(const rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_send_endpoint_t *endpoint)
{
    return rsti_channel_follows_path(channel) || follows_by_default(driver, channel, endpoint);
}

static int init_path(rst_driver_t *driver, rsti_network_publication_t *publication,
    const rsti_publication_facts_t *facts, const rsti_send_endpoint_t *endpoint)
{
    if (!rsti_network_publication_wants_path(driver, facts->channel, endpoint)) {
        return 0;
    }
    /* Nobody has asked for it. */
    publication->send_path.is_silence_told = !rsti_channel_follows_path(facts->channel);
    if (publication->is_group) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter cc=path: only a publication with one destination can follow the path"
            " so far, and \"%s\" has a group of them",
            facts->channel->uri);
    }
    if (allocate_path_counters(driver, publication, facts->client_id) < 0) {
        return -rst_last_error_code();
    }
    return rsti_send_path_init(&publication->send_path, publication->position, facts->options->mtu,
        driver->conductor->now_ns);
}

static int init_rate(rst_driver_t *driver, rsti_network_publication_t *publication,
    const rsti_publication_facts_t *facts)
{
    if (facts->rate->law == &rsti_rate_unlimited) {
        return 0;
    }
    if (rsti_rate_counters_allocate(driver, &publication->send_rate.made, &publication->base,
            facts->client_id)
        < 0) {
        return -rst_last_error_code();
    }
    rsti_send_rate_set(&publication->send_rate, facts->rate, &publication->send_rate.made.at,
        driver->conductor->now_ns);
    return 0;
}

int rsti_network_publication_create(rst_driver_t *driver, rsti_network_publication_t **publication,
    const rsti_publication_facts_t *facts, rsti_send_endpoint_t *endpoint)
{
    rsti_network_publication_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->is_group = endpoint->is_group;
    if (init_flow(driver, made, facts) < 0
        || rsti_publication_init(driver, &made->base, facts) < 0) {
        fini_flow(driver, made);
        rsti_free(made);
        return -rst_last_error_code();
    }
    made->endpoint = endpoint;
    made->answered_image_id = -1;
    made->snd_pos_id = RSTI_NULL_COUNTER;
    made->snd_lmt_id = RSTI_NULL_COUNTER;
    made->snd_bpe_id = RSTI_NULL_COUNTER;
    made->snd_naks_id = RSTI_NULL_COUNTER;
    made->snd_consumed_id = RSTI_NULL_COUNTER;
    for (int32_t i = 0; i < RSTI_PATH_TOLD_COUNT; i++) {
        made->send_path.told_ids[i] = RSTI_NULL_COUNTER;
    }
    made->end_position = INT64_MAX;
    made->position = rsti_publication_start_position(&made->base);
    made->limit = made->position;
    rsti_bucket_init(&made->resend_bytes, driver->conductor->now_ns);
    rsti_bucket_set(&made->resend_bytes, RSTI_RESEND_BYTES_PER_S, facts->options->term_length, 0);
    made->tail_error_due_ns = driver->conductor->now_ns;
    rsti_pacer_init(&made->pacer);
    rsti_send_rate_init(&made->send_rate, facts->options->mtu, driver->params.fill_detect_ns);
    made->send_rate.is_group = made->is_group;
    rsti_rate_counters_init(&made->send_rate.made);
    rsti_noop_init(&made->noop, driver->params.noop_interval_ns);
    made->limit_wake_position = INT64_MAX;
    made->spy_position = made->position;
    rsti_store_release_i64(&made->base.file.log.metadata->ext.conductor_position, INT64_MAX);
    made->last_setup_ns = INT64_MIN / 2;
    made->last_send_ns = driver->conductor->now_ns;
    made->last_data_ns = made->last_send_ns;
    if (allocate_counters(driver, made, facts->client_id) < 0
        || init_retransmit(driver, made, facts->channel) < 0 || init_rate(driver, made, facts) < 0
        || init_path(driver, made, facts, endpoint) < 0) {
        rsti_network_publication_destroy(driver, made);
        return -rst_last_error_code();
    }
    endpoint->ref_count++;
    *publication = made;
    return 0;
}

void rsti_network_publication_destroy(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    rsti_publication_fini(driver, &publication->base);
    rsti_counter_release(driver, &publication->snd_pos_id);
    rsti_counter_release(driver, &publication->snd_lmt_id);
    rsti_counter_release(driver, &publication->snd_bpe_id);
    rsti_counter_release(driver, &publication->snd_naks_id);
    rsti_counter_release(driver, &publication->snd_consumed_id);
    rsti_rate_counters_release(driver, &publication->send_rate.made);
    for (int32_t i = 0; i < RSTI_PATH_TOLD_COUNT; i++) {
        rsti_counter_release(driver, &publication->send_path.told_ids[i]);
    }
    fini_flow(driver, publication);
    rsti_retransmit_fini(&publication->retransmit);
    rsti_send_path_fini(&publication->send_path);
    rsti_free(publication);
}

/* False when the term of the limit is the third or a later one after the term of the last cleaned
 * byte. The third one uses the memory of that term, which may be zero only in part. */
static bool is_clean_enough(const rsti_publication_t *base, int64_t limit)
{
    const int32_t bits = base->file.log.position_bits;
    const int64_t distance = (limit >> bits) - (base->clean_position >> bits);
    return distance < 2
        || (distance == 2
            && rsti_position_offset(base->clean_position, base->options.term_length) != 0);
}

static bool spies_range(const rsti_network_publication_t *publication, int64_t *least,
    int64_t *highest)
{
    const rsti_publication_t *base = &publication->base;
    return rsti_subscribers_range(&base->subscribers, base->clean_position,
        base->options.term_length, least, highest);
}

/* The sender reads this position, because the list of spies belongs to the conductor. Another
 * process writes the position of a spy. The sender scans from there, so it is aligned to a frame
 * here. */
static void tell_spy_position(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t highest)
{
    const int64_t producer = rsti_log_producer_position(&publication->base.file.log);
    const int64_t position = rsti_min_i64(highest, producer) & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1);
    if (position > rsti_load_relaxed_i64(&publication->spy_position)) {
        rsti_store_release_i64(&publication->spy_position, position);
        rsti_driver_wake_agent(driver, RSTI_AGENT_SENDER);
    }
}

static void tell_wake_positions(rsti_network_publication_t *publication, int64_t sender_position,
    int64_t spy_position)
{
    if (rsti_load_relaxed_i64(&publication->limit_wake_position) != sender_position) {
        rsti_store_release_i64(&publication->limit_wake_position, sender_position);
    }
    int64_t *word = &publication->base.file.log.metadata->ext.conductor_position;
    if (rsti_load_relaxed_i64(word) != spy_position) {
        rsti_store_release_i64(word, spy_position);
    }
}

static void update_limit(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t snd_pos)
{
    rsti_publication_t *base = &publication->base;
    const int64_t window = rsti_send_path_ahead(&publication->send_path, snd_pos,
        rsti_send_rate_ahead(&publication->send_rate, base->options.publication_window));
    const int64_t limit = base->limit;
    int64_t consumed = snd_pos, least = snd_pos, highest = snd_pos;
    int64_t wake_position = INT64_MAX;
    const bool has_spies = spies_range(publication, &least, &highest);
    if (has_spies) {
        rsti_subscribers_tell_refused(driver, &base->subscribers);
        consumed = rsti_min_i64(consumed, least);
        if (base->is_ssc) {
            tell_spy_position(driver, publication, highest);
        }
    }
    if (rsti_load_acquire_i32(&publication->has_receivers) || (has_spies && base->is_ssc)) {
        const int64_t proposed = rsti_publication_near_producer(base, consumed + window);
        if (proposed > limit) {
            rsti_publication_clean_up_to(base, consumed - base->options.term_length);
            if (is_clean_enough(base, proposed)) {
                (void)rsti_publication_raise_limit(driver, base, proposed);
            }
        } else if (window < base->options.publication_window && limit - proposed > window / 2) {
            /* The rate has fallen. Up to the old limit messages would only wait in the log. */
            rsti_publication_lower_limit(driver, base, proposed);
        }
        const int64_t ahead = base->is_limit_short ? RSTI_LIMIT_AHEAD : window;
        wake_position = base->limit - ahead + ahead / 8;
    } else {
        /* Read again: the sender may have sent more before its last receiver left. The publisher
         * takes the limit for the position at which the next reader begins. */
        const int64_t end = rsti_load_acquire_i64(&publication->position);
        if (limit > end) {
            rsti_publication_clean_up_to(base, consumed - base->options.term_length);
            rsti_publication_lower_limit(driver, base, end);
        }
    }
    tell_wake_positions(publication, wake_position, has_spies ? wake_position : INT64_MAX);
}

/* Whether the receiver was given up by a NOOP and may still answer again: no longer than the
 * publication would linger. */
static bool may_come_back(const rsti_network_publication_t *publication, int64_t now_ns)
{
    const rsti_publication_t *base = &publication->base;
    return rsti_load_acquire_i32(&publication->is_given_up)
        && now_ns <= base->life_changed_ns + base->options.linger_ns;
}

/* Draining ends when all spies have read everything, and everything is sent or there is no
 * receiver. */
static void update_draining(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t snd_pos, int64_t now_ns)
{
    rsti_publication_t *base = &publication->base;
    int64_t least, highest;
    const bool has_spies = spies_range(publication, &least, &highest);
    if (has_spies && base->is_ssc) {
        tell_spy_position(driver, publication, highest);
    }
    if (has_spies && least < base->end_position) {
        tell_wake_positions(publication, INT64_MAX, base->end_position);
    } else if (snd_pos >= base->end_position
        || (!may_come_back(publication, now_ns)
            && !rsti_load_acquire_i32(&publication->has_receivers))) {
        tell_wake_positions(publication, INT64_MAX, INT64_MAX);
        rsti_publication_set_life(base, RSTI_LIFE_LINGER, now_ns);
        (void)rsti_subscribers_tell_ours_unavailable(driver, &base->subscribers,
            base->registration_id);
    }
}

void rsti_network_publication_abort(rst_driver_t *driver, rsti_network_publication_t *publication,
    const char *why)
{
    const int64_t snd_pos = rsti_load_acquire_i64(&publication->position);
    rsti_publication_abort(driver, &publication->base, snd_pos, why);
    rsti_store_release_i32(&publication->is_revoked_shared, 1);
    rsti_store_release_i64(&publication->end_position, snd_pos);
    rsti_driver_wake_agent(driver, RSTI_AGENT_SENDER);
}

void rsti_network_publication_update(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns)
{
    rsti_publication_t *base = &publication->base;
    const int64_t snd_pos = rsti_load_acquire_i64(&publication->position);
    if (base->life <= RSTI_LIFE_DRAINING && rsti_load_acquire_i32(&publication->is_corrupt)) {
        rsti_network_publication_abort(driver, publication,
            "the log holds an impossible frame there");
        return;
    }
    if (base->life == RSTI_LIFE_ACTIVE) {
        const int64_t position = rsti_log_producer_position(&base->file.log);
        if (position != rsti_load_relaxed_i64(base->pub_pos)) {
            rsti_store_release_i64(base->pub_pos, position);
        }
        update_limit(driver, publication, snd_pos);
    } else if (base->life == RSTI_LIFE_DRAINING) {
        update_draining(driver, publication, snd_pos, now_ns);
    }
}

void rsti_network_publication_on_spies_changed(rst_driver_t *driver,
    rsti_network_publication_t *publication)
{
    const int32_t has_spies = rsti_subscribers_are_working(&publication->base.subscribers);
    if (rsti_load_relaxed_i32(&publication->has_spies) != has_spies) {
        rsti_store_release_i32(&publication->has_spies, has_spies);
        rsti_driver_wake_agent(driver, RSTI_AGENT_SENDER);
    }
}

/* The time at which the spies of Aeron clients are told, too. */
static int64_t told_ns(const rst_driver_t *driver, const rsti_publication_t *base)
{
    return base->life_changed_ns + RSTI_DRAIN_SM_TIMEOUTS * driver->params.sm_timeout_ns;
}

int64_t rsti_network_publication_life_due_ns(const rst_driver_t *driver,
    const rsti_network_publication_t *publication)
{
    const rsti_publication_t *base = &publication->base;
    if (base->life == RSTI_LIFE_DRAINING && rsti_load_acquire_i32(&publication->is_given_up)) {
        return base->life_changed_ns + base->options.linger_ns + 1;
    }
    if (base->life != RSTI_LIFE_LINGER || base->ref_count > 0) {
        return RSTI_NO_DEADLINE;
    }
    return rsti_subscribers_know_unavailable(&base->subscribers)
        ? base->life_changed_ns + base->options.linger_ns + 1
        : told_ns(driver, base);
}

/* A unicast channel has one receiver. When it is there no more, or never was, nobody asks for
 * anything again. One that was given up may still ask for what got lost, unless draining has waited
 * for it already. */
static bool has_nobody(const rsti_network_publication_t *publication, int64_t now_ns)
{
    const rsti_publication_t *base = &publication->base;
    const bool is_all_sent = rsti_load_acquire_i64(&publication->position) >= base->end_position;
    return rsti_load_acquire_i32(&publication->has_unicast_eos)
        || (!publication->is_group && !base->is_revoked && base->subscribers.count == 0
            && !(is_all_sent && may_come_back(publication, now_ns))
            && !rsti_load_acquire_i32(&publication->has_receivers));
}

bool rsti_network_publication_on_life(rst_driver_t *driver, rsti_network_publication_t *publication,
    int64_t now_ns)
{
    rsti_publication_t *base = &publication->base;
    if (base->life == RSTI_LIFE_LINGER && now_ns >= told_ns(driver, base)) {
        rsti_subscribers_tell_unavailable(driver, &base->subscribers, base->registration_id);
    }
    if (base->life == RSTI_LIFE_LINGER && base->ref_count == 0
        && rsti_subscribers_know_unavailable(&base->subscribers)
        && (now_ns > base->life_changed_ns + base->options.linger_ns
            || has_nobody(publication, now_ns))) {
        const rsti_agent_command_t remove = {
            .endpoint = publication->endpoint,
            .object = publication,
        };
        rsti_publication_set_life(base, RSTI_LIFE_DONE, now_ns);
        rsti_store_release_i32(&base->file.log.metadata->is_connected, 0);
        rsti_tell_sender(driver, RSTI_AGENT_REMOVE_PUBLICATION, &remove);
    }
    return base->life == RSTI_LIFE_DONE && rsti_load_acquire_i32(&publication->is_released);
}
