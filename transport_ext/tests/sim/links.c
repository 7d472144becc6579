#include "tests/sim/links.h"

#include "protocol/frame.h"
#include "tests/sim/agenda.h"
#include "tests/sim/wire_invariants.h"
#include "tests/sim/world.h"
#include "util/int_math.h"

#include <stdlib.h>
#include <string.h>

#define NAKS_FORGED 16 /* NAKs are few: so much more often */
#define FORGED_MAX 256

static sim_link_t links[SIM_HOSTS_MAX][SIM_HOSTS_MAX];

void sim_links_init(void)
{
    memset(links, 0, sizeof links);
    for (int from = 0; from < SIM_HOSTS_MAX; from++) {
        for (int to = 0; to < SIM_HOSTS_MAX; to++) {
            links[from][to].delay_ns = from == to ? 2 * SIM_US : 50 * SIM_US;
        }
    }
}

sim_link_t *sim_link(int32_t from, int32_t to)
{
    return &links[from][to];
}

void sim_links_heal(void)
{
    for (int from = 0; from < SIM_HOSTS_MAX; from++) {
        for (int to = 0; to < SIM_HOSTS_MAX; to++) {
            const sim_link_t before = links[from][to];
            links[from][to] = (sim_link_t){.delay_ns = before.delay_ns,
                .jitter_ns = before.jitter_ns,
                .is_to_aeron = before.is_to_aeron};
        }
    }
}

/* ---- loss ---- */

static bool is_in_fixed_gap(const sim_link_t *link, const uint8_t *data, size_t length)
{
    if (link->gap_stride == 0 || !sim_wire_is_first_transmission(data, length)) {
        return false;
    }
    rsti_data_header_t header;
    memcpy(&header, data, sizeof header);
    return header.term_offset / link->gap_stride % 2 == 1;
}

/* Returns NULL when the datagram passes, else the name of the fault. */
static const char *why_lost(sim_link_t *link, const sim_passage_t *passage)
{
    const uint8_t *frame = passage->frame;
    const size_t length = passage->frame_length;
    if (link->is_cut) {
        return "fault: cut";
    }
    if (link->mtu > 0 && passage->length > link->mtu) {
        return "fault: too long for the link";
    }
    if (link->is_data_only && !sim_frame_is_data(frame, length)) {
        return NULL;
    }
    link->counter++;
    if (link->is_in_burst) {
        link->is_in_burst = !sim_chance(RNG_NETWORK, link->burst_end);
        return "fault: burst loss";
    }
    if (sim_chance(RNG_NETWORK, link->burst_begin)) {
        link->is_in_burst = true;
        return "fault: burst loss";
    }
    if (link->period > 0 && link->counter % link->period == 0) {
        return "fault: periodic loss";
    }
    if (is_in_fixed_gap(link, frame, length)) {
        return "fault: fixed gap";
    }
    return sim_chance(RNG_NETWORK, link->loss) ? "fault: random loss" : NULL;
}

/* ---- damage ---- */

/* Damage that the protocol can detect; UDP checksums detect a changed payload. */
static void damage(sim_packet_t *packet)
{
    switch (sim_below(RNG_NETWORK, 5)) {
    case 0:
        packet->data[4] = (uint8_t)(packet->data[4] + 1 + sim_below(RNG_NETWORK, 254));
        break;
    case 1:
        packet->data[7] = 0x7F; /* an unknown type */
        break;
    case 2:
        packet->length = sim_below(RNG_NETWORK, RSTI_FRAME_HEADER_LENGTH + 12);
        break;
    case 3:
        packet->data[3] = 0xFF; /* a negative length */
        break;
    default:
        for (size_t i = 0; i < packet->length; i++) {
            packet->data[i] = (uint8_t)(sim_below(RNG_NETWORK, 255) + 1);
        }
        break;
    }
}

static bool is_nak(const uint8_t *data, size_t length)
{
    rsti_frame_header_t header;
    if (length < RSTI_NAK_LENGTH) {
        return false;
    }
    memcpy(&header, data, sizeof header);
    return header.type == RSTI_FRAME_NAK;
}

/* A frame similar to the last one, of a session that does not exist or at a position that no
 * receiver may accept. */
