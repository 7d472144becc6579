/* options.h: every option of the driver, one row each. A new option needs only its row, which makes
 * the field of rst_driver_params_t, the flag --NAME of rstreamd, the variable RSTREAM_NAME, the
 * default, the limits and the line of --help. An option that Aeron has too gets Aeron's name here,
 * and a row in aeron_names.c.
 *
 * X(kind, field, name, default, least, most, help)
 *
 * Kinds: SIZE (bytes: k, m, g), DURATION (ns; s, ms, us, ns), NUMBER, BOOL, UNIT (a double from 0
 * to 1), SEED (any 64 bits), TEXT (char array; most = longest), and names from a short list:
 * THREADING, IDLE, TRISTATE (true | false | infer), NAMING, TERMINATION, BUDGET. All but UNIT and
 * TEXT are int64_t. */
#ifndef RSTI_DRIVER_OPTIONS_H
#define RSTI_DRIVER_OPTIONS_H

#include <stdint.h>

#define RSTI_OPTION_TEXT_MAX 1024 /* with the terminator; a row may have a lower limit */
#define RSTI_OPTION_NAME_MAX 64
#define RSTI_MB INT64_C(1048576)
#define RSTI_GB INT64_C(1073741824)
#define RSTI_MS INT64_C(1000000)
#define RSTI_DURATION_MAX INT64_C(31536000000000000) /* a year */

/* Threads of the agents. */
/* clang-format off */
#define RSTI_OPTIONS_AGENTS(X)                                                                     \
    X(THREADING, threading, "threading", "auto", 0, 0,                                             \
        "dedicated | shared-network | shared | invoker | auto: the mode whose threads the "        \
        "idle options name, else shared on up to four cores, dedicated on more")                   \
    X(IDLE, idle, "idle", "block", 0, 0,                                                           \
        "block | spin | noop | yield | backoff | sleep | controllable: how an idle agent waits")   \
    X(TEXT, idle_args, "idle-init-args", "", 0, 127,                                               \
        "for backoff: spins-yields-min-max, as 10-20-1us-1ms; for sleep: a duration")              \
    X(DURATION, idle_spin_ns, "idle-spin", "50us", 0, RSTI_NS_PER_S,                               \
        "time that a blocking agent looks for work before it sleeps")                              \
    X(IDLE, conductor_idle, "conductor-idle-strategy", "default", 0, 0,                            \
        "idle strategy of a thread with the conductor alone; default: as idle")                    \
    X(TEXT, conductor_idle_args, "conductor-idle-strategy-init-args", "", 0, 127,                  \
        "arguments of that strategy, as in idle-init-args")                                        \
    X(IDLE, sender_idle, "sender-idle-strategy", "default", 0, 0,                                  \
        "idle strategy of a thread with the sender alone; default: as idle")                       \
    X(TEXT, sender_idle_args, "sender-idle-strategy-init-args", "", 0, 127,                        \
        "arguments of that strategy, as in idle-init-args")                                        \
    X(IDLE, receiver_idle, "receiver-idle-strategy", "default", 0, 0,                              \
        "idle strategy of a thread with the receiver alone; default: as idle")                     \
    X(TEXT, receiver_idle_args, "receiver-idle-strategy-init-args", "", 0, 127,                    \
        "arguments of that strategy, as in idle-init-args")                                        \
    X(IDLE, network_idle, "sharednetwork-idle-strategy", "default", 0, 0,                          \
        "idle strategy of a thread with sender and receiver; default: as idle")                    \
    X(TEXT, network_idle_args, "sharednetwork-idle-strategy-init-args", "", 0, 127,                \
        "arguments of that strategy, as in idle-init-args")                                        \
    X(IDLE, shared_idle, "shared-idle-strategy", "default", 0, 0,                                  \
        "idle strategy of a thread with all agents; default: as idle")                             \
    X(TEXT, shared_idle_args, "shared-idle-strategy-init-args", "", 0, 127,                        \
        "arguments of that strategy, as in idle-init-args")                                        \
    X(NAMING, thread_naming, "thread-naming", "rstream", 0, 0,                                     \
        "rstream | classic | new: thread names; classic and new are those of Aeron's drivers")     \
    X(NUMBER, conductor_cpu, "conductor-cpu-affinity", "-1", -1, 1023,                             \
        "cpu of the conductor's thread; -1: any; a shared thread uses the first cpu given")        \
    X(NUMBER, sender_cpu, "sender-cpu-affinity", "-1", -1, 1023,                                   \
        "cpu of the sender's thread; -1: any; a shared thread uses the first cpu given")           \
    X(NUMBER, receiver_cpu, "receiver-cpu-affinity", "-1", -1, 1023,                               \
        "cpu of the receiver's thread; -1: any; a shared thread uses the first cpu given")         \
    X(DURATION, conductor_cycle_threshold_ns, "conductor-cycle-threshold", "100ms", 1,             \
        RSTI_DURATION_MAX, "longer passes of the conductor are counted")                           \
    X(DURATION, sender_cycle_threshold_ns, "sender-cycle-threshold", "100ms", 1, RSTI_DURATION_MAX,\
        "longer passes of the sender are counted")                                                 \
    X(DURATION, receiver_cycle_threshold_ns, "receiver-cycle-threshold", "100ms", 1,               \
        RSTI_DURATION_MAX, "longer passes of the receiver are counted")                            \
    X(DURATION, resolver_threshold_ns, "name-resolver-threshold", "5s", 1, RSTI_DURATION_MAX,      \
        "longer name look-ups are counted")                                                        \
    X(TERMINATION, termination, "termination-validator", "deny", 0, 0,                             \
        "deny | allow: whether a client may end the driver")                                       \
    X(TEXT, termination_token, "termination-token", "", 0, 383,                                    \
        "token that a client must send to end the driver; empty: any")

