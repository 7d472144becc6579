/* aeron_names.c: the options by the names of Aeron's drivers, so that the configuration of an Aeron
 * driver also works here.
 *
 * A property (aeron.term.buffer.length) and an environment variable (AERON_TERM_BUFFER_LENGTH) are
 * the same name: the variable is in upper case and has an underscore for each dot. Where the names
 * of Aeron's Java and C drivers differ, there are two rows. */
#include "cnc/driver_dir.h"
#include "cnc/text_file.h"
#include "concurrent/broadcast.h"
#include "concurrent/mpsc_rb.h"
#include "driver/base/context.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/parse.h"
#include "util/properties.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PROPERTIES_LENGTH_MAX ((size_t)1024 * 1024)

/* How Aeron writes the value. */
typedef enum value_kind_t {
    AS_OURS, /* in our syntax too: sizes, durations, numbers, text, idle strategies */
    AS_LOWER, /* our name in capitals, with _ for - */
    AS_BOOL,
    AS_MS, /* a plain number is in milliseconds */
    AS_TO_DRIVER, /* a ring's length with its trailer */
    AS_TO_CLIENTS,
    AS_FLOW, /* a supplier of flow control */
    AS_CONGESTION,
    AS_VALIDATOR,
    AS_SEED, /* -1: a random one */
    NO_MEANING
} value_kind_t;

typedef struct row_t {
    const char *property;
    const char *option; /* our name; for NO_MEANING the reason */
    value_kind_t kind;
    int64_t least; /* Aeron's own limit where it is narrower than ours, in our units; 0: none */
    int64_t most;
} row_t;

#define PLUG_IN "its code cannot be loaded here"
#define DEBUG_RATES "the rates of aeron.debug.* apply without it"
#define NO_NATIVE_AGENT "the conductor does that work here"
#define NOT_HERE "it has no meaning here"

