/* channel.c: the URI grammar, and one table row per parameter. */
#include "channel/channel.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/netaddr.h"
#include "util/parse.h"
#include "util/source_list.h"

#include <inttypes.h>
#include <string.h>

#define SPY_PREFIX "aeron-spy:"
#define SCHEME "aeron:"
#define OUR_KEY_PREFIX "rs-"
#define TAG_PREFIX "tag:"
#define GIB (INT64_C(1) << 30)

typedef enum param_kind_t {
    PARAM_TEXT,     /* refused when it does not fit */
    PARAM_LABEL,    /* cut when it does not fit */
    PARAM_ADDRESS,  /* text of the form host:port */
    PARAM_KEY,      /* text that says where a key is */
    PARAM_SOURCES,  /* addresses and networks */
    PARAM_NUMBER,
    PARAM_SIZE,
    PARAM_DURATION,
    PARAM_BOOL,
    PARAM_CONTROL_MODE,
    PARAM_GROUP,
    PARAM_SESSION_ID,
    PARAM_TAGS,
    PARAM_RESPONSE_ID,
    PARAM_ATS,
    PARAM_TIMESTAMP,
    PARAM_IGNORED
} param_kind_t;

typedef struct param_t {
    const char *key;
    param_kind_t kind;
    size_t offset;     /* of the field */
    size_t offset_set; /* of a bool that notes its presence; 0: none */
    size_t text_size;
    int64_t least;
    int64_t most;
} param_t;

