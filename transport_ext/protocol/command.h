/* command.h: client -> driver commands and driver -> client responses
 * (docs/reference/aeron/memory.md 13, 14). Encoders write into the caller's buffer and return the
 * length, or -1 when it does not fit or the type is unknown. Decoders validate untrusted bytes.
 * They return 0 or a driver error code (6 unknown type, 7 malformed). After an error all fields are
 * zero except type. Commands that are long enough also keep client_id and correlation_id, because
 * the answer needs the latter. Strings point into the message and are not terminated. */
#ifndef RSTI_PROTOCOL_COMMAND_H
#define RSTI_PROTOCOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RSTI_CMD_ADD_PUBLICATION = 0x01,
    RSTI_CMD_REMOVE_PUBLICATION = 0x02,
    RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION = 0x03,
    RSTI_CMD_ADD_SUBSCRIPTION = 0x04,
    RSTI_CMD_REMOVE_SUBSCRIPTION = 0x05,
    RSTI_CMD_CLIENT_KEEPALIVE = 0x06,
    RSTI_CMD_ADD_DESTINATION = 0x07,
    RSTI_CMD_REMOVE_DESTINATION = 0x08,
    RSTI_CMD_ADD_COUNTER = 0x09,
    RSTI_CMD_REMOVE_COUNTER = 0x0A,
    RSTI_CMD_CLIENT_CLOSE = 0x0B,
    RSTI_CMD_ADD_RCV_DESTINATION = 0x0C,
    RSTI_CMD_REMOVE_RCV_DESTINATION = 0x0D,
    RSTI_CMD_TERMINATE_DRIVER = 0x0E,
    RSTI_CMD_ADD_STATIC_COUNTER = 0x0F,
    RSTI_CMD_REJECT_IMAGE = 0x10,
    RSTI_CMD_REMOVE_DESTINATION_BY_ID = 0x11,
    RSTI_CMD_NEXT_SESSION_ID = 0x12,
    RSTI_CMD_OURS = 0x7300, /* … 0x73FF: an Aeron driver answers that it does not know them */
    RSTI_CMD_SET_RATE = 0x7301, /* channel: the text of rs-rate */
    RSTI_CMD_SAY_WHY = 0x7302, /* of an image that is left next; channel: the error, for people */

    RSTI_RSP_ON_ERROR = 0x0F01,
    RSTI_RSP_AVAILABLE_IMAGE = 0x0F02,
    RSTI_RSP_PUBLICATION_READY = 0x0F03,
    RSTI_RSP_OPERATION_SUCCESS = 0x0F04,
    RSTI_RSP_UNAVAILABLE_IMAGE = 0x0F05,
    RSTI_RSP_EXCLUSIVE_PUBLICATION_READY = 0x0F06,
    RSTI_RSP_SUBSCRIPTION_READY = 0x0F07,
    RSTI_RSP_COUNTER_READY = 0x0F08,
    RSTI_RSP_UNAVAILABLE_COUNTER = 0x0F09,
    RSTI_RSP_CLIENT_TIMEOUT = 0x0F0A,
    RSTI_RSP_STATIC_COUNTER = 0x0F0B,
    RSTI_RSP_PUBLICATION_ERROR = 0x0F0C,
    RSTI_RSP_NEXT_SESSION_ID = 0x0F0D
};

/* The driver's own error codes, as sent in ON_ERROR (docs/reference/aeron/memory.md 14.1). */
enum {
    RSTI_DRIVER_INVALID_CHANNEL = 1,
    RSTI_DRIVER_UNKNOWN_SUBSCRIPTION = 2,
    RSTI_DRIVER_UNKNOWN_PUBLICATION = 3,
    RSTI_DRIVER_UNKNOWN_COUNTER = 5,
    RSTI_DRIVER_UNKNOWN_COMMAND = 6,
    RSTI_DRIVER_MALFORMED_COMMAND = 7,
    RSTI_DRIVER_NOT_SUPPORTED = 8,
    RSTI_DRIVER_UNKNOWN_HOST = 9,
    RSTI_DRIVER_TEMPORARILY_UNAVAILABLE = 10,
    RSTI_DRIVER_GENERIC_ERROR = 11,
    RSTI_DRIVER_STORAGE_SPACE = 12,
    RSTI_DRIVER_IMAGE_REJECTED = 13
};

typedef struct rsti_text_t {
    const char *text;
    int32_t length;
} rsti_text_t;