static const row_t rows[] = {
    {"aeron.dir", "dir", AS_OURS, 0, 0},
    {"aeron.dir.warn.if.exists", "dir-warn-if-exists", AS_BOOL, 0, 0},
    {"aeron.dir.delete.on.start", "dir-delete-on-start", AS_BOOL, 0, 0},
    {"aeron.dir.delete.on.shutdown", "remove-dir-on-close", AS_BOOL, 0, 0},
    {"aeron.threading.mode", "threading", AS_LOWER, 0, 0},
    {"aeron.thread.naming", "thread-naming", AS_LOWER, 0, 0},
    {"aeron.conductor.buffer.length", "conductor-buffer-length", AS_TO_DRIVER, RSTI_MB, 0},
    {"aeron.clients.buffer.length", "clients-buffer-length", AS_TO_CLIENTS, RSTI_MB, 0},
    {"aeron.counters.buffer.length", "counters-buffer-length", AS_OURS, 0, 0},
    {"aeron.error.buffer.length", "error-buffer-length", AS_OURS, 4 * RSTI_MB, 0},
    {"aeron.loss.report.buffer.length", "loss-report-buffer-length", AS_OURS, 0, 0},
    {"aeron.file.page.size", "file-page-size", AS_OURS, 0, 0},
    {"aeron.perform.storage.checks", "perform-storage-checks", AS_BOOL, 0, 0},
    {"aeron.low.file.store.warning.threshold", "low-file-store-warning-threshold", AS_OURS, 0, 0},
    {"aeron.term.buffer.length", "term-buffer-length", AS_OURS, 0, 0},
    {"aeron.ipc.term.buffer.length", "ipc-term-buffer-length", AS_OURS, 0, 0},
    {"aeron.term.buffer.sparse.file", "term-buffer-sparse-file", AS_BOOL, 0, 0},
    {"aeron.mtu.length", "mtu", AS_OURS, 0, 0},
    {"aeron.ipc.mtu.length", "ipc-mtu", AS_OURS, 0, 0},
    {"aeron.publication.term.window.length", "publication-term-window-length", AS_OURS, 0, 0},
    {"aeron.ipc.publication.term.window.length", "ipc-publication-term-window-length", AS_OURS, 0,
        0},
    {"aeron.client.liveness.timeout", "client-liveness-timeout", AS_OURS, 0, 0},
    {"aeron.driver.timeout", "driver-timeout", AS_MS, 0, 0},
    {"aeron.timer.interval", "timer-interval", AS_OURS, 0, 0},
    {"aeron.publication.linger.timeout", "publication-linger-timeout", AS_OURS, 0, 0},
    {"aeron.publication.unblock.timeout", "publication-unblock-timeout", AS_OURS, 0, 0},
    {"aeron.publication.connection.timeout", "publication-connection-timeout", AS_OURS, 0, 0},
    {"aeron.image.liveness.timeout", "image-liveness-timeout", AS_OURS, 0, 0},
    {"aeron.rcv.status.message.timeout", "status-message-timeout", AS_OURS, 0, 0},
    {"aeron.rcv.initial.window.length", "initial-window-length", AS_OURS, 0, 0},
    {"aeron.socket.so_rcvbuf", "so-rcvbuf", AS_OURS, 0, 0},
    {"aeron.socket.so_sndbuf", "so-sndbuf", AS_OURS, 0, 0},
    {"aeron.socket.multicast.ttl", "socket-multicast-ttl", AS_OURS, 0, 0},
    {"aeron.driver.connect", "driver-connect", AS_BOOL, 0, 0},
    {"aeron.send.to.status.poll.ratio", "send-to-status-poll-ratio", AS_OURS, 0, 0},
    {"aeron.network.publication.max.messages.per.send", "max-messages-per-send", AS_OURS, 1, 16},
    {"aeron.receiver.io.vector.capacity", "receiver-io-vector-capacity", AS_OURS, 1, 16},
    {"aeron.sender.io.vector.capacity", "sender-io-vector-capacity", AS_OURS, 1, 16},
    {"aeron.reliable.stream", "reliable-stream", AS_BOOL, 0, 0},
    {"aeron.tether.subscriptions", "tether-subscriptions", AS_BOOL, 0, 0},
    {"aeron.rejoin.stream", "rejoin-stream", AS_BOOL, 0, 0},
    {"aeron.receiver.group.consideration", "receiver-group-consideration", AS_LOWER, 0, 0},
    {"aeron.spies.simulate.connection", "spies-simulate-connection", AS_BOOL, 0, 0},
    {"aeron.receiver.group.tag", "receiver-group-tag", AS_OURS, 0, 0},
    {"aeron.unicast.FlowControl.supplier", "unicast-flow-control", AS_FLOW, 0, 0},
    {"aeron.unicast.flow.control.strategy", "unicast-flow-control", AS_FLOW, 0, 0},
    {"aeron.multicast.FlowControl.supplier", "multicast-flow-control", AS_FLOW, 0, 0},
    {"aeron.multicast.flow.control.strategy", "multicast-flow-control", AS_FLOW, 0, 0},
    {"aeron.flow.control.group.tag", "flow-control-group-tag", AS_OURS, 0, 0},
    {"aeron.flow.control.group.min.size", "flow-control-group-min-size", AS_OURS, 0, 0},
    {"aeron.flow.control.receiver.timeout", "flow-control-receiver-timeout", AS_OURS, 0, 0},
    {"aeron.unicast.flow.control.rrwm", "unicast-flow-control-rrwm", AS_OURS, 0, 0},
    {"aeron.multicast.flow.control.rrwm", "multicast-flow-control-rrwm", AS_OURS, 0, 0},
    {"aeron.CongestionControl.supplier", "congestion-control", AS_CONGESTION, 0, 0},
    {"aeron.CubicCongestionControl.measureRtt", "cubic-measure-rtt", AS_BOOL, 0, 0},
    {"aeron.CubicCongestionControl.tcpMode", "cubic-tcp-mode", AS_BOOL, 0, 0},
    {"aeron.CubicCongestionControl.initialRtt", "cubic-initial-rtt", AS_OURS, 0, 0},
    {"aeron.nak.multicast.group.size", "nak-multicast-group-size", AS_OURS, 0, 0},
    {"aeron.nak.multicast.max.backoff", "nak-multicast-max-backoff", AS_OURS, 0, 0},
    {"aeron.nak.unicast.delay", "nak-unicast-delay", AS_OURS, 0, 0},
    {"aeron.nak.unicast.retry.delay.ratio", "nak-unicast-retry-delay-ratio", AS_OURS, 0, 0},
    {"aeron.retransmit.unicast.delay", "retransmit-unicast-delay", AS_OURS, 0, 0},
    {"aeron.retransmit.unicast.linger", "retransmit-unicast-linger", AS_OURS, 0, 0},
    {"aeron.max.resend", "max-resend", AS_OURS, 0, 0},
    {"aeron.untethered.window.limit.timeout", "untethered-window-limit-timeout", AS_OURS, 0, 0},
    {"aeron.untethered.linger.timeout", "untethered-linger-timeout", AS_OURS, 0, 0},
    {"aeron.untethered.resting.timeout", "untethered-resting-timeout", AS_OURS, 0, 0},
    {"aeron.counters.free.to.reuse.timeout", "counters-free-to-reuse-timeout", AS_OURS, 0, 0},
    {"aeron.publication.reserved.session.id.low", "publication-reserved-session-id-low", AS_OURS, 0,
        0},
    {"aeron.publication.reserved.session.id.high", "publication-reserved-session-id-high", AS_OURS,
        0, 0},
    {"aeron.driver.stream.session.limit", "stream-session-limit", AS_OURS, 0, 0},
    {"aeron.driver.resource.free.limit", "driver-resource-free-limit", AS_OURS, 0, 0},
    {"aeron.sender.wildcard.port.range", "sender-wildcard-port-range", AS_OURS, 0, 0},
    {"aeron.receiver.wildcard.port.range", "receiver-wildcard-port-range", AS_OURS, 0, 0},
    {"aeron.driver.reresolution.check.interval", "reresolution-check-interval", AS_OURS, 0, 0},
    {"aeron.name.resolver.supplier", "name-resolver", AS_OURS, 0, 0},
    {"aeron.name.resolver.init.args", "name-resolver-init-args", AS_OURS, 0, 0},
    {"aeron.driver.resolver.name", "resolver-name", AS_OURS, 0, 0},
    {"aeron.driver.resolver.interface", "resolver-interface", AS_OURS, 0, 0},
    {"aeron.driver.resolver.bootstrap.neighbor", "resolver-bootstrap-neighbor", AS_OURS, 0, 0},
    {"aeron.driver.resolver.bootstrap.neighbor.resolution.interval",
        "resolver-bootstrap-neighbor-resolution-interval", AS_OURS, 0, 0},
    {"aeron.driver.resolver.self.resolution.interval", "resolver-self-resolution-interval", AS_OURS,
        0, 0},
    {"aeron.driver.resolver.neighbor.resolution.interval", "resolver-neighbor-resolution-interval",
        AS_OURS, 0, 0},
    {"aeron.driver.resolver.neighbor.timeout", "resolver-neighbor-timeout", AS_OURS, 0, 0},
    {"aeron.name.resolver.threshold", "name-resolver-threshold", AS_OURS, 0, 0},
    {"aeron.driver.name.resolver.threshold", "name-resolver-threshold", AS_OURS, 0, 0},
    {"aeron.driver.conductor.cycle.threshold", "conductor-cycle-threshold", AS_OURS, 0, 0},
    {"aeron.driver.sender.cycle.threshold", "sender-cycle-threshold", AS_OURS, 0, 0},
    {"aeron.driver.receiver.cycle.threshold", "receiver-cycle-threshold", AS_OURS, 0, 0},
    {"aeron.conductor.cpu.affinity", "conductor-cpu-affinity", AS_OURS, 0, 0},
    {"aeron.sender.cpu.affinity", "sender-cpu-affinity", AS_OURS, 0, 0},
    {"aeron.receiver.cpu.affinity", "receiver-cpu-affinity", AS_OURS, 0, 0},
    {"aeron.conductor.idle.strategy", "conductor-idle-strategy", AS_OURS, 0, 0},
    {"aeron.conductor.idle.strategy.init.args", "conductor-idle-strategy-init-args", AS_OURS, 0, 0},
    {"aeron.sender.idle.strategy", "sender-idle-strategy", AS_OURS, 0, 0},
    {"aeron.sender.idle.strategy.init.args", "sender-idle-strategy-init-args", AS_OURS, 0, 0},
    {"aeron.receiver.idle.strategy", "receiver-idle-strategy", AS_OURS, 0, 0},
    {"aeron.receiver.idle.strategy.init.args", "receiver-idle-strategy-init-args", AS_OURS, 0, 0},
    {"aeron.sharednetwork.idle.strategy", "sharednetwork-idle-strategy", AS_OURS, 0, 0},
    {"aeron.sharednetwork.idle.strategy.init.args", "sharednetwork-idle-strategy-init-args",
        AS_OURS, 0, 0},
    {"aeron.shared.idle.strategy", "shared-idle-strategy", AS_OURS, 0, 0},
    {"aeron.shared.idle.strategy.init.args", "shared-idle-strategy-init-args", AS_OURS, 0, 0},
    {"aeron.driver.termination.validator", "termination-validator", AS_VALIDATOR, 0, 0},
    {"aeron.print.configuration", "print-configuration", AS_BOOL, 0, 0},
    {"aeron.udp.channel.incoming.interceptors", "udp-channel-incoming-interceptors", AS_OURS, 0, 0},
    {"aeron.udp.channel.transport.bindings.loss.args", "udp-channel-transport-bindings-loss-args",
        AS_OURS, 0, 0},
    {"aeron.udp.channel.transport.bindings.fixed.loss.args",
        "udp-channel-transport-bindings-fixed-loss-args", AS_OURS, 0, 0},
    {"aeron.udp.channel.transport.bindings.multi.gap.loss.args",
        "udp-channel-transport-bindings-multi-gap-loss-args", AS_OURS, 0, 0},
    /* Aeron names the side of the endpoint: a sender receives control, a receiver sends it. */
    {"aeron.debug.send.data.loss.rate", "fault-send-data-loss", AS_OURS, 0, 0},
    {"aeron.debug.send.control.loss.rate", "fault-receive-control-loss", AS_OURS, 0, 0},
    {"aeron.debug.receive.data.loss.rate", "fault-receive-data-loss", AS_OURS, 0, 0},
    {"aeron.debug.receive.control.loss.rate", "fault-send-control-loss", AS_OURS, 0, 0},
    {"aeron.debug.send.data.loss.seed", "fault-seed", AS_SEED, 0, 0},
    {"aeron.debug.send.control.loss.seed", "fault-seed", AS_SEED, 0, 0},
    {"aeron.debug.receive.data.loss.seed", "fault-seed", AS_SEED, 0, 0},
    {"aeron.debug.receive.control.loss.seed", "fault-seed", AS_SEED, 0, 0},

    {"aeron.driver.native.resource.agent.cpu.affinity", NO_NATIVE_AGENT, NO_MEANING, 0, 0},
    {"aeron.driver.cpuset.affinity", "use the *.cpu.affinity options", NO_MEANING, 0, 0},
    {"aeron.driver.cpuset.warnings.as.errors", NOT_HERE, NO_MEANING, 0, 0},
    {"aeron.enable.experimental.features", NOT_HERE, NO_MEANING, 0, 0},
    {"aeron.udp.channel.transport.bindings.media", PLUG_IN, NO_MEANING, 0, 0},
    {"aeron.conductor.udp.channel.transport.bindings.media", PLUG_IN, NO_MEANING, 0, 0},
    {"aeron.udp.channel.outgoing.interceptors", PLUG_IN, NO_MEANING, 0, 0},
    {"aeron.driver.dynamic.libraries", PLUG_IN, NO_MEANING, 0, 0},
    {"aeron.SendChannelEndpoint.supplier", DEBUG_RATES, NO_MEANING, 0, 0},
    {"aeron.ReceiveChannelEndpoint.supplier", DEBUG_RATES, NO_MEANING, 0, 0},
    {"aeron.driver.async.executor.enabled", NO_NATIVE_AGENT, NO_MEANING, 0, 0},
    {"aeron.driver.async.executor.threads", NO_NATIVE_AGENT, NO_MEANING, 0, 0},
    {"aeron.driver.async.executor.idle.strategy", NO_NATIVE_AGENT, NO_MEANING, 0, 0},
    {"aeron.debug.timeout", NOT_HERE, NO_MEANING, 0, 0},
    {"aeron.fallback.logger", NOT_HERE, NO_MEANING, 0, 0},
    {"aeron.secure.random.algorithm", NOT_HERE, NO_MEANING, 0, 0},
    {"aeron.use.windows.high.res.timer", NOT_HERE, NO_MEANING, 0, 0},
    {"aeron.flow.control.sm.applicationSpecificFeedback", "use aeron.receiver.group.tag",
        NO_MEANING, 0, 0},
    {"aeron.event.log", "there is no logging agent here; see frame-log", NO_MEANING, 0, 0},
    {"aeron.event.log.disable", "there is no logging agent here", NO_MEANING, 0, 0},
    {"aeron.event.log.filename", "there is no logging agent here; see frame-log", NO_MEANING, 0, 0},
    {NULL, NULL, NO_MEANING, 0, 0},
};