/* The directory and the files in it. */
#define RSTI_OPTIONS_FILES(X)                                                                      \
    X(BOOL, remove_dir, "remove-dir-on-close", "true", 0, 1,                                       \
        "remove the driver directory at close")                                                    \
    X(BOOL, wake_beside, "wake-beside", "false", 0, 1,                                             \
        "keep the FIFOs of waiting threads in <dir>.wake beside the driver directory, for "        \
        "programs that copy that directory")                                                       \
    X(BOOL, dir_make_parents, "dir-make-parents", "false", 0, 1,                                   \
        "create missing parent directories too")                                                   \
    X(BOOL, dir_delete_on_start, "dir-delete-on-start", "false", 0, 1,                             \
        "replace an existing directory even if an Aeron driver's heartbeat in it is recent")       \
    X(BOOL, dir_warn_if_exists, "dir-warn-if-exists", "false", 0, 1,                               \
        "warn on stderr when the directory exists at the start")                                   \
    X(BOOL, print_configuration, "print-configuration", "false", 0, 1,                             \
        "print every option at the start")                                                         \
    X(SIZE, to_driver_length, "conductor-buffer-length", "1m", 65536, RSTI_GB / 2,                 \
        "ring buffer of client commands; a power of two")                                          \
    X(SIZE, to_clients_length, "clients-buffer-length", "1m", 65536, RSTI_GB / 2,                  \
        "broadcast buffer of answers to clients; a power of two")                                  \
    X(SIZE, counters_length, "counters-buffer-length", "1m", RSTI_MB, 500 * RSTI_MB,               \
        "memory of counter values (128 bytes each); their labels take four times as much")         \
    X(SIZE, error_length, "error-buffer-length", "256k", 65536, RSTI_GB / 2,                       \
        "length of the error log")                                                                 \
    X(SIZE, loss_report_length, "loss-report-buffer-length", "64k", 1024, RSTI_GB / 2,             \
        "length of the loss report; longer ones are rounded up to pages")                          \
    X(SIZE, page_size, "file-page-size", "4096", 4096, RSTI_GB,                                    \
        "page size that file lengths are rounded up to; a power of two")                           \
    X(BOOL, storage_checks, "perform-storage-checks", "true", 0, 1,                                \
        "refuse a log when the file system has too little free space for it")                      \
    X(SIZE, low_storage_warning, "low-file-store-warning-threshold", "160m", 0, INT64_MAX,         \
        "a new log that leaves less free space makes a warning in the error log")                  \
    X(TEXT, frame_log, "frame-log", "", 0, RSTI_OPTION_TEXT_MAX - 1,                               \
        "file that gets a line for every frame sent and received; empty: no such file")            \
    X(SIZE, frame_log_length, "frame-log-length", "64m", 4096, INT64_MAX,                          \
        "largest length of the frame log")