#define AT(field) offsetof(rsti_channel_t, field)
#define TEXT_ROW(key, kind, field)                                                                 \
    {key, PARAM_##kind, AT(field), 0, sizeof(((rsti_channel_t *)0)->field), 0, 0}
#define NUMBER_ROW(key, kind, field, least, most) {key, PARAM_##kind, AT(field), 0, 0, least, most}
#define DURATION_ROW(key, field) NUMBER_ROW(key, DURATION, field, 0, INT64_MAX)
#define TIMESTAMP_ROW(key, field) NUMBER_ROW(key, TIMESTAMP, field, 0, INT32_MAX)
#define BOOL_ROW(key, field, offset_set) {key, PARAM_BOOL, AT(field), offset_set, 0, 0, 0}
#define PLAIN_ROW(key, kind) {key, PARAM_##kind, 0, 0, 0, 0, 0}

static const param_t params[] = {
    TEXT_ROW("endpoint", ADDRESS, endpoint),
    TEXT_ROW("interface", TEXT, interface_text),
    TEXT_ROW("control", ADDRESS, control),
    PLAIN_ROW("control-mode", CONTROL_MODE),
    NUMBER_ROW("ttl", NUMBER, ttl, 0, 255),
    PLAIN_ROW("session-id", SESSION_ID),
    PLAIN_ROW("stream-id", IGNORED),
    NUMBER_ROW("mtu", SIZE, mtu, 0, INT32_MAX),
    NUMBER_ROW("term-length", SIZE, term_length, 0, INT32_MAX),
    NUMBER_ROW("init-term-id", NUMBER, initial_term_id, INT32_MIN, INT32_MAX),
    NUMBER_ROW("term-id", NUMBER, term_id, INT32_MIN, INT32_MAX),
    NUMBER_ROW("term-offset", NUMBER, term_offset, 0, GIB),
    DURATION_ROW("linger", linger_ns),
    BOOL_ROW("reliable", reliable, AT(is_reliable_set)),
    BOOL_ROW("sparse", sparse, AT(is_sparse_set)),
    BOOL_ROW("eos", eos, 0),
    BOOL_ROW("tether", tether, AT(is_tether_set)),
    BOOL_ROW("rejoin", rejoin, AT(is_rejoin_set)),
    BOOL_ROW("ssc", ssc, AT(is_ssc_set)),
    PLAIN_ROW("group", GROUP),
    TEXT_ROW("fc", TEXT, fc),
    NUMBER_ROW("gtag", NUMBER, group_tag, INT64_MIN + 1, INT64_MAX),
    TEXT_ROW("cc", TEXT, cc),
    PLAIN_ROW("tags", TAGS),
    TEXT_ROW("alias", LABEL, alias),
    NUMBER_ROW("so-sndbuf", SIZE, so_sndbuf, 0, INT32_MAX),
    NUMBER_ROW("so-rcvbuf", SIZE, so_rcvbuf, 0, INT32_MAX),
    NUMBER_ROW("rcv-wnd", SIZE, receiver_window, 1, GIB),
    NUMBER_ROW("pub-wnd", SIZE, publication_window, 1, GIB),
    DURATION_ROW("nak-delay", nak_delay_ns),
    NUMBER_ROW("max-resend", NUMBER, max_resend, 1, 256),
    DURATION_ROW("untethered-window-limit-timeout", untethered_window_limit_ns),
    DURATION_ROW("untethered-linger-timeout", untethered_linger_ns),
    DURATION_ROW("untethered-resting-timeout", untethered_resting_ns),
    PLAIN_ROW("response-correlation-id", RESPONSE_ID),
    PLAIN_ROW("ats", ATS),
    TIMESTAMP_ROW("channel-snd-ts-offset", send_timestamp),
    TIMESTAMP_ROW("channel-rcv-ts-offset", receive_timestamp),
    TIMESTAMP_ROW("media-rcv-ts-offset", media_timestamp),
    TEXT_ROW("rs-name", TEXT, name),
    NUMBER_ROW("rs-evict", DURATION, evict_ns, 10 * RSTI_NS_PER_MS, 86400 * RSTI_NS_PER_S),
    TEXT_ROW("rs-rate", TEXT, rate),
    NUMBER_ROW("rs-budget", SIZE, budget_bytes, 0, INT64_MAX),
    BOOL_ROW("rs-fill-window", fill_window, AT(is_fill_window_set)),
    TEXT_ROW("rs-key", KEY, key),
    TEXT_ROW("rs-sources", SOURCES, sources),
};

#define PARAM_COUNT (sizeof params / sizeof params[0])
_Static_assert(PARAM_COUNT <= 64, "the set of keys seen is one word");

static int refuse(const char *key, const char *value, const char *must)
{
    return RST_SET_ERR(RST_ECHANNEL, "channel parameter %s=%s: must be %s", key, value, must);
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_key_reference(const char *value)
{
    static const char hex[] = "0123456789abcdef";
    const size_t digits = strncmp(value, "id:", 3) == 0 ? strspn(value + 3, hex) : 0;
    return strncmp(value, "file:/", 6) == 0 || (digits == 8 && value[3 + 8] == '\0');
}

static int set_text(char *field, const param_t *param, const char *value)
{
    size_t length = strlen(value);
    if (param->kind == PARAM_KEY && strcmp(value, "none") == 0) {
        return 0;
    }
    if (param->kind == PARAM_KEY && !is_key_reference(value)) {
        /* The value may be a key, so no text repeats it. */
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter %s: must be file:/PATH of a file with keys, id: and the eight hex"
            " digits of a key's id, or none: a channel never has the key itself",
            param->key);
    }
    if (length >= param->text_size) {
        if (param->kind != PARAM_LABEL) {
            return RST_SET_ERR(RST_ECHANNEL, "channel parameter %s=%s: longer than %zu bytes",
                param->key, value, param->text_size - 1);
        }
        length = param->text_size - 1;
    }
    rsti_source_list_t list;
    if (param->kind == PARAM_SOURCES && !rsti_source_list_parse(&list, value)) {
        return refuse(param->key, value,
            "up to 16 addresses and networks, such as 10.0.0.0/8,[fd00::]/8");
    }
    if (param->kind == PARAM_ADDRESS) {
        char host[RSTI_CHANNEL_HOST_MAX];
        uint16_t port;
        if (!rsti_netaddr_split(value, host, sizeof host, &port)) {
            return refuse(param->key, value, "host:port or [ipv6]:port with a port of 0 to 65535");
        }
    }
    memcpy(field, value, length);
    field[length] = '\0';
    return 0;
}

static int set_number(int64_t *field, const param_t *param, const char *value)
{
    int64_t number;
    bool is_number;
    if (param->kind == PARAM_TIMESTAMP && strcmp(value, "reserved") == 0) {
        *field = RSTI_CHANNEL_TIMESTAMP_RESERVED;
        return 0;
    }
    if (param->kind == PARAM_SIZE) {
        is_number = rsti_parse_size(value, &number);
    } else if (param->kind == PARAM_DURATION) {
        is_number = rsti_parse_duration_ns(value, &number);
    } else {
        is_number = rsti_parse_i64(value, &number);
    }
    if (!is_number) {
        return refuse(param->key, value,
            param->kind == PARAM_SIZE            ? "a size such as 65536, 64k, 16m or 1g"
                : param->kind == PARAM_DURATION  ? "a duration such as 100ms, 5s, 20us or 7ns"
                : param->kind == PARAM_TIMESTAMP ? "a byte of the message, or reserved"
                                                 : "a whole number");
    }
    if (number < param->least || number > param->most) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter %s=%s: must be in %" PRId64 "...%" PRId64, param->key, value,
            param->least, param->most);
    }
    *field = number;
    return 0;
}

