/* path.h: how much a sender may have on a path, and how fast: a short sawtooth that empties the
 * queue of the bottleneck. If the queue will not empty, somebody else holds it: then it behaves
 * like cubic, and tests now and then whether it is alone again.
 *
 * With W the window, least the least round trip of the last 10 to 20 s, q the least queueing delay
 * in a round, r = W / (least + q), b the greatest bandwidth of ten rounds, and age the time since
 * the newest item, at any time
 *
 *     under way <= W + a x min(age, period)   and at least one datagram
 *                                             a    = min(r, b), in START r
 *     sent in t <= pace x t + run             pace = 1.05 W / min(least + q, newest round trip),
 *                                                    at most max(1.05 r, 1.25 b);
 *                                                    in START 1.3 W / least
 *                                             run  = pace x 0.25 ms or W / 8, but at least two
 *                                                    datagrams (one, if two take longer than 1 ms)
 *                                                    and at most 64 KiB
 *
 * What arrived since the newest item is unknown, and counts as a x age: without that a short path
 * stands still between two items, and with a fixed allowance of half a period the law had 0.35 of a
 * link beside one cubic instead of 0.42. An unknown b bounds nothing.
 *
 * b bounds both because a queue can go at once: 300 kB at 5 Gbit/s while a host stands still for
 * 0.5 ms. W is made for a full queue then, and over the round trip of an empty one it is many times
 * what the link carries.
 *
 * A round ends when nothing that was sent before it is under way, with three samples of the round
 * trip (one, if W is less than four datagrams). At its end, by state:
 *
 *     T      the most queueing delay that it wants:
 *            T = max(0.4 ms, f x T1),   T1 = clamp(2 ms x (12.5 MB/s / r)^1/4, 0.8 ms, 5 ms)
 *     f      1; where the queue overflows before, half of the queueing delay at the loss over T1.
 *            It doubles every 30 round trips, so that all who share a queue find the same one.
 *            No overflow, but noise, is a delay up to max(0.3 ms, least / 128); in START, whose
 *            delay is of the greatest sample, up to max(0.3 ms, least / 16)
 *     heavy  n datagrams lost of N:  n >= 1.9 + e + 2 sqrt(e),  e = u N,  and  n / N > 2 %
 *     u      the usual share of loss, of rounds with q < T / 2; at most 3 %, or what overflows a
 *            queue of a few datagrams would become usual
 *     held   under way came up to W: the path held the sender, not the application or the window
 *
 *     START    W + 0.6 x received while held, until the queue grows or heavy
 *     ALONE    q < T: W + g while held;  q >= T: W to what empties the queue;  heavy: W x 0.85
 *              g = T / 8 x (12.5 MB/s)^3/4 x r^1/4, at most max(r T / 2, W / 8), at least a quarter
 *              of a datagram; after eight rounds with q < T / 4 it grows by half each round
 *     COMPETE  after three such cuts in a row without an empty queue: cubic, in packets of 1 500 B
 *     TEST     every second time that cubic is cut: three rounds at 0.95 x what empties the queue
 *
 * Loss alone is not congestion: it is repaired, and u rises. The round trip of a resend is not
 * exact, and counts only between least and the newest one. Pure: now_ns is an argument. Owner:
 * sender. docs/results/links.md has what it does on families of links. */
#ifndef RSTI_FLOW_PATH_H
#define RSTI_FLOW_PATH_H

#include "flow/path_track.h"

#define RSTI_PATH_RUN_NS INT64_C(250000)
#define RSTI_PATH_RUN_DATAGRAMS 2
#define RSTI_PATH_PAIR_NS INT64_C(1000000) /* two datagrams that take longer go one by one */
#define RSTI_PATH_RUN_MOST (64 * 1024) /* what segmentation offload takes at once */
#define RSTI_PATH_RUNS_IN_WINDOW 8
#define RSTI_PATH_FIRST_DATAGRAMS 10
#define RSTI_PATH_FIRST_RTT_NS INT64_C(10000000) /* until one is known */
#define RSTI_PATH_MEMORY_NS INT64_C(10000000000)
#define RSTI_PATH_WINDOW_MOST INT64_C(1000000000000)
#define RSTI_PATH_USUAL_MOST 0.03
#define RSTI_PATH_SHARE_DATAGRAMS 1000.0 /* over so many the lost share that tools see goes */
#define RSTI_PATH_ROUNDS 10 /* whose bandwidth is remembered */

typedef enum rsti_path_state_t {
    RSTI_PATH_START,
    RSTI_PATH_ALONE,
    RSTI_PATH_COMPETE,
    RSTI_PATH_TEST,
} rsti_path_state_t;

