/* agents.c: the loop of a run with real agents, and its facts for the samples. */
#include "lab/agents.h"

#include "flow/rate.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

#include <math.h>

#define ENDLESS (INT64_C(1) << 60)
#define MESSAGE_BYTES_MAX 65536

/* ---- life ---- */

static int check_records(const rsti_lab_spec_t *spec, bool is_real)
{
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_SENDER] && !is_real; i++) {
        if (spec->sender[i].mtu > RSTI_LAB_DATAGRAM_MAX) {
            return RST_SET_ERR(RST_EINVAL,
                "sender %d: mtu %g: a wire in memory takes datagrams of"
                " %d bytes at most; take queues (queues = true in a scenario)",
                i, spec->sender[i].mtu, RSTI_LAB_DATAGRAM_MAX);
        }
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_FORGER]; i++) {
        const int32_t sender = (int32_t)spec->forger[i].sender;
        const int32_t image = (int32_t)spec->forger[i].image;
        if ((int32_t)spec->image[image].sender != sender) {
            return RST_SET_ERR(RST_EINVAL,
                "forger %d: image %d is none of sender %d, so there is"
                " nothing to see of it on the link",
                i, image, sender);
        }
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_SENDER]; i++) {
        bool is_read = false;
        for (int32_t j = 0; j < spec->counts[RSTI_LAB_IMAGE]; j++) {
            is_read = is_read || (int32_t)spec->image[j].sender == i;
        }
        if (!is_read) {
            return RST_SET_ERR(RST_EINVAL, "sender %d has no image: it would never begin", i);
        }
    }
    return 0;
}

static int allocate(rsti_lab_agents_t *agents)
{
    const int32_t *counts = agents->spec.counts;
    const size_t senders = (size_t)counts[RSTI_LAB_SENDER];
    const size_t consumers = (size_t)counts[RSTI_LAB_CONSUMER];
    agents->hosts = rsti_alloc((senders + consumers) * sizeof *agents->hosts);
    agents->streams = rsti_alloc(senders * sizeof *agents->streams);
    agents->consumers = rsti_alloc(consumers * sizeof *agents->consumers);
    agents->readers = rsti_alloc((size_t)counts[RSTI_LAB_IMAGE] * sizeof *agents->readers);
    if (agents->hosts == NULL || agents->streams == NULL || agents->consumers == NULL
        || agents->readers == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "a run of %zu hosts", senders + consumers);
    }
    return 0;
}

static void assign_records(rsti_lab_agents_t *agents)
{
    const rsti_lab_spec_t *spec = &agents->spec;
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_SENDER]; i++) {
        agents->streams[i].spec = &spec->sender[i];
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_IMAGE]; i++) {
        agents->readers[i].spec = &spec->image[i];
        agents->readers[i].unmasked_ns = -1;
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_CONSUMER]; i++) {
        agents->consumers[i].spec = &spec->consumer[i];
        rsti_lab_capacity_init(&agents->consumers[i].capacity, spec, i);
        const int32_t forward_to = (int32_t)spec->consumer[i].forward_to;
        if (forward_to >= 0) {
            agents->streams[forward_to].is_fed = true;
        }
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_SENDER]; i++) {
        rsti_lab_stream_t *stream = &agents->streams[i];
        stream->supply = stream->is_fed || stream->spec->app_rate > 0 ? 0 : ENDLESS;
    }
}

static int init(rsti_lab_agents_t *agents, const double *values, size_t count, const char *dir,
    bool is_real)
{
    *agents = (rsti_lab_agents_t){.is_real = is_real};
    int result = rsti_lab_spec_init(&agents->spec, values, count);
    if (result < 0) {
        return result;
    }
    result = check_records(&agents->spec, is_real);
    if (result == 0 && is_real) {
        result = rsti_lab_real_check(&agents->spec);
    }
    if (result == 0) {
        result = rsti_lab_samples_init(&agents->samples, &agents->spec);
    }
    if (result == 0) {
        result = allocate(agents);
    }
    if (result == 0) {
        assign_records(agents);
        result = rsti_lab_agents_set_up(agents, dir);
    }
    if (result < 0) {
        rsti_lab_agents_fini(agents);
    }
    return result;
}

int rsti_lab_agents_init(rsti_lab_agents_t *agents, const double *values, size_t count,
    const char *dir)
{
    return init(agents, values, count, dir, false);
}

int rsti_lab_agents_init_real(rsti_lab_agents_t *agents, const double *values, size_t count,
    const char *dir)
{
    return init(agents, values, count, dir, true);
}

