/* context_checks.c: relations between options (docs/reference/aeron/driver.md 9). */
#include "driver/base/context_checks.h"

#include "driver/base/csv_resolver.h"
#include "flow/congestion.h"
#include "flow/flow_control.h"
#include "flow/rate_text.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/format.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define IDLE_OPTIONS 5

typedef struct idle_row_t {
    const char *name;
    int64_t kind;
    const char *args;
} idle_row_t;

static idle_row_t idle_row(const rst_driver_params_t *params, int option)
{
    const idle_row_t rows[IDLE_OPTIONS] = {
        [RSTI_IDLE_OF_CONDUCTOR] = {"conductor-idle-strategy", params->conductor_idle,
            params->conductor_idle_args},
        [RSTI_IDLE_OF_SENDER] = {"sender-idle-strategy", params->sender_idle,
            params->sender_idle_args},
        [RSTI_IDLE_OF_RECEIVER] = {"receiver-idle-strategy", params->receiver_idle,
            params->receiver_idle_args},
        [RSTI_IDLE_OF_NETWORK] = {"sharednetwork-idle-strategy", params->network_idle,
            params->network_idle_args},
        [RSTI_IDLE_OF_SHARED] = {"shared-idle-strategy", params->shared_idle,
            params->shared_idle_args},
    };
    return rows[option];
}

static bool is_idle_set(const rst_driver_params_t *params, int option)
{
    const idle_row_t row = idle_row(params, option);
    return row.kind != RSTI_IDLE_AS_ALL || row.args[0] != '\0';
}

rsti_threading_t rsti_driver_params_threading(const rst_driver_params_t *params)
{
    static const struct {
        int option;
        rsti_threading_t threading;
    } rows[] = {
        {RSTI_IDLE_OF_SENDER, RSTI_THREADING_DEDICATED},
        {RSTI_IDLE_OF_RECEIVER, RSTI_THREADING_DEDICATED},
        {RSTI_IDLE_OF_NETWORK, RSTI_THREADING_SHARED_NETWORK},
        {RSTI_IDLE_OF_CONDUCTOR, RSTI_THREADING_DEDICATED},
        {RSTI_IDLE_OF_SHARED, RSTI_THREADING_SHARED},
    };
    if (params->threading != RSTI_THREADING_AUTO) {
        return (rsti_threading_t)params->threading;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_idle_set(params, rows[i].option)) {
            return rows[i].threading;
        }
    }
    return sysconf(_SC_NPROCESSORS_ONLN) <= 4 ? RSTI_THREADING_SHARED : RSTI_THREADING_DEDICATED;
}

const char *rsti_driver_params_unused_idle(const rst_driver_params_t *params,
    rsti_threading_t threading)
{
    const bool has_conductor_thread = threading == RSTI_THREADING_DEDICATED
        || threading == RSTI_THREADING_SHARED_NETWORK;
    const bool is_used[IDLE_OPTIONS] = {
        [RSTI_IDLE_OF_CONDUCTOR] = has_conductor_thread,
        [RSTI_IDLE_OF_SENDER] = threading == RSTI_THREADING_DEDICATED,
        [RSTI_IDLE_OF_RECEIVER] = threading == RSTI_THREADING_DEDICATED,
        [RSTI_IDLE_OF_NETWORK] = threading == RSTI_THREADING_SHARED_NETWORK,
        [RSTI_IDLE_OF_SHARED] = threading == RSTI_THREADING_SHARED,
    };
    for (int option = 0; option < IDLE_OPTIONS; option++) {
        if (!is_used[option] && is_idle_set(params, option)) {
            return idle_row(params, option).name;
        }
    }
    return NULL;
}

int rsti_driver_params_idle(const rst_driver_params_t *params, rsti_idle_option_t option,
    rsti_idle_params_t *idle)
{
    const idle_row_t row = idle_row(params, (int)option);
    const bool is_own = row.kind != RSTI_IDLE_AS_ALL;
    const char *name = is_own ? row.name : "idle";
    const int64_t kind = is_own ? row.kind : params->idle;
    const char *args = is_own || row.args[0] != '\0' ? row.args : params->idle_args;
    rsti_idle_params_init(idle,
        kind == RSTI_IDLE_AS_ALL ? RSTI_IDLE_BLOCK : (rsti_idle_kind_t)kind);
    if (!rsti_idle_parse_args(idle, args)) {
        return RST_SET_ERR(RST_EINVAL,
            "%s-init-args=%s: backoff takes spins-yields-min-max as "
            "10-20-1us-1ms, sleep a duration (both up to 1s), other strategies nothing",
            name, args);
    }
    return 0;
}

