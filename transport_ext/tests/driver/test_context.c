/* Options by all their names, ours and Aeron's: which values are clamped, refused or reported, and
 * which relations between options must hold. */
#include "driver/base/context.h"
#include "driver/base/context_checks.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/error.h"

#include <unistd.h>

typedef struct notices_t {
    int count;
    char last[512];
} notices_t;

static void on_notice(void *arg, const char *text)
{
    notices_t *notices = arg;
    notices->count++;
    (void)snprintf(notices->last, sizeof notices->last, "%s", text);
}

static rst_driver_params_t params;
static notices_t notices;

static void start(void)
{
    rsti_driver_params_init(&params);
    memset(&notices, 0, sizeof notices);
}

static int set(const char *name, const char *value)
{
    return rst_driver_params_set_aeron(&params, name, value, on_notice, &notices);
}

static const char *get(const char *name)
{
    static char text[RSTI_OPTION_TEXT_MAX];
    return rst_driver_params_get(&params, name, text, sizeof text) == 0 ? text : NULL;
}

/* L15: one row per Aeron option that has a meaning here, with a value in its syntax. */
static const struct {
    const char *property;
    const char *value;
    const char *option;
    const char *wanted;
} aeron_rows[] = {
    {"aeron.dir", "/dev/shm/x", "dir", "/dev/shm/x"},
    {"aeron.dir.warn.if.exists", "true", "dir-warn-if-exists", "true"},
    {"aeron.dir.delete.on.start", "true", "dir-delete-on-start", "true"},
    {"aeron.dir.delete.on.shutdown", "false", "remove-dir-on-close", "false"},
    {"aeron.threading.mode", "DEDICATED", "threading", "dedicated"},
    {"aeron.threading.mode", "SHARED_NETWORK", "threading", "shared-network"},
    {"aeron.threading.mode", "SHARED", "threading", "shared"},
    {"aeron.threading.mode", "INVOKER", "threading", "invoker"},
    {"aeron.thread.naming", "new", "thread-naming", "new"},
    {"aeron.conductor.buffer.length", "1049344", "conductor-buffer-length", "1048576"},
    {"aeron.conductor.buffer.length", "2097920", "conductor-buffer-length", "2097152"},
    {"aeron.conductor.buffer.length", "2m", "conductor-buffer-length", "2097152"},
    {"aeron.clients.buffer.length", "1048704", "clients-buffer-length", "1048576"},
    {"aeron.counters.buffer.length", "8m", "counters-buffer-length", "8388608"},
    {"aeron.error.buffer.length", "8m", "error-buffer-length", "8388608"},
    {"aeron.loss.report.buffer.length", "2K", "loss-report-buffer-length", "2048"},
    {"aeron.file.page.size", "2m", "file-page-size", "2097152"},
    {"aeron.perform.storage.checks", "off", "perform-storage-checks", "false"},
    {"aeron.low.file.store.warning.threshold", "1g", "low-file-store-warning-threshold",
        "1073741824"},
    {"aeron.term.buffer.length", "64k", "term-buffer-length", "65536"},
    {"aeron.ipc.term.buffer.length", "1G", "ipc-term-buffer-length", "1073741824"},
    {"aeron.term.buffer.sparse.file", "0", "term-buffer-sparse-file", "false"},
    {"aeron.mtu.length", "8k", "mtu", "8192"},
    {"aeron.ipc.mtu.length", "4096", "ipc-mtu", "4096"},
    {"aeron.publication.term.window.length", "32k", "publication-term-window-length", "32768"},
    {"aeron.ipc.publication.term.window.length", "32k", "ipc-publication-term-window-length",
        "32768"},
    {"aeron.client.liveness.timeout", "5000000000", "client-liveness-timeout", "5s"},
    {"aeron.driver.timeout", "2500", "driver-timeout", "2500ms"},
    {"aeron.driver.timeout", "2s", "driver-timeout", "2s"},
    {"aeron.timer.interval", "250ms", "timer-interval", "250ms"},
    {"aeron.publication.linger.timeout", "0", "publication-linger-timeout", "0ns"},
    {"aeron.publication.unblock.timeout", "20s", "publication-unblock-timeout", "20s"},
    {"aeron.publication.connection.timeout", "1s", "publication-connection-timeout", "1s"},
    {"aeron.image.liveness.timeout", "3s", "image-liveness-timeout", "3s"},
    {"aeron.rcv.status.message.timeout", "50ms", "status-message-timeout", "50ms"},
    {"aeron.rcv.initial.window.length", "256k", "initial-window-length", "262144"},
    {"aeron.socket.so_rcvbuf", "2m", "so-rcvbuf", "2097152"},
    {"aeron.socket.so.rcvbuf", "2m", "so-rcvbuf", "2097152"},
    {"aeron.socket.so_sndbuf", "1m", "so-sndbuf", "1048576"},
    {"aeron.socket.multicast.ttl", "16", "socket-multicast-ttl", "16"},
    {"aeron.driver.connect", "false", "driver-connect", "false"},
    {"aeron.send.to.status.poll.ratio", "4", "send-to-status-poll-ratio", "4"},
    {"aeron.network.publication.max.messages.per.send", "2", "max-messages-per-send", "2"},
    {"aeron.receiver.io.vector.capacity", "8", "receiver-io-vector-capacity", "8"},
    {"aeron.sender.io.vector.capacity", "8", "sender-io-vector-capacity", "8"},
    {"aeron.reliable.stream", "false", "reliable-stream", "false"},
    {"aeron.tether.subscriptions", "false", "tether-subscriptions", "false"},
    {"aeron.rejoin.stream", "false", "rejoin-stream", "false"},
    {"aeron.receiver.group.consideration", "TRUE", "receiver-group-consideration", "true"},
    {"aeron.receiver.group.consideration", "infer", "receiver-group-consideration", "infer"},
    {"aeron.spies.simulate.connection", "TRUE", "spies-simulate-connection", "true"},
    {"aeron.receiver.group.tag", "-7", "receiver-group-tag", "-7"},
    {"aeron.unicast.FlowControl.supplier", "unicast_max", "unicast-flow-control", "unicast"},
    {"aeron.unicast.flow.control.strategy", "io.aeron.driver.UnicastFlowControl",
        "unicast-flow-control", "unicast"},
    {"aeron.multicast.FlowControl.supplier", "multicast_min", "multicast-flow-control", "min"},
    {"aeron.multicast.FlowControl.supplier", "io.aeron.driver.MaxMulticastFlowControlSupplier",
        "multicast-flow-control", "max"},
    {"aeron.multicast.flow.control.strategy", "io.aeron.driver.TaggedMulticastFlowControl",
        "multicast-flow-control", "tagged"},
    {"aeron.flow.control.group.tag", "12345678901", "flow-control-group-tag", "12345678901"},
    {"aeron.flow.control.group.min.size", "3", "flow-control-group-min-size", "3"},
    {"aeron.flow.control.receiver.timeout", "2s", "flow-control-receiver-timeout", "2s"},
    {"aeron.unicast.flow.control.rrwm", "8", "unicast-flow-control-rrwm", "8"},
    {"aeron.multicast.flow.control.rrwm", "2", "multicast-flow-control-rrwm", "2"},
    {"aeron.CongestionControl.supplier", "io.aeron.driver.DefaultCongestionControlSupplier",
        "congestion-control", "static"},
    {"aeron.CongestionControl.supplier", "io.aeron.driver.ext.CubicCongestionControlSupplier",
        "congestion-control", "cubic"},
    {"aeron.CubicCongestionControl.measureRtt", "true", "cubic-measure-rtt", "true"},
    {"aeron.CubicCongestionControl.tcpMode", "true", "cubic-tcp-mode", "true"},
    {"aeron.CubicCongestionControl.initialRtt", "1ms", "cubic-initial-rtt", "1ms"},
    {"aeron.nak.multicast.group.size", "20", "nak-multicast-group-size", "20"},
    {"aeron.nak.multicast.max.backoff", "60ms", "nak-multicast-max-backoff", "60ms"},
    {"aeron.nak.unicast.delay", "60us", "nak-unicast-delay", "60us"},
    {"aeron.nak.unicast.retry.delay.ratio", "7", "nak-unicast-retry-delay-ratio", "7"},
    {"aeron.retransmit.unicast.delay", "1us", "retransmit-unicast-delay", "1us"},
    {"aeron.retransmit.unicast.linger", "60ms", "retransmit-unicast-linger", "60ms"},
    {"aeron.max.resend", "32", "max-resend", "32"},
    {"aeron.untethered.window.limit.timeout", "6s", "untethered-window-limit-timeout", "6s"},
    {"aeron.untethered.linger.timeout", "6s", "untethered-linger-timeout", "6s"},
    {"aeron.untethered.resting.timeout", "6s", "untethered-resting-timeout", "6s"},
    {"aeron.counters.free.to.reuse.timeout", "2s", "counters-free-to-reuse-timeout", "2s"},
    {"aeron.publication.reserved.session.id.low", "-100", "publication-reserved-session-id-low",
        "-100"},
    {"aeron.publication.reserved.session.id.high", "100", "publication-reserved-session-id-high",
        "100"},
    {"aeron.driver.stream.session.limit", "5", "stream-session-limit", "5"},
    {"aeron.driver.resource.free.limit", "10", "driver-resource-free-limit", "10"},
    {"aeron.sender.wildcard.port.range", "20000 20100", "sender-wildcard-port-range",
        "20000 20100"},
    {"aeron.receiver.wildcard.port.range", "20000 20100", "receiver-wildcard-port-range",
        "20000 20100"},
    {"aeron.driver.reresolution.check.interval", "2s", "reresolution-check-interval", "2s"},
    {"aeron.udp.channel.incoming.interceptors", "loss", "udp-channel-incoming-interceptors",
        "loss"},
    {"aeron.udp.channel.transport.bindings.loss.args", "rate=0.5",
        "udp-channel-transport-bindings-loss-args", "rate=0.5"},
    {"aeron.udp.channel.transport.bindings.fixed.loss.args", "length=1",
        "udp-channel-transport-bindings-fixed-loss-args", "length=1"},
    {"aeron.udp.channel.transport.bindings.multi.gap.loss.args", "gap-length=1",
        "udp-channel-transport-bindings-multi-gap-loss-args", "gap-length=1"},
    {"aeron.debug.send.data.loss.rate", "0.1", "fault-send-data-loss", "0.1"},
    {"aeron.debug.send.control.loss.rate", "0.2", "fault-receive-control-loss", "0.2"},
    {"aeron.debug.receive.data.loss.rate", "0.3", "fault-receive-data-loss", "0.3"},
    {"aeron.debug.receive.control.loss.rate", "0.4", "fault-send-control-loss", "0.4"},
    {"aeron.debug.send.data.loss.seed", "-1", "fault-seed", "0"},
    {"aeron.debug.send.control.loss.seed", "11", "fault-seed", "11"},
    {"aeron.debug.receive.data.loss.seed", "12", "fault-seed", "12"},
    {"aeron.debug.receive.control.loss.seed", "13", "fault-seed", "13"},
    {"aeron.name.resolver.supplier", "csv_table", "name-resolver", "csv_table"},
    {"aeron.name.resolver.init.args", "a,b,c", "name-resolver-init-args", "a,b,c"},
    {"aeron.name.resolver.supplier", "driver", "name-resolver", "driver"},
    {"aeron.driver.resolver.name", "A", "resolver-name", "A"},
    {"aeron.driver.resolver.interface", "0.0.0.0:8050", "resolver-interface", "0.0.0.0:8050"},
    {"aeron.driver.resolver.bootstrap.neighbor", "b:8050,c:8050", "resolver-bootstrap-neighbor",
        "b:8050,c:8050"},
    {"aeron.driver.resolver.bootstrap.neighbor.resolution.interval", "3s",
        "resolver-bootstrap-neighbor-resolution-interval", "3s"},
    {"aeron.driver.resolver.self.resolution.interval", "4s", "resolver-self-resolution-interval",
        "4s"},
    {"aeron.driver.resolver.neighbor.resolution.interval", "5s",
        "resolver-neighbor-resolution-interval", "5s"},
    {"aeron.driver.resolver.neighbor.timeout", "6s", "resolver-neighbor-timeout", "6s"},
    {"aeron.name.resolver.threshold", "1s", "name-resolver-threshold", "1s"},
    {"aeron.driver.name.resolver.threshold", "2s", "name-resolver-threshold", "2s"},
    {"aeron.driver.conductor.cycle.threshold", "1ms", "conductor-cycle-threshold", "1ms"},
    {"aeron.driver.sender.cycle.threshold", "1ms", "sender-cycle-threshold", "1ms"},
    {"aeron.driver.receiver.cycle.threshold", "1ms", "receiver-cycle-threshold", "1ms"},
    {"aeron.conductor.cpu.affinity", "3", "conductor-cpu-affinity", "3"},
    {"aeron.sender.cpu.affinity", "3", "sender-cpu-affinity", "3"},
    {"aeron.receiver.cpu.affinity", "-1", "receiver-cpu-affinity", "-1"},
    {"aeron.conductor.idle.strategy", "org.agrona.concurrent.BackoffIdleStrategy",
        "conductor-idle-strategy", "backoff"},
    {"aeron.conductor.idle.strategy.init.args", "10-20-1us-1ms",
        "conductor-idle-strategy-init-args", "10-20-1us-1ms"},
    {"aeron.sender.idle.strategy", "noop", "sender-idle-strategy", "noop"},
    {"aeron.sender.idle.strategy.init.args", "x", "sender-idle-strategy-init-args", "x"},
    {"aeron.receiver.idle.strategy", "yielding", "receiver-idle-strategy", "yield"},
    {"aeron.receiver.idle.strategy.init.args", "x", "receiver-idle-strategy-init-args", "x"},
    {"aeron.sharednetwork.idle.strategy", "sleep-ns", "sharednetwork-idle-strategy", "sleep"},
    {"aeron.sharednetwork.idle.strategy.init.args", "1us", "sharednetwork-idle-strategy-init-args",
        "1us"},
    {"aeron.shared.idle.strategy", "spinning", "shared-idle-strategy", "spin"},
    {"aeron.shared.idle.strategy.init.args", "x", "shared-idle-strategy-init-args", "x"},
    {"aeron.driver.termination.validator", "allow", "termination-validator", "allow"},
    {"aeron.driver.termination.validator", "io.aeron.driver.DefaultDenyTerminationValidator",
        "termination-validator", "deny"},
    {"aeron.print.configuration", "true", "print-configuration", "true"},
};
#define ROWS (sizeof aeron_rows / sizeof aeron_rows[0])

