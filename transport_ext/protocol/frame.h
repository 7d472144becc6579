/* frame.h: frames on the wire: layout, checks, encoding (docs/reference/aeron/wire.md 3 and 4).
 * Pure. Decoders take untrusted bytes: they read no byte beyond the length, and return false or -1
 * for a bad frame. */
#ifndef RSTI_PROTOCOL_FRAME_H
#define RSTI_PROTOCOL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_FRAME_ALIGNMENT 32
#define RSTI_DATA_HEADER_LENGTH 32
#define RSTI_FRAME_HEADER_LENGTH 8
#define RSTI_SETUP_LENGTH 40
#define RSTI_SM_LENGTH 36
#define RSTI_SM_TAGGED_LENGTH 44
#define RSTI_NAK_LENGTH 28
#define RSTI_RTTM_LENGTH 40
#define RSTI_ERR_LENGTH 40
#define RSTI_RSP_SETUP_LENGTH 20
#define RSTI_ERR_TEXT_MAX 1023

enum {
    RSTI_FRAME_PAD = 0x00,
    RSTI_FRAME_DATA = 0x01,
    RSTI_FRAME_NAK = 0x02,
    RSTI_FRAME_SM = 0x03,
    RSTI_FRAME_ERR = 0x04,
    RSTI_FRAME_SETUP = 0x05,
    RSTI_FRAME_RTTM = 0x06,
    RSTI_FRAME_RES = 0x07,
    RSTI_FRAME_RSP_SETUP = 0x0B
};

#define RSTI_FLAG_BEGIN 0x80
#define RSTI_FLAG_END 0x40
#define RSTI_FLAG_UNFRAGMENTED 0xC0
#define RSTI_FLAG_EOS 0x20
#define RSTI_FLAG_REVOKED 0x10
/* In the log of an image only: padding in the place of lost data. Aeron's readers do not look. */
#define RSTI_FLAG_LOST 0x01
#define RSTI_SETUP_FLAG_SEND_RESPONSE 0x80
#define RSTI_SETUP_FLAG_GROUP 0x40
#define RSTI_SETUP_FLAG_RSTREAM 0x01 /* the sender is rstream: SM items may be sent to it */
#define RSTI_SETUP_FLAG_FILL 0x02    /* with it: the sender's rate follows fill NAKs */
#define RSTI_SETUP_FLAG_PATH 0x04 /* with it: the sender follows the path, and wants arrivals */
#define RSTI_SM_FLAG_SEND_SETUP 0x80
#define RSTI_SM_FLAG_EOS 0x40
#define RSTI_RTTM_FLAG_REPLY 0x80
#define RSTI_ERR_FLAG_GROUP_TAG 0x08

#pragma pack(push, 1)
typedef struct rsti_frame_header_t {
    int32_t frame_length;
    int8_t version;
    uint8_t flags;
    int16_t type;
} rsti_frame_header_t;

typedef struct rsti_data_header_t {
    rsti_frame_header_t frame;
    int32_t term_offset;
    int32_t session_id;
    int32_t stream_id;
    int32_t term_id;
    int64_t reserved_value;
} rsti_data_header_t;

typedef struct rsti_setup_t {
    rsti_frame_header_t frame;
    int32_t term_offset;
    int32_t session_id;
    int32_t stream_id;
    int32_t initial_term_id;
    int32_t active_term_id;
    int32_t term_length;
    int32_t mtu;
    int32_t ttl;
} rsti_setup_t;

typedef struct rsti_sm_t {
    rsti_frame_header_t frame;
    int32_t session_id;
    int32_t stream_id;
    int32_t consumption_term_id;
    int32_t consumption_term_offset;
    int32_t receiver_window;
    int64_t receiver_id;
} rsti_sm_t;

typedef struct rsti_nak_t {
    rsti_frame_header_t frame;
    int32_t session_id;
    int32_t stream_id;
    int32_t term_id;
    int32_t term_offset;
    int32_t length;
} rsti_nak_t;

typedef struct rsti_rttm_t {
    rsti_frame_header_t frame;
    int32_t session_id;
    int32_t stream_id;
    int64_t echo_timestamp;
    int64_t reception_delta;
    int64_t receiver_id;
} rsti_rttm_t;

typedef struct rsti_err_t {
    rsti_frame_header_t frame;
    int32_t session_id;
    int32_t stream_id;
    int64_t receiver_id;
    int64_t group_tag;
    int32_t error_code;
    int32_t error_length;
} rsti_err_t;

typedef struct rsti_rsp_setup_t {
    rsti_frame_header_t frame;
    int32_t session_id; /* of the request */
    int32_t stream_id;
    int32_t response_session_id;
} rsti_rsp_setup_t;
#pragma pack(pop)

_Static_assert(sizeof(rsti_data_header_t) == RSTI_DATA_HEADER_LENGTH, "data header");
_Static_assert(offsetof(rsti_data_header_t, reserved_value) == 24, "data header");
_Static_assert(sizeof(rsti_setup_t) == RSTI_SETUP_LENGTH, "setup");
_Static_assert(sizeof(rsti_sm_t) == RSTI_SM_LENGTH, "status message");
_Static_assert(sizeof(rsti_nak_t) == RSTI_NAK_LENGTH, "NAK");
_Static_assert(sizeof(rsti_rttm_t) == RSTI_RTTM_LENGTH, "RTTM");
_Static_assert(sizeof(rsti_err_t) == RSTI_ERR_LENGTH, "error frame");
_Static_assert(sizeof(rsti_rsp_setup_t) == RSTI_RSP_SETUP_LENGTH, "response set-up");

/* First gate, for every datagram (docs/reference/aeron/wire.md 4.1; stricter: a control frame's
 * frame_length must also cover its struct). */
bool rsti_frame_is_acceptable(const void *datagram, size_t length);
/* Second gate (4.2). term_length: the publication's, or 1 GiB when none matches. */
bool rsti_setup_is_valid(const rsti_setup_t *setup);
bool rsti_nak_is_valid(const rsti_nak_t *nak, int32_t term_length);
bool rsti_sm_is_valid(const rsti_sm_t *sm, int32_t term_length);
bool rsti_err_is_valid(const rsti_err_t *err, size_t length);
/* Group tag only when frame_length is exactly 44. */
bool rsti_sm_group_tag(const rsti_sm_t *sm, int64_t *group_tag);
/* SM position within half a term of snd_pos (4.2). */
bool rsti_sm_is_in_window(int64_t sm_position, int64_t snd_position, int32_t term_length);

/* DATA/PAD datagram at an image (8.4 step 2): accounted length > 0, 0 = heartbeat, -1 = reject. */
int32_t rsti_packet_validate(const void *datagram, size_t length, int32_t term_length);
bool rsti_packet_is_heartbeat(const void *datagram, size_t length);

/* A DATA header template (docs/reference/aeron/memory.md 2.2). */
void rsti_data_header_fill(rsti_data_header_t *header, uint8_t flags, int16_t type,
    int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset);

/* Fragmenting (docs/reference/aeron/wire.md 2). */
static inline int32_t rsti_max_payload_length(int32_t mtu)
{
    return mtu - RSTI_DATA_HEADER_LENGTH;
}
int32_t rsti_max_message_length(int32_t term_length);
/* Bytes in the log for a message of length (0 … max message length). */
int32_t rsti_framed_length(int32_t length, int32_t max_payload_length);

#endif