/* Publications and subscriptions: defaults for channels without the parameter. */
#define RSTI_OPTIONS_STREAMS(X)                                                                    \
    X(SIZE, term_length, "term-buffer-length", "16m", 65536, RSTI_GB,                              \
        "term length of a network publication; a power of two")                                    \
    X(SIZE, ipc_term_length, "ipc-term-buffer-length", "64m", 65536, RSTI_GB,                      \
        "term length of an IPC publication; a power of two")                                       \
    X(BOOL, sparse, "term-buffer-sparse-file", "true", 0, 1,                                       \
        "reserve the memory of a term when it is first used, not when the log is made")            \
    X(SIZE, mtu, "mtu", "1408", 64, 65504, "datagram size; a multiple of 32")                      \
    X(SIZE, ipc_mtu, "ipc-mtu", "1408", 64, 65504, "frame size of IPC; a multiple of 32")          \
    X(SIZE, publication_window, "publication-term-window-length", "0", 0, RSTI_GB,                 \
        "producer window of a network publication; 0: half a term")                                \
    X(SIZE, ipc_publication_window, "ipc-publication-term-window-length", "0", 0, RSTI_GB,         \
        "producer window of an IPC publication; 0: half a term")                                   \
    X(SIZE, initial_window, "initial-window-length", "128k", 256, RSTI_GB, "receiver window")      \
    X(BOOL, reliable, "reliable-stream", "true", 0, 1, "default of reliable=")                     \
    X(BOOL, tether, "tether-subscriptions", "true", 0, 1, "default of tether=")                    \
    X(BOOL, rejoin, "rejoin-stream", "true", 0, 1, "default of rejoin=")                           \
    X(TRISTATE, receiver_group, "receiver-group-consideration", "infer", 0, 0,                     \
        "default of group=: true | false | infer (multicast)")                                     \
    X(BOOL, spies_simulate_connection, "spies-simulate-connection", "false", 0, 1,                 \
        "default of ssc=: spies count as receivers")                                               \
    X(NUMBER, reserved_session_low, "publication-reserved-session-id-low", "-1", INT32_MIN,        \
        INT32_MAX, "lowest session id that the driver never chooses itself")                       \
    X(NUMBER, reserved_session_high, "publication-reserved-session-id-high", "1000", INT32_MIN,    \
        INT32_MAX, "highest of these session ids")                                                 \
    X(NUMBER, session_limit, "endpoint-session-limit", "1024", 16, 65536,                          \
        "most sessions in the table of one receive endpoint")                                      \
    X(NUMBER, stream_session_limit, "stream-session-limit", "2147483647", 1, INT32_MAX,            \
        "most images of one stream on one receive endpoint")                                       \
    X(SIZE, unproven_images_length, "unproven-images-length", "256m", 0, 1024 * RSTI_GB,           \
        "most memory of images whose publisher does not answer round-trip frames")                 \
    X(SIZE, source_images_length, "source-images-length", "0", 0, 1024 * RSTI_GB,                  \
        "most memory of images from one source address; 0: 7/8 of what is free for it")

