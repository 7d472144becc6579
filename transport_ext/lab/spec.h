/* spec.h: the description of a laboratory run, as records of numbers. One list of fields for each
 * kind of record defines the struct, its limits and the names for the caller, so they always agree.
 * Every number is a double (53 bits are 104 days of nanoseconds).
 *
 *   run        length, step, seed
 *   sender     a law of rate, a law of the group's window, a link, an application
 *   consumer   a capacity over time; reads one image or several, may publish on
 *   level      from a time on, the capacity of a consumer (ordered by time)
 *   pause      from a time on, a consumer takes nothing for some time
 *   image      a sender's stream at a consumer: buffer, window, reports
 *   liar       an image that sends false reports
 *   forger     a sender of reports that is not a receiver of the group
 *   link       instead of run: length, seed, and the bottleneck that all flows share
 *   change     from a time on, the rate of the link (ordered by time)
 *   flow       a sender and its receiver on the link, by a law of the path
 *
 * Decoding validates; a refused record is named with its number, field and limits. */
#ifndef RSTI_LAB_SPEC_H
#define RSTI_LAB_SPEC_H

#include <stddef.h>
#include <stdint.h>

#define RSTI_LAB_IMAGES_MAX 4096
#define RSTI_LAB_NEVER 9e15 /* ns: no such time */
#define RSTI_LAB_SEED_MAX 9e15 /* whole numbers */
#define RSTI_LAB_FLOWS_MAX 64

/* F(name, least, most) */
/* clang-format off */
#define RSTI_LAB_RUN_FIELDS(F) \
    F(step_ns, 1e3, 1e7) F(duration_ns, 1e6, 1e13) F(sample_ns, 1e3, 1e10) \
    F(seed, 0, RSTI_LAB_SEED_MAX) F(traced_images, 0, 64)
#define RSTI_LAB_SENDER_FIELDS(F) \
    F(law, 0, 4) F(fc, 0, 1) F(rtt_ns, 1e3, 1e10) F(link_rate, 1e3, 1e12) F(mtu, 64, 65536) \
    F(timeout_ns, 1e6, 1e12) F(loss, 0, 0.9) F(control_loss, 0, 1) F(nak_delay_ns, 0, 1e9) \
    F(history_bytes, 65536, 1e13) F(group_size, 0, 1e6) F(begins_ns, 0, RSTI_LAB_NEVER) \
    F(ends_ns, 0, RSTI_LAB_NEVER) F(app_rate, 0, 1e12) F(backlog_bytes, 0, 1e12) \
    F(initial, 0, 1e12) F(most, 0, 1e12) F(floor_share, 0, 1) F(target_delay_ns, 1, 1e10) \
    F(detect_ns, 0, 1e9) F(window_ns, 1e6, 1e10) F(step_share, 0, 1) F(cut50, 0, 1) \
    F(cut75, 0, 1) F(cut87, 0, 1) F(cut100, 0, 1) F(increase, 0, 1e12) F(decrease, 0, 1)
#define RSTI_LAB_CONSUMER_FIELDS(F) \
    F(noise, 0, 10) F(noise_ns, 1e3, 1e10) F(in_turn, 0, 1) F(forward_to, -1, 4096) \
    F(dies_ns, 0, RSTI_LAB_NEVER) F(hangs_ns, 0, RSTI_LAB_NEVER) F(evict_ns, 0, RSTI_LAB_NEVER)
#define RSTI_LAB_LEVEL_FIELDS(F) \
    F(consumer, 0, 4096) F(at_ns, 0, RSTI_LAB_NEVER) F(bytes_per_s, 0, 1e12)
#define RSTI_LAB_PAUSE_FIELDS(F) \
    F(consumer, 0, 4096) F(at_ns, 0, RSTI_LAB_NEVER) F(length_ns, 0, 1e13)
#define RSTI_LAB_IMAGE_FIELDS(F) \
    F(sender, 0, 4096) F(consumer, 0, 4096) F(buffer_bytes, 1408, 5e8) F(reports, 0, 1) \
    F(congestion, 0, 2) F(cubic_rtt_ns, 1e3, 1e10) F(cubic_tcp, 0, 1) F(target_delay_ns, 1, 1e10)
#define RSTI_LAB_LIAR_FIELDS(F) \
    F(image, 0, 4096) F(from_ns, 0, RSTI_LAB_NEVER) F(to_ns, 0, RSTI_LAB_NEVER) \
    F(period_ns, 1e4, 1e10) F(allowed, 0, 1e12) F(fill, 0, 2) F(drain_share, 0, 100)
#define RSTI_LAB_FORGER_FIELDS(F) \
    F(sender, 0, 4096) F(from_ns, 0, RSTI_LAB_NEVER) F(to_ns, 0, RSTI_LAB_NEVER) \
    F(period_ns, 1e4, 1e10) F(kind, 0, 3) F(image, 0, 4096) F(allowed, 0, 1e12) F(fill, 0, 2) \
    F(drain, 0, 1e12)
