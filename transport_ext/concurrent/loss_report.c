#include "concurrent/loss_report.h"

#include "concurrent/atomics.h"
#include "util/bits.h"

#include <string.h>

#define LENGTH_FIELD ((size_t)4)

static size_t align_size(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* The place of the source's length in an entry. */
static size_t source_offset(size_t channel_length)
{
    return align_size(RSTI_LOSS_ENTRY_HEADER + channel_length, 4);
}

void rsti_loss_report_init(rsti_loss_report_t *report, void *buffer, size_t length)
{
    RST_ASSERT(((uintptr_t)buffer & 7) == 0);
    *report = (rsti_loss_report_t){.buffer = buffer, .length = length};
}

/* Blanks behind the source that make the step without the channel's padding the same as with it. */
static size_t blanks_after(size_t channel_length, size_t source_length)
{
    const size_t unpadded = RSTI_LOSS_ENTRY_HEADER + channel_length + LENGTH_FIELD + source_length;
    const size_t padded = source_offset(channel_length) + LENGTH_FIELD + source_length;
    const size_t slot_end = align_size(unpadded, RSTI_LOSS_ENTRY_ALIGNMENT);
    return padded > slot_end ? slot_end + 1 - unpadded : 0;
}

static rsti_loss_entry_t *add_entry(rsti_loss_report_t *report, const rsti_loss_facts_t *facts,
    int64_t bytes_lost, int64_t now_ms)
{
    const size_t channel_length = strnlen(facts->channel, RSTI_LOSS_TEXT_MAX);
    const size_t source_length = strnlen(facts->source, RSTI_LOSS_TEXT_MAX);
    const size_t blanks = blanks_after(channel_length, source_length);
    const size_t text_at = source_offset(channel_length) + LENGTH_FIELD;
    const size_t entry_length = text_at + source_length + blanks;
    if (report->next_offset > report->length
        || report->length - report->next_offset < entry_length) {
        return NULL;
    }
    uint8_t *at = report->buffer + report->next_offset;
    rsti_loss_entry_t *entry = (rsti_loss_entry_t *)(void *)at;
    const int32_t stored = (int32_t)(source_length + blanks);
    entry->session_id = facts->session_id;
    entry->stream_id = facts->stream_id;
    entry->channel_length = (int32_t)channel_length;
    memcpy(at + RSTI_LOSS_ENTRY_HEADER, facts->channel, channel_length);
    memcpy(at + source_offset(channel_length), &stored, sizeof stored);
    memcpy(at + text_at, facts->source, source_length);
    memset(at + text_at + source_length, ' ', blanks);
    entry->first_ms = now_ms;
    rsti_store_relaxed_i64(&entry->last_ms, now_ms);
    rsti_store_relaxed_i64(&entry->bytes_lost, bytes_lost);
    rsti_store_release_i64(&entry->observation_count, 1);
    report->next_offset += align_size(entry_length, RSTI_LOSS_ENTRY_ALIGNMENT);
    return entry;
}

/* Counts from the words of the entry. A reader that overwrites them reads its own values. */
static void observe(rsti_loss_entry_t *entry, int64_t bytes_lost, int64_t now_ms)
{
    rsti_store_relaxed_i64(&entry->last_ms, now_ms);
    (void)rsti_fetch_add_i64(&entry->bytes_lost, bytes_lost);
    (void)rsti_fetch_add_i64(&entry->observation_count, 1);
}

int64_t rsti_loss_report_gap(rsti_loss_report_t *report, rsti_loss_record_t *record,
    const rsti_loss_facts_t *facts, int64_t begin, int64_t end, int64_t now_ms)
{
    const int64_t from = begin > record->reported_position ? begin : record->reported_position;
    if (end <= from) {
        return 0;
    }
    record->reported_position = end;
    const int64_t bytes_lost = end - from;
    if (record->entry != NULL) {
        observe(record->entry, bytes_lost, now_ms);
    } else if (!record->is_full) {
        record->entry = add_entry(report, facts, bytes_lost, now_ms);
        record->is_full = record->entry == NULL;
    }
    return bytes_lost;
}

/* The entry at the offset, with both texts inside the memory. False: the end of the list, or no
 * valid entry. */
static bool read_entry(const uint8_t *buffer, size_t length, size_t offset, rsti_loss_view_t *view,
    size_t *entry_length)
{
    if (offset > length || length - offset < RSTI_LOSS_ENTRY_HEADER + LENGTH_FIELD) {
        return false;
    }
    const size_t room = length - offset;
    const uint8_t *at = buffer + offset;
    const rsti_loss_entry_t *entry = (const rsti_loss_entry_t *)(const void *)at;
    view->observation_count = rsti_load_acquire_i64(&entry->observation_count);
    const int32_t channel_length = rsti_load_relaxed_i32(&entry->channel_length);
    if (view->observation_count <= 0 || channel_length < 0
        || (size_t)channel_length > room - RSTI_LOSS_ENTRY_HEADER - LENGTH_FIELD) {
        return false;
    }
    const size_t source_at = source_offset((size_t)channel_length);
    int32_t source_length;
    if (source_at > room - LENGTH_FIELD) {
        return false;
    }
    memcpy(&source_length, at + source_at, sizeof source_length);
    if (source_length < 0 || (size_t)source_length > room - source_at - LENGTH_FIELD) {
        return false;
    }
    view->bytes_lost = rsti_load_relaxed_i64(&entry->bytes_lost);
    view->first_ms = rsti_load_relaxed_i64(&entry->first_ms);
    view->last_ms = rsti_load_relaxed_i64(&entry->last_ms);
    view->session_id = entry->session_id;
    view->stream_id = entry->stream_id;
    view->channel = (const char *)at + RSTI_LOSS_ENTRY_HEADER;
    view->channel_length = (size_t)channel_length;
    view->source = (const char *)at + source_at + LENGTH_FIELD;
    view->source_length = (size_t)source_length;
    *entry_length = source_at + LENGTH_FIELD + (size_t)source_length;
    return true;
}

size_t rsti_loss_report_read(const void *buffer, size_t length,
    rsti_loss_report_on_entry_t on_entry, void *arg)
{
    size_t count = 0;
    size_t offset = 0;
    size_t entry_length;
    rsti_loss_view_t view;
    while (read_entry(buffer, length, offset, &view, &entry_length)) {
        on_entry(arg, &view);
        count++;
        offset += align_size(entry_length, RSTI_LOSS_ENTRY_ALIGNMENT);
    }
    return count;
}