/* Timeouts and intervals. */
#define RSTI_OPTIONS_LIFE(X)                                                                       \
    X(DURATION, client_liveness_ns, "client-liveness-timeout", "10s", 1000, RSTI_DURATION_MAX,     \
        "a client without a heartbeat for so long is closed")                                      \
    X(DURATION, driver_timeout_ns, "driver-timeout", "10s", 1000, RSTI_DURATION_MAX,               \
        "a driver directory with an older heartbeat belongs to a dead driver")                     \
    X(DURATION, timer_interval_ns, "timer-interval", "1s", 1000, RSTI_DURATION_MAX,                \
        "interval of the conductor's timers")                                                      \
    X(DURATION, idle_exit_ns, "idle-exit", "30s", 0, INT64_MAX,                                    \
        "a driver without clients for so long reports itself idle; 0: never")                      \
    X(DURATION, linger_ns, "publication-linger-timeout", "5s", 0, RSTI_DURATION_MAX,               \
        "time that a closed publication still answers NAKs")                                       \
    X(DURATION, connection_timeout_ns, "publication-connection-timeout", "5s", 1000,               \
        RSTI_DURATION_MAX, "a receiver without status messages for so long is dropped")            \
    X(DURATION, unblock_timeout_ns, "publication-unblock-timeout", "15s", 1000, RSTI_DURATION_MAX, \
        "an unfinished claim is replaced by padding after so long")                                \
    X(DURATION, image_liveness_ns, "image-liveness-timeout", "10s", 1000, RSTI_DURATION_MAX,       \
        "an image without datagrams for so long is closed")                                        \
    X(DURATION, untethered_window_limit_ns, "untethered-window-limit-timeout", "5s", 1000,         \
        RSTI_DURATION_MAX,                                                                         \
        "an untethered subscriber at the end of the window for so long is dropped")                \
    X(DURATION, untethered_linger_ns, "untethered-linger-timeout", "0", 0, RSTI_DURATION_MAX,      \
        "time its data stays valid after that; 0: as untethered-window-limit-timeout")             \
    X(DURATION, untethered_resting_ns, "untethered-resting-timeout", "10s", 1000,                  \
        RSTI_DURATION_MAX, "time until a dropped untethered subscriber may join again")            \
    X(DURATION, counter_reuse_ns, "counters-free-to-reuse-timeout", "1s", 0, RSTI_DURATION_MAX,    \
        "time until the id of a freed counter is used again")                                      \
    X(NUMBER, resource_free_limit, "driver-resource-free-limit", "1", 1, 1000000,                  \
        "most logs that are freed in one pass")