#define RSTI_LAB_LINK_FIELDS(F) \
    F(rate, 1e4, 1e10) F(queue_bytes, 1500, 5e9) F(loss, 0, 0.5) F(control_loss, 0, 0.5) \
    F(duration_ns, 1e6, 1e13) F(sample_ns, 1e3, 1e10) F(seed, 0, RSTI_LAB_SEED_MAX)
#define RSTI_LAB_CHANGE_FIELDS(F) F(at_ns, 0, RSTI_LAB_NEVER) F(rate, 1e4, 1e10)
#define RSTI_LAB_FLOW_FIELDS(F) \
    F(kind, 0, 3) F(rtt_ns, 1e4, 1e10) F(datagram, 64, 65536) F(window_bytes, 1500, 1e10) \
    F(begins_ns, 0, RSTI_LAB_NEVER) F(ends_ns, 0, RSTI_LAB_NEVER) F(app_rate, 0, 1e12) \
    F(nak_delay_ns, 0, 1e9) F(stall_every_ns, 0, 1e12) F(stall_ns, 0, 1e10)
/* clang-format on */

/* K(word, WORD): the word is also the struct's name and the record's */
#define RSTI_LAB_KINDS(K)                                                                          \
    K(run, RUN)                                                                                    \
    K(sender, SENDER)                                                                              \
    K(consumer, CONSUMER)                                                                          \
    K(level, LEVEL)                                                                                \
    K(pause, PAUSE)                                                                                \
    K(image, IMAGE) K(liar, LIAR) K(forger, FORGER) K(link, LINK) K(change, CHANGE) K(flow, FLOW)

#define RSTI_LAB_FIELD(name, least, most) double name;
#define RSTI_LAB_STRUCT(word, WORD)                                                                \
    typedef struct rsti_lab_##word##_spec_t {                                                      \
        RSTI_LAB_##WORD##_FIELDS(RSTI_LAB_FIELD)                                                   \
    } rsti_lab_##word##_spec_t;
RSTI_LAB_KINDS(RSTI_LAB_STRUCT)

#define RSTI_LAB_KIND(word, WORD) RSTI_LAB_##WORD,
typedef enum rsti_lab_kind_t {
    RSTI_LAB_KINDS(RSTI_LAB_KIND) RSTI_LAB_KIND_COUNT
} rsti_lab_kind_t;

typedef struct rsti_lab_field_t {
    const char *name;
    double least, most;
} rsti_lab_field_t;

typedef struct rsti_lab_record_t {
    const char *name;
    const rsti_lab_field_t *fields;
    int32_t count;
} rsti_lab_record_t;

/* By kind. */
extern const rsti_lab_record_t rsti_lab_records[RSTI_LAB_KIND_COUNT];

typedef enum rsti_lab_forgery_t {
    RSTI_LAB_FORGES_FRESH = 0,    /* each report with another receiver id */
    RSTI_LAB_FORGES_STRANGER = 1, /* always the same unused id */
    RSTI_LAB_FORGES_NAME = 2,     /* in the name of an image */
    RSTI_LAB_REPLAYS = 3,         /* an image's own report, overheard before from_ns */
} rsti_lab_forgery_t;

typedef enum rsti_lab_flow_kind_t {
    RSTI_LAB_FLOW_PATH = 0,  /* a stream of rstream, by flow/path.h */
    RSTI_LAB_FLOW_CUBIC = 1, /* TCP */
    RSTI_LAB_FLOW_BBR = 2,
    RSTI_LAB_FLOW_FIXED = 3, /* a paced sender of app_rate that listens to nobody */
} rsti_lab_flow_kind_t;

typedef struct rsti_lab_spec_t {
    rsti_lab_run_spec_t *run;
    rsti_lab_sender_spec_t *sender;
    rsti_lab_consumer_spec_t *consumer;
    rsti_lab_level_spec_t *level;
    rsti_lab_pause_spec_t *pause;
    rsti_lab_image_spec_t *image;
    rsti_lab_liar_spec_t *liar;
    rsti_lab_forger_spec_t *forger;
    rsti_lab_link_spec_t *link;
    rsti_lab_change_spec_t *change;
    rsti_lab_flow_spec_t *flow;
    int32_t counts[RSTI_LAB_KIND_COUNT];
} rsti_lab_spec_t;

/* values: records one after the other, each its kind and then its fields. 0 or -RST_EINVAL
 * or -RST_ENOMEM, with a text; what was made is freed then. */
int rsti_lab_spec_init(rsti_lab_spec_t *spec, const double *values, size_t count);
/* The same for flows on a link. */
int rsti_lab_spec_init_link(rsti_lab_spec_t *spec, const double *values, size_t count);
void rsti_lab_spec_fini(rsti_lab_spec_t *spec);

#endif
