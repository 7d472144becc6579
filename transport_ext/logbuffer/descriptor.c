/* descriptor.c: the metadata of a log, its checks, and the rotation to the next term. */
#include "logbuffer/descriptor.h"

#include "protocol/data_header.h"
#include "util/error.h"
#include "util/fault.h"

#include <inttypes.h>
#include <string.h>

#define PAGE_SIZE_MIN 4096
#define PAGE_SIZE_MAX (1024 * 1024 * 1024)
#define MTU_MAX 65504

static bool is_mtu(int32_t mtu)
{
    return mtu > RSTI_DATA_HEADER_LENGTH && mtu <= MTU_MAX
        && (mtu & (RSTI_FRAME_ALIGNMENT - 1)) == 0;
}

int64_t rsti_log_file_length(int32_t term_length, int32_t page_size)
{
    return rsti_align_i64((int64_t)term_length * RSTI_PARTITIONS + RSTI_LOG_METADATA_LENGTH,
        page_size);
}

int rsti_log_init(rsti_log_t *log, void *base, size_t length)
{
    const size_t length_min = (size_t)RSTI_PARTITIONS * RSTI_TERM_MIN_LENGTH
        + RSTI_LOG_METADATA_LENGTH;
    if (length < length_min || length % PAGE_SIZE_MIN != 0) {
        return RST_SET_ERR(RST_ECORRUPT, "log: %zu bytes are no log file", length);
    }
    uint8_t *bytes = (uint8_t *)base;
    rsti_log_metadata_t *metadata = (rsti_log_metadata_t *)(void *)(bytes + length
        - RSTI_LOG_METADATA_LENGTH);
    /* Each field is read once: other processes may write the file. */
    const int32_t term_length = metadata->term_length;
    const int32_t page_size = metadata->page_size;
    const int32_t mtu = metadata->mtu_length;
    if (term_length < RSTI_TERM_MIN_LENGTH || term_length > RSTI_TERM_MAX_LENGTH
        || !rsti_is_power_of_two(term_length)) {
        return RST_SET_ERR(RST_ECORRUPT, "log: term length %" PRId32, term_length);
    }
    if (page_size < PAGE_SIZE_MIN || page_size > PAGE_SIZE_MAX
        || !rsti_is_power_of_two(page_size)) {
        return RST_SET_ERR(RST_ECORRUPT, "log: page size %" PRId32, page_size);
    }
    if (!is_mtu(mtu)) {
        return RST_SET_ERR(RST_ECORRUPT, "log: mtu %" PRId32, mtu);
    }
    if ((size_t)rsti_log_file_length(term_length, page_size) != length) {
        return RST_SET_ERR(RST_ECORRUPT,
            "log: %zu bytes do not fit term length %" PRId32 " and page size %" PRId32, length,
            term_length, page_size);
    }
    log->base = bytes;
    log->length = length;
    for (int i = 0; i < RSTI_PARTITIONS; i++) {
        log->terms[i] = bytes + (int64_t)term_length * i;
    }
    log->metadata = metadata;
    log->term_length = term_length;
    log->position_bits = rsti_log2((uint32_t)term_length);
    log->initial_term_id = metadata->initial_term_id;
    log->mtu = mtu;
    return 0;
}

static void init_tails(rsti_log_metadata_t *metadata, const rsti_log_params_t *params)
{
    const int32_t count = rsti_wrap_sub_i32(params->term_id, params->initial_term_id);
    RST_ASSERT(count >= 0);
    /* Also at the end of a term: a channel may begin there, and the first append rotates. */
    RST_ASSERT(params->term_offset >= 0 && params->term_offset <= params->term_length);
    const uint32_t active = (uint32_t)count % RSTI_PARTITIONS;
    int64_t *tails = metadata->term_tail_counters;
    /* The two idle partitions look as if they were used two terms and one term ago, as a rotation
     * expects. */
    tails[active] = rsti_tail_pack(params->term_id, params->term_offset);
    tails[(active + 1) % RSTI_PARTITIONS] = rsti_tail_pack(rsti_wrap_sub_i32(params->term_id, 2),
        0);
    tails[(active + 2) % RSTI_PARTITIONS] = rsti_tail_pack(rsti_wrap_sub_i32(params->term_id, 1),
        0);
    metadata->active_term_count = count;
}

