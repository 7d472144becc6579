/* channel.h: a channel URI becomes a plain struct (docs/reference/aeron/wire.md 19). Every refusal
 * names the parameter and its value. Unknown keys are ignored, except keys that begin with "rs-":
 * those are rstream's, and an unknown one is refused. A known key may occur only once. ats=true,
 * and time-stamps where there is no socket, are refused with RST_ENOTSUP, because ignoring them
 * would mislead the user. */
#ifndef RSTI_CHANNEL_CHANNEL_H
#define RSTI_CHANNEL_CHANNEL_H

#include "util/name_resolver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RSTI_CHANNEL_URI_MAX 4095
#define RSTI_CHANNEL_HOST_MAX 256

typedef enum rsti_media_kind_t {
    RSTI_MEDIA_IPC = 0,
    RSTI_MEDIA_UDP = 1
} rsti_media_kind_t;
typedef enum rsti_control_mode_t {
    RSTI_CONTROL_NONE = 0,
    RSTI_CONTROL_DYNAMIC = 1,
    RSTI_CONTROL_MANUAL = 2,
    RSTI_CONTROL_RESPONSE = 3
} rsti_control_mode_t;
typedef enum rsti_tristate_t {
    RSTI_FALSE = 0,
    RSTI_TRUE = 1,
    RSTI_INFER = 2
} rsti_tristate_t;

/* Absent numbers hold RSTI_CHANNEL_UNSET. */
#define RSTI_CHANNEL_UNSET INT64_MIN
/* *-ts-offset=reserved: the reserved value, right before the payload */
#define RSTI_CHANNEL_TIMESTAMP_RESERVED (-8)
/* response-correlation-id=prototype */
#define RSTI_CHANNEL_PROTOTYPE (INT64_MIN + 1)

typedef struct rsti_channel_t {
    char uri[RSTI_CHANNEL_URI_MAX + 1]; /* as given */
    size_t uri_length;
    bool is_spy;
    rsti_media_kind_t media;
    char endpoint[RSTI_CHANNEL_HOST_MAX];      /* "" when absent */
    char interface_text[RSTI_CHANNEL_HOST_MAX];
    char control[RSTI_CHANNEL_HOST_MAX];
    char alias[RSTI_CHANNEL_HOST_MAX];         /* cut when longer: a label for people */
    char fc[RSTI_CHANNEL_HOST_MAX];
    char cc[32];
    char name[RSTI_CHANNEL_HOST_MAX];          /* rs-name: the stream's name */
    char key[RSTI_CHANNEL_HOST_MAX];  /* rs-key: where the group's key is; "": plain */
    char sources[RSTI_CHANNEL_HOST_MAX]; /* rs-sources: util/source_list.h; "": every source */
    char rate[RSTI_CHANNEL_HOST_MAX]; /* rs-rate: read by flow/rate_text.h, a floor above */
    rsti_control_mode_t control_mode;
    int64_t session_id; /* int32 range; UNSET = any / driver chosen */
    int64_t session_tag; /* session-id=tag:n */
    int64_t mtu, term_length, ttl;
    int64_t initial_term_id, term_id, term_offset; /* all three or none */
    int64_t linger_ns;
    int64_t so_sndbuf, so_rcvbuf, receiver_window, publication_window;
    int64_t nak_delay_ns, max_resend;
    int64_t channel_tag, entity_tag, group_tag;
    int64_t response_correlation_id;
    int64_t evict_ns; /* rs-evict: a subscription that stands still for so long is evicted */
    int64_t budget_bytes; /* rs-budget: bytes on the way to a subscription, per stream */
    /* Offsets of time-stamps in the payload, or RSTI_CHANNEL_TIMESTAMP_RESERVED. */
    int64_t send_timestamp, receive_timestamp, media_timestamp;
    int64_t untethered_window_limit_ns, untethered_linger_ns, untethered_resting_ns;
    bool reliable, is_reliable_set;
    bool sparse, is_sparse_set;
    bool eos;
    bool tether, is_tether_set;
    bool rejoin, is_rejoin_set;
    bool ssc, is_ssc_set;
    bool fill_window,
        /* rs-fill-window: a filling buffer narrows the window for Aeron senders */
        is_fill_window_set;
    rsti_tristate_t group;
} rsti_channel_t;

