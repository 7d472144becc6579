/* wake.h: wake-ups between processes. Sleepers announce themselves in parts of shared memory that
 * Aeron does not use.
 *
 * Every sleeper (a driver agent, or a client's waiter) owns a named FIFO (cnc/wake_fifo.h) and an
 * "armed" word. The protocol on both sides:
 *
 *     sleeper: armed = 1; fence; look for work; none -> poll(fifo, timeout); armed = 0; drain
 *     waker:   publish;   fence; if armed and exchange(armed, 0) == 1 -> write one byte to the FIFO
 *
 * So a wake-up costs a system call only when a thread really sleeps, and none is lost.
 *
 * Where the words live:
 *   CnC header, offset 52: rsti_cnc_ext_t (driver agents' armed words);
 *   log metadata, offset 512: rsti_log_ext_t (the waiters for data in this log or for its limit,
 *     and the subscriber position at which the conductor wants to be woken);
 *   heartbeat counter's value record, offset 32: rsti_heartbeat_ext_t (this client speaks rstream,
 *     so the driver need not fall back to bounded polling for it; and which process it is).
 * Aeron never writes these; an Aeron file has zeros there. */
#ifndef RSTI_CONCURRENT_WAKE_H
#define RSTI_CONCURRENT_WAKE_H

#include "concurrent/atomics.h"
#include "concurrent/sequence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_EXT_MAGIC 0x52545352 /* "RSTR" */
#define RSTI_EXT_VERSION 1

typedef enum rsti_agent_id_t {
    RSTI_AGENT_CONDUCTOR = 0,
    RSTI_AGENT_SENDER = 1,
    RSTI_AGENT_RECEIVER = 2
} rsti_agent_id_t;

/* At byte 52 of the CnC file (76 bytes: 52…127). */
typedef struct rsti_cnc_ext_t {
    int32_t magic;
    int32_t version;
    int32_t pad;
    int32_t agent_armed[3]; /* written by: agent (1), wakers (0); index rsti_agent_id_t */
    int32_t agent_fifo[3]; /* FIFO (0.<n>) that wakes the agent; agents of one thread share it */
    uint8_t spare[40];
} rsti_cnc_ext_t;
_Static_assert(sizeof(rsti_cnc_ext_t) == 76, "CnC extension");
#define RSTI_CNC_EXT_OFFSET 52

#define RSTI_WAIT_DATA 1 /* new frames in the log */
#define RSTI_WAIT_LIMIT 2 /* the publisher limit rose or the connection state changed */

#define RSTI_HELD_BY_WINDOW 0 /* the readers, or nothing */
#define RSTI_HELD_BY_RATE 1 /* a publisher of IPC that is refused wakes the conductor */
#define RSTI_HELD_BY_BUDGET 2 /* flow/budget.h */
#define RSTI_HELD_BY_PATH 3 /* flow/path.h */
/* Missing storage has no number here: rsti_log_storage_t says it, together with its sizes. */

#define RSTI_WAKE_SLOTS 64

typedef struct rsti_wake_slot_t {
    int64_t owner; /* client id << 16 | waiter id in one word, changed by CAS; 0 = free */
    int32_t armed; /* RSTI_WAIT_… bits */
    int32_t pad;
} rsti_wake_slot_t;
_Static_assert(sizeof(rsti_wake_slot_t) == 16, "wake slot");

typedef struct rsti_log_demand_t {
    int64_t position;
    int64_t messages; /* wanted from that position on; INT64_MAX: no limit; -1: not told */
} rsti_log_demand_t;

/* Why the log cannot grow: the file system has no room for its next step. */
typedef struct rsti_log_storage_t {
    int64_t needed; /* bytes; 0: nothing is missing. Written last */
    int64_t usable; /* bytes that were free in the driver directory at the last attempt */
} rsti_log_storage_t;
#define RSTI_STORAGE_UNREACHED (-1) /* in usable: the driver could not open the file of the log */

/* The last time that a publication lost its reader: of a group, the last one of all. A publisher
 * that looks only now and then learns by the count that another reader reads now. */
typedef struct rsti_log_left_t {
    int64_t count;
    int64_t consumed; /* up to here the reader that left had consumed */
    int64_t joined; /* here the next one began; -1: there is none yet */
    int64_t left_ms; /* when it left, ms since 1970 */
} rsti_log_left_t;