typedef struct rsti_command_t { /* decoded form of every command; unused fields are zero */
    int32_t type;
    int64_t client_id;
    int64_t correlation_id;
    int64_t registration_id; /* of the removed object, or of the subscription (-1) */
    int64_t destination_id;
    int64_t position;
    int32_t stream_id;
    int32_t counter_type_id;
    uint64_t flags;          /* REMOVE_PUBLICATION: bit 0 revoke */
    rsti_text_t channel;     /* also: terminate token, reject reason, rate */
    rsti_text_t key;
    rsti_text_t label;
} rsti_command_t;

int64_t rsti_command_encode(const rsti_command_t *command, uint8_t *buffer, size_t capacity);
int rsti_command_decode(int32_t type, const uint8_t *buffer, size_t length,
    rsti_command_t *command);

#define RSTI_ADDRESS_IPV4 1
#define RSTI_ADDRESS_IPV6 2

typedef struct rsti_response_t { /* decoded form of every response */
    int32_t type;
    int64_t correlation_id;  /* offending / of the command / of the image / client id (timeout) */
    int64_t registration_id; /* publication's, or subscription's for images, or counter's */
    int32_t session_id;
    int32_t stream_id;
    int32_t counter_id;      /* limit / subscriber position / heartbeat counter */
    int32_t channel_status_id;
    int32_t error_code;
    rsti_text_t log_file;    /* also: error message, channel of unavailable image */
    rsti_text_t source_identity;
    /* PUBLICATION_ERROR only */
    int64_t destination_id;  /* -1: none */
    int64_t receiver_id;
    int64_t group_tag;       /* -1: none */
    uint16_t address_kind;   /* RSTI_ADDRESS_IPV4, RSTI_ADDRESS_IPV6 */
    uint16_t port;
    uint8_t address[16];     /* network order, unused bytes zero */
} rsti_response_t;

int64_t rsti_response_encode(const rsti_response_t *response, uint8_t *buffer, size_t capacity);
int rsti_response_decode(int32_t type, const uint8_t *buffer, size_t length,
    rsti_response_t *response);

/* Counter type ids (docs/reference/aeron/memory.md 16). Ours start at RSTI_COUNTER_TYPE_OURS: Aeron
 * uses 0…99, its products 100…999, and leaves 1000 and up to users; the block 7300…7399 is
 * rstream's. */
