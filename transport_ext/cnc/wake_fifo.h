/* wake_fifo.h: the FIFOs behind wake.h: <dir>/wake/<client id>.<waiter id>; the driver's agents are
 * client 0. A driver may keep them in <dir>.wake/ instead: a program that copies a directory, as
 * Aeron's own data collector does, would wait for ever at the first FIFO. Everybody looks into the
 * directory first, and beside it when it has no wake/. Readers and writers open O_RDWR |
 * O_NONBLOCK: a reader meets no end of file, a writer no SIGPIPE (wake_fifo.c says why). */
#ifndef RSTI_CNC_WAKE_FIFO_H
#define RSTI_CNC_WAKE_FIFO_H

#include <stdbool.h>
#include <stdint.h>

/* Driver, in its new directory: moves wake/ beside it. 0, or negative with a trail. */
int rsti_wake_dir_move_beside(const char *dir);
/* Removes the folder beside the directory with its FIFOs, when there is one. Returns how many. */
int32_t rsti_wake_dir_remove_beside(const char *dir);
/* Makes and opens the reader's end; fd, or negative with a trail. */
int rsti_wake_fifo_create(const char *dir, int64_t client_id, int32_t waiter_id);
void rsti_wake_fifo_remove(const char *dir, int64_t client_id, int32_t waiter_id);
/* Removes all FIFOs of a dead client. */
void rsti_wake_fifo_remove_client(const char *dir, int64_t client_id);

/* poll(2) on the FIFO for at most timeout_ns, then drains it. 1 woken, 0 timeout or signal. */
int rsti_wake_fifo_wait(int fd, int64_t timeout_ns);
void rsti_wake_fifo_drain(int fd);

/* Writers' ends, opened once and kept: at most 64, and an eighth of the descriptors that the
 * process may have when the waker is made. Beyond that the one that was not used for longest is
 * closed. When there is no descriptor left, another one is given up. Thread-safe. */
typedef struct rsti_waker_t rsti_waker_t;
int rsti_waker_create(rsti_waker_t **waker, const char *dir);
void rsti_waker_destroy(rsti_waker_t *waker);
void rsti_waker_wake(rsti_waker_t *waker, int64_t client_id, int32_t waiter_id);
/* Closes the ends to a client that has gone. */
void rsti_waker_forget_client(rsti_waker_t *waker, int64_t client_id);
/* A driver's agents wake each other through the reader's end, which is open anyway: so a lack of
 * descriptors loses no wake-up. fd -1: from now on there is none. */
#define RSTI_WAKER_KEPT 3
void rsti_waker_keep(rsti_waker_t *waker, int32_t agent_fifo, int fd);

#endif