void rsti_lab_agents_fini(rsti_lab_agents_t *agents)
{
    for (int32_t i = 0; agents->hosts != NULL && i < agents->wire.host_count; i++) {
        rsti_lab_host_close(&agents->hosts[i]);
    }
    rsti_free(agents->hosts);
    rsti_free(agents->streams);
    rsti_free(agents->readers);
    rsti_free(agents->consumers);
    rsti_lab_interference_fini(&agents->interference);
    rsti_lab_wire_fini(&agents->wire);
    rsti_lab_samples_fini(&agents->samples);
    rsti_lab_spec_fini(&agents->spec);
    *agents = (rsti_lab_agents_t){0};
}

/* ---- a step ---- */

static void produce(rsti_lab_stream_t *stream, double step_s, int64_t now_ns)
{
    const rsti_lab_sender_spec_t *spec = stream->spec;
    if (!stream->has_ended && (double)now_ns >= spec->ends_ns) {
        stream->has_ended = true;
        stream->supply = stream->is_fed ? stream->supply : stream->offered;
    }
    if (stream->has_ended || stream->is_fed || !(spec->app_rate > 0)) {
        return;
    }
    const double room = spec->backlog_bytes
        - (double)(stream->supply - rsti_lab_stream_sent(stream));
    stream->supply_rest += spec->app_rate * step_s;
    const int64_t whole = (int64_t)stream->supply_rest;
    stream->supply_rest -= (double)whole;
    stream->supply += rsti_max_i64(0, rsti_min_i64(whole, (int64_t)room));
}

/* Offers messages that fill a datagram, as many as the application has and the window allows. */
static void offer(rsti_lab_stream_t *stream)
{
    static const uint8_t payload[MESSAGE_BYTES_MAX];
    const int32_t frame = (int32_t)stream->spec->mtu & ~(RSTI_FRAME_ALIGNMENT - 1);
    const size_t length = (size_t)frame - sizeof(rsti_data_header_t);
    const rsti_iovec_t part = {payload, length};
    while (stream->offered + frame <= stream->supply) {
        const int64_t end = rsti_append(&stream->appender, &part, 1, length, 0);
        if (end == RST_ADMIN_ACTION) {
            continue;
        }
        if (end < 0) {
            return;
        }
        stream->offered = end;
    }
}

bool rsti_lab_agents_step(rsti_lab_agents_t *agents, int64_t from_ns, int64_t to_ns)
{
    const double step_s = (double)(to_ns - from_ns) / 1e9;
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_CONSUMER]; i++) {
        const int32_t host = agents->spec.counts[RSTI_LAB_SENDER] + i;
        agents->wire.ports[host].is_cut_off = (double)from_ns >= agents->spec.consumer[i].dies_ns;
        rsti_lab_agents_take(agents, i, from_ns, to_ns);
    }
    rsti_lab_interference_step(agents, from_ns);
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_SENDER]; i++) {
        if ((double)from_ns >= agents->streams[i].spec->begins_ns) {
            produce(&agents->streams[i], step_s, from_ns);
            offer(&agents->streams[i]);
        }
    }
    const bool has_work = rsti_lab_agents_work(agents);
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        const int32_t sender = (int32_t)agents->spec.image[i].sender;
        rsti_lab_reader_refresh(&agents->readers[i], &agents->streams[sender]);
    }
    return has_work;
}

/* ---- facts ---- */

static double counted(const rsti_lab_host_t *host, rsti_system_counter_t counter)
{
    return (double)rsti_load_acquire_i64(rsti_counter_address(&host->driver->counters.counters,
        (int32_t)counter));
}

static rsti_lab_sender_facts_t sender_facts(const rsti_lab_agents_t *agents, int32_t number)
{
    const rsti_lab_stream_t *stream = &agents->streams[number];
    const rsti_send_rate_t *rate = &stream->publication->send_rate;
    const bool has_supply = stream->is_fed || stream->spec->app_rate > 0;
    const int64_t sent = rsti_lab_stream_sent(stream);
    rsti_lab_sender_facts_t facts = {
        .limit = rate->is_limited ? rate->rate.bytes_per_s : RSTI_RATE_MAX,
        .sent = (double)sent,
        .resent = counted(stream->host, RSTI_SYSTEM_RETRANSMITTED_BYTES),
        .forged = (double)stream->forged_count,
        .ignored = (double)(rate->truth.ignored_count + rate->stale_count),
        .backlog = has_supply ? (double)(stream->supply - sent) : 0,
        .rtt_ns = (double)rate->rtt_ns,
        .margin = rate->is_limited ? rate->rate.margin : 0,
    };
    if (agents->is_real) {
        facts.control_bytes = (double)stream->host->received_bytes;
    }
    for (int32_t i = 0; !agents->is_real && i < agents->spec.counts[RSTI_LAB_CONSUMER]; i++) {
        facts.control_bytes += (double)rsti_lab_wire_sent(&agents->wire,
            agents->spec.counts[RSTI_LAB_SENDER] + i, number);
    }
    return facts;
}