static int check_lengths(const rst_driver_params_t *params)
{
    const struct {
        const char *name;
        int64_t value;
    } powers[] = {
        {"term-buffer-length", params->term_length},
        {"ipc-term-buffer-length", params->ipc_term_length},
        {"file-page-size", params->page_size},
        {"conductor-buffer-length", params->to_driver_length},
        {"clients-buffer-length", params->to_clients_length},
    };
    const struct {
        const char *name;
        int64_t value;
        int64_t of;
    } multiples[] = {
        {"mtu", params->mtu, 32},
        {"ipc-mtu", params->ipc_mtu, 32},
        {"counters-buffer-length", params->counters_length, 128},
        {"error-buffer-length", params->error_length, 8},
    };
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++) {
        if (!rsti_is_power_of_two(powers[i].value)) {
            return RST_SET_ERR(RST_EINVAL, "%s=%" PRId64 ": must be a power of two", powers[i].name,
                powers[i].value);
        }
    }
    for (size_t i = 0; i < sizeof multiples / sizeof multiples[0]; i++) {
        if (multiples[i].value % multiples[i].of != 0) {
            return RST_SET_ERR(RST_EINVAL, "%s=%" PRId64 ": must be a multiple of %" PRId64,
                multiples[i].name, multiples[i].value, multiples[i].of);
        }
    }
    return 0;
}

/* publication-unblock > client-liveness > timer, and the three untethered timeouts > timer. A
 * timeout that a timer detects must be longer than the interval of that timer. */
static int check_times(const rst_driver_params_t *params)
{
    const char *const timer = "timer-interval";
    const int64_t interval_ns = params->timer_interval_ns;
    const int64_t linger_ns = params->untethered_linger_ns;
    const struct {
        const char *name;
        int64_t value_ns;
        const char *than;
        int64_t than_ns;
    } rows[] = {
        {"publication-unblock-timeout", params->unblock_timeout_ns, "client-liveness-timeout",
            params->client_liveness_ns},
        {"client-liveness-timeout", params->client_liveness_ns, timer, interval_ns},
        {"untethered-window-limit-timeout", params->untethered_window_limit_ns, timer, interval_ns},
        {"untethered-linger-timeout",
            linger_ns != 0 ? linger_ns : params->untethered_window_limit_ns, timer, interval_ns},
        {"untethered-resting-timeout", params->untethered_resting_ns, timer, interval_ns},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].value_ns <= rows[i].than_ns) {
            char value[RSTI_DURATION_TEXT_MAX];
            char than[RSTI_DURATION_TEXT_MAX];
            rsti_format_duration(value, sizeof value, rows[i].value_ns);
            rsti_format_duration(than, sizeof than, rows[i].than_ns);
            return RST_SET_ERR(RST_EINVAL, "%s=%s: must be longer than %s=%s", rows[i].name, value,
                rows[i].than, than);
        }
    }
    return 0;
}

static int check_windows(const rst_driver_params_t *params)
{
    if (params->so_rcvbuf > 0 && params->initial_window > params->so_rcvbuf) {
        return RST_SET_ERR(RST_EINVAL,
            "initial-window-length=%" PRId64 ": must not be longer than so-rcvbuf=%" PRId64,
            params->initial_window, params->so_rcvbuf);
    }
    if (params->budget_min > params->budget_max) {
        return RST_SET_ERR(RST_EINVAL,
            "budget-min=%" PRId64 ": must not be more than budget-max=%" PRId64, params->budget_min,
            params->budget_max);
    }
    if (params->so_sndbuf > 0 && params->mtu > params->so_sndbuf) {
        return RST_SET_ERR(RST_EINVAL,
            "mtu=%" PRId64 ": must not be longer than so-sndbuf=%" PRId64, params->mtu,
            params->so_sndbuf);
    }
    if (params->mtu > params->initial_window) {
        return RST_SET_ERR(RST_EINVAL,
            "mtu=%" PRId64 ": must not be longer than initial-window-length=%" PRId64, params->mtu,
            params->initial_window);
    }
    return 0;
}

static int check_numbers(const rst_driver_params_t *params)
{
    int64_t retry_ns;
    if (params->reserved_session_high < params->reserved_session_low) {
        return RST_SET_ERR(RST_EINVAL,
            "publication-reserved-session-id-high=%" PRId64
            ": must not be below publication-reserved-session-id-low=%" PRId64,
            params->reserved_session_high, params->reserved_session_low);
    }
    if (params->reserved_session_high - params->reserved_session_low > INT32_MAX) {
        return RST_SET_ERR(RST_EINVAL,
            "publication-reserved-session-id-high=%" PRId64
            ": must leave half of all session ids from "
            "publication-reserved-session-id-low=%" PRId64,
            params->reserved_session_high, params->reserved_session_low);
    }
    if (__builtin_mul_overflow(params->nak_delay_ns, params->nak_retry_ratio, &retry_ns)) {
        return RST_SET_ERR(RST_EINVAL,
            "nak-unicast-retry-delay-ratio=%" PRId64 ": times nak-unicast-delay=%" PRId64
            "ns it is beyond 64 bits",
            params->nak_retry_ratio, params->nak_delay_ns);
    }
    return 0;
}