/* Sockets, names and ports. */
#define RSTI_OPTIONS_MEDIA(X)                                                                      \
    X(SIZE, so_rcvbuf, "so-rcvbuf", "128k", 0, RSTI_GB,                                            \
        "socket receive buffer; 0: the system's default")                                          \
    X(SIZE, so_sndbuf, "so-sndbuf", "0", 0, RSTI_GB, "socket send buffer; 0: the system's default")\
    X(NUMBER, multicast_ttl, "socket-multicast-ttl", "0", 0, 255,                                  \
        "time to live of multicast datagrams; 0: the system's default")                            \
    X(BOOL, connect, "driver-connect", "true", 0, 1, "connect publication sockets")                \
    X(BOOL, segmentation, "segmentation-offload", "true", 0, 1,                                    \
        "several datagrams of equal length pass to and from the kernel in one call")               \
    X(NUMBER, max_messages_per_send, "max-messages-per-send", "16", 1, RSTI_MEDIA_BURST_MAX,       \
        "most datagrams of one publication in one pass")                                           \
    X(NUMBER, receiver_burst, "receiver-io-vector-capacity", "64", 1, RSTI_MEDIA_BURST_MAX,        \
        "most datagrams that the receiver reads from a socket at once")                            \
    X(NUMBER, sender_burst, "sender-io-vector-capacity", "16", 1, 16,                              \
        "most status messages and NAKs that the sender reads from a socket at once")               \
    X(NUMBER, status_poll_ratio, "send-to-status-poll-ratio", "6", 1, 1000,                        \
        "passes with data between two polls for status messages")                                  \
    X(DURATION, reresolution_interval_ns, "reresolution-check-interval", "1s", 0,                  \
        RSTI_DURATION_MAX, "interval of new look-ups for names of silent peers; 0: never")         \
    X(TEXT, sender_ports, "sender-wildcard-port-range", "", 0, 31,                                 \
        "\"low high\": ports for publications whose endpoint has port 0")                          \
    X(TEXT, receiver_ports, "receiver-wildcard-port-range", "", 0, 31,                             \
        "\"low high\": ports for subscriptions whose endpoint has port 0")                         \
    X(TEXT, name_resolver, "name-resolver", "default", 0, 63,                                      \
        "default | csv_table (names of name-resolver-init-args, for tests) | driver (drivers "     \
        "tell each other names, as with resolver-interface)")                                      \
    X(TEXT, name_resolver_args, "name-resolver-init-args", "", 0, RSTI_OPTION_TEXT_MAX - 1,        \
        "arguments of the name resolver")                                                          \
    X(TEXT, resolver_name, "resolver-name", "", 0, 255,                                            \
        "name of this driver for other drivers; empty: the host name")                             \
    X(TEXT, resolver_interface, "resolver-interface", "", 0, 255,                                  \
        "address:port where drivers tell this one names; empty: they do not, or, with "            \
        "name-resolver=driver, any address and port")                                              \
    X(TEXT, resolver_bootstrap, "resolver-bootstrap-neighbor", "", 0, RSTI_OPTION_TEXT_MAX - 1,    \
        "host:port of drivers that are told of this one first; 20 at most, apart by commas")       \
    X(DURATION, resolver_bootstrap_ns, "resolver-bootstrap-neighbor-resolution-interval", "10s",   \
        RSTI_MS, RSTI_DURATION_MAX, "interval of new look-ups for bootstrap neighbors that do not "\
        "answer")                                                                                  \
    X(DURATION, resolver_self_ns, "resolver-self-resolution-interval", "1s", RSTI_MS,              \
        RSTI_DURATION_MAX, "interval in which this driver tells its own name")                     \
    X(DURATION, resolver_list_ns, "resolver-neighbor-resolution-interval", "2s", RSTI_MS,          \
        RSTI_DURATION_MAX, "interval in which it tells the names that it heard")                   \
    X(DURATION, resolver_timeout_ns, "resolver-neighbor-timeout", "10s", RSTI_MS,                  \
        INT64_C(86400000000000), "a name or neighbor that is silent for so long is forgotten")

/* Flow control, rates and windows (docs/reference/aeron/driver.md 8, docs/reference/aeron/wire.md 9
 * and 10). */
