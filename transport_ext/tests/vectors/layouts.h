/* layouts.h: reference vectors as C tables. Made by tests/make_vectors.py. */
#ifndef RSTI_TESTS_VECTORS_LAYOUTS_H
#define RSTI_TESTS_VECTORS_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>

#define VECTOR_FRAME_HEADER_SIZE 8
#define VECTOR_FRAME_HEADER(X) \
    X(frame_length, 0, 4) \
    X(version, 4, 1) \
    X(flags, 5, 1) \
    X(type, 6, 2)
#define VECTOR_DATA_HEADER_SIZE 32
#define VECTOR_DATA_HEADER(X) \
    X(term_offset, 8, 4) \
    X(session_id, 12, 4) \
    X(stream_id, 16, 4) \
    X(term_id, 20, 4) \
    X(reserved_value, 24, 8)
#define VECTOR_SETUP_HEADER_SIZE 40
#define VECTOR_SETUP_HEADER(X) \
    X(term_offset, 8, 4) \
    X(session_id, 12, 4) \
    X(stream_id, 16, 4) \
    X(initial_term_id, 20, 4) \
    X(active_term_id, 24, 4) \
    X(term_length, 28, 4) \
    X(mtu, 32, 4) \
    X(ttl, 36, 4)
#define VECTOR_NAK_HEADER_SIZE 28
#define VECTOR_NAK_HEADER(X) \
    X(session_id, 8, 4) \
    X(stream_id, 12, 4) \
    X(term_id, 16, 4) \
    X(term_offset, 20, 4) \
    X(length, 24, 4)
#define VECTOR_STATUS_MESSAGE_HEADER_SIZE 36
#define VECTOR_STATUS_MESSAGE_HEADER(X) \
    X(session_id, 8, 4) \
    X(stream_id, 12, 4) \
    X(consumption_term_id, 16, 4) \
    X(consumption_term_offset, 20, 4) \
    X(receiver_window, 24, 4) \
    X(receiver_id, 28, 8)
#define VECTOR_ERROR_HEADER_SIZE 40
#define VECTOR_ERROR_HEADER(X) \
    X(frame, 0, 8) \
    X(session_id, 8, 4) \
    X(stream_id, 12, 4) \
    X(receiver_id, 16, 8) \
    X(group_tag, 24, 8) \
    X(error_code, 32, 4) \
    X(error_length, 36, 4)
#define VECTOR_RTTM_HEADER_SIZE 40
#define VECTOR_RTTM_HEADER(X) \
    X(echo_timestamp, 16, 8) \
    X(reception_delta, 24, 8) \
    X(receiver_id, 32, 8)
#define VECTOR_RESPONSE_SETUP_HEADER_SIZE 20
#define VECTOR_RESPONSE_SETUP_HEADER(X) \
    X(session_id, 8, 4) \
    X(stream_id, 12, 4) \
    X(response_session_id, 16, 4)
#define VECTOR_RB_DESCRIPTOR_SIZE 768
#define VECTOR_RB_DESCRIPTOR(X) \
    X(tail_position, 128, 8) \
    X(head_cache_position, 256, 8) \
    X(head_position, 384, 8) \
    X(correlation_counter, 512, 8) \
    X(consumer_heartbeat_ms, 640, 8)
#define VECTOR_BROADCAST_DESCRIPTOR_SIZE 128
#define VECTOR_BROADCAST_DESCRIPTOR(X) \
    X(tail_intent, 0, 8) \
    X(tail, 8, 8) \
    X(latest, 16, 8)
#define VECTOR_COUNTER_VALUE_DESCRIPTOR_SIZE 128
#define VECTOR_COUNTER_VALUE_DESCRIPTOR(X) \
    X(value, 0, 8) \
    X(registration_id, 8, 8) \
    X(owner_id, 16, 8) \
    X(reference_id, 24, 8)
#define VECTOR_COUNTER_METADATA_DESCRIPTOR_SIZE 512
#define VECTOR_COUNTER_METADATA_DESCRIPTOR(X) \
    X(state, 0, 4) \
    X(type_id, 4, 4) \
    X(free_for_reuse_deadline_ms, 8, 8) \
    X(key, 16, 112) \
    X(label_length, 128, 4) \
    X(label, 132, 380)
#define VECTOR_LOSS_REPORTER_ENTRY_SIZE 40
#define VECTOR_LOSS_REPORTER_ENTRY(X) \
    X(observation_count, 0, 8) \
    X(bytes_lost, 8, 8) \
    X(first_ms, 16, 8) \
    X(last_ms, 24, 8) \
    X(session_id, 32, 4) \
    X(stream_id, 36, 4)
#define VECTOR_CNC_METADATA_SIZE 52
#define VECTOR_CNC_METADATA(X) \
    X(cnc_version, 0, 4) \
    X(to_driver_length, 4, 4) \
    X(to_clients_length, 8, 4) \
    X(counter_metadata_length, 12, 4) \
    X(counter_values_length, 16, 4) \
    X(error_log_length, 20, 4) \
    X(client_liveness_timeout_ns, 24, 8) \
    X(start_timestamp_ms, 32, 8) \
    X(pid, 40, 8) \
    X(file_page_size, 48, 4)

#endif
