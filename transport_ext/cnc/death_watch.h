/* death_watch.h: tells the driver at once that a client's process of this machine has died.
 *
 * The client tells its process (process.h) and holds the FIFO <dir>/wake/<client id>.life open. The
 * driver watches one of these two:
 *
 *   the process, by a pidfd, if the pid means the same to both and the start time agrees;
 *   else the FIFO: it hangs up when its last holder is gone. A child that a client's process forked
 *   holds it too, so this may be late, but never early.
 *
 * The process is written into the FIFO too: a client that is killed before the driver knows its
 * heartbeat counter has told it nowhere else.
 *
 * Neither may work: an Aeron client tells nothing, and systems forbid things. Then the client's
 * heartbeat decides. */
#ifndef RSTI_CNC_DEATH_WATCH_H
#define RSTI_CNC_DEATH_WATCH_H

#include "cnc/process.h"

/* Client: makes the FIFO, writes self into it, and holds it until the descriptor is closed. fd, or
 * negative with a trail. */
int rsti_life_hold(const char *dir, int64_t client_id, const rsti_process_t *self);
void rsti_life_remove(const char *dir, int64_t client_id);

typedef struct rsti_death_watch_t {
    int epoll_fd; /* readable when somebody has died; for the poller of a thread */
    rsti_process_t self;
} rsti_death_watch_t;

typedef enum rsti_watched_t {
    RSTI_WATCHED_NONE = 0, /* only the heartbeat tells its death */
    RSTI_WATCHED_PROCESS,
    RSTI_WATCHED_HOLD,
    RSTI_WATCHED_DEAD /* it died before it could be watched */
} rsti_watched_t;

int rsti_death_watch_open(rsti_death_watch_t *watch);
void rsti_death_watch_close(rsti_death_watch_t *watch);
/* What the client wrote into its FIFO. False: nothing is there. *is_dead: nobody holds it. */
bool rsti_life_read(const char *dir, int64_t client_id, rsti_process_t *told, bool *is_dead);
/* Watches the client; removes the name of its FIFO, which is not needed any more. told comes from
 * shared memory and may be anything. *fd: to be given to rsti_death_watch_remove, or -1. */
rsti_watched_t rsti_death_watch_add(rsti_death_watch_t *watch, const char *dir, int64_t client_id,
    const rsti_process_t *told, int *fd);
/* Closes *fd and sets it to -1. */
void rsti_death_watch_remove(rsti_death_watch_t *watch, int *fd);
/* Stores the ids of clients that have died, at most capacity, and returns their number. The same
 * ones again until they are removed. One system call. */
int rsti_death_watch_poll(const rsti_death_watch_t *watch, int64_t *client_ids, int capacity);

#endif
