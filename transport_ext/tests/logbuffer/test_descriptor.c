#include "logbuffer/descriptor.h"
#include "protocol/data_header.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "tests/vectors/logbuffer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* G6 */
TEST(positions_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_positions); i++) {
        const vector_positions_t *v = &vector_positions[i];
        CHECK_EQ(rsti_log2((uint32_t)v->term_length), v->position_bits_to_shift);
        CHECK_EQ(rsti_position(v->term_id, v->term_offset, v->position_bits_to_shift,
                     v->initial_term_id),
            v->position);
        CHECK_EQ(rsti_wrap_sub_i32(v->term_id, v->initial_term_id), v->term_count);
        CHECK_EQ(rsti_position_term_id(v->position, v->position_bits_to_shift, v->initial_term_id),
            v->term_id_from_position);
        CHECK_EQ(rsti_position_offset(v->position, v->term_length), v->term_offset_from_position);
        if (v->term_count >= 0) {
            CHECK_EQ(rsti_position_index(v->position, v->position_bits_to_shift),
                v->partition_index);
            CHECK_EQ(rsti_term_index(v->term_count), v->partition_index);
        }
    }
    CHECK_EQ(rsti_max_position(65536), INT64_C(65536) << 31);
}

/* G6 */
TEST(initial_tails_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_initial_tails); i++) {
        const vector_initial_tails_t *v = &vector_initial_tails[i];
        memory_log_t memory;
        memory_log_init(&memory, v->initial_term_id, RSTI_TERM_MIN_LENGTH);
        for (int p = 0; p < RSTI_PARTITIONS; p++) {
            CHECK_EQ(memory.log.metadata->term_tail_counters[p], v->tails[p]);
        }
        CHECK_EQ(memory.log.metadata->active_term_count, 0);
        CHECK_EQ(rsti_log_producer_position(&memory.log), 0);
        memory_log_fini(&memory);
    }
}

/* G6 */
TEST(a_start_position_selects_its_partition)
{
    rsti_log_params_t params = memory_log_params(INT32_MAX, RSTI_TERM_MIN_LENGTH);
    params.term_id = INT32_MIN + 3; /* four terms on, over the wrap */
    params.term_offset = 96;
    memory_log_t memory;
    memory_log_make(&memory, &params);
    const rsti_log_metadata_t *metadata = memory.log.metadata;
    CHECK_EQ(metadata->active_term_count, 4);
    CHECK_EQ(metadata->term_tail_counters[1], rsti_tail_pack(params.term_id, 96));
    CHECK_EQ(rsti_tail_term_id(metadata->term_tail_counters[2]), params.term_id - 2);
    CHECK_EQ(rsti_tail_term_id(metadata->term_tail_counters[0]), params.term_id - 1);
    CHECK_EQ(rsti_log_producer_position(&memory.log), 4 * RSTI_TERM_MIN_LENGTH + 96);
    memory_log_fini(&memory);
}

TEST(tails_decode_clamped)
{
    for (size_t i = 0; i < COUNT(vector_decode_tail); i++) {
        const vector_decode_tail_t *v = &vector_decode_tail[i];
        CHECK_EQ(rsti_tail_term_id(v->raw_tail), v->term_id);
        CHECK_EQ(rsti_tail_offset(v->raw_tail, v->term_length), v->term_offset_clamped);
    }
    CHECK_EQ(rsti_tail_offset(rsti_tail_pack(5, -1), 65536), 65536); /* the offset is unsigned */
}

TEST(rotation_is_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_rotate); i++) {
        const vector_rotate_t *v = &vector_rotate[i];
        rsti_log_metadata_t metadata = {.active_term_count = i == 0 ? v->count : v->count_after};
        memcpy(metadata.term_tail_counters, v->before, sizeof v->before);
        CHECK_EQ(rsti_log_rotate(&metadata, v->count, v->term_id), v->result);
        for (int p = 0; p < RSTI_PARTITIONS; p++) {
            CHECK_EQ(metadata.term_tail_counters[p], v->after[p]);
        }
        CHECK_EQ(metadata.active_term_count, v->count_after);
    }
}

TEST(lengths_and_windows_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_log_length); i++) {
        const vector_log_length_t *v = &vector_log_length[i];
        CHECK_EQ(rsti_log_file_length(v->term_length, v->page_size), v->file_length);
    }
    for (size_t i = 0; i < COUNT(vector_fragmented_length); i++) {
        const vector_fragmented_length_t *v = &vector_fragmented_length[i];
        CHECK_EQ(rsti_framed_length(v->message_length, v->max_payload_length), v->framed_length);
    }
    for (size_t i = 0; i < COUNT(vector_windows); i++) {
        const vector_windows_t *v = &vector_windows[i];
        CHECK_EQ(rsti_producer_window(v->configured, v->term_length), v->producer_window);
        CHECK_EQ(rsti_max_message_length(v->term_length), v->max_message_length);
    }
}

TEST(metadata_lies_where_others_look)
{
#define CHECK_FIELD(field, at, size)                                                               \
    CHECK_EQ(offsetof(rsti_log_metadata_t, field), at);                                            \
    CHECK_EQ(sizeof(((rsti_log_metadata_t *)0)->field), size);
    VECTOR_LOG_METADATA(CHECK_FIELD)
#undef CHECK_FIELD
}