#define RSTI_OPTIONS_FLOW(X)                                                                       \
    X(DURATION, sm_timeout_ns, "status-message-timeout", "200ms", 1000, RSTI_DURATION_MAX,         \
        "longest time between two status messages")                                                \
    X(TEXT, unicast_fc, "unicast-flow-control", "unicast", 0, 63,                                  \
        "flow control of unicast channels: unicast, or a registered name")                         \
    X(TEXT, rate, "rate", "default", 0, RSTI_RATE_TEXT_MAX,                                        \
        "law of rate without rs-rate=: unlimited | fixed,r:200m | adaptive | nak | aimd; default: "\
        "adaptive for named streams, unlimited for others")                                        \
    X(BOOL, reader_window, "reader-window", "true", 0, 1,                                          \
        "under a law that follows the reader, or the path, the window begins small, and stays so "\
        "before a reader of few or small items")                                                   \
    X(BOOL, follow_path, "follow-path", "true", 0, 1,                                              \
        "named streams over UDP with one destination and without cc= follow the path (cc=path)")   \
    X(TEXT, multicast_fc, "multicast-flow-control", "max", 0, 63,                                  \
        "flow control of groups without fc=: max | min | tagged, or a registered name")            \
    X(NUMBER, fc_group_tag, "flow-control-group-tag", "-1", INT64_MIN, INT64_MAX,                  \
        "tag of the receivers that tagged flow control waits for")                                 \
    X(NUMBER, fc_group_min_size, "flow-control-group-min-size", "0", 0, INT32_MAX,                 \
        "receivers that a min or tagged group needs to be connected")                              \
    X(DURATION, fc_receiver_timeout_ns, "flow-control-receiver-timeout", "5s", 1000,               \
        RSTI_DURATION_MAX, "a receiver without status messages for so long leaves its group")      \
    X(NUMBER, unicast_rrwm, "unicast-flow-control-rrwm", "16", 1, 65536,                           \
        "most bytes resent for one NAK of a unicast channel, in receiver windows")                 \
    X(NUMBER, multicast_rrwm, "multicast-flow-control-rrwm", "4", 1, 65536,                        \
        "most bytes resent for one NAK of a group, in receiver windows")                           \
    X(TEXT, receiver_group_tag, "receiver-group-tag", "", 0, 20,                                   \
        "default of gtag=: a 64-bit number sent in status messages; empty: none")                  \
    X(TEXT, sources, "sources", "", 0, RSTI_SOURCES_TEXT_MAX,                                      \
        "addresses and networks of which datagrams are taken, with commas between; empty: every "  \
        "source")                                                                                  \
    X(TEXT, resolver_key, "resolver-key", "", 0, RSTI_CHANNEL_HOST_MAX - 1,                        \
        "rs-key of drivers that tell each other names; empty: plain, also with RSTREAM_KEY_FILE")  \
    X(BOOL, key_required, "key-required", "false", 0, 1,                                           \
        "no socket without a key: channels over UDP need rs-key, names over the network "          \
        "resolver-key")                                                                            \
    X(TEXT, congestion_control, "congestion-control", "static", 0, 63,                             \
        "receiver window of streams without cc=: static | cubic | auto")                           \
    X(BOOL, fill_window, "fill-window", "false", 0, 1,                                             \
        "default of rs-fill-window=: a slow reader lowers the window of Aeron's senders")          \
    X(DURATION, fill_detect_ns, "fill-detect", "200us", 0, RSTI_NS_PER_S,                          \
        "time that the driver's threads add to the detection of a stopped reader")                 \
    X(BOOL, cubic_measure_rtt, "cubic-measure-rtt", "false", 0, 1, "cubic: measure round trips")   \
    X(BOOL, cubic_tcp_mode, "cubic-tcp-mode", "false", 0, 1,                                       \
        "cubic: the window is never below that of TCP")                                            \
    X(DURATION, cubic_initial_rtt_ns, "cubic-initial-rtt", "100us", 1000, RSTI_DURATION_MAX,       \
        "cubic: assumed round trip until one is measured")

/* Budgets: the bytes that a consumer allows in flight to it (flow/budget.h). */
#define RSTI_OPTIONS_BUDGET(X)                                                                     \
    X(BUDGET, budget, "budget", "none", 0, 0,                                                      \
        "none | static | dynamic | aggressive: how a peer's limit of bytes in flight is chosen")   \
    X(SIZE, budget_bytes, "budget-bytes", "10m", 1, INT64_MAX, "static: limit of each peer")       \
    X(SIZE, budget_memory, "budget-memory", "0", 0, INT64_MAX,                                     \
        "memory that dynamic and aggressive divide; 0: that of the machine")                       \
    X(SIZE, budget_min, "budget-min", "10m", 1, INT64_MAX,                                         \
        "dynamic, aggressive: least limit of a peer")                                              \
    X(SIZE, budget_max, "budget-max", "50m", 1, INT64_MAX,                                         \
        "dynamic, aggressive: most limit of a peer")                                               \
    X(UNIT, budget_share, "budget-share", "0.01", 0, 1,                                            \
        "dynamic: share of the memory for each peer")                                              \
    X(UNIT, budget_threshold, "budget-threshold", "0.1", 0, 1,                                     \
        "dynamic: once this share of the memory is granted, new peers get budget-min")             \
    X(UNIT, budget_total_share, "budget-total-share", "0.05", 0, 1,                                \
        "aggressive: share of the memory for all peers together")                                  \
    X(DURATION, noop_interval_ns, "noop-interval", "0", 0, RSTI_DURATION_MAX,                      \
        "a UDP reader that does not answer for so long is dropped; 0: no check")                   \
    X(SIZE, stream_budget, "stream-budget", "0", 0, INT64_MAX,                                     \
        "default of rs-budget=: most bytes of one stream in flight; 0: no limit")