static int set_control_mode(rsti_channel_t *channel, const char *value)
{
    static const char *const names[] = {
        [RSTI_CONTROL_DYNAMIC] = "dynamic",
        [RSTI_CONTROL_MANUAL] = "manual",
        [RSTI_CONTROL_RESPONSE] = "response",
    };
    for (int mode = RSTI_CONTROL_DYNAMIC; mode <= RSTI_CONTROL_RESPONSE; mode++) {
        if (strcmp(value, names[mode]) == 0) {
            channel->control_mode = (rsti_control_mode_t)mode;
            return 0;
        }
    }
    return refuse("control-mode", value, "dynamic, manual or response");
}

static int set_group(rsti_channel_t *channel, const char *value)
{
    bool is_group;
    if (strcmp(value, "infer") == 0) {
        channel->group = RSTI_INFER;
    } else if (rsti_parse_bool(value, &is_group)) {
        channel->group = is_group ? RSTI_TRUE : RSTI_FALSE;
    } else {
        return refuse("group", value, "true, false or infer");
    }
    return 0;
}

static int set_session_id(rsti_channel_t *channel, const char *value)
{
    int32_t session_id;
    int64_t tag;
    size_t prefix_length = strlen(TAG_PREFIX);
    if (strncmp(value, TAG_PREFIX, prefix_length) == 0) {
        if (!rsti_parse_i64(value + prefix_length, &tag) || tag == RSTI_CHANNEL_UNSET) {
            return refuse("session-id", value, "tag: and a whole number");
        }
        channel->session_tag = tag;
    } else if (rsti_parse_i32(value, &session_id)) {
        channel->session_id = session_id;
    } else {
        return refuse("session-id", value, "a 32-bit number, or tag: and a number");
    }
    return 0;
}

static int set_tags(rsti_channel_t *channel, const char *value)
{
    char first[24] = "";
    const char *comma = strchr(value, ',');
    size_t length = comma == NULL ? strlen(value) : (size_t)(comma - value);
    int64_t channel_tag;
    int64_t entity_tag = RSTI_CHANNEL_UNSET;
    if (length < sizeof first) {
        memcpy(first, value, length);
    }
    if (!rsti_parse_i64(first, &channel_tag) || channel_tag == RSTI_CHANNEL_UNSET
        || (comma != NULL
            && (!rsti_parse_i64(comma + 1, &entity_tag) || entity_tag == RSTI_CHANNEL_UNSET))) {
        return refuse("tags", value, "a whole number, or two with a comma between");
    }
    channel->channel_tag = channel_tag;
    channel->entity_tag = entity_tag;
    return 0;
}

static int set_response_id(rsti_channel_t *channel, const char *value)
{
    int64_t id;
    if (strcmp(value, "prototype") == 0) {
        channel->response_correlation_id = RSTI_CHANNEL_PROTOTYPE;
    } else if (rsti_parse_i64(value, &id) && id >= -1) {
        channel->response_correlation_id = id;
    } else {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter response-correlation-id=%s: invalid response-correlation-id, must "
            "be a number greater than or equal to -1, or 'prototype'",
            value);
    }
    return 0;
}

static int set_bool(rsti_channel_t *channel, const param_t *param, const char *value)
{
    bool flag;
    if (!rsti_parse_bool(value, &flag)) {
        return refuse(param->key, value, "true or false");
    }
    if (param->kind == PARAM_ATS) {
        return !flag ? 0
                     : RST_SET_ERR(RST_ENOTSUP,
                           "channel parameter ats=true: encrypted transport is not supported");
    }
    memcpy((char *)channel + param->offset, &flag, sizeof flag);
    if (param->offset_set != 0) {
        bool is_set = true;
        memcpy((char *)channel + param->offset_set, &is_set, sizeof is_set);
    }
    return 0;
}