/* Why a reader left, if it said so. */
typedef struct rsti_log_left_why_t {
    int64_t count; /* it was the one that rsti_log_left_t counted so. 0: none */
    char text[168]; /* ends with a zero */
} rsti_log_left_why_t;

/* Who left, and what it was sent. */
typedef struct rsti_log_left_who_t {
    int64_t count; /* it was the one that rsti_log_left_t counted so. 0: none */
    int64_t pid; /* of an rstream client of this host; 0: not known */
    char name[96]; /* of that client, or "ip:port" of a receiver; ends with a zero */
    int64_t
        sent; /* up to here the log was sent to it; the next reader gets the rest. 0: not known, as
                   * in shared memory */
} rsti_log_left_who_t;

/* The message that was sent last in a shared segment (client/segments.h). */
typedef struct rsti_log_segment_t {
    int64_t bytes_before; /* of all messages in segments that were sent before it */
    int64_t end_position; /* behind the frame that says where it lies; 0: none was sent. Written
                           * last */
    int32_t use; /* of the segment, as the frame of the message says. 0: nobody may read there any
                  * more. Written before the bytes there change */
    int32_t pad;
} rsti_log_segment_t;
#define RSTI_LOG_SEGMENTS 32

/* At byte 512 of the log metadata. */
typedef struct rsti_log_ext_t {
    int32_t magic;
    int32_t version;
    int32_t name_hash; /* 16 bit; 0 = unnamed. written by: driver, once */
    int32_t name_length;
    char name[240]; /* the stream's name, IPC and network logs of rstream clients */
    rsti_log_storage_t storage; /* written by: conductor */
    /* written by: driver's sender for a network log, conductor for an IPC log */
    RSTI_MAILBOX(rsti_log_left_t) left;
    RSTI_MAILBOX(rsti_log_left_why_t) left_why; /* written by: conductor */
    /* offset 512 in here = 1024 in the metadata, own cache line */
    int32_t data_armed; /* summary: some slot is armed for data */
    int32_t limit_armed;
    int64_t conductor_position; /* written by: conductor. A subscriber whose position reaches this
                                 * wakes the conductor (limit to raise, SM to send) */
    int32_t held_by; /* written by: driver. RSTI_HELD_BY_…: why the publisher limit stands still */
    int32_t is_limit_short; /* written by: conductor. A publisher that is refused wakes the
                             * conductor: the limit is nearer to the producer than the readers
                             * allow, because storage is reserved step by step; or the window is
                             * small, and the reader may have stopped (flow/reader_window.h) */
    /* written by: driver's sender. The demand of the reader of a network log, from its status
     * messages. Readers of an IPC log write theirs into their counters. Begin 0: none yet. */
    RSTI_MAILBOX(rsti_log_demand_t) demand;
    int64_t
        noop; /* written by: driver's receiver. Number of the newest NOOP of its source; 0: none */
    rsti_wake_slot_t slots[RSTI_WAKE_SLOTS];
    /* offset 1600 in here, own cache lines. written by: publisher, of an IPC log. The log has 64
     * bytes of a message in a segment: with these and the position of a reader everyone knows how
     * many bytes wait for it. */
    int64_t segment_bytes_sent; /* of all messages in segments. Written after the entry of the last
                                 * one */
    int64_t segment_wait; /* bytes of a message that waits until readers consume earlier ones; 0:
                           * none does */
    uint8_t pad_b[48];
    rsti_log_segment_t segments[RSTI_LOG_SEGMENTS];
    RSTI_MAILBOX(rsti_log_left_who_t) left_who; /* written by: as left, and before it */
} rsti_log_ext_t;
_Static_assert(offsetof(rsti_log_ext_t, storage) == 256, "log extension");
_Static_assert(offsetof(rsti_log_ext_t, data_armed) == 512, "log extension");
_Static_assert(offsetof(rsti_log_ext_t, demand) == 536, "log extension");
_Static_assert(offsetof(rsti_log_ext_t, slots) == 576, "log extension");
_Static_assert(offsetof(rsti_log_ext_t, segment_bytes_sent) == 1600, "log extension");
_Static_assert(offsetof(rsti_log_ext_t, segments) == 1664, "log extension");
_Static_assert(offsetof(rsti_log_ext_t, left_who) == 2432, "log extension");
_Static_assert(sizeof(rsti_log_ext_t) == 2568, "log extension");
#define RSTI_LOG_EXT_OFFSET 512

