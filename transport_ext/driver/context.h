/* context.h: the driver's options. One table row per option gives the field, its name in text and
 * environment, its default, its limits and its help line. */
#ifndef RSTI_DRIVER_CONTEXT_H
#define RSTI_DRIVER_CONTEXT_H

#include "rstream/driver.h"

#include "cnc/driver_dir.h"
#include "media/interceptor.h"

#include <stdint.h>

typedef enum rsti_threading_t {
    RSTI_THREADING_AUTO = 0, /* shared on up to four cores, else dedicated */
    RSTI_THREADING_SHARED,
    RSTI_THREADING_SHARED_NETWORK,
    RSTI_THREADING_DEDICATED,
    RSTI_THREADING_INVOKER
} rsti_threading_t;

#define RSTI_MB INT64_C(1048576)
#define RSTI_GB INT64_C(1073741824)
#define RSTI_DURATION_MAX INT64_C(3600000000000)

/* X(kind, field, name, default, least, most, help) */
#define RSTI_DRIVER_OPTIONS(X)                                                                    \
    X(THREADING, threading, "threading", "auto", 0, 0,                                            \
        "dedicated | shared-network | shared | invoker | auto (shared on up to four cores)")      \
    X(IDLE, idle_kind, "idle", "block", 0, 0, "block | spin | yield | backoff | sleep")           \
    X(DURATION, idle_spin_ns, "idle-spin", "50us", 0, RSTI_NS_PER_S,                                 \
        "how long a blocking agent looks for work before it sleeps")                              \
    X(SIZE, term_length, "term-buffer-length", "16m", 65536, RSTI_GB,                             \
        "term of a network publication; a power of two")                                          \
    X(SIZE, ipc_term_length, "ipc-term-buffer-length", "64m", 65536, RSTI_GB,                     \
        "term of an IPC publication; a power of two")                                             \
    X(SIZE, mtu, "mtu", "1408", 64, 65504, "datagram size; a multiple of 32")                     \
    X(SIZE, ipc_mtu, "ipc-mtu", "1408", 64, 65504, "frame size of IPC; a multiple of 32")         \
    X(DURATION, client_liveness_ns, "client-liveness-timeout", "10s", 1000, RSTI_DURATION_MAX,    \
        "a client that is silent that long is given up")                                          \
    X(DURATION, driver_timeout_ns, "driver-timeout", "10s", 1000, RSTI_DURATION_MAX,              \
        "a driver directory whose heartbeat is older belongs to a dead driver")                   \
    X(DURATION, timer_interval_ns, "timer-interval", "1s", 1000, RSTI_DURATION_MAX,               \
        "rhythm of the conductor's timers")                                                       \
    X(DURATION, image_liveness_ns, "image-liveness-timeout", "10s", 1000, RSTI_DURATION_MAX,      \
        "an image without datagrams for so long is given up")                                     \
    X(DURATION, linger_ns, "publication-linger-timeout", "5s", 0, RSTI_DURATION_MAX,              \
        "how long a closed publication still answers NAKs")                                       \
    X(DURATION, connection_timeout_ns, "publication-connection-timeout", "5s", 1000,              \
        RSTI_DURATION_MAX, "a receiver without status messages for so long is gone")              \
    X(DURATION, unblock_timeout_ns, "publication-unblock-timeout", "15s", 1000,                   \
        RSTI_DURATION_MAX, "after that a claim of a dead producer is padded")                     \
    X(DURATION, sm_timeout_ns, "status-message-timeout", "200ms", 1000, RSTI_DURATION_MAX,        \
        "longest time between two status messages")                                               \
    X(SIZE, initial_window, "initial-window-length", "128k", 256, RSTI_GB, "receiver window")     \
    X(SIZE, publication_window, "publication-term-window-length", "0", 0, RSTI_GB,                \
        "producer window; 0: half a term")                                                        \
    X(SIZE, so_rcvbuf, "so-rcvbuf", "128k", 0, RSTI_GB, "socket receive buffer; 0: as it is")     \
    X(SIZE, so_sndbuf, "so-sndbuf", "0", 0, RSTI_GB, "socket send buffer; 0: as it is")           \
    X(SIZE, counters_length, "counters-buffer-length", "1m", 1048576, 500 * RSTI_MB,              \
        "values of counters (128 bytes each); their labels take four times that")                 \
    X(SIZE, to_driver_length, "conductor-buffer-length", "1m", 65536, RSTI_GB / 2,                \
        "ring of commands; a power of two")                                                       \
    X(SIZE, to_clients_length, "clients-buffer-length", "1m", 65536, RSTI_GB / 2,                 \
        "ring of answers; a power of two")                                                        \
    X(SIZE, error_length, "error-buffer-length", "256k", 65536, RSTI_GB / 2, "error log")         \
    X(SIZE, page_size, "file-page-size", "4096", 4096, RSTI_GB, "a power of two")                 \
    X(BOOL, sparse, "term-buffer-sparse-file", "true", 0, 1,                                      \
        "reserve terms when they are needed, not at once")                                        \
    X(BOOL, reliable, "reliable-stream", "true", 0, 1, "default of reliable=")                    \
    X(BOOL, connect, "driver-connect", "true", 0, 1, "connect publication sockets")   \
    X(BOOL, segmentation, "segmentation-offload", "true", 0, 1,                                   \
        "let the kernel cut runs of equal datagrams")                                             \
    X(DURATION, nak_delay_ns, "nak-unicast-delay", "1us", 1000, RSTI_DURATION_MAX,                \
        "how long a gap is watched before its first NAK")                                         \
    X(NUMBER, nak_retry_ratio, "nak-unicast-retry-delay-ratio", "100", 1, 1000000,                \
        "delay between NAKs for one gap, as a multiple of the first delay")                       \
    X(DURATION, nak_group_backoff_ns, "nak-multicast-max-backoff", "10ms", 1000,                  \
        RSTI_DURATION_MAX, "longest delay of a NAK in a group")                                   \
    X(NUMBER, nak_group_size, "nak-multicast-group-size", "10", 1, 1000000,                       \
        "assumed size of a group")                                                                \
    X(DURATION, retransmit_delay_ns, "retransmit-unicast-delay", "0", 0, RSTI_DURATION_MAX,       \
        "how long a NAK waits for its answer")                                                    \
    X(DURATION, retransmit_linger_ns, "retransmit-unicast-linger", "10ms", 0, RSTI_DURATION_MAX,  \
        "how long a repeated NAK is ignored")                                                     \
    X(NUMBER, max_resend, "max-resend", "16", 1, 256, "concurrent retransmits of a group channel") \
    X(NUMBER, max_messages_per_send, "max-messages-per-send", "16", 1, RSTI_MEDIA_BURST_MAX,      \
        "datagrams per publication and pass")                                                     \
    X(NUMBER, status_poll_ratio, "send-to-status-poll-ratio", "6", 1, 1000,                       \
        "passes with data between two looks for status messages")                                 \
    X(NUMBER, session_limit, "endpoint-session-limit", "1024", 16, 65536,                         \
        "sessions that one receive endpoint can know")                                            \
    X(NUMBER, reserved_session_low, "publication-reserved-session-id-low", "-1", INT32_MIN,       \
        INT32_MAX, "session ids from here are never chosen by the driver")                        \
    X(NUMBER, reserved_session_high, "publication-reserved-session-id-high", "1000", INT32_MIN,   \
        INT32_MAX, "… up to here")                                                                \
    X(DURATION, counter_reuse_ns, "counters-free-to-reuse-timeout", "1s", 0, RSTI_DURATION_MAX,   \
        "how long a freed counter id rests")                                                      \
    X(DURATION, idle_exit_ns, "idle-exit", "30s", 0, INT64_MAX,                                   \
        "without clients for so long the driver says that it is idle; 0: never")                  \
    X(BOOL, remove_dir, "remove-dir-on-close", "true", 0, 1, "remove the directory at close")     \
    X(UNIT, fault.send_data.loss, "fault-send-data-loss", "0", 0, 1, "0 … 1")                     \
    X(UNIT, fault.send_data.duplicate, "fault-send-data-duplicate", "0", 0, 1, "0 … 1")           \
    X(UNIT, fault.send_data.reorder, "fault-send-data-reorder", "0", 0, 1, "0 … 1")               \
    X(UNIT, fault.send_control.loss, "fault-send-control-loss", "0", 0, 1, "0 … 1")               \
    X(UNIT, fault.send_control.duplicate, "fault-send-control-duplicate", "0", 0, 1, "0 … 1")     \
    X(UNIT, fault.send_control.reorder, "fault-send-control-reorder", "0", 0, 1, "0 … 1")         \
    X(UNIT, fault.receive_data.loss, "fault-receive-data-loss", "0", 0, 1, "0 … 1")               \
    X(UNIT, fault.receive_data.duplicate, "fault-receive-data-duplicate", "0", 0, 1, "0 … 1")     \
    X(UNIT, fault.receive_data.reorder, "fault-receive-data-reorder", "0", 0, 1, "0 … 1")         \
    X(UNIT, fault.receive_control.loss, "fault-receive-control-loss", "0", 0, 1, "0 … 1")         \
    X(UNIT, fault.receive_control.duplicate, "fault-receive-control-duplicate", "0", 0, 1,        \
        "0 … 1")                                                                                  \
    X(UNIT, fault.receive_control.reorder, "fault-receive-control-reorder", "0", 0, 1, "0 … 1")   \
    X(DURATION, fault.delay_ns, "fault-delay", "0", 0, RSTI_DURATION_MAX,                         \
        "added to every datagram received")                                                       \
    X(SEED, fault.seed, "fault-seed", "0", 0, 0, "seed of the faults; 0: from the system")

