/* links.h: the faults of a link between two hosts. */
#ifndef RSTI_SIM_LINKS_H
#define RSTI_SIM_LINKS_H

#include "tests/sim/network.h"

typedef struct sim_link_t {
    double loss;        /* of every datagram */
    double burst_begin; /* probability that a burst of loss begins; a burst loses everything */
    double burst_end;
    int32_t period;     /* every n-th datagram is lost; 0: none */
    int32_t gap_stride; /* first transmissions at every second multiple of it in a term are lost */
    double duplicate;
    double reorder; /* held back by up to reorder_ns */
    int64_t reorder_ns;
    double corrupt; /* the header is damaged, so that no receiver may accept it */
    double forge; /* a forged frame is added */
    int64_t delay_ns;
    int64_t jitter_ns;
    int64_t rate; /* bytes per second; 0: no limit */
    int64_t queue_bytes;
    size_t mtu; /* longer datagrams are dropped; 0: no limit */
    bool is_cut;
    bool is_to_aeron; /* SETUPs lose the flag that marks a sender as rstream */
    bool is_data_only; /* only datagrams with data are lost, control frames are not */
    /* state of the run */
    bool is_in_burst;
    int64_t counter;
    int64_t free_ns; /* when the last queued datagram has left */
} sim_link_t;

void sim_links_init(void);
sim_link_t *sim_link(int32_t from, int32_t to);
/* All faults end; delays stay. */
void sim_links_heal(void);
/* Puts a copy in transit, or drops it. */
void sim_link_carry(const sim_passage_t *passage);

#endif