static void init_extension(rsti_log_ext_t *ext, const char *name)
{
    ext->version = RSTI_EXT_VERSION;
    ext->conductor_position = INT64_MAX;
    if (name != NULL) {
        size_t length = strlen(name);
        if (length >= sizeof ext->name) {
            length = sizeof ext->name - 1;
        }
        memcpy(ext->name, name, length);
        ext->name_length = (int32_t)length;
        ext->name_hash = rsti_name_hash(name, length);
    }
    ext->magic = RSTI_EXT_MAGIC;
}

void rsti_log_metadata_init(rsti_log_metadata_t *metadata, const rsti_log_params_t *params)
{
    RST_ASSERT(rsti_is_power_of_two(params->term_length));
    RST_ASSERT(is_mtu(params->mtu));
    if (params->type != RSTI_LOG_IMAGE) {
        init_tails(metadata, params);
    }
    metadata->end_of_stream_position = INT64_MAX;
    metadata->correlation_id = params->correlation_id;
    metadata->initial_term_id = params->initial_term_id;
    metadata->default_frame_header_length = RSTI_DATA_HEADER_LENGTH;
    metadata->mtu_length = params->mtu;
    metadata->term_length = params->term_length;
    metadata->page_size = params->page_size;
    metadata->publication_window_length = params->publication_window;
    metadata->receiver_window_length = params->receiver_window;
    metadata->socket_sndbuf_length = params->socket_sndbuf;
    metadata->socket_rcvbuf_length = params->socket_rcvbuf;
    metadata->max_resend = params->max_resend;
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, params->session_id,
        params->stream_id, params->initial_term_id, 0);
    memcpy(metadata->default_header, &header, sizeof header);
    metadata->entity_tag = params->entity_tag;
    metadata->response_correlation_id = params->response_correlation_id;
    metadata->linger_timeout_ns = params->linger_ns;
    metadata->untethered_window_limit_timeout_ns = params->untethered_window_limit_ns;
    metadata->untethered_resting_timeout_ns = params->untethered_resting_ns;
    rsti_put_i64(metadata->untethered_linger_timeout_ns, params->untethered_linger_ns);
    metadata->group = params->group;
    metadata->is_response = params->is_response;
    metadata->rejoin = params->rejoin;
    metadata->reliable = params->reliable;
    metadata->sparse = params->sparse;
    metadata->signal_eos = params->signal_eos;
    metadata->spies_simulate_connection = params->spies_simulate_connection;
    metadata->tether = params->tether;
    metadata->type = params->type;
    init_extension(&metadata->ext, params->name);
}

int64_t rsti_log_producer_position(const rsti_log_t *log)
{
    const rsti_log_metadata_t *metadata = log->metadata;
    const int32_t count = rsti_load_acquire_i32(&metadata->active_term_count);
    const int64_t raw = rsti_load_acquire_i64(&metadata
            ->term_tail_counters[rsti_term_index(count)]);
    return rsti_position(rsti_tail_term_id(raw), rsti_tail_offset(raw, log->term_length),
        log->position_bits, log->initial_term_id);
}

bool rsti_log_rotate(rsti_log_metadata_t *metadata, int32_t current_term_count,
    int32_t current_term_id)
{
    const int32_t next_count = rsti_wrap_add_i32(current_term_count, 1);
    const int32_t next_term_id = rsti_wrap_add_i32(current_term_id, 1);
    const int32_t expected_term_id = rsti_wrap_sub_i32(next_term_id, RSTI_PARTITIONS);
    int64_t *tail = &metadata->term_tail_counters[rsti_term_index(next_count)];
    for (;;) {
        const int64_t raw = rsti_load_acquire_i64(tail);
        if (rsti_tail_term_id(raw) != expected_term_id
            || rsti_cas_i64(tail, raw, rsti_tail_pack(next_term_id, 0))) {
            break;
        }
    }
#if RSTI_FAULT == RSTI_FAULT_ROTATION
    rsti_store_release_i32(&metadata->active_term_count, next_count);
    return true;
#endif
    return rsti_cas_i32(&metadata->active_term_count, current_term_count, next_count);
}

int32_t rsti_limit_overshoot(int32_t term_length, int32_t mtu)
{
    return rsti_framed_length(rsti_max_message_length(term_length), rsti_max_payload_length(mtu));
}

int32_t rsti_limit_reach(int32_t term_length, int32_t mtu)
{
    const int32_t overshoot = rsti_limit_overshoot(term_length, mtu);
    return overshoot + 2 * rsti_min_i32(mtu, overshoot);
}

int32_t rsti_max_control_length(int32_t term_length, int32_t mtu)
{
    return rsti_min_i32(rsti_max_payload_length(mtu), rsti_max_message_length(term_length));
}
