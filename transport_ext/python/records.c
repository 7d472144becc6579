/* records.c: see records.h. What each value means stands in rstream/_core.pyi. */
#include "records.h"

#include <string.h>

#define FIELD(name) {#name, NULL}
#define END {NULL, NULL}

static PyStructSequence_Field image_event_fields[] = {FIELD(kind), FIELD(session_id),
    FIELD(correlation_id), FIELD(position), FIELD(end_position), FIELD(received_position),
    FIELD(source), FIELD(evicted_ms), FIELD(goes_on_at), FIELD(message_length), FIELD(skip_reason),
    FIELD(initial_term_id), FIELD(segment), END};
static PyStructSequence_Field image_facts_fields[] = {FIELD(correlation_id), FIELD(session_id),
    FIELD(initial_term_id), FIELD(term_length), FIELD(mtu), FIELD(active_transports),
    FIELD(join_position), FIELD(position), FIELD(end_position), FIELD(is_revoked), FIELD(source),
    FIELD(segment_bytes), END};
static PyStructSequence_Field receiver_error_fields[] = {FIELD(code), FIELD(session_id),
    FIELD(receiver_id), FIELD(group_tag), FIELD(destination_id), FIELD(source), FIELD(text), END};
static PyStructSequence_Field reader_demand_fields[] = {
    FIELD(position), FIELD(messages), FIELD(readers), FIELD(is_connected), END};
static PyStructSequence_Field reader_left_fields[] = {
    FIELD(times), FIELD(consumed), FIELD(joined), FIELD(sent), END};
static PyStructSequence_Field reader_left_who_fields[] = {
    FIELD(times), FIELD(pid), FIELD(name), END};
static PyStructSequence_Field held_memory_fields[] = {
    FIELD(held_bytes), FIELD(window_bytes), FIELD(mtu_max), END};
static PyStructSequence_Field segment_use_fields[] = {
    FIELD(unread_bytes), FIELD(unread_messages), FIELD(held_bytes), FIELD(held_messages), END};
static PyStructSequence_Field counter_facts_fields[] = {FIELD(id), FIELD(type_id), FIELD(value),
    FIELD(registration_id), FIELD(owner_id), FIELD(reference_id), FIELD(label), END};
static PyStructSequence_Field counter_event_fields[] = {
    FIELD(is_available), FIELD(counter_id), FIELD(registration_id), END};
static PyStructSequence_Field logged_error_fields[] = {
    FIELD(observations), FIELD(first_ms), FIELD(last_ms), FIELD(text), END};
static PyStructSequence_Field loss_facts_fields[] = {FIELD(observations), FIELD(bytes_lost),
    FIELD(first_ms), FIELD(last_ms), FIELD(session_id), FIELD(stream_id), FIELD(channel),
    FIELD(source), END};
static PyStructSequence_Field client_facts_fields[] = {
    FIELD(client_id), FIELD(pid), FIELD(heartbeat_ms), FIELD(name), END};
static PyStructSequence_Field holder_facts_fields[] = {FIELD(registration_id), FIELD(is_report),
    FIELD(is_local), FIELD(reader_id), FIELD(client_id), FIELD(pid), FIELD(since_ms),
    FIELD(position), FIELD(window_bytes), FIELD(gap_position), FIELD(allowed_bytes_per_s),
    FIELD(drain_bytes_per_s), FIELD(source), END};
static PyStructSequence_Field limit_cause_fields[] = {
    FIELD(held_by), FIELD(needed_bytes), FIELD(usable_bytes), END};
static PyStructSequence_Field last_reader_fields[] = {
    FIELD(left_ms), FIELD(why), FIELD(pid), FIELD(name), END};
static PyStructSequence_Field segment_facts_fields[] = {
    FIELD(length_bytes), FIELD(waiting_bytes), FIELD(newest), END};
static PyStructSequence_Field aeron_name_fields[] = {
    FIELD(name), FIELD(variable), FIELD(option), FIELD(why_none), END};
static PyStructSequence_Field driver_option_fields[] = {
    FIELD(name), FIELD(default), FIELD(help), END};
static PyStructSequence_Field driver_info_fields[] = {FIELD(pid), FIELD(heartbeat_age_ms), END};
static PyStructSequence_Field last_error_fields[] = {FIELD(code), FIELD(detail), FIELD(text), END};