enum {
    RSTI_COUNTER_SYSTEM = 0,
    RSTI_COUNTER_PUBLISHER_LIMIT = 1,
    RSTI_COUNTER_SENDER_POSITION = 2,
    RSTI_COUNTER_RECEIVER_HWM = 3,
    RSTI_COUNTER_SUBSCRIBER_POSITION = 4,
    RSTI_COUNTER_RECEIVER_POSITION = 5,
    RSTI_COUNTER_SEND_CHANNEL_STATUS = 6,
    RSTI_COUNTER_RECEIVE_CHANNEL_STATUS = 7,
    RSTI_COUNTER_SENDER_LIMIT = 9,
    RSTI_COUNTER_PER_IMAGE = 10,
    RSTI_COUNTER_CLIENT_HEARTBEAT = 11,
    RSTI_COUNTER_PUBLISHER_POSITION = 12,
    RSTI_COUNTER_SENDER_BPE = 13,
    RSTI_COUNTER_LOCAL_SOCKADDR = 14,
    RSTI_COUNTER_RESOLVER_NEIGHBORS = 15,
    RSTI_COUNTER_RESOLVER_NAMES = 16,
    RSTI_COUNTER_FC_RECEIVERS = 17,
    RSTI_COUNTER_MDC_DESTINATIONS = 18,
    RSTI_COUNTER_SENDER_NAKS_RECEIVED = 19,
    RSTI_COUNTER_RECEIVER_NAKS_SENT = 20,
    RSTI_COUNTER_RESOLVER_BOOTSTRAP = 21,
    /* Which answer of its row a name of name-resolver=csv_table has: 0, 1, or -1 for none; the key
     * is the name with its length, owner -1. Tests write it. */
    RSTI_COUNTER_NAME_ENTRY = 2001,
    RSTI_COUNTER_TYPE_OURS = 7300,
    /* "snd-consumed": position that every living receiver of a network publication has consumed, as
     * the last status messages said; stream key, registration id = the publication's. */
    RSTI_COUNTER_SENDER_CONSUMED = 7301,
    /* "rs-datagrams-sent", "rs-datagrams-received": UDP datagrams that the system took from the
     * driver and handed to it, all sockets together; no key, owner -1. */
    RSTI_COUNTER_DATAGRAMS_SENT = 7302,
    RSTI_COUNTER_DATAGRAMS_RECEIVED = 7303,
    /* "rs-subscription": of every subscription, also without an image; the value is the time when
     * it was added, ms since 1970; stream key with session 0, registration id = its own. */
    RSTI_COUNTER_SUBSCRIPTION = 7313,
    /* Of a network or IPC publication with a law of rate (flow/rate.h); stream key, registration id
     * = the publication's: "rs-rate": bytes per second; "rs-fill-naks": how many were believed;
     * "rs-headroom": the headroom (docs/explanation/laws.md) in thousandths, 0 = unknown. */
    RSTI_COUNTER_RATE = 7305,
    RSTI_COUNTER_FILL_NAKS = 7306,
    RSTI_COUNTER_MARGIN = 7307,
    /* Of an image; stream key, registration id = the image's: "rcv-fill": thousandths of its buffer
     * that are received and not consumed; "rcv-drain": bytes per second that its slowest consumer
     * takes while there is something to take; "rcv-fill-naks-sent". */
    RSTI_COUNTER_RECEIVER_FILL = 7308,
    RSTI_COUNTER_RECEIVER_DRAIN = 7309,
    RSTI_COUNTER_RECEIVER_FILL_NAKS = 7310,
    /* rstream: bytes that a receive endpoint grants to one peer (flow/budget.h). */
    RSTI_COUNTER_RECEIVER_BUDGET = 7311,
    /* "snd-dest-failed": datagrams that were not sent to a destination since the system began to
     * refuse it; channel key (its address and the channel), registration id = the destination's.
     * It is there until 5 s after the last failure. */
    RSTI_COUNTER_DESTINATION_FAILED = 7312,
    /* "rs-failed-reader": a client's, of a failed Ray endpoint that holds a UDP port: its address,
     * process and error in the label. */
    RSTI_COUNTER_FAILED_READER = 7314,
    /* "rs-job-held": a client's, of a lane of shared work: since when its reader has the oldest job
     * that it has not acknowledged, ms since 1970; 0: for less than a second, or it has none. The
     * label is that of a stream, registration id = the publication's. */
    RSTI_COUNTER_JOB_HELD = 7315,
    /* Of a network publication with cc=path; stream key, registration id = the publication's; 0:
     * not known: "rs-path-bandwidth": bytes per second; "rs-path-rtt": the least round trip, ns;
     * "rs-path-loss": millionths of the last datagrams, about a thousand; "rs-path-under-way":
     * bytes, when an arrival was told last. */
    RSTI_COUNTER_PATH_BANDWIDTH = 7316,
    RSTI_COUNTER_PATH_RTT = 7317,
    RSTI_COUNTER_PATH_LOSS = 7318,
    RSTI_COUNTER_PATH_UNDER_WAY = 7319,
    /* "rs-window-bound": of a subscription whose window the socket's receive buffer bounds: the
     * window that it wants, bytes; stream key with session 0, registration id = its own. */
    RSTI_COUNTER_WINDOW_BOUND = 7320,
    /* "rs-key-refused": a peer of a socket has another key, or none where the socket has one, or
     * has one where the socket has none; channel key; the text says which. The value is the id of
     * the peer's key, 0: none; registration id = the channel status counter of the socket. It is
     * there until 5 s after the last such datagram. */
    RSTI_COUNTER_KEY_REFUSED = 7321,
    /* "rs-key": the keys of one rs-key, while a socket uses them; channel key; the text is "seals
     * ID", perhaps "opens ID", and the rs-key. The value is the id of the key that seals. */
    RSTI_COUNTER_KEY = 7322
};