struct rst_driver_params_t {
    char dir[RSTI_PATH_MAX]; /* "" = the default directory */
    int64_t threading;
    int64_t idle_kind;
    int64_t idle_spin_ns;
    int64_t term_length, ipc_term_length, mtu, ipc_mtu;
    int64_t client_liveness_ns, driver_timeout_ns, timer_interval_ns, image_liveness_ns;
    int64_t linger_ns, connection_timeout_ns, unblock_timeout_ns, sm_timeout_ns;
    int64_t initial_window, publication_window, so_rcvbuf, so_sndbuf;
    int64_t counters_length, to_driver_length, to_clients_length, error_length, page_size;
    int64_t sparse, reliable, connect, segmentation;
    int64_t nak_delay_ns, nak_retry_ratio, nak_group_backoff_ns, nak_group_size;
    int64_t retransmit_delay_ns, retransmit_linger_ns, max_resend;
    int64_t max_messages_per_send, status_poll_ratio, session_limit;
    int64_t reserved_session_low, reserved_session_high;
    int64_t counter_reuse_ns, idle_exit_ns, remove_dir;
    rsti_fault_params_t fault;
};

void rsti_driver_params_init(rst_driver_params_t *params);
/* Relations between options (driver reference, section 9). 0 or -RST_EINVAL naming the option. */
int rsti_driver_params_validate(const rst_driver_params_t *params);

#endif