/* Converts a character of a property's name to that of the variable. */
static int fold(char c)
{
    return c == '.' ? '_' : toupper((unsigned char)c);
}

static bool is_name(const char *property, const char *name)
{
    for (; *property != '\0' && *name != '\0'; property++, name++) {
        if (fold(*property) != fold(*name)) {
            return false;
        }
    }
    return *property == *name;
}

static const row_t *find_row(const char *name)
{
    for (const row_t *row = rows; row->property != NULL; row++) {
        if (is_name(row->property, name)) {
            return row;
        }
    }
    return NULL;
}

static bool is_aerons(const char *name)
{
    return strncasecmp(name, "aeron", 5) == 0 && (name[5] == '.' || name[5] == '_');
}

void rst_driver_aeron_names(void (*on_name)(void *arg, const char *property, const char *variable,
                                const char *option, const char *why),
    void *arg)
{
    for (const row_t *row = rows; row->property != NULL; row++) {
        char variable[128] = "";
        const bool has_meaning = row->kind != NO_MEANING;
        for (size_t i = 0; row->property[i] != '\0' && i + 1 < sizeof variable; i++) {
            variable[i] = (char)fold(row->property[i]);
        }
        on_name(arg, row->property, variable, has_meaning ? row->option : NULL,
            has_meaning ? NULL : row->option);
    }
}

