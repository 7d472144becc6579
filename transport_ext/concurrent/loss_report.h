/* loss_report.h: one record per image that lost something (docs/reference/aeron/memory.md 20), in
 * memory that others read. One writer: the conductor.
 *
 * A record is 44 bytes, the channel, padding to 4, the source's length and the source; the next one
 * begins at the next multiple of 64. Some of Aeron's readers step without that padding and would
 * miss the next record where the padding alone reaches into another slot: there the source gets up
 * to three blanks behind it, so that every reader steps alike. */
#ifndef RSTI_CONCURRENT_LOSS_REPORT_H
#define RSTI_CONCURRENT_LOSS_REPORT_H

#include <stddef.h>
#include <stdint.h>

#define RSTI_LOSS_ENTRY_ALIGNMENT 64
#define RSTI_LOSS_ENTRY_HEADER 44
#define RSTI_LOSS_TEXT_MAX 4095 /* of a channel; longer ones are cut */

typedef struct rsti_loss_entry_t {
    int64_t observation_count; /* written last; 0 = end of the list */
    int64_t bytes_lost;
    int64_t first_ms;
    int64_t last_ms;
    int32_t session_id;
    int32_t stream_id;
    int32_t channel_length;
    char channel[4]; /* and on */
} rsti_loss_entry_t;
_Static_assert(offsetof(rsti_loss_entry_t, channel) == RSTI_LOSS_ENTRY_HEADER, "loss report entry");

typedef struct rsti_loss_report_t {
    uint8_t *buffer;
    size_t length;
    size_t next_offset;
} rsti_loss_report_t;

typedef struct rsti_loss_facts_t {
    int32_t session_id;
    int32_t stream_id;
    const char *channel;
    const char *source; /* "ip:port" */
} rsti_loss_facts_t;

/* The state of an image: all zero before its first loss. */
typedef struct rsti_loss_record_t {
    rsti_loss_entry_t *entry;
    int64_t reported_position; /* bytes before it were reported */
    int is_full; /* there was no room: do not try again */
} rsti_loss_record_t;

/* Zeroed memory, aligned to 8. */
void rsti_loss_report_init(rsti_loss_report_t *report, void *buffer, size_t length);
/* A gap [begin, end) was found. Each byte counts once, however often its gap is seen, cut or joined
 * with another: only bytes behind the highest end so far count. The first loss makes the record;
 * without room nothing is reported. Returns the number of new bytes. */
int64_t rsti_loss_report_gap(rsti_loss_report_t *report, rsti_loss_record_t *record,
    const rsti_loss_facts_t *facts, int64_t begin, int64_t end, int64_t now_ms);

typedef struct rsti_loss_view_t {
    int64_t observation_count;
    int64_t bytes_lost;
    int64_t first_ms;
    int64_t last_ms;
    int32_t session_id;
    int32_t stream_id;
    const char *channel; /* not terminated */
    size_t channel_length;
    const char *source;
    size_t source_length;
} rsti_loss_view_t;
typedef void (*rsti_loss_report_on_entry_t)(void *arg, const rsti_loss_view_t *view);
/* Accepts any bytes: lengths are checked against the memory. Returns the number of entries. */
size_t rsti_loss_report_read(const void *buffer, size_t length,
    rsti_loss_report_on_entry_t on_entry, void *arg);

#endif
