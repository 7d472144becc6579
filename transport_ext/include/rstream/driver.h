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

/* Defaults; then options by name, see rst_driver_option_list and
 * docs/reference/configuration.md. */
RST_API int rst_driver_params_create(rst_driver_params_t **params);
RST_API void rst_driver_params_destroy(rst_driver_params_t *params);
/* 0, or -RST_EINVAL naming the option, the value and what is allowed. */
RST_API int rst_driver_params_set(rst_driver_params_t *params, const char *name, const char *value);
/* Reads RSTREAM_<NAME_WITH_UNDERSCORES> for every option that is set in the environment. */
RST_API int rst_driver_params_from_environment(rst_driver_params_t *params);

/* An option by a name of Aeron's drivers: a property (aeron.term.buffer.length) or a variable
 * (AERON_TERM_BUFFER_LENGTH), with a value in Aeron's syntax. on_notice, which may be NULL, is told
 * of names that are unknown or have no effect here, and of values beyond Aeron's range, which are
 * set to its limit. Malformed values are refused. Names that begin with neither aeron nor rstream
 * are ignored. */
typedef void (*rst_on_notice_t)(void *arg, const char *text);
RST_API int rst_driver_params_set_aeron(rst_driver_params_t *params, const char *name,
    const char *value, rst_on_notice_t on_notice, void *arg);
/* "name=value", also "rstream.name.of.option=value". */
RST_API int rst_driver_params_set_property(rst_driver_params_t *params, const char *assignment,
    rst_on_notice_t on_notice, void *arg);
/* A Java properties file of at most 1 MiB. */
RST_API int rst_driver_params_from_properties(rst_driver_params_t *params, const char *path,
    rst_on_notice_t on_notice, void *arg);
/* Every AERON_* variable. */
RST_API int rst_driver_params_from_aeron_environment(rst_driver_params_t *params,
    rst_on_notice_t on_notice, void *arg);
RST_API int rst_driver_has_aeron_environment(void); /* 1 when one of them is known */
/* The defaults of a driver that is started by Aeron's names: Aeron's directory and lengths of
 * counters and logs, dedicated threads, no idle exit, and the directory stays at the end. */
RST_API int rst_driver_params_use_aeron_defaults(rst_driver_params_t *params);

typedef struct rst_driver_option_t {
    const char *name;
    const char *default_text;
    const char *help;
} rst_driver_option_t;
/* Terminated by an entry whose name is NULL. */
RST_API const rst_driver_option_t *rst_driver_option_list(void);
/* Calls for each name of Aeron's drivers. option NULL: the name has no effect here, and `why` gives
 * the reason. */
RST_API void rst_driver_aeron_names(void (*on_name)(void *arg, const char *property,
                                        const char *variable, const char *option, const char *why),
    void *arg);
/* The current value of an option, in its own syntax. 0 or -RST_EINVAL. */
RST_API int rst_driver_params_get(const rst_driver_params_t *params, const char *name, char *text,
    size_t size);

/* Takes the directory and creates the files. -RST_EINUSE: a living driver has it. */
RST_API int rst_driver_open(rst_driver_t **driver, const rst_driver_params_t *params);
RST_API int rst_driver_start(rst_driver_t *driver); /* threads, by threading mode */
/* Invoker mode: one duty cycle of sender, receiver and conductor. Returns the work count and stores
 * when it must run again (monotonic ns of the injected clock; INT64_MAX: only when something
 * arrives). */
RST_API int64_t rst_driver_do_work(rst_driver_t *driver, int64_t *next_deadline_ns);
RST_API const char *rst_driver_dir(const rst_driver_t *driver);
/* Writes a notice to the driver's error log. It does not count as an error. */
RST_API void rst_driver_notice(rst_driver_t *driver, const char *text);
/* 1: no client was connected for the idle-exit time (rstreamd then ends). */
RST_API int rst_driver_is_idle(const rst_driver_t *driver);
/* 1: a client asked the driver to end and termination-validator allowed it. rstreamd then ends; a
 * program that embeds the driver closes it. */
RST_API int rst_driver_is_terminated(const rst_driver_t *driver);
/* Stops the agents, tells clients (heartbeat -1), removes all files. */
RST_API void rst_driver_close(rst_driver_t *driver);

/* The state of the driver of dir: 0 absent, 1 dead, 2 alive, 3 alive and not rstream. */
RST_API int rst_driver_probe(const char *dir);
/* 0: a driver could start in dir, which may be missing. Negative: not; the error text says why. */
RST_API int rst_driver_check_dir(const char *dir);
RST_API int rst_driver_clean(const char *dir); /* files removed, or negative */
RST_API int rst_default_dir(char *path, size_t size);
/* Host token: boot id + device and inode of the directory's mount, or $RSTREAM_HOST_TOKEN. */
RST_API int rst_host_token(const char *dir, char *token, size_t size);

#endif