/* ---- values ---- */

typedef struct translation_t {
    const char *theirs;
    const char *ours;
} translation_t;

static const translation_t flow_names[] = {
    {"unicast_max", "unicast"},
    {"aeron_unicast_flow_control_strategy_supplier", "unicast"},
    {"UnicastFlowControl", "unicast"},
    {"DefaultUnicastFlowControlSupplier", "unicast"},
    {"multicast_max", "max"},
    {"aeron_max_multicast_flow_control_strategy_supplier", "max"},
    {"MaxMulticastFlowControl", "max"},
    {"MaxMulticastFlowControlSupplier", "max"},
    {"DefaultMulticastFlowControlSupplier", "max"},
    {"multicast_min", "min"},
    {"aeron_min_flow_control_strategy_supplier", "min"},
    {"MinMulticastFlowControl", "min"},
    {"MinMulticastFlowControlSupplier", "min"},
    {"multicast_tagged", "tagged"},
    {"aeron_tagged_flow_control_strategy_supplier", "tagged"},
    {"TaggedMulticastFlowControl", "tagged"},
    {"TaggedMulticastFlowControlSupplier", "tagged"},
    {"PreferredMulticastFlowControl", "tagged"},
    {"PreferredMulticastFlowControlSupplier", "tagged"},
    {NULL, NULL},
};

