/* publication_info.c: the facts of a publication that the API gives. */
#include "client/channel_status.h"
#include "client/held_by.h"
#include "client/publication.h"
#include "util/error.h"

#include <string.h>

/* Reads of a record that the driver may be changing. */
#define READS_MAX 8

RST_API void rst_publication_info(const rst_publication_t *publication,
    rst_publication_info_t *info)
{
    if (info == NULL) {
        return;
    }
    *info = (rst_publication_info_t){.channel = ""};
    if (publication == NULL) {
        return;
    }
    /* Valid in a forked child too: the facts are in its own memory and in the mapping. */
    const rsti_log_t *log = &publication->log->file.log;
    *info = (rst_publication_info_t){
        .registration_id = publication->registration_id,
        .session_id = publication->appender.session_id,
        .stream_id = publication->appender.stream_id,
        .initial_term_id = log->initial_term_id,
        .term_length = log->term_length,
        .mtu = log->mtu,
        .max_payload_length = publication->appender.max_payload,
        .max_message_length = publication->max_message_length,
        .max_control_length = rsti_max_control_length(log->term_length, log->mtu),
        .is_exclusive = publication->appender.is_exclusive,
        .is_ipc = publication->is_ipc,
        .channel = publication->channel,
        .correlation_id = publication->correlation_id,
        .max_position = rsti_max_position(log->term_length),
        .position_bits = log->position_bits,
        .channel_status_id = publication->channel_status_id,
    };
}

RST_API int64_t rst_publication_position(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_log_producer_position(&publication->log->file.log);
}

RST_API int64_t rst_publication_sent_position(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_load_relaxed_i64(&publication->sent_position);
}

RST_API int64_t rst_publication_position_limit(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_load_acquire_i64(publication->appender.limit);
}

RST_API int64_t rst_publication_available_window(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_max_i64(0,
        rsti_load_acquire_i64(publication->appender.limit)
            - rsti_log_producer_position(&publication->log->file.log));
}

RST_API int64_t rst_publication_held_by(const rst_publication_t *publication,
    rst_storage_t *storage)
{
    if (storage != NULL) {
        *storage = (rst_storage_t){0};
    }
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    return publication->is_rstream ? rsti_held_by_told(publication->ext, storage)
                                   : RST_HELD_BY_WINDOW;
}

static void copy_who(const rsti_log_ext_t *ext, rst_left_t *left)
{
    rsti_log_left_who_t who;
    if (RSTI_MAILBOX_READ(&ext->left_who, &who) > 0 && who.count == left->count) {
        _Static_assert(sizeof who.name == sizeof left->name, "one size");
        left->pid = who.pid;
        left->sent = who.sent > 0 ? who.sent : -1;
        memcpy(left->name, who.name, sizeof left->name - 1);
    }
}

RST_API int64_t rst_publication_left(const rst_publication_t *publication, rst_left_t *left)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (left == NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "no room for the reader that left");
        return RST_ERROR;
    }
    *left = (rst_left_t){.joined = -1, .sent = -1};
    rsti_log_left_t told;
    /* A change meanwhile is read at the next look; the driver makes one at a time. */
    for (int attempt = 0; publication->is_rstream && attempt < READS_MAX; attempt++) {
        const int64_t change = RSTI_MAILBOX_READ(&publication->ext->left, &told);
        if (change > 0) {
            *left = (rst_left_t){
                .count = told.count, .consumed = told.consumed, .joined = told.joined, .sent = -1};
            copy_who(publication->ext, left);
        }
        if (change != RSTI_MAILBOX_TORN) {
            break;
        }
    }
    return 0;
}

RST_API int64_t rst_publication_next_frame(const rst_publication_t *publication, int32_t *term_id,
    int32_t *term_offset)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (term_id == NULL || term_offset == NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "no room for the term id or offset");
        return RST_ERROR;
    }
    rsti_appender_next(&publication->appender, term_id, term_offset);
    return 0;
}

RST_API int64_t rst_publication_channel_status(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_client_channel_status(publication->client, publication->channel_status_id);
}

RST_API int rst_publication_local_address(const rst_publication_t *publication, int index,
    char *text, size_t size)
{
    if (text == NULL || size == 0) {
        return RST_SET_ERR(RST_EINVAL, "no room for the address");
    }
    text[0] = '\0';
    if (!rsti_publication_is_usable(publication)) {
        return 0;
    }
    return rsti_client_local_address(publication->client, publication->channel_status_id, index,
        text, size);
}

RST_API bool rst_publication_is_connected(const rst_publication_t *publication)
{
    return rsti_publication_is_usable(publication)
        && rsti_publication_is_log_connected(publication);
}

RST_API bool rst_publication_is_closed(const rst_publication_t *publication)
{
    return !rsti_publication_is_usable(publication);
}
