/* agents.h: a run with the real agents: media drivers, one for each sender and each consumer, on a
 * wire in memory in virtual time, or on sockets in real time (below). It takes the records of the
 * queue engine (lab.h) and gives the same samples, so one can be checked against the other. It uses
 * the real code for what the queue engine leaves out: terms, datagrams, repair, flow and congestion
 * control, measured round trips.
 *
 *   sender     a network publication, unicast with one image, else multicast. The application
 *              offers messages that fill a datagram. rs-rate, fc and the link are the record's
 *   image      a subscription with rcv-wnd = buffer_bytes and cc = congestion. Unicast senders of
 *              one consumer, whose images are alike, share an endpoint and a stream: only so can a
 *              receiver tell each of them what it drains of all
 *   consumer   takes whole frames, as much as its capacity gives
 *
 * Terms are the smallest power of two of which a half holds the largest buffer, because a receiver
 * drops data that lies half a term beyond the consumed position. A run begins when all images are
 * there. In a step: applications, consumers, then passes of all agents until nothing is left to do
 * (PASSES_MAX at most). The same seed gives the same bytes.
 *
 * Real time: the drivers have UDP on the loopback and the system's clock. The caller's thread
 * carries all of them, so they share its processor. Steps are as long as they take: a late step
 * takes all that was due. Rows stay at their times, and repeat where several were due. The delay is
 * counted, not hidden (gap_most_ns). A group is a sender with a destination for each receiver,
 * since multicast on the loopback needs a route that few machines have. Ports are whichever are
 * free. rtt_ns is added to the round trip of the loopback: each driver holds back what it receives
 * for half of it (fault-delay). link_rate is what the loopback gives. Loss is refused, and bytes
 * lost are not known (NAN).
 *
 * Liars and forgers work on the wire (interference.h). Real sockets have no such place, so there
 * they are refused. Refused are also more hosts than a wire has, and a floor_share that a channel
 * cannot say. history_bytes and nak_delay_ns are the drivers' own. Drivers are told the size of
 * their group (nak-multicast-group-size) and the detection time (fill-detect); receivers learn the
 * target delay from their sender. */
#ifndef RSTI_LAB_AGENTS_H
#define RSTI_LAB_AGENTS_H

#include "lab/capacity.h"
#include "lab/host.h"
#include "lab/interference.h"
#include "lab/samples.h"
#include "logbuffer/appender.h"

/* A sender record at work. */
typedef struct rsti_lab_stream_t {
    const rsti_lab_sender_spec_t *spec;
    rsti_lab_host_t *host;
    rsti_network_publication_t *publication;
    rsti_appender_t appender;
    int32_t term_length;
    int32_t stream_id;
    bool is_fed;       /* a consumer publishes here */
    bool has_ended;
    int64_t offered;   /* position; unsent data lies in the log */
    int64_t supply;    /* position up to which the application has data */
    double supply_rest;
    int32_t control_port; /* real time: of a group */
    int64_t forged_count; /* counted by interference.c when they leave */
} rsti_lab_stream_t;

/* A count over all images that one place had; counts of former images stay included. */
typedef struct rsti_lab_count_t {
    double last, sum;
} rsti_lab_count_t;

/* An image record at work. */
typedef struct rsti_lab_reader_t {
    const rsti_lab_image_spec_t *spec;
    rsti_lab_host_t *host;
    rsti_image_t *image; /* NULL: none, or gone */
    int64_t *position;   /* in shared memory: the reader's own */
    int64_t consumed, given_up;
    double owed; /* bytes: its share of the consumer's capacity, less the bytes taken */
    bool is_gone;
    rsti_lab_count_t reports, silenced;
    int64_t exchanged_reports; /* by interference.c: its lies less the reports dropped for them */
    int64_t unmasked_ns; /* its sender began to ignore it; -1: never */
    int32_t lead; /* the first image of its subscription; mostly itself */
    int32_t port; /* real time: where it receives */
} rsti_lab_reader_t;

/* A consumer record at work. */
typedef struct rsti_lab_agents_consumer_t {
    const rsti_lab_consumer_spec_t *spec;
    rsti_lab_capacity_t capacity;
    double rest; /* bytes it may still take */
    double taken_most; /* integral of the capacity */
    int32_t turn; /* image served last */
} rsti_lab_agents_consumer_t;

typedef struct rsti_lab_agents_t {
    rsti_lab_spec_t spec;
    rsti_lab_samples_t samples;
    rsti_lab_wire_t wire; /* in real time only its clock and its cut-off hosts are used */
    rsti_lab_host_t *hosts; /* of senders, then of consumers */
    rsti_lab_stream_t *streams;
    rsti_lab_reader_t *readers;
    rsti_lab_agents_consumer_t *consumers;
    rsti_lab_interference_t interference;
    int64_t begin_ns; /* of the wire, when all images were there */
    bool is_real;
    int64_t reached_ns; /* fields from here on: real time, since the beginning */
    int64_t step_count;
    int64_t gap_most_ns; /* between two steps */
} rsti_lab_agents_t;

/* dir: an empty directory for the drivers' files, best in shared memory; the caller removes it. 0
 * or a negative code with a text. */
int rsti_lab_agents_init(rsti_lab_agents_t *agents, const double *values, size_t count,
    const char *dir);
/* The same in real time. */
int rsti_lab_agents_init_real(rsti_lab_agents_t *agents, const double *values, size_t count,
    const char *dir);
void rsti_lab_agents_fini(rsti_lab_agents_t *agents);
/* Runs to the end, in virtual time. */
void rsti_lab_agents_run(rsti_lab_agents_t *agents);
/* Runs for about that long, in real time. False: call again at once. True: the run has ended. */
bool rsti_lab_agents_run_real(rsti_lab_agents_t *agents, int64_t most_ns);

/* agents.c: runs what is due between two times (true: the agents still had work at the end), and
 * collects facts for the samples. */
bool rsti_lab_agents_step(rsti_lab_agents_t *agents, int64_t from_ns, int64_t to_ns);
void rsti_lab_agents_gather(rsti_lab_agents_t *agents);
/* real.c: whether the loopback can do what the records say, and free ports. */
int rsti_lab_real_check(const rsti_lab_spec_t *spec);
int rsti_lab_real_find_ports(rsti_lab_agents_t *agents);

/* agents_set_up.c: hosts, lanes and channels; waiting for all images. */
int rsti_lab_agents_set_up(rsti_lab_agents_t *agents, const char *dir);
int32_t rsti_lab_agents_consumer_host(const rsti_lab_agents_t *agents, int32_t image);
/* True: the agents still had work. */
bool rsti_lab_agents_work(rsti_lab_agents_t *agents);
/* agents_consumer.c: what a consumer reads in a step. */
void rsti_lab_agents_take(rsti_lab_agents_t *agents, int32_t number, int64_t from_ns,
    int64_t to_ns);
void rsti_lab_reader_refresh(rsti_lab_reader_t *reader, const rsti_lab_stream_t *stream);

/* Position up to which the sender has sent. */
static inline int64_t rsti_lab_stream_sent(const rsti_lab_stream_t *stream)
{
    return rsti_load_acquire_i64(&stream->publication->position);
}

#endif
