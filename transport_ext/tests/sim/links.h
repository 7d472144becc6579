/* links.h: what can happen to a datagram between two hosts. */
#ifndef RSTI_SIM_LINKS_H
#define RSTI_SIM_LINKS_H

#include "tests/sim/network.h"

typedef struct sim_link_t {
    double loss;        /* of every datagram */
    double burst_begin; /* chance that a burst of loss begins; inside, everything is lost */
    double burst_end;
    int32_t period;     /* every n-th datagram is lost; 0: none */
    int32_t gap_stride; /* first transmissions at every second multiple of it in a term are lost */
    double duplicate;
    double reorder; /* held back by up to reorder_ns */
    int64_t reorder_ns;
    double corrupt; /* the header is damaged, so that nobody may accept it */
    double forge; /* a frame that nobody sent comes along */
    int64_t delay_ns;
    int64_t jitter_ns;
    int64_t rate; /* bytes per second; 0: no limit */
    int64_t queue_bytes;
    size_t mtu; /* longer datagrams are dropped; 0: no limit */
    bool is_cut;
    bool is_to_aeron; /* SETUPs lose the flag by which rstream peers know each other */
    bool is_data_only; /* loss of datagrams with data, not of control frames */
    /* as it goes */
    bool is_in_burst;
    int64_t counter;
    int64_t free_ns; /* when the last queued datagram will have left */
} sim_link_t;

void sim_links_init(void);
sim_link_t *sim_link(int32_t from, int32_t to);
/* All faults end; delays stay. */
void sim_links_heal(void);
/* Sends a copy on its way, or not. */
void sim_link_carry(int32_t from_host, int32_t to_host, const struct sockaddr_storage *from,
    const struct sockaddr_storage *to, const uint8_t *data, size_t length);

#endif