/* I7, L15 */
TEST(every_name_of_aerons_sets_its_option)
{
    for (size_t i = 0; i < ROWS; i++) {
        start();
        CHECK_EQ(set(aeron_rows[i].property, aeron_rows[i].value), 0);
        CHECK_STR(get(aeron_rows[i].option), aeron_rows[i].wanted);
        CHECK_EQ(notices.count, 0);
        char variable[128];
        (void)snprintf(variable, sizeof variable, "%s", aeron_rows[i].property);
        for (char *c = variable; *c != '\0'; c++) {
            *c = (char)(*c == '.' ? '_' : *c >= 'a' && *c <= 'z' ? *c - 32 : *c);
        }
        start();
        CHECK_EQ(set(variable, aeron_rows[i].value), 0);
        CHECK_STR(get(aeron_rows[i].option), aeron_rows[i].wanted);
    }
}

static void check_name(void *arg, const char *property, const char *variable, const char *option,
    const char *why)
{
    int *missing = arg;
    bool is_tested = option == NULL && why != NULL;
    for (size_t i = 0; i < ROWS && !is_tested; i++) {
        is_tested = strcmp(aeron_rows[i].property, property) == 0
            && strcmp(aeron_rows[i].option, option) == 0;
    }
    if (!is_tested || (option != NULL && get(option) == NULL)
        || strncmp(variable, "AERON_", 6) != 0) {
        fprintf(stderr, "not tested: %s\n", property);
        (*missing)++;
    }
}