/* System counter ids = position in the table (docs/reference/aeron/memory.md 17). */
#define RSTI_SYSTEM_COUNTERS(X)                                                                    \
    X(BYTES_SENT, "Bytes sent")                                                                    \
    X(BYTES_RECEIVED, "Bytes received")                                                            \
    X(RECEIVER_PROXY_FAILS, "Failed offers to ReceiverProxy")                                      \
    X(SENDER_PROXY_FAILS, "Failed offers to SenderProxy")                                          \
    X(CONDUCTOR_PROXY_FAILS, "Failed offers to DriverConductorProxy")                              \
    X(NAKS_SENT, "NAKs sent")                                                                      \
    X(NAKS_RECEIVED, "NAKs received")                                                              \
    X(SM_SENT, "Status Messages sent")                                                             \
    X(SM_RECEIVED, "Status Messages received")                                                     \
    X(HEARTBEATS_SENT, "Heartbeats sent")                                                          \
    X(HEARTBEATS_RECEIVED, "Heartbeats received")                                                  \
    X(RETRANSMITS_SENT, "Retransmits sent")                                                        \
    X(FLOW_CONTROL_UNDER_RUNS, "Flow control under runs")                                          \
    X(FLOW_CONTROL_OVER_RUNS, "Flow control over runs")                                            \
    X(INVALID_PACKETS, "Invalid packets")                                                          \
    X(ERRORS, "Errors: version=" RSTI_VERSION_TEXT " commit=rstream")                              \
    X(SHORT_SENDS, "Short sends")                                                                  \
    X(FREE_FAILS, "Failed attempts to free log buffers")                                           \
    X(SENDER_FLOW_CONTROL_LIMITS, "Sender flow control limits, i.e. back-pressure events")         \
    X(UNBLOCKED_PUBLICATIONS, "Unblocked Publications")                                            \
    X(UNBLOCKED_COMMANDS, "Unblocked Control Commands")                                            \
    X(POSSIBLE_TTL_ASYMMETRY, "Possible TTL Asymmetry")                                            \
    X(CONTROLLABLE_IDLE_STRATEGY, "ControllableIdleStrategy status")                               \
    X(LOSS_GAP_FILLS, "Loss gap fills")                                                            \
    X(CLIENT_TIMEOUTS, "Client liveness timeouts")                                                 \
    X(RESOLUTION_CHANGES, "Resolution changes")                                                    \
    X(CONDUCTOR_MAX_CYCLE_TIME, "Conductor max cycle time doing its work in ns")                   \
    X(CONDUCTOR_CYCLE_TIME_EXCEEDED, "Conductor work cycle exceeded threshold count")              \
    X(SENDER_MAX_CYCLE_TIME, "Sender max cycle time doing its work in ns")                         \
    X(SENDER_CYCLE_TIME_EXCEEDED, "Sender work cycle exceeded threshold count")                    \
    X(RECEIVER_MAX_CYCLE_TIME, "Receiver max cycle time doing its work in ns")                     \
    X(RECEIVER_CYCLE_TIME_EXCEEDED, "Receiver work cycle exceeded threshold count")                \
    X(NAME_RESOLVER_MAX_TIME, "NameResolver max time in ns")                                       \
    X(NAME_RESOLVER_TIME_EXCEEDED, "NameResolver exceeded threshold count")                        \
    X(VERSION, "Aeron software: version=" RSTI_VERSION_TEXT " commit=rstream")                     \
    X(BYTES_MAPPED, "Bytes currently mapped")                                                      \
    X(RETRANSMITTED_BYTES, "Retransmitted bytes")                                                  \
    X(RETRANSMIT_OVERFLOW, "Retransmit Pool Overflow count")                                       \
    X(ERROR_FRAMES_RECEIVED, "Error Frames received")                                              \
    X(ERROR_FRAMES_SENT, "Error Frames sent")                                                      \
    X(PUBLICATIONS_REVOKED, "Publications Revoked")                                                \
    X(IMAGES_REVOKED, "Publication Images Revoked")                                                \
    X(IMAGES_REJECTED, "Images rejected")                                                          \
    X(CONTROL_PROTOCOL_VERSION, "Control protocol version")                                        \
    X(SM_REJECTED, "Status Messages rejected")                                                     \
    X(NATIVE_AGENT_PROXY_FAILS, "Failed offers to NativeResourceAgentProxy")

#define RSTI_VERSION_TEXT "0.1.0"

typedef enum rsti_system_counter_t {
#define RSTI_SYSTEM_COUNTER_ENUM(name, label) RSTI_SYSTEM_##name,
    RSTI_SYSTEM_COUNTERS(RSTI_SYSTEM_COUNTER_ENUM)
#undef RSTI_SYSTEM_COUNTER_ENUM
    RSTI_SYSTEM_COUNTER_COUNT
} rsti_system_counter_t;

/* Keys of stream, channel and sockaddr counters (docs/reference/aeron/memory.md 16): all 112 bytes
 * are written, unused ones zero; text is cut to its field. Returns the bytes in use. */
size_t rsti_stream_key_encode(uint8_t key[112], int64_t registration_id, int32_t session_id,
    int32_t stream_id, const char *channel, size_t channel_length);
size_t rsti_channel_key_encode(uint8_t key[112], const char *channel, size_t channel_length);
size_t rsti_sockaddr_key_encode(uint8_t key[112], int32_t channel_status_id, const char *address);

#endif