/* A lower count than before belongs to another image, or to none. */
static void count_on(rsti_lab_count_t *count, double value)
{
    count->sum += value >= count->last ? value - count->last : value;
    count->last = value;
}

static void count_reports(rsti_lab_reader_t *reader)
{
    const rsti_image_fill_t *fill = reader->image != NULL ? &reader->image->fill : NULL;
    count_on(&reader->reports,
        fill == NULL || fill->told_naks == NULL ? 0 : (double)*fill->told_naks);
    count_on(&reader->silenced, fill == NULL ? 0 : (double)fill->suppress.silenced_count);
}

static void look_at_its_name(const rsti_lab_agents_t *agents, rsti_lab_reader_t *reader)
{
    const rsti_lab_stream_t *stream = &agents->streams[(int32_t)reader->spec->sender];
    if (reader->unmasked_ns < 0 && reader->image != NULL
        && rsti_fill_truth_is_liar(&stream->publication->send_rate.truth,
            reader->image->endpoint->receiver_id)) {
        reader->unmasked_ns = agents->wire.now_ns - agents->begin_ns;
    }
}

/* On a host with one image, the host's counters are those of the image. */
static rsti_lab_image_facts_t image_facts(const rsti_lab_agents_t *agents, int32_t number)
{
    const rsti_lab_reader_t *reader = &agents->readers[number];
    const rsti_lab_agents_consumer_t *consumer = &agents
                                                      ->consumers[(int32_t)reader->spec->consumer];
    const int32_t sender = (int32_t)reader->spec->sender;
    const double end_ns = agents->spec.run->duration_ns;
    const rsti_image_fill_t *fill = reader->image != NULL ? &reader->image->fill : NULL;
    const int32_t host = rsti_lab_agents_consumer_host(agents, number);
    return (rsti_lab_image_facts_t){
        .is_gone = reader->image == NULL || agents->wire.ports[host].is_cut_off,
        .survives = consumer->spec->dies_ns >= end_ns && consumer->spec->hangs_ns >= end_ns,
        .queue = fill == NULL ? 0 : (double)(reader->image->received - reader->consumed),
        .buffer_bytes = reader->spec->buffer_bytes,
        .consumed = (double)reader->consumed,
        .capacity = consumer->taken_most,
        .overrun = (double)reader->host->driver->receiver->overrun_bytes,
        .lost = agents->is_real ? (double)NAN
                                : (double)rsti_lab_wire_lost(&agents->wire, sender, host),
        .given_up = (double)reader->given_up,
        .reports = reader->reports.sum + (double)reader->exchanged_reports,
        .silenced = reader->silenced.sum,
        .statuses = counted(reader->host, RSTI_SYSTEM_SM_SENT),
        .naks = counted(reader->host, RSTI_SYSTEM_NAKS_SENT),
        .unmasked_ns = (double)reader->unmasked_ns,
    };
}

void rsti_lab_agents_gather(rsti_lab_agents_t *agents)
{
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_SENDER]; i++) {
        agents->samples.senders[i] = sender_facts(agents, i);
    }
    for (int32_t i = 0; i < agents->spec.counts[RSTI_LAB_IMAGE]; i++) {
        count_reports(&agents->readers[i]);
        look_at_its_name(agents, &agents->readers[i]);
        agents->samples.images[i] = image_facts(agents, i);
    }
}

void rsti_lab_agents_run(rsti_lab_agents_t *agents)
{
    const int64_t step_ns = (int64_t)agents->spec.run->step_ns;
    for (int64_t step = 0; step < agents->samples.step_count; step++) {
        agents->wire.now_ns = agents->begin_ns + step * step_ns;
        (void)rsti_lab_agents_step(agents, step * step_ns, (step + 1) * step_ns);
        if (rsti_lab_samples_is_due(&agents->samples, step)) {
            rsti_lab_agents_gather(agents);
            rsti_lab_samples_add(&agents->samples, step * step_ns);
        }
    }
    rsti_lab_agents_gather(agents);
}