/* L15 */
TEST(the_table_above_is_complete)
{
    int missing = 0;
    start();
    rst_driver_aeron_names(check_name, &missing);
    CHECK_EQ(missing, 0);
}

/* L15, I7: numbers beyond a limit are clamped with a warning; by our own names they are refused. */
TEST(out_of_range)
{
    static const struct {
        const char *property;
        const char *value;
        const char *option;
        const char *wanted;
    } rows[] = {
        {"aeron.term.buffer.length", "1k", "term-buffer-length", "65536"},
        {"aeron.term.buffer.length", "2g", "term-buffer-length", "1073741824"},
        {"aeron.mtu.length", "70000", "mtu", "65504"},
        {"aeron.counters.buffer.length", "1", "counters-buffer-length", "1048576"},
        {"aeron.counters.buffer.length", "600m", "counters-buffer-length", "524288000"},
        {"aeron.error.buffer.length", "1m", "error-buffer-length", "4194304"},
        {"aeron.conductor.buffer.length", "64k", "conductor-buffer-length", "1048576"},
        {"aeron.conductor.buffer.length", "1000", "conductor-buffer-length", "1048576"},
        {"aeron.clients.buffer.length", "0", "clients-buffer-length", "1048576"},
        {"aeron.file.page.size", "1", "file-page-size", "4096"},
        {"aeron.rcv.initial.window.length", "1", "initial-window-length", "256"},
        {"aeron.client.liveness.timeout", "1", "client-liveness-timeout", "1us"},
        {"aeron.nak.unicast.delay", "0", "nak-unicast-delay", "1us"},
        {"aeron.max.resend", "1000", "max-resend", "256"},
        {"aeron.max.resend", "-1", "max-resend", "1"},
        {"aeron.socket.multicast.ttl", "256", "socket-multicast-ttl", "255"},
        {"aeron.network.publication.max.messages.per.send", "64", "max-messages-per-send", "16"},
        {"aeron.receiver.io.vector.capacity", "0", "receiver-io-vector-capacity", "1"},
        {"aeron.driver.stream.session.limit", "0", "stream-session-limit", "1"},
        {"aeron.loss.report.buffer.length", "1", "loss-report-buffer-length", "1024"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        CHECK_EQ(set(rows[i].property, rows[i].value), 0);
        CHECK_STR(get(rows[i].option), rows[i].wanted);
        CHECK_EQ(notices.count, 1);
        CHECK(strstr(notices.last, rows[i].property) != NULL);
        CHECK(strstr(notices.last, "out of range") != NULL);
    }
    start();
    CHECK_EQ(rst_driver_params_set(&params, "max-resend", "1000"), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "max-resend=1000") != NULL);
    CHECK_STR(get("max-resend"), "16");
    /* I7: a round trip of zero would let the window grow without limit. */
    CHECK_EQ(rst_driver_params_set(&params, "cubic-initial-rtt", "1us"), 0);
    CHECK_EQ(rst_driver_params_set(&params, "cubic-initial-rtt", "999ns"), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "cubic-initial-rtt=999ns") != NULL);
}