static const translation_t congestion_names[] = {
    {"default", "static"},
    {"aeron_congestion_control_default_strategy_supplier", "static"},
    {"DefaultCongestionControlSupplier", "static"},
    {"StaticWindowCongestionControl", "static"},
    {"aeron_static_window_congestion_control_strategy_supplier", "static"},
    {"ext.CubicCongestionControlSupplier", "cubic"},
    {"CubicCongestionControlSupplier", "cubic"},
    {"ext.CubicCongestionControl", "cubic"},
    {"aeron_cubic_congestion_control_strategy_supplier", "cubic"},
    {NULL, NULL},
};

static const translation_t validator_names[] = {
    {"DefaultAllowTerminationValidator", "allow"},
    {"DefaultDenyTerminationValidator", "deny"},
    {NULL, NULL},
};

/* A class name may have its package in front. A name that is not in the list stays as it is. */
static const char *translate(const translation_t *list, const char *value)
{
    static const char package[] = "io.aeron.driver.";
    if (strncmp(value, package, sizeof package - 1) == 0) {
        value += sizeof package - 1;
    }
    for (; list->theirs != NULL; list++) {
        if (strcmp(list->theirs, value) == 0) {
            return list->ours;
        }
    }
    return value;
}

static const char *translate_bool(const char *value)
{
    static const char *const words[][2] = {{"true", "true"}, {"on", "true"}, {"1", "true"},
        {"false", "false"}, {"off", "false"}, {"0", "false"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(words[i][0], value) == 0) {
            return words[i][1];
        }
    }
    return value;
}