TEST(metadata_holds_what_was_given)
{
    rsti_log_params_t params = memory_log_params(5, RSTI_TERM_MIN_LENGTH);
    params.untethered_linger_ns = INT64_C(0x0102030405060708);
    params.linger_ns = 9;
    params.signal_eos = 1;
    params.type = RSTI_LOG_EXCLUSIVE;
    params.name = "prices";
    memory_log_t memory;
    memory_log_make(&memory, &params);
    const rsti_log_metadata_t *metadata = memory.log.metadata;
    CHECK_EQ(metadata->end_of_stream_position, INT64_MAX);
    CHECK_EQ(rsti_get_i64(metadata->untethered_linger_timeout_ns), params.untethered_linger_ns);
    CHECK_EQ(metadata->linger_timeout_ns, 9);
    CHECK_EQ(metadata->signal_eos, 1);
    CHECK_EQ(metadata->type, RSTI_LOG_EXCLUSIVE);
    CHECK_EQ(metadata->entity_tag, -1);
    CHECK_STR(metadata->ext.name, "prices");
    CHECK_EQ(metadata->ext.name_length, 6);
    CHECK_EQ(metadata->ext.name_hash, rsti_name_hash("prices", 6));
    CHECK_EQ(metadata->ext.magic, RSTI_EXT_MAGIC);
    rsti_data_header_t header;
    memcpy(&header, metadata->default_header, sizeof header);
    CHECK_EQ(header.frame.frame_length, 0);
    CHECK_EQ(header.frame.flags, 0xC0);
    CHECK_EQ(header.frame.type, RSTI_FRAME_DATA);
    CHECK_EQ(header.session_id, MEMORY_LOG_SESSION_ID);
    CHECK_EQ(header.stream_id, MEMORY_LOG_STREAM_ID);
    CHECK_EQ(header.term_id, 5);
    memory_log_fini(&memory);
}

TEST(images_have_no_tails)
{
    rsti_log_params_t params = memory_log_params(5, RSTI_TERM_MIN_LENGTH);
    params.type = RSTI_LOG_IMAGE;
    params.term_id = 6;
    memory_log_t memory;
    memory_log_make(&memory, &params);
    for (int p = 0; p < RSTI_PARTITIONS; p++) {
        CHECK_EQ(memory.log.metadata->term_tail_counters[p], 0);
    }
    CHECK_EQ(memory.log.metadata->active_term_count, 0);
    memory_log_fini(&memory);
}

TEST(a_name_too_long_is_cut)
{
    char name[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    rsti_log_params_t params = memory_log_params(5, RSTI_TERM_MIN_LENGTH);
    params.name = name;
    memory_log_t memory;
    memory_log_make(&memory, &params);
    CHECK_EQ(memory.log.metadata->ext.name_length, 239);
    CHECK_EQ(strlen(memory.log.metadata->ext.name), 239);
    memory_log_fini(&memory);
}

TEST(a_log_that_is_none_is_refused)
{
    memory_log_t memory;
    memory_log_init(&memory, 5, RSTI_TERM_MIN_LENGTH);
    rsti_log_metadata_t *metadata = memory.log.metadata;
    const rsti_log_metadata_t good = *metadata;
    uint8_t *base = memory.log.base;
    const size_t length = memory.log.length;
    rsti_log_t log;
    CHECK_EQ(rsti_log_init(&log, base, length), 0);
    CHECK_EQ(rsti_log_init(&log, base, 0), -RST_ECORRUPT);
    CHECK_EQ(rsti_log_init(&log, base, 4096), -RST_ECORRUPT);
    CHECK_EQ(rsti_log_init(&log, base, length - 1), -RST_ECORRUPT);
    static const int32_t bad_terms[] = {0, -65536, 65535, 32768, 131072, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT(bad_terms); i++) {
        metadata->term_length = bad_terms[i];
        CHECK_EQ(rsti_log_init(&log, base, length), -RST_ECORRUPT);
    }
    *metadata = good;
    static const int32_t bad_pages[] = {0, -4096, 4095, 2048, 1048576, INT32_MIN};
    for (size_t i = 0; i < COUNT(bad_pages); i++) {
        metadata->page_size = bad_pages[i];
        CHECK_EQ(rsti_log_init(&log, base, length), -RST_ECORRUPT);
    }
    *metadata = good;
    static const int32_t bad_mtus[] = {0, 32, -1408, 1400, 65536, INT32_MIN};
    for (size_t i = 0; i < COUNT(bad_mtus); i++) {
        metadata->mtu_length = bad_mtus[i];
        CHECK_EQ(rsti_log_init(&log, base, length), -RST_ECORRUPT);
    }
    memory_log_fini(&memory);
}

TEST(a_scribbled_term_count_stays_inside)
{
    memory_log_t memory;
    memory_log_init(&memory, 5, RSTI_TERM_MIN_LENGTH);
    static const int32_t counts[] = {-1, -2, -3, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT(counts); i++) {
        memory.log.metadata->active_term_count = counts[i];
        (void)rsti_log_producer_position(&memory.log);
        (void)rsti_log_rotate(memory.log.metadata, counts[i], 5);
    }
    memory_log_fini(&memory);
}

CHECK_MAIN(RUN(positions_are_the_vectors), RUN(initial_tails_are_the_vectors),
    RUN(a_start_position_selects_its_partition), RUN(tails_decode_clamped),
    RUN(rotation_is_the_vectors), RUN(lengths_and_windows_are_the_vectors),
    RUN(metadata_lies_where_others_look), RUN(metadata_holds_what_was_given),
    RUN(images_have_no_tails), RUN(a_name_too_long_is_cut), RUN(a_log_that_is_none_is_refused),
    RUN(a_scribbled_term_count_stays_inside))