#define RECORD(kind, fields, name, doc)                                                            \
    [RSTI_PY_##kind] = {"rstream._core." name, doc, fields, sizeof(fields) / sizeof(fields[0]) - 1}

static PyStructSequence_Desc descriptions[RSTI_PY_RECORD_COUNT] = {
    RECORD(IMAGE_EVENT, image_event_fields, "ImageEvent",
        "An image came, went, or lost something."),
    RECORD(IMAGE_FACTS, image_facts_fields, "ImageFacts", "An image of a subscription."),
    RECORD(RECEIVER_ERROR, receiver_error_fields, "ReceiverError",
        "What a receiver reported to a publication."),
    RECORD(READER_DEMAND, reader_demand_fields, "ReaderDemand",
        "What the readers of a publication want."),
    RECORD(READER_LEFT, reader_left_fields, "ReaderLeft",
        "Where the last reader of a publication stopped."),
    RECORD(READER_LEFT_WHO, reader_left_who_fields, "ReaderLeftWho",
        "Who the last reader of a publication was."),
    RECORD(HELD_MEMORY, held_memory_fields, "HeldMemory", "What leases and views hold of the log."),
    RECORD(SEGMENT_USE, segment_use_fields, "SegmentUse",
        "What shared segments hold for a subscription."),
    RECORD(COUNTER_FACTS, counter_facts_fields, "CounterFacts", "A counter of a driver directory."),
    RECORD(COUNTER_EVENT, counter_event_fields, "CounterEvent", "A counter was added or removed."),
    RECORD(LOGGED_ERROR, logged_error_fields, "LoggedError", "An entry of the error log."),
    RECORD(LOSS_FACTS, loss_facts_fields, "LossFacts", "An entry of the loss report."),
    RECORD(CLIENT_FACTS, client_facts_fields, "ClientFacts", "A client of a driver."),
    RECORD(HOLDER_FACTS, holder_facts_fields, "HolderFacts",
        "A reader that holds a publication back, or paces it."),
    RECORD(LIMIT_CAUSE, limit_cause_fields, "LimitCause", "The cause of a publication's limit."),
    RECORD(LAST_READER, last_reader_fields, "LastReader",
        "The last reader of a publication that has none."),
    RECORD(SEGMENT_FACTS, segment_facts_fields, "SegmentFacts",
        "A publication's messages in shared segments."),
    RECORD(AERON_NAME, aeron_name_fields, "AeronName", "A name of an option of Aeron's drivers."),
    RECORD(DRIVER_OPTION, driver_option_fields, "DriverOption", "An option of the driver."),
    RECORD(DRIVER_INFO, driver_info_fields, "DriverInfo", "The process of a driver."),
    RECORD(LAST_ERROR, last_error_fields, "LastError", "A thread's last failure."),
};

int rsti_py_records_add(PyObject *module)
{
    rsti_py_state_t *state = rsti_py_state_of_module(module);

    for (size_t i = 0; i < RSTI_PY_RECORD_COUNT; i++) {
        state->record_types[i] = PyStructSequence_NewType(&descriptions[i]);
        if (state->record_types[i] == NULL
            || PyModule_AddType(module, state->record_types[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool are_whole(rsti_py_record_t kind, PyObject *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] == NULL) {
            return false;
        }
    }
    if (count != (size_t)descriptions[kind].n_in_sequence) {
        PyErr_Format(PyExc_SystemError, "%s: not %d values", descriptions[kind].name, (int)count);
        return false;
    }
    return true;
}

PyObject *rsti_py_record(rsti_py_state_t *state, rsti_py_record_t kind, PyObject *const *values,
    size_t count)
{
    PyObject *record = NULL;

    if (are_whole(kind, values, count)) {
        record = PyStructSequence_New(state->record_types[kind]);
    }
    for (size_t i = 0; i < count; i++) {
        if (record != NULL) {
            PyStructSequence_SetItem(record, (Py_ssize_t)i, values[i]);
        } else {
            Py_XDECREF(values[i]);
        }
    }
    return record;
}

PyObject *rsti_py_counter_facts(rsti_py_state_t *state, const rst_counter_t *counter)
{
    return RSTI_PY_RECORD(state, RSTI_PY_COUNTER_FACTS, PyLong_FromLong(counter->id),
        PyLong_FromLong(counter->type_id), PyLong_FromLongLong(counter->value),
        PyLong_FromLongLong(counter->registration_id), PyLong_FromLongLong(counter->owner_id),
        PyLong_FromLongLong(counter->reference_id),
        rsti_py_foreign_text(counter->label, strnlen(counter->label, sizeof(counter->label)),
            false));
}