/* text need not be terminated. 0, -RST_ECHANNEL or -RST_ENOTSUP, with a trail. Pure: names are not
 * resolved. After a failure *channel is not usable. */
int rsti_channel_parse(rsti_channel_t *channel, const char *text, size_t length);

/* The addresses a UDP channel uses (docs/reference/aeron/wire.md 5.1); resolves names: may block.
 *
 *                    remote_data   remote_control  local_data = local_control (bind of a sender)
 *   endpoint         endpoint      endpoint        interface, else the wildcard
 *   ... and control  endpoint      control         control
 *   control alone    wildcard      control         control
 *   neither          wildcard      wildcard        interface, else the wildcard
 *   multicast        group         group + 1       interface, else the first that can multicast
 *
 * A unicast receiver binds remote_data. A receiver without explicit control answers to the source
 * of what it received, not to remote_control. */
typedef struct rsti_udp_channel_t {
    struct sockaddr_storage remote_data;
    struct sockaddr_storage remote_control;
    struct sockaddr_storage local_data;
    struct sockaddr_storage local_control;
    struct sockaddr_storage interface_address; /* interface=, else the family's wildcard;
                                                * of multicast the first device that can */
    uint32_t interface_index; /* of its device; 0 = none in particular */
    bool is_multicast;
    bool has_explicit_endpoint;
    bool has_explicit_control;
    rsti_control_mode_t control_mode;
    int64_t channel_tag; /* RSTI_CHANNEL_UNSET */
    char key[RSTI_CHANNEL_HOST_MAX]; /* rs-key; "": plain, or with a tag that of its socket */
    /* Wire reference 19.2, with "#<tag>" where it is needed and there is a tag. When is_unique is
     * false the driver appends its "-<counter>". */
    bool is_unique;
    char canonical[2 * RSTI_CHANNEL_HOST_MAX + 64];
} rsti_udp_channel_t;

/* 0, -RST_ECHANNEL or -RST_EUNKNOWNHOST with a trail that names the parameter. May block. */
int rsti_udp_channel_resolve(rsti_udp_channel_t *udp, const rsti_channel_t *channel);
/* With another resolver. It may also return RSTI_LOOKUP_PENDING; *udp is not usable then. */
int rsti_udp_channel_resolve_with(rsti_udp_channel_t *udp, const rsti_channel_t *channel,
    const rsti_name_resolver_t *resolver);

/* Whether a channel means this existing socket (docs/reference/aeron/driver.md 7): first by its
 * tag, then by its canonical form. 1: yes. 0: no. -RST_ECHANNEL with a trail: the tag is the same,
 * but an address or the control-mode of the channel differs. */
int rsti_udp_channel_matches_tag(const rsti_udp_channel_t *udp, const rsti_udp_channel_t *existing);
bool rsti_udp_channel_matches_form(const rsti_udp_channel_t *udp,
    const rsti_udp_channel_t *existing);
/* Whether rs-key is the same. A channel that names a socket by its tag alone need not repeat it. */
bool rsti_udp_channel_has_same_key(const rsti_udp_channel_t *udp,
    const rsti_udp_channel_t *existing);
/* Neither endpoint nor control: only a tag or destinations can name the address. */
bool rsti_udp_channel_has_address(const rsti_udp_channel_t *udp);

/* Refuses parameters that only a whole publication or subscription can have. -RST_ECHANNEL. */
int rsti_channel_check_destination(const rsti_channel_t *channel);

/* Checks one publication's parameters against each other (range, alignment, power of two, window;
 * docs/reference/aeron/wire.md 2 and 19.4), with the driver's defaults filled in. Also refuses
 * channels that no publication can have: a spy, port 0 as endpoint, control with neither endpoint
 * nor control-mode nor tag. */
typedef struct rsti_publication_options_t {
    int32_t mtu;
    int32_t term_length;
    int32_t initial_term_id; /* valid when has_position */
    int32_t term_id;
    int32_t term_offset;
    bool has_position;
    int32_t publication_window; /* resolved, > 0 */
    bool is_window_given; /* pub-wnd */
    int64_t linger_ns;
    bool eos;
    bool sparse;
} rsti_publication_options_t;
int rsti_publication_options(rsti_publication_options_t *options, const rsti_channel_t *channel,
    int32_t default_mtu, int32_t default_term_length, int64_t default_linger_ns);

#endif