/* L15 */
TEST(malformed_values_are_refused_by_name)
{
    static const struct {
        const char *property;
        const char *value;
    } rows[] = {
        {"aeron.term.buffer.length", "16mb"},
        {"aeron.term.buffer.length", ""},
        {"aeron.term.buffer.length", "99999999999999999999"},
        {"aeron.client.liveness.timeout", "10 s"},
        {"aeron.driver.timeout", "soon"},
        {"aeron.threading.mode", "BOTH"},
        {"aeron.reliable.stream", "perhaps"},
        {"aeron.conductor.idle.strategy", "com.example.MyIdleStrategy"},
        {"aeron.driver.termination.validator", "com.example.Validator"},
        {"aeron.receiver.group.consideration", "SOMETIMES"},
        {"aeron.conductor.buffer.length", "much"},
        {"aeron.sender.cpu.affinity", "0,1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char wanted[128];
        start();
        (void)snprintf(wanted, sizeof wanted, "%s=%s", rows[i].property, rows[i].value);
        CHECK_EQ(set(rows[i].property, rows[i].value), -RST_EINVAL);
        CHECK(strstr(rst_last_error_text(), wanted) != NULL);
        CHECK_EQ(notices.count, 0);
    }
}

TEST(ineffective_and_unknown_names)
{
    start();
    CHECK_EQ(set("aeron.debug.timeout", "A"), 0);
    CHECK_EQ(notices.count, 1);
    CHECK(strstr(notices.last, "aeron.debug.timeout=A: accepted, but") != NULL);
    CHECK_EQ(set("aeron.no.such.thing", "1"), 0);
    CHECK_EQ(notices.count, 2);
    CHECK_STR(notices.last, "aeron.no.such.thing=1: not known, ignored");
    CHECK_EQ(set("AERON_NO_SUCH_THING", "1"), 0);
    CHECK_EQ(notices.count, 3);
    CHECK_EQ(set("java.net.preferIPv4Stack", "true"), 0);
    CHECK_EQ(set("agrona.disable.bounds.checks", "true"), 0);
    CHECK_EQ(notices.count, 3);
    rst_driver_params_t untouched;
    rsti_driver_params_init(&untouched);
    CHECK_MEM(&params, &untouched, sizeof params);
}

/* L15 */
TEST(properties_of_a_file)
{
    char path[] = "/tmp/rstream-properties-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    static const char text[] = "# a driver\n"
                               "aeron.threading.mode = SHARED\n"
                               "aeron.mtu.length: 8k \n"
                               "aeron.dir=/dev/shm/\\\n"
                               "    some-dir\n"
                               "rstream.idle.exit=7s\n"
                               "aeron.what=1\n"
                               "other=1\n";
    CHECK_EQ(write(fd, text, sizeof text - 1), (ssize_t)(sizeof text - 1));
    start();
    CHECK_EQ(rst_driver_params_from_properties(&params, path, on_notice, &notices), 0);
    CHECK_STR(get("threading"), "shared");
    CHECK_STR(get("mtu"), "8192");
    CHECK_STR(get("dir"), "/dev/shm/some-dir");
    CHECK_STR(get("idle-exit"), "7s");
    CHECK_EQ(notices.count, 1);
    static const char more[] = "\naeron.max.resend=many\n";
    CHECK_EQ(write(fd, more, sizeof more - 1), (ssize_t)(sizeof more - 1));
    CHECK_EQ(rst_driver_params_from_properties(&params, path, on_notice, &notices), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "aeron.max.resend=many") != NULL);
    CHECK(strstr(rst_last_error_text(), "line 10 of /tmp/rstream-properties-") != NULL);
    CHECK_EQ(ftruncate(fd, 1024 * 1024 + 1), 0);
    CHECK_EQ(rst_driver_params_from_properties(&params, path, on_notice, &notices), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "longer than 1048576 bytes") != NULL);
    (void)close(fd);
    (void)unlink(path);
    CHECK_EQ(rst_driver_params_from_properties(&params, path, on_notice, &notices), -RST_ESYS);
}