static void translate_lower(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)(*text == '_' ? '-' : tolower((unsigned char)*text));
    }
}

/* Aeron's length of a ring includes a trailer, ours does not. A power of two has no trailer and
 * stays as it is. */
static void translate_ring(char *text, size_t size, int64_t trailer_length)
{
    int64_t length;
    if (rsti_parse_size(text, &length) && length > trailer_length && (length & (length - 1)) != 0) {
        (void)snprintf(text, size, "%" PRId64, length - trailer_length);
    }
}

static void translate_ms(char *text, size_t size)
{
    int64_t ms;
    if (rsti_parse_i64(text, &ms)) {
        (void)snprintf(text, size, "%" PRId64 "ms", ms);
    }
}

/* Translates a value to our syntax, in place. */
static void translate_value(const row_t *row, char *text, size_t size)
{
    const char *word = text;
    switch (row->kind) {
    case AS_LOWER:
        translate_lower(text);
        return;
    case AS_MS:
        translate_ms(text, size);
        return;
    case AS_TO_DRIVER:
        translate_ring(text, size, RSTI_RB_TRAILER_LENGTH);
        return;
    case AS_TO_CLIENTS:
        translate_ring(text, size, RSTI_BROADCAST_TRAILER_LENGTH);
        return;
    case AS_BOOL:
        word = translate_bool(text);
        break;
    case AS_FLOW:
        word = translate(flow_names, text);
        break;
    case AS_CONGESTION:
        word = translate(congestion_names, text);
        break;
    case AS_VALIDATOR:
        word = translate(validator_names, text);
        break;
    case AS_SEED:
        word = strcmp(text, "-1") == 0 ? "0" : text;
        break;
    default:
        return;
    }
    memmove(text, word, strlen(word) + 1); /* a part of the text, or a short word of the lists */
}

static const char *trim(const char *value, char *text, size_t size)
{
    const char *begin = value + strspn(value, " \t\r\n");
    size_t length = strlen(begin);
    while (length > 0 && strchr(" \t\r\n", begin[length - 1]) != NULL) {
        length--;
    }
    if (length >= size) {
        return NULL;
    }
    memcpy(text, begin, length);
    text[length] = '\0';
    return text;
}