static int set_param(rsti_channel_t *channel, const param_t *param, const char *value)
{
    void *field = (char *)channel + param->offset;
    switch (param->kind) {
    case PARAM_TEXT:
    case PARAM_LABEL:
    case PARAM_ADDRESS:
    case PARAM_KEY:
    case PARAM_SOURCES:
        return set_text(field, param, value);
    case PARAM_NUMBER:
    case PARAM_SIZE:
    case PARAM_DURATION:
    case PARAM_TIMESTAMP:
        return set_number(field, param, value);
    case PARAM_BOOL:
    case PARAM_ATS:
        return set_bool(channel, param, value);
    case PARAM_CONTROL_MODE:
        return set_control_mode(channel, value);
    case PARAM_GROUP:
        return set_group(channel, value);
    case PARAM_SESSION_ID:
        return set_session_id(channel, value);
    case PARAM_TAGS:
        return set_tags(channel, value);
    case PARAM_RESPONSE_ID:
        return set_response_id(channel, value);
    case PARAM_IGNORED:
        break;
    }
    return 0;
}

/* --- grammar ---------------------------------------------------------------------------------- */

static const int64_t unset = RSTI_CHANNEL_UNSET;

static void set_defaults(rsti_channel_t *channel)
{
    *channel = (rsti_channel_t){
        .session_id = unset,
        .session_tag = unset,
        .mtu = unset,
        .term_length = unset,
        .ttl = unset,
        .initial_term_id = unset,
        .term_id = unset,
        .term_offset = unset,
        .linger_ns = unset,
        .so_sndbuf = unset,
        .so_rcvbuf = unset,
        .receiver_window = unset,
        .publication_window = unset,
        .nak_delay_ns = unset,
        .max_resend = unset,
        .channel_tag = unset,
        .entity_tag = unset,
        .group_tag = unset,
        .response_correlation_id = unset,
        .evict_ns = unset,
        .budget_bytes = unset,
        .send_timestamp = unset,
        .receive_timestamp = unset,
        .media_timestamp = unset,
        .untethered_window_limit_ns = unset,
        .untethered_linger_ns = unset,
        .untethered_resting_ns = unset,
        .reliable = true,
        .sparse = true,
        .eos = true,
        .tether = true,
        .rejoin = true,
        .group = RSTI_INFER,
    };
}

/* item: one "key=value", terminated; it is split at its first "=". */
static int parse_param(rsti_channel_t *channel, char *item, uint64_t *seen)
{
    char *equals = strchr(item, '=');
    if (equals == NULL || equals == item) {
        return RST_SET_ERR(RST_ECHANNEL, "channel parameter \"%s\": must be key=value in \"%s\"",
            item, channel->uri);
    }
    *equals = '\0';
    const char *value = equals + 1;
    if (*value == '\0') {
        return RST_SET_ERR(RST_ECHANNEL, "channel parameter %s=: has no value", item);
    }
    for (size_t i = 0; i < PARAM_COUNT; i++) {
        if (strcmp(params[i].key, item) == 0) {
            if ((*seen >> i & 1) != 0) {
                return RST_SET_ERR(RST_ECHANNEL, "channel parameter %s=%s: given twice", item,
                    value);
            }
            *seen |= UINT64_C(1) << i;
            return set_param(channel, &params[i], value);
        }
    }
    if (strncmp(item, OUR_KEY_PREFIX, strlen(OUR_KEY_PREFIX)) == 0) {
        return RST_SET_ERR(RST_ECHANNEL, "channel parameter %s=%s: unknown", item, value);
    }
    return 0;
}

static int parse_params(rsti_channel_t *channel, const char *text)
{
    char copy[RSTI_CHANNEL_URI_MAX + 1];
    memcpy(copy, text, strlen(text) + 1); /* the rest of channel->uri, which has this size */
    uint64_t seen = 0;
    for (char *item = copy; item != NULL;) {
        char *bar = strchr(item, '|');
        if (bar != NULL) {
            *bar = '\0';
        }
        int result = parse_param(channel, item, &seen);
        if (result < 0) {
            return result;
        }
        item = bar == NULL ? NULL : bar + 1;
    }
    return 0;
}