/* At byte 32 of the value record of a subscriber position counter: the demand of its reader. The
 * publisher learns from it how many messages it may make, and the driver how long they are.
 *
 * A process that needs position and remaining must load the position first. The reader lowers
 * remaining before it advances its position. So the reader wants at most that many messages behind
 * the loaded position, even if it takes messages between the two loads. */
typedef struct rsti_position_ext_t {
    int32_t magic; /* written last */
    int32_t version; /* written by: client, after the two at the end are there: 1 */
    int64_t demand; /* written by: client. Messages asked for and not yet delivered at its last
                     * poll; INT64_MAX: no limit */
    int64_t mean_bytes; /* written by: client. Of its messages, as they lie in the log */
    int64_t remaining; /* written by: client. Messages asked for behind its position; INT64_MAX: no
                        * limit */
    int64_t requested; /* written by: client. Messages asked for since the beginning; likewise */
    int64_t noop_answered; /* written by: client. The newest NOOP that it saw in a poll */
    int32_t sets_aside; /* written by: client. Its reader has set messages aside, which it reads
                            * on behind although they are not consumed */
    int32_t has_read; /* written by: client. Its reader was given a message */
    int64_t read_position; /* written by: client, when it sets messages aside: behind the last of
                              them; 0: it does not tell */
} rsti_position_ext_t;
#define RSTI_POSITION_EXT_VERSION 1

typedef struct rsti_heartbeat_ext_t {
    int32_t magic; /* written last */
    int32_t version;
    int64_t pid;
    int32_t conductor_armed; /* the client's conductor sleeps on FIFO <client id>.0 */
    int32_t pad;
    /* With these two the driver knows the death of the client at once (cnc/death_watch.h); 0: not
     * known. */
    int64_t start_time; /* of the process, in clock ticks since the machine started */
    int64_t pid_namespace; /* in which its pid counts: an inode number */
} rsti_heartbeat_ext_t;
_Static_assert(sizeof(rsti_heartbeat_ext_t) == 40, "heartbeat extension");

/* Slot of this waiter in the log, taken if needed; -1 when all 64 are taken, or when the ids are
 * not in 1 … 2^47 - 1 and 0 … 65535 (poll instead). Waiters on this log with the same ids share
 * the slot: release it when the last of them is done with the log. */
int rsti_wake_slot_take(rsti_log_ext_t *ext, int64_t client_id, int32_t waiter_id);
void rsti_wake_slot_release(rsti_log_ext_t *ext, int slot);
/* Frees all slots of a dead client. */
void rsti_wake_slots_clear_client(rsti_log_ext_t *ext, int64_t client_id);

/* Sleeper's side. kind: one RSTI_WAIT_… or both. After arming the caller must look for work again
 * (the fence is inside). Arming adds a kind to the armed ones. A wake-up of either kind clears
 * both, and so does disarm. Slot -1 is legal and does nothing. */
void rsti_wake_arm(rsti_log_ext_t *ext, int slot, int32_t kind);
void rsti_wake_disarm(rsti_log_ext_t *ext, int slot);
void rsti_wake_arm_word(int32_t *armed); /* 1 + fence */

typedef void (*rsti_on_wake_t)(void *arg, int64_t client_id, int32_t waiter_id);
/* Waker's side, after publishing: fence, and one call per armed sleeper of that kind. The ids come
 * from shared memory, so use them only as the name of a FIFO. */
void rsti_wake_log(rsti_log_ext_t *ext, int32_t kind, rsti_on_wake_t on_wake, void *arg);
/* true: the word was armed and is now disarmed: the caller writes to that FIFO. Fence inside. */
bool rsti_wake_take_word(int32_t *armed);

/* Only the cheap test (fence + one load), for hot loops. */
static inline bool rsti_wake_is_log_armed(const rsti_log_ext_t *ext, int32_t kind)
{
    rsti_fence();
    return 0
        != rsti_load_relaxed_i32(kind == RSTI_WAIT_DATA ? &ext->data_armed : &ext->limit_armed);
}

#endif