TEST(single_properties)
{
    start();
    CHECK_EQ(rst_driver_params_set_property(&params, "aeron.mtu.length=4096", NULL, NULL), 0);
    CHECK_EQ(params.mtu, 4096);
    CHECK_EQ(rst_driver_params_set_property(&params, "rstream.max.resend=8", NULL, NULL), 0);
    CHECK_EQ(params.max_resend, 8);
    CHECK_EQ(rst_driver_params_set_property(&params, "rstream.no.such=8", NULL, NULL), -RST_EINVAL);
    CHECK_EQ(rst_driver_params_set_property(&params, "=8", NULL, NULL), -RST_EINVAL);
    CHECK_EQ(rst_driver_params_set_property(&params, "aeron.mtu.length", NULL, NULL), -RST_EINVAL);
    CHECK_EQ(rst_driver_params_set_property(&params, "foo", NULL, NULL), 0);
}

/* L15 */
TEST(the_environment)
{
    (void)unsetenv("AERON_MTU_LENGTH");
    start();
    CHECK_EQ(setenv("AERON_SOMETHING_ELSE", "1", 1), 0);
    CHECK_EQ(rst_driver_has_aeron_environment(), 0);
    CHECK_EQ(setenv("AERON_MTU_LENGTH", "2048", 1), 0);
    CHECK_EQ(rst_driver_has_aeron_environment(), 1);
    CHECK_EQ(rst_driver_params_from_aeron_environment(&params, on_notice, &notices), 0);
    CHECK_EQ(params.mtu, 2048);
    CHECK_EQ(notices.count, 1);
    CHECK_EQ(setenv("RSTREAM_MTU", "4096", 1), 0); /* ours comes later and wins */
    CHECK_EQ(rst_driver_params_from_environment(&params), 0);
    CHECK_EQ(params.mtu, 4096);
    CHECK_EQ(setenv("AERON_MTU_LENGTH", "x", 1), 0);
    CHECK_EQ(rst_driver_params_from_aeron_environment(&params, on_notice, &notices), -RST_EINVAL);
    (void)unsetenv("AERON_MTU_LENGTH");
    (void)unsetenv("AERON_SOMETHING_ELSE");
    (void)unsetenv("RSTREAM_MTU");
    start();
    CHECK_EQ(rst_driver_params_use_aeron_defaults(&params), 0);
    CHECK_STR(get("remove-dir-on-close"), "false");
    CHECK_STR(get("threading"), "dedicated");
    CHECK_STR(get("counters-buffer-length"), "8388608");
    CHECK(strstr(get("dir"), "/aeron-") != NULL);
    CHECK_EQ(rsti_driver_params_validate(&params), 0);
}