static int check_timestamps(const rsti_channel_t *channel)
{
    const int64_t send = channel->send_timestamp;
    const int64_t receive = channel->receive_timestamp;
    const int64_t media = channel->media_timestamp;
    if (send == unset && receive == unset && media == unset) {
        return 0;
    }
    if (channel->media == RSTI_MEDIA_IPC
        || (channel->is_spy && (receive != unset || media != unset))) {
        return RST_SET_ERR(RST_ENOTSUP,
            "channel \"%s\": there are no time-stamps without a socket: take the *-ts-offset out",
            channel->uri);
    }
    if (receive != unset && media != unset && receive - media < 8 && media - receive < 8) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel \"%s\": media-rcv-ts-offset and channel-rcv-ts-offset overlap: a time-stamp"
            " has 8 bytes",
            channel->uri);
    }
    const int64_t reserved = RSTI_CHANNEL_TIMESTAMP_RESERVED;
    if (channel->name[0] != '\0'
        && (send == reserved || receive == reserved || media == reserved)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel \"%s\": a *-ts-offset=reserved would overwrite the header that the stream"
            " rs-name=%s has in the reserved value: give a byte of the message",
            channel->uri, channel->name);
    }
    return 0;
}

static int check_together(const rsti_channel_t *channel)
{
    int given = (channel->initial_term_id != unset) + (channel->term_id != unset)
        + (channel->term_offset != unset);
    if (given != 0 && given != 3) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel \"%s\": init-term-id, term-id and term-offset go together", channel->uri);
    }
    if (check_timestamps(channel) < 0) {
        return -rst_last_error_code();
    }
    if (channel->media == RSTI_MEDIA_IPC) {
        return channel->key[0] == '\0'
            ? 0
            : RST_SET_ERR(RST_ECHANNEL,
                  "channel parameter rs-key=%s: shared memory is not encrypted: take rs-key out",
                  channel->key);
    }
    bool has_control = channel->control[0] != '\0';
    if (channel->control_mode == RSTI_CONTROL_DYNAMIC && !has_control) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter control-mode=dynamic: needs control=host:port in \"%s\"",
            channel->uri);
    }
    if (channel->endpoint[0] == '\0' && !has_control && channel->channel_tag == unset
        && channel->control_mode == RSTI_CONTROL_NONE) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel \"%s\": needs endpoint=host:port, control=host:port or tags", channel->uri);
    }
    return 0;
}

/* The text behind the prefix, or NULL. */
static const char *skip(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

int rsti_channel_parse(rsti_channel_t *channel, const char *text, size_t length)
{
    set_defaults(channel);
    if (length > RSTI_CHANNEL_URI_MAX) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel of %zu bytes: at most %d are allowed: URI length exceeds max supported length",
            length, RSTI_CHANNEL_URI_MAX);
    }
    if (length > 0) {
        memcpy(channel->uri, text, length);
    }
    channel->uri_length = length;
    if (strlen(channel->uri) != length) {
        return RST_SET_ERR(RST_ECHANNEL, "channel \"%s\": has a zero byte inside", channel->uri);
    }
    const char *rest = skip(channel->uri, SPY_PREFIX);
    channel->is_spy = rest != NULL;
    rest = skip(rest != NULL ? rest : channel->uri, SCHEME);
    const char *media = rest;
    if (media != NULL && (rest = skip(media, "udp?")) != NULL) {
        channel->media = RSTI_MEDIA_UDP;
        int result = parse_params(channel, rest);
        return result < 0 ? result : check_together(channel);
    }
    if (media != NULL && (rest = skip(media, "ipc")) != NULL) {
        channel->media = RSTI_MEDIA_IPC;
        bool has_params = rest[0] == '?' && rest[1] != '\0';
        int result = has_params ? parse_params(channel, rest + 1) : 0;
        if (*rest == '\0' || *rest == '?') {
            return result < 0 ? result : check_together(channel);
        }
    }
    return RST_SET_ERR(RST_ECHANNEL,
        "channel \"%s\": invalid URI scheme or transport: must begin with aeron:ipc or aeron:udp?, "
        "after an optional aeron-spy:",
        channel->uri);
}