/* Before anything is made: a directory of a driver that never gets ready holds clients up. */
static int check_resolver(const rst_driver_params_t *params)
{
    rsti_csv_resolver_t table;
    if (params->resolver_key[0] != '\0' && strncmp(params->resolver_key, "file:/", 6) != 0) {
        return RST_SET_ERR(RST_EINVAL, "resolver-key: must be file:/PATH of a file with keys");
    }
    if (strcmp(params->name_resolver, "csv_table") == 0) {
        return rsti_csv_resolver_parse(&table, params->name_resolver_args);
    }
    return strcmp(params->name_resolver, "default") == 0
            || strcmp(params->name_resolver, "driver") == 0
        ? 0
        : RST_SET_ERR(RST_EINVAL, "name-resolver=%s: must be default, csv_table or driver",
              params->name_resolver);
}

static int check_sources(const rst_driver_params_t *params)
{
    rsti_source_list_t list;
    return rsti_source_list_parse(&list, params->sources)
        ? 0
        : RST_SET_ERR(RST_EINVAL,
              "sources=%s: must be up to %d addresses and networks, such as 10.0.0.0/8,[fd00::]/8",
              params->sources, RSTI_SOURCES_MAX);
}

static int check_idle(const rst_driver_params_t *params)
{
    rsti_idle_params_t idle;
    for (int option = RSTI_IDLE_OF_CONDUCTOR; option <= RSTI_IDLE_OF_SHARED; option++) {
        if (rsti_driver_params_idle(params, (rsti_idle_option_t)option, &idle) < 0) {
            return -RST_EINVAL;
        }
    }
    return 0;
}

/* Checks the names of laws; users may have registered more of them. */
static int check_names(const rst_driver_params_t *params)
{
    if (!rsti_flow_is_known(params->unicast_fc, false)) {
        return RST_SET_ERR(RST_EINVAL, "unicast-flow-control=%s: no such strategy",
            params->unicast_fc);
    }
    if (!rsti_flow_is_known(params->multicast_fc, true)) {
        return RST_SET_ERR(RST_EINVAL, "multicast-flow-control=%s: no such strategy",
            params->multicast_fc);
    }
    if (!rsti_congestion_is_known(params->congestion_control)) {
        return RST_SET_ERR(RST_EINVAL,
            "congestion-control=%s: unknown law, there are static, cubic and auto",
            params->congestion_control);
    }
    rsti_rate_choice_t rate;
    return rsti_rate_choice_default(&rate, params->rate, true);
}

int rsti_driver_params_losses(const rst_driver_params_t *params, rsti_loss_interceptors_t *losses)
{
    const rsti_loss_texts_t texts = {params->interceptors, params->loss_args,
        params->fixed_loss_args, params->multi_gap_loss_args};
    return rsti_loss_interceptors_init(losses, &texts);
}

static int check_interceptors(const rst_driver_params_t *params)
{
    rsti_loss_interceptors_t losses;
    return rsti_driver_params_losses(params, &losses);
}

int rsti_driver_params_validate(const rst_driver_params_t *params)
{
    int result = check_lengths(params);
    result = result < 0 ? result : check_times(params);
    result = result < 0 ? result : check_windows(params);
    result = result < 0 ? result : check_numbers(params);
    result = result < 0 ? result : check_names(params);
    result = result < 0 ? result : check_interceptors(params);
    result = result < 0 ? result : check_resolver(params);
    result = result < 0 ? result : check_sources(params);
    return result < 0 ? result : check_idle(params);
}

int rsti_driver_params_check_sockets(const rst_driver_params_t *params,
    const rsti_socket_probe_t *probe)
{
    if (params->initial_window > probe->rcvbuf) {
        return RST_SET_ERR(RST_EINVAL,
            "initial-window-length=%" PRId64 ": longer than the %" PRId64
            " bytes that a socket gets for so-rcvbuf=%" PRId64 " (raise net.core.rmem_max)",
            params->initial_window, probe->rcvbuf, params->so_rcvbuf);
    }
    if (params->mtu > probe->sndbuf) {
        return RST_SET_ERR(RST_EINVAL,
            "mtu=%" PRId64 ": longer than the %" PRId64
            " bytes that a socket gets for so-sndbuf=%" PRId64 " (raise net.core.wmem_max)",
            params->mtu, probe->sndbuf, params->so_sndbuf);
    }
    return 0;
}
