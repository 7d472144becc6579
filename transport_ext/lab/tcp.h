/* tcp.h: TCP as far as its rate depends on the path: an acknowledgement for each packet, selective
 * repair (each sending has its own number, as in QUIC), a probe of the tail and a time-out. Every
 * packet carries new or repeated data; which of both makes no difference to the path.
 *
 *   cubic  RFC 9438 with slow start and the delay rule of HyStart (RFC 9406), not paced
 *   bbr    a model of BBR version 3: start-up, drain, and then down, cruise, refill, up, with a
 *          bound from loss above 2 %, and a round trip probed every 5 s */
#ifndef RSTI_LAB_TCP_H
#define RSTI_LAB_TCP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_lab_sending_t {
    int64_t sent_ns;
    int64_t delivered; /* packets delivered when it was sent */
    int64_t delivered_ns;
    int32_t under_way; /* packets, with it */
    bool is_done; /* acknowledged or given up */
} rsti_lab_sending_t;

typedef struct rsti_lab_cubic_t {
    double slow_start_to; /* packets */
    double before;        /* window before the last cut */
    double origin, k_s, reno;
    int64_t epoch_ns; /* 0: none */
    double round_least_s, last_round_s; /* HyStart */
    int32_t round_samples;
} rsti_lab_cubic_t;

typedef enum rsti_lab_bbr_phase_t {
    RSTI_LAB_BBR_STARTUP,
    RSTI_LAB_BBR_DRAIN,
    RSTI_LAB_BBR_DOWN,
    RSTI_LAB_BBR_CRUISE,
    RSTI_LAB_BBR_REFILL,
    RSTI_LAB_BBR_UP,
    RSTI_LAB_BBR_PROBE_RTT,
} rsti_lab_bbr_phase_t;

typedef struct rsti_lab_bbr_t {
    rsti_lab_bbr_phase_t phase;
    double bandwidth, before; /* packets per second: greatest of this cycle and of the last */
    double full, low_rate, newest_rate; /* full: in start-up */
    double high, low; /* bounds in packets; infinite: none */
    double least_s;
    int64_t least_ns, phase_ns, cruise_ns, probe_ns, newest;
    int32_t full_rounds, phase_rounds;
    int64_t round_delivered, round_lost;
    double up_step;
} rsti_lab_bbr_t;

typedef struct rsti_lab_tcp_t {
    rsti_lab_sending_t *sendings; /* ring */
    int64_t mask;
    int64_t next, first; /* numbers: to be sent; not done yet */
    int64_t given_up; /* data to be sent again, packets */
    int64_t fresh; /* data sent for the first time, packets */
    int64_t under_way, delivered, delivered_ns;
    double window; /* packets */
    double pace; /* packets per second; 0: none */
    double smoothed_s, least_s;
    int64_t newest_sent_ns; /* of the packets acknowledged */
    int64_t progress_ns; /* last acknowledgement, or sending after none was under way */
    int64_t recovery_to; /* a loss of a packet from here on is a new one */
    int64_t round_to; /* the round ends when this one is acknowledged */
    int64_t paced_ns; /* next paced sending */
    int32_t probes;
    bool is_bbr;
    bool is_held; /* the window held the sender in this round */
    union {
        rsti_lab_cubic_t cubic;
        rsti_lab_bbr_t bbr;
    } law;
} rsti_lab_tcp_t;

/* What one acknowledgement said. */
typedef struct rsti_lab_acked_t {
    int64_t now_ns;
    double rtt_s;
    double rate; /* packets per second delivered since it was sent; 0: unknown */
    int64_t lost; /* found by it */
    int32_t under_way; /* when it was sent */
    bool is_new_loss; /* not one of a recovery that goes on */
    bool is_round; /* a round ends */
} rsti_lab_acked_t;

void rsti_lab_cubic_init(rsti_lab_tcp_t *tcp);
void rsti_lab_cubic_on_ack(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked);
void rsti_lab_cubic_on_timeout(rsti_lab_tcp_t *tcp);
void rsti_lab_bbr_init(rsti_lab_tcp_t *tcp);
void rsti_lab_bbr_on_ack(rsti_lab_tcp_t *tcp, const rsti_lab_acked_t *acked);
void rsti_lab_bbr_on_timeout(rsti_lab_tcp_t *tcp);

#endif