static sim_packet_t *forged_from(const uint8_t *data, size_t length)
{
    sim_packet_t *packet = sim_packet_make(data, length < FORGED_MAX ? length : FORGED_MAX);
    const bool is_data = sim_frame_is_data(data, length);
    if (packet->length < 20) {
        return packet;
    }
    if (is_data && sim_chance(RNG_NETWORK, 0.5)) {
        rsti_data_header_t header;
        memcpy(&header, packet->data, sizeof header);
        header.frame.frame_length = (int32_t)packet->length;
        if (!sim_wire_beyond_window(&header)) {
            header.session_id ^= 0x5A5A5A5A;
        }
        memcpy(packet->data, &header, sizeof header);
        memset(packet->data + sizeof header, 0xEE, packet->length - sizeof header);
        return packet;
    }
    if (is_nak(data, length) && sim_chance(RNG_NETWORK, 0.5)) {
        rsti_nak_t nak; /* one term too early or too late: outside of the log */
        memcpy(&nak, packet->data, sizeof nak);
        nak.term_id = rsti_wrap_add_i32(nak.term_id, sim_chance(RNG_NETWORK, 0.5) ? 1 : -1);
        memcpy(packet->data, &nak, sizeof nak);
        sim_count("fault: a NAK out of place");
        return packet;
    }
    const size_t session_at = is_data ? 12 : 8; /* data frames: behind the term offset */
    packet->data[session_at] ^= 0x5A;
    packet->data[session_at + 2] ^= 0xA5;
    return packet;
}

/* ---- Aeron peers ---- */

static void hide_rstream(sim_packet_t *packet)
{
    rsti_setup_t setup;
    if (packet->length >= sizeof setup) {
        memcpy(&setup, packet->data, sizeof setup);
        if (setup.frame.type == RSTI_FRAME_SETUP) {
            setup.frame.flags &= (uint8_t)~RSTI_SETUP_FLAG_RSTREAM;
            memcpy(packet->data, &setup, sizeof setup);
        }
    }
}

/* ---- in transit ---- */

static void arrive(void *arg, int64_t is_forged)
{
    sim_packet_t *packet = arg;
    /* A slow link may have delayed it until data may have its position. */
    if (is_forged && sim_frame_is_data(packet->data, packet->length)) {
        rsti_data_header_t header;
        memcpy(&header, packet->data, sizeof header);
        if (sim_wire_is_in_reach(&header)) {
            sim_count("fault: forged, too late");
            free(packet);
            return;
        }
    }
    sim_network_deliver(packet);
}

/* The arrival time; -1: the link's queue is full. */
static int64_t arrival_ns(sim_link_t *link, size_t length, bool is_forged)
{
    int64_t leaves_ns = world.now_ns;
    if (link->rate > 0) {
        const int64_t free_ns = link->free_ns > world.now_ns ? link->free_ns : world.now_ns;
        const int64_t queued = (free_ns - world.now_ns) * link->rate / SIM_S;
        if (queued > link->queue_bytes) {
            return -1;
        }
        link->free_ns = free_ns + (int64_t)length * SIM_S / link->rate;
        leaves_ns = link->free_ns;
    }
    int64_t at_ns = leaves_ns + link->delay_ns;
    if (is_forged) {
        return at_ns; /* if delayed, it might arrive when its position is inside the window */
    }
    if (link->jitter_ns > 0) {
        at_ns += (int64_t)sim_below(RNG_NETWORK, (uint64_t)link->jitter_ns);
    }
    if (sim_chance(RNG_NETWORK, link->reorder)) {
        at_ns += (int64_t)sim_below(RNG_NETWORK, (uint64_t)link->reorder_ns + 1);
        sim_count("fault: reordered");
    }
    return at_ns;
}

static void dispatch(sim_link_t *link, sim_packet_t *packet, bool is_forged)
{
    const int64_t at_ns = arrival_ns(link, packet->length, is_forged);
    if (at_ns < 0) {
        sim_count("fault: link queue full");
        free(packet);
        return;
    }
    sim_agenda_add(at_ns, arrive, packet, is_forged);
}

void sim_link_carry(const sim_passage_t *passage)
{
    sim_link_t *link = &links[passage->from_host][passage->to_host];
    const uint8_t *frame = passage->frame;
    const char *lost = why_lost(link, passage);
    sim_trace_frame(passage->from_host, passage->to_host, frame, passage->frame_length, lost);
    if (lost != NULL) {
        sim_count(lost);
        return;
    }
    const double forge = is_nak(frame, passage->frame_length) ? NAKS_FORGED * link->forge
                                                              : link->forge;
    const int copies = 1 + sim_chance(RNG_NETWORK, link->duplicate)
        + sim_chance(RNG_NETWORK, forge);
    for (int copy = 0; copy < copies; copy++) {
        const bool is_forged = copy > 0
            && sim_chance(RNG_NETWORK, forge / (forge + link->duplicate));
        sim_packet_t *packet = is_forged ? forged_from(frame, passage->frame_length)
                                         : sim_packet_make(passage->data, passage->length);
        if (link->is_to_aeron) {
            hide_rstream(packet);
        }
        sim_packet_address(packet, passage);
        if (copy > 0) {
            sim_count(is_forged ? "fault: forged" : "fault: duplicated");
        } else if (sim_chance(RNG_NETWORK, link->corrupt)
            && passage->length > RSTI_FRAME_HEADER_LENGTH) {
            damage(packet);
            sim_count("fault: damaged");
        }
        dispatch(link, packet, is_forged);
    }
}
