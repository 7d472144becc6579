/* driver.h: the media driver of the C library.
 *
 * A driver owns a directory (shared memory) and runs three agents: conductor, sender, receiver.
 * Thread rules: open, start, close from one thread; do_work only when not started. */
#ifndef RSTREAM_DRIVER_H
#define RSTREAM_DRIVER_H

#include "rstream/error.h"
#include "rstream/flow.h"

#include <stddef.h>
#include <stdint.h>

typedef struct rst_driver_t rst_driver_t;
typedef struct rst_driver_params_t rst_driver_params_t;

/* Defaults; then options by name: "dir", "threading" (dedicated | shared-network | shared | invoker,
 * default shared on up to four cores), "idle" (block | spin | yield | backoff | sleep),
 * "term-buffer-length", "ipc-term-buffer-length", "mtu", "ipc-mtu", "client-liveness-timeout",
 * "timer-interval", "image-liveness-timeout", "publication-linger-timeout",
 * "publication-connection-timeout", "publication-unblock-timeout", "status-message-timeout",
 * "initial-window-length", "so-rcvbuf", "so-sndbuf", "counters-buffer-length", "idle-exit",
 * "fault-send-data-loss" … (fault-{send,receive}-{data,control}-{loss,duplicate,reorder}),
 * "fault-delay", "fault-seed", …: rst_driver_option_list gives all of them. */
RST_API int rst_driver_params_create(rst_driver_params_t **params);
RST_API void rst_driver_params_destroy(rst_driver_params_t *params);
/* 0, or -RST_EINVAL naming the option, the value and what is allowed. */
RST_API int rst_driver_params_set(rst_driver_params_t *params, const char *name,
    const char *value);
/* Reads RSTREAM_<NAME_WITH_UNDERSCORES> for every option that is set in the environment. */
RST_API int rst_driver_params_from_environment(rst_driver_params_t *params);

typedef struct rst_driver_option_t {
    const char *name;
    const char *default_text;
    const char *help;
} rst_driver_option_t;
/* Terminated by an entry whose name is NULL. */
RST_API const rst_driver_option_t *rst_driver_option_list(void);

/* Takes the directory (-RST_EINUSE when a living driver has it) and creates the files. */
RST_API int rst_driver_open(rst_driver_t **driver, const rst_driver_params_t *params);
RST_API int rst_driver_start(rst_driver_t *driver); /* threads, by threading mode */
/* Invoker mode: one pass sender, receiver, conductor; returns the work count and stores when it must
 * run again (monotonic ns of the injected clock; INT64_MAX: only when something arrives). */
RST_API int64_t rst_driver_do_work(rst_driver_t *driver, int64_t *next_deadline_ns);
RST_API const char *rst_driver_dir(const rst_driver_t *driver);
/* 1 when no client has been there for the idle-exit time (rstreamd then ends itself). */
RST_API int rst_driver_is_idle(const rst_driver_t *driver);
/* Stops the agents, tells clients (heartbeat -1), removes all files. */
RST_API void rst_driver_close(rst_driver_t *driver);

/* Life of whatever driver uses dir: 0 absent, 1 dead, 2 alive, 3 alive and not rstream. */
RST_API int rst_driver_probe(const char *dir);
RST_API int rst_driver_clean(const char *dir); /* files removed, or negative */
RST_API int rst_default_dir(char *path, size_t size);
/* Host token: boot id + device and inode of the directory's mount, or $RSTREAM_HOST_TOKEN. */
RST_API int rst_host_token(const char *dir, char *token, size_t size);

#endif