/* Loss and its repair. */
#define RSTI_OPTIONS_LOSS(X)                                                                       \
    X(DURATION, nak_delay_ns, "nak-unicast-delay", "1us", 1000, RSTI_DURATION_MAX,                 \
        "time from finding a gap to its first NAK")                                                \
    X(NUMBER, nak_retry_ratio, "nak-unicast-retry-delay-ratio", "100", 1, 1000000,                 \
        "time between NAKs for the same gap, as a multiple of the first delay")                    \
    X(DURATION, nak_group_backoff_ns, "nak-multicast-max-backoff", "10ms", 1000, RSTI_DURATION_MAX,\
        "longest delay of a NAK in a group")                                                       \
    X(NUMBER, nak_group_size, "nak-multicast-group-size", "10", 1, 1000000,                        \
        "assumed number of receivers in a group")                                                  \
    X(DURATION, retransmit_delay_ns, "retransmit-unicast-delay", "0", 0, RSTI_DURATION_MAX,        \
        "time from a NAK to its retransmission")                                                   \
    X(DURATION, retransmit_linger_ns, "retransmit-unicast-linger", "10ms", 0, RSTI_DURATION_MAX,   \
        "time after a retransmission in which NAKs for the same data are ignored")                 \
    X(NUMBER, max_resend, "max-resend", "16", 1, 256,                                              \
        "most retransmissions of a group channel at once")

/* The loss generators of Aeron's C driver. */
#define RSTI_OPTIONS_INTERCEPTORS(X)                                                               \
    X(TEXT, interceptors, "udp-channel-incoming-interceptors", "", 0, 255,                         \
        "loss generators for what is received: loss, fixed-loss, multi-gap-loss; apart by commas") \
    X(TEXT, loss_args, "udp-channel-transport-bindings-loss-args", "", 0, 255,                     \
        "of loss: rate=0.2|seed=7|recv-msg-mask=0x2 (bits of frame types; 0x2: data)")             \
    X(TEXT, fixed_loss_args, "udp-channel-transport-bindings-fixed-loss-args", "", 0, 255,         \
        "of fixed-loss: term-id=5|term-offset=1024|length=2048, lost once")                        \
    X(TEXT, multi_gap_loss_args, "udp-channel-transport-bindings-multi-gap-loss-args", "", 0, 255, \
        "of multi-gap-loss: term-id=5|gap-radix=4096|gap-length=1408|total-gaps=8, lost once")

