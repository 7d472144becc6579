/* test_layouts.c: every struct that is mapped onto shared memory or datagrams has its fields at
 * Aeron's offsets. */
#include "cnc/cnc_file.h"
#include "concurrent/broadcast.h"
#include "concurrent/counters.h"
#include "concurrent/loss_report.h"
#include "concurrent/mpsc_rb.h"
#include "protocol/frame.h"
#include "tests/check.h"
#include "tests/vectors/layouts.h"

#define CHECK_FIELDS(TYPE, FIELDS)                                                                 \
    do {                                                                                           \
        typedef TYPE layout_t;                                                                     \
        FIELDS(CHECK_FIELD)                                                                        \
    } while (0)
#define CHECK_FIELD(field, at, size)                                                               \
    CHECK_EQ(offsetof(layout_t, field), at);                                                       \
    CHECK_EQ(sizeof(((layout_t *)0)->field), size);

TEST(frames_lie_where_others_look)
{
    CHECK_FIELDS(rsti_frame_header_t, VECTOR_FRAME_HEADER);
    CHECK_FIELDS(rsti_data_header_t, VECTOR_DATA_HEADER);
    CHECK_FIELDS(rsti_setup_t, VECTOR_SETUP_HEADER);
    CHECK_FIELDS(rsti_nak_t, VECTOR_NAK_HEADER);
    CHECK_FIELDS(rsti_sm_t, VECTOR_STATUS_MESSAGE_HEADER);
    CHECK_FIELDS(rsti_err_t, VECTOR_ERROR_HEADER);
    CHECK_FIELDS(rsti_rttm_t, VECTOR_RTTM_HEADER);
    CHECK_FIELDS(rsti_rsp_setup_t, VECTOR_RESPONSE_SETUP_HEADER);
    CHECK_EQ(sizeof(rsti_frame_header_t), VECTOR_FRAME_HEADER_SIZE);
    CHECK_EQ(sizeof(rsti_data_header_t), VECTOR_DATA_HEADER_SIZE);
    CHECK_EQ(sizeof(rsti_setup_t), VECTOR_SETUP_HEADER_SIZE);
    CHECK_EQ(sizeof(rsti_nak_t), VECTOR_NAK_HEADER_SIZE);
    CHECK_EQ(sizeof(rsti_sm_t), VECTOR_STATUS_MESSAGE_HEADER_SIZE);
    CHECK_EQ(sizeof(rsti_err_t), VECTOR_ERROR_HEADER_SIZE);
    CHECK_EQ(sizeof(rsti_rttm_t), VECTOR_RTTM_HEADER_SIZE);
    CHECK_EQ(sizeof(rsti_rsp_setup_t), VECTOR_RESPONSE_SETUP_HEADER_SIZE);
}

TEST(shared_memory_lies_where_others_look)
{
    CHECK_FIELDS(rsti_rb_trailer_t, VECTOR_RB_DESCRIPTOR);
    CHECK_FIELDS(rsti_broadcast_trailer_t, VECTOR_BROADCAST_DESCRIPTOR);
    CHECK_FIELDS(rsti_counter_value_t, VECTOR_COUNTER_VALUE_DESCRIPTOR);
    CHECK_FIELDS(rsti_counter_metadata_t, VECTOR_COUNTER_METADATA_DESCRIPTOR);
    CHECK_FIELDS(rsti_loss_entry_t, VECTOR_LOSS_REPORTER_ENTRY);
    CHECK_FIELDS(rsti_cnc_header_t, VECTOR_CNC_METADATA);
    CHECK_EQ(sizeof(rsti_rb_trailer_t), VECTOR_RB_DESCRIPTOR_SIZE);
    CHECK_EQ(sizeof(rsti_broadcast_trailer_t), VECTOR_BROADCAST_DESCRIPTOR_SIZE);
    CHECK_EQ(sizeof(rsti_counter_value_t), VECTOR_COUNTER_VALUE_DESCRIPTOR_SIZE);
    CHECK_EQ(sizeof(rsti_counter_metadata_t), VECTOR_COUNTER_METADATA_DESCRIPTOR_SIZE);
    CHECK_EQ(offsetof(rsti_loss_entry_t, channel_length), VECTOR_LOSS_REPORTER_ENTRY_SIZE);
    CHECK_EQ(offsetof(rsti_cnc_header_t, ext), VECTOR_CNC_METADATA_SIZE);
}

CHECK_MAIN(RUN(frames_lie_where_others_look), RUN(shared_memory_lies_where_others_look))