/* L15: no idle strategy that a user names is silently without a thread. */
TEST(threads_that_the_idle_options_name)
{
    static const struct {
        const char *set[4];
        rsti_threading_t threading;
        const char *unused;
    } rows[] = {
        {{"conductor-idle-strategy", "spin"}, RSTI_THREADING_DEDICATED, NULL},
        {{"sender-idle-strategy-init-args", "1us"}, RSTI_THREADING_DEDICATED, NULL},
        {{"receiver-idle-strategy", "noop"}, RSTI_THREADING_DEDICATED, NULL},
        {{"shared-idle-strategy", "yield"}, RSTI_THREADING_SHARED, NULL},
        {{"sharednetwork-idle-strategy", "yield"}, RSTI_THREADING_SHARED_NETWORK, NULL},
        {{"sharednetwork-idle-strategy", "yield", "conductor-idle-strategy", "spin"},
            RSTI_THREADING_SHARED_NETWORK, NULL},
        {{"shared-idle-strategy", "yield", "conductor-idle-strategy", "spin"},
            RSTI_THREADING_DEDICATED, "shared-idle-strategy"},
        {{"threading", "shared", "conductor-idle-strategy", "spin"}, RSTI_THREADING_SHARED,
            "conductor-idle-strategy"},
        {{"threading", "shared-network", "sender-idle-strategy", "spin"},
            RSTI_THREADING_SHARED_NETWORK, "sender-idle-strategy"},
        {{"threading", "dedicated", "idle", "spin"}, RSTI_THREADING_DEDICATED, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        for (size_t j = 0; j < 4 && rows[i].set[j] != NULL; j += 2) {
            CHECK_EQ(rst_driver_params_set(&params, rows[i].set[j], rows[i].set[j + 1]), 0);
        }
        const rsti_threading_t threading = rsti_driver_params_threading(&params);
        CHECK_EQ(threading, rows[i].threading);
        const char *unused = rsti_driver_params_unused_idle(&params, threading);
        CHECK_STR(unused == NULL ? "" : unused, rows[i].unused == NULL ? "" : rows[i].unused);
    }
}

/* L15: docs/reference/aeron/driver.md 9; each row violates one relation at its limit. */
TEST(options_that_do_not_go_together_are_refused)
{
    static const struct {
        const char *set[4];
        const char *named; /* NULL: allowed */
    } rows[] = {
        {{"publication-unblock-timeout", "10s"}, "publication-unblock-timeout=10s"},
        {{"publication-unblock-timeout", "10000000001ns"}, NULL},
        {{"client-liveness-timeout", "1s"}, "client-liveness-timeout=1s"},
        {{"client-liveness-timeout", "1001ms"}, NULL},
        {{"client-liveness-timeout", "15s"}, "publication-unblock-timeout=15s"},
        {{"timer-interval", "10s"}, "client-liveness-timeout=10s"},
        {{"timer-interval", "5s"}, "untethered-window-limit-timeout=5s"},
        {{"untethered-window-limit-timeout", "1s"}, "untethered-window-limit-timeout=1s"},
        {{"untethered-linger-timeout", "1s"}, "untethered-linger-timeout=1s"},
        {{"untethered-linger-timeout", "1001ms"}, NULL},
        {{"untethered-resting-timeout", "1s"}, "untethered-resting-timeout=1s"},
        {{"mtu", "1409"}, "mtu=1409"},
        {{"ipc-mtu", "1424"}, "ipc-mtu=1424"},
        {{"ipc-mtu", "1440"}, NULL},
        {{"term-buffer-length", "65537"}, "term-buffer-length=65537"},
        {{"ipc-term-buffer-length", "100k"}, "ipc-term-buffer-length=102400"},
        {{"file-page-size", "5000"}, "file-page-size=5000"},
        {{"conductor-buffer-length", "1000000"}, "conductor-buffer-length=1000000"},
        {{"clients-buffer-length", "1000000"}, "clients-buffer-length=1000000"},
        {{"counters-buffer-length", "1048577"}, "counters-buffer-length=1048577"},
        {{"error-buffer-length", "65537"}, "error-buffer-length=65537"},
        {{"initial-window-length", "131073"}, "initial-window-length=131073"},
        {{"initial-window-length", "131073", "so-rcvbuf", "0"}, NULL},
        {{"initial-window-length", "1407"}, "mtu=1408"},
        {{"so-sndbuf", "1407"}, "mtu=1408"},
        {{"so-sndbuf", "1408"}, NULL},
        {{"publication-reserved-session-id-low", "1001"}, "publication-reserved-session-id-high"},
        {{"nak-unicast-delay", "3600s", "nak-unicast-retry-delay-ratio", "1000000"}, NULL},
        {{"nak-unicast-delay", "31536000s", "nak-unicast-retry-delay-ratio", "1000000"},
            "nak-unicast-retry-delay-ratio=1000000"},
        {{"rate", "fixed,r:200m"}, NULL},
        {{"rate", "fixed"}, "rate=fixed: "},
        {{"rate", "fast"}, "rate=fast: "},
        {{"idle", "backoff", "idle-init-args", "1-2-3"}, "idle-init-args=1-2-3"},
        {{"idle", "spin", "idle-init-args", "1ms"}, "idle-init-args=1ms"},
        {{"sender-idle-strategy", "sleep", "sender-idle-strategy-init-args", "x"},
            "sender-idle-strategy-init-args=x"},
        {{"sender-idle-strategy", "sleep", "sender-idle-strategy-init-args", "10us"}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        start();
        for (size_t j = 0; j < 4 && rows[i].set[j] != NULL; j += 2) {
            CHECK_EQ(rst_driver_params_set(&params, rows[i].set[j], rows[i].set[j + 1]), 0);
        }
        CHECK_EQ(rsti_driver_params_validate(&params), rows[i].named == NULL ? 0 : -RST_EINVAL);
        if (rows[i].named != NULL && strstr(rst_last_error_text(), rows[i].named) == NULL) {
            CHECK_STR(rst_last_error_text(), rows[i].named);
        }
    }
}

/* L15 */
TEST(buffers_that_the_system_does_not_give_are_refused)
{
    start();
    const rsti_socket_probe_t enough = {.rcvbuf = 131072, .sndbuf = 1408};
    const rsti_socket_probe_t small_receive = {.rcvbuf = 131071, .sndbuf = 1408};
    const rsti_socket_probe_t small_send = {.rcvbuf = 131072, .sndbuf = 1407};
    CHECK_EQ(rsti_driver_params_check_sockets(&params, &enough), 0);
    CHECK_EQ(rsti_driver_params_check_sockets(&params, &small_receive), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "initial-window-length=131072") != NULL);
    CHECK_EQ(rsti_driver_params_check_sockets(&params, &small_send), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "mtu=1408") != NULL);
}

/* The printed options can be parsed again. */
TEST(values_come_back_as_they_were_set)
{
    start();
    for (const rst_driver_option_t *o = rst_driver_option_list(); o->name != NULL; o++) {
        char text[RSTI_OPTION_TEXT_MAX];
        (void)snprintf(text, sizeof text, "%s", get(o->name));
        CHECK_EQ(rst_driver_params_set(&params, o->name, text), 0);
    }
    rst_driver_params_t untouched;
    rsti_driver_params_init(&untouched);
    CHECK_MEM(&params, &untouched, sizeof params);
    CHECK(get("no-such-option") == NULL);
}

CHECK_MAIN(RUN(every_name_of_aerons_sets_its_option), RUN(the_table_above_is_complete),
    RUN(out_of_range), RUN(malformed_values_are_refused_by_name),
    RUN(ineffective_and_unknown_names), RUN(properties_of_a_file), RUN(single_properties),
    RUN(the_environment), RUN(threads_that_the_idle_options_name),
    RUN(options_that_do_not_go_together_are_refused),
    RUN(buffers_that_the_system_does_not_give_are_refused), RUN(values_come_back_as_they_were_set))