/* The greatest of the last one to two memories. */
typedef struct rsti_path_extreme_t {
    double younger, older;
    int64_t ends_ns; /* of the running memory; INT64_MIN: no value yet */
} rsti_path_extreme_t;

typedef struct rsti_path_round_t {
    int64_t end; /* bytes sent at its beginning, which must not be under way any more */
    int32_t samples; /* of the round trip */
    double least_s, most_s; /* of them */
    double bandwidth; /* greatest sample, bytes per second */
    bool is_held;
    bool has_loss;
} rsti_path_round_t;

typedef struct rsti_path_t {
    rsti_path_track_t track;
    rsti_path_state_t state;
    double datagram; /* bytes */
    double window;   /* W, bytes */
    double least_s;  /* 0: unknown */
    double queue_s;  /* q; after a cut, what it leaves */
    double newest_s; /* newest sample of the round trip */
    rsti_path_extreme_t leasts; /* of the round trip, negated */
    rsti_path_extreme_t tops;   /* of q */
    rsti_path_round_t round;
    bool was_held; /* the last round */
    int64_t round_count, cut_round; /* rounds; number of that with the last cut */
    double bandwidths[RSTI_PATH_ROUNDS];
    double lost, judged; /* datagrams lost, and all, since they were cleared */
    double usual;        /* u */
    double lost_share;   /* of the last datagrams, for tools */
    double shallow;      /* f */
    int64_t shallow_ns;  /* when it changed last */
    double loss_window;  /* W at the last congestion */
    int64_t loss_ns;     /* INT64_MIN: none */
    int32_t above;       /* START: samples in a row with a queue */
    int32_t calm;        /* rounds in a row with a short queue */
    bool has_emptied;    /* ALONE: q was below T / 2 since the last cut */
    double growth;       /* ALONE: factor of g; 0: one */
    int32_t fails;       /* ALONE: cuts in a row without that */
    double before;       /* ALONE: W before the first of them */
    double most;         /* COMPETE: the window that cubic aims at */
    int64_t epoch_ns;    /* COMPETE: its last cut */
    bool has_lost;       /* COMPETE: since it began */
    int32_t cuts;        /* COMPETE: since the last test */
    double kept;         /* TEST: W before it */
} rsti_path_t;

typedef struct rsti_path_params_t {
    int64_t position; /* the first one that will be sent */
    int32_t datagram; /* bytes */
    int64_t rtt_ns;   /* a first guess, from setting up; 0: none */
    int64_t now_ns;
} rsti_path_params_t;

/* 0 or -RST_ENOMEM. */
int rsti_path_init(rsti_path_t *path, const rsti_path_params_t *params);
void rsti_path_fini(rsti_path_t *path);
/* Another receiver: what was learned of the path does not hold. What is under way stays so. */
void rsti_path_restart(rsti_path_t *path);

/* bytes were sent that end at position. A resend ends below or at the end of new data. */
void rsti_path_on_sent(rsti_path_t *path, int64_t position, int64_t bytes, int64_t now_ns);
/* False: old or refused. */
bool rsti_path_on_item(rsti_path_t *path, const rsti_path_item_t *item, int64_t now_ns);
/* When to call on_silence; RSTI_NO_DEADLINE: nothing is under way. */
int64_t rsti_path_due_ns(const rsti_path_t *path);
/* No item came for that long: nothing counts as under way, and the queue as empty. Else the pace
 * would be that of a queue that has gone, such as 1 datagram in 4 s after a receiver that stood
 * still. A second time W is halved. */
void rsti_path_on_silence(rsti_path_t *path, int64_t now_ns);

int64_t rsti_path_limit(const rsti_path_t *path, int64_t now_ns); /* bytes under way */
int64_t rsti_path_room(const rsti_path_t *path, int64_t now_ns);  /* of these, still free */
/* When so much room is free; RSTI_NO_DEADLINE: not before the next item. */
int64_t rsti_path_room_ns(const rsti_path_t *path, int64_t bytes, int64_t now_ns);
int64_t rsti_path_pace(const rsti_path_t *path); /* bytes per second, at least 1 */
int64_t rsti_path_run(const rsti_path_t *path);  /* bytes at once */

/* For tools. */
int64_t rsti_path_bandwidth(const rsti_path_t *path); /* bytes per second; 0: unknown */
int64_t rsti_path_least_ns(const rsti_path_t *path);  /* 0: unknown */
double rsti_path_loss(const rsti_path_t *path);       /* u */
double rsti_path_lost_share(const rsti_path_t *path); /* lately, without u's bound: 0 to 1 */
const char *rsti_path_state_name(rsti_path_state_t state);

/* Aborts in debug builds if the state contradicts itself. */
void rsti_path_check(const rsti_path_t *path);

#endif