static int tell(rst_on_notice_t on_notice, void *arg, const char *name, const char *value,
    const char *what)
{
    char text[RSTI_ERROR_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s=%.200s: %s", name, value, what);
    if (on_notice != NULL) {
        on_notice(arg, text);
    }
    return 0;
}

static int set_property(rst_driver_params_t *params, const char *key, const char *value,
    rst_on_notice_t on_notice, void *arg)
{
    static const char ours[] = "rstream.";
    char name[RSTI_OPTION_NAME_MAX];
    if (strncmp(key, ours, sizeof ours - 1) != 0) {
        return rst_driver_params_set_aeron(params, key, value, on_notice, arg);
    }
    (void)snprintf(name, sizeof name, "%.*s", RSTI_OPTION_NAME_MAX - 1, key + sizeof ours - 1);
    for (char *c = name; *c != '\0'; c++) {
        *c = (char)(*c == '.' ? '-' : *c);
    }
    return rst_driver_params_set(params, name, value);
}

int rst_driver_params_set_property(rst_driver_params_t *params, const char *assignment,
    rst_on_notice_t on_notice, void *arg)
{
    char key[128];
    const size_t length = strcspn(assignment, "=");
    if (length == 0 || length >= sizeof key) {
        return RST_SET_ERR(RST_EINVAL, "-D%.200s: write -Dname=value", assignment);
    }
    memcpy(key, assignment, length);
    key[length] = '\0';
    /* As with Java, -Dname without a value sets the empty text. */
    return set_property(params, key, assignment[length] == '=' ? assignment + length + 1 : "",
        on_notice, arg);
}

typedef struct loading_t {
    rst_driver_params_t *params;
    rst_on_notice_t on_notice;
    void *arg;
    const char *path;
} loading_t;

static int on_property(void *arg, const char *key, const char *value, int line)
{
    const loading_t *loading = arg;
    if (set_property(loading->params, key, value, loading->on_notice, loading->arg) < 0) {
        RST_APPEND_ERR("in line %d of %s", line, loading->path);
        return -RST_EINVAL;
    }
    return 0;
}

int rst_driver_params_from_properties(rst_driver_params_t *params, const char *path,
    rst_on_notice_t on_notice, void *arg)
{
    size_t length = 0;
    loading_t loading = {params, on_notice, arg, path};
    char *text = rsti_text_file_read(path, PROPERTIES_LENGTH_MAX, &length);
    if (text == NULL) {
        return -rst_last_error_code();
    }
    int result = rsti_properties_parse(text, length, on_property, &loading);
    if (result < 0 && strstr(rst_last_error_text(), path) == NULL) {
        RST_APPEND_ERR("in %s", path);
    }
    rsti_free(text);
    return result;
}

int rst_driver_params_from_aeron_environment(rst_driver_params_t *params, rst_on_notice_t on_notice,
    void *arg)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "AERON_", 6) == 0
            && rst_driver_params_set_property(params, *variable, on_notice, arg) < 0) {
            RST_APPEND_ERR("from the environment");
            return -RST_EINVAL;
        }
    }
    return 0;
}

int rst_driver_has_aeron_environment(void)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        char name[128];
        const size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, "AERON_", 6) == 0 && length < sizeof name) {
            memcpy(name, *variable, length);
            name[length] = '\0';
            if (find_row(name) != NULL) {
                return 1;
            }
        }
    }
    return 0;
}

int rst_driver_params_use_aeron_defaults(rst_driver_params_t *params)
{
    static const char *const values[][2] = {
        {"counters-buffer-length", "8m"},
        {"error-buffer-length", "4m"},
        {"loss-report-buffer-length", "1m"},
        {"idle-exit", "0"},
        {"threading", "dedicated"},
        {"remove-dir-on-close", "false"},
        {"dir-make-parents", "true"},
        {"wake-beside", "true"},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (rst_driver_params_set(params, values[i][0], values[i][1]) < 0) {
            return -RST_EINVAL;
        }
    }
    return rsti_driver_dir_aeron_default(params->dir, sizeof params->dir);
}

int rst_driver_params_set_aeron(rst_driver_params_t *params, const char *name, const char *value,
    rst_on_notice_t on_notice, void *arg)
{
    char text[RSTI_OPTION_TEXT_MAX];
    if (params == NULL || name == NULL || value == NULL) {
        return RST_SET_ERR(RST_EINVAL, "driver option: name and value must not be null");
    }
    const row_t *row = find_row(name);
    if (row == NULL) {
        return is_aerons(name) ? tell(on_notice, arg, name, value, "not known, ignored") : 0;
    }
    if (row->kind == NO_MEANING) {
        char why[96];
        (void)snprintf(why, sizeof why, "accepted, but without effect: %s", row->option);
        return tell(on_notice, arg, name, value, why);
    }
    if (trim(value, text, sizeof text) == NULL) {
        return RST_SET_ERR(RST_EINVAL, "%s=%.60s…: longer than %d bytes", name, value,
            RSTI_OPTION_TEXT_MAX - 1);
    }
    translate_value(row, text, sizeof text);
    rsti_clamp_t clamp = {.least = row->least, .most = row->most};
    if (rsti_driver_params_set_clamped(params, row->option, text, &clamp) < 0) {
        RST_APPEND_ERR("from %s=%.200s", name, value);
        return -RST_EINVAL;
    }
    if (clamp.is_clamped) {
        char what[64];
        (void)snprintf(what, sizeof what, "out of range, %" PRId64 " is taken", clamp.value);
        return tell(on_notice, arg, name, value, what);
    }
    return 0;
}