/* Faults for tests. */
#define RSTI_OPTIONS_FAULTS(X)                                                                     \
    X(UNIT, fault.send_data.loss, "fault-send-data-loss", "0", 0, 1,                               \
        "probability that a data datagram is lost when it is sent")                                \
    X(UNIT, fault.send_data.duplicate, "fault-send-data-duplicate", "0", 0, 1,                     \
        "probability that a data datagram is duplicated when it is sent")                          \
    X(UNIT, fault.send_data.reorder, "fault-send-data-reorder", "0", 0, 1,                         \
        "probability that a data datagram is reordered when it is sent")                           \
    X(UNIT, fault.send_control.loss, "fault-send-control-loss", "0", 0, 1,                         \
        "probability that a control datagram is lost when it is sent")                             \
    X(UNIT, fault.send_control.duplicate, "fault-send-control-duplicate", "0", 0, 1,               \
        "probability that a control datagram is duplicated when it is sent")                       \
    X(UNIT, fault.send_control.reorder, "fault-send-control-reorder", "0", 0, 1,                   \
        "probability that a control datagram is reordered when it is sent")                        \
    X(UNIT, fault.receive_data.loss, "fault-receive-data-loss", "0", 0, 1,                         \
        "probability that a data datagram is lost when it is received")                            \
    X(UNIT, fault.receive_data.duplicate, "fault-receive-data-duplicate", "0", 0, 1,               \
        "probability that a data datagram is duplicated when it is received")                      \
    X(UNIT, fault.receive_data.reorder, "fault-receive-data-reorder", "0", 0, 1,                   \
        "probability that a data datagram is reordered when it is received")                       \
    X(UNIT, fault.receive_control.loss, "fault-receive-control-loss", "0", 0, 1,                   \
        "probability that a control datagram is lost when it is received")                         \
    X(UNIT, fault.receive_control.duplicate, "fault-receive-control-duplicate", "0", 0, 1,         \
        "probability that a control datagram is duplicated when it is received")                   \
    X(UNIT, fault.receive_control.reorder, "fault-receive-control-reorder", "0", 0, 1,             \
        "probability that a control datagram is reordered when it is received")                    \
    X(DURATION, fault.delay_ns, "fault-delay", "0", 0, RSTI_DURATION_MAX,                          \
        "delay of every received datagram")                                                        \
    X(SEED, fault.seed, "fault-seed", "0", 0, 0, "seed of the random faults; 0: a random one")

/* The rows with a field in rst_driver_params_t; the fields of faults are in rsti_fault_params_t. */
#define RSTI_OPTIONS_WITH_FIELD(X)                                                                 \
    RSTI_OPTIONS_AGENTS(X)                                                                         \
    RSTI_OPTIONS_FILES(X)                                                                          \
    RSTI_OPTIONS_STREAMS(X)                                                                        \
    RSTI_OPTIONS_LIFE(X)                                                                           \
    RSTI_OPTIONS_MEDIA(X)                                                                          \
    RSTI_OPTIONS_FLOW(X)                                                                           \
    RSTI_OPTIONS_BUDGET(X)                                                                         \
    RSTI_OPTIONS_LOSS(X)                                                                           \
    RSTI_OPTIONS_INTERCEPTORS(X)

#define RSTI_DRIVER_OPTIONS(X)                                                                     \
    RSTI_OPTIONS_WITH_FIELD(X)                                                                     \
    RSTI_OPTIONS_FAULTS(X)
/* clang-format on */

#define RSTI_OPTION_FIELD_THREADING(field) int64_t field;
#define RSTI_OPTION_FIELD_IDLE(field) int64_t field;
#define RSTI_OPTION_FIELD_TRISTATE(field) int64_t field;
#define RSTI_OPTION_FIELD_NAMING(field) int64_t field;
#define RSTI_OPTION_FIELD_TERMINATION(field) int64_t field;
#define RSTI_OPTION_FIELD_BUDGET(field) int64_t field;
#define RSTI_OPTION_FIELD_SIZE(field) int64_t field;
#define RSTI_OPTION_FIELD_DURATION(field) int64_t field;
#define RSTI_OPTION_FIELD_NUMBER(field) int64_t field;
#define RSTI_OPTION_FIELD_BOOL(field) int64_t field;
#define RSTI_OPTION_FIELD_UNIT(field) double field;
#define RSTI_OPTION_FIELD_SEED(field) int64_t field;
#define RSTI_OPTION_FIELD_TEXT(field) char field[RSTI_OPTION_TEXT_MAX];
#define RSTI_OPTION_FIELD(kind, field, name, value, least, most, help)                             \
    RSTI_OPTION_FIELD_##kind(field)

#endif
