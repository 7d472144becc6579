/* rolls.h: how scenarios are rolled: scenario.c the drivers and plain streams, mishaps.c the
 * faults, groups.c the streams that go to several receivers or come from several sources. */
#ifndef RSTI_SIM_ROLLS_H
#define RSTI_SIM_ROLLS_H

#include "tests/sim/cast.h"
#include "tests/sim/world.h"

#define SIM_PORT 40000
#define SIM_BYTES_MAX (512 * 1024) /* of a publisher */

static inline int64_t between(int64_t least, int64_t most)
{
    return sim_between(DICE_SCENARIO, least, most);
}

static inline bool chance(double probability)
{
    return sim_chance(DICE_SCENARIO, probability);
}

/* Mostly small, sometimes large: 1 … 2^bits. */
static inline int64_t skewed(int bits)
{
    return between(1, INT64_C(1) << between(0, bits));
}

sim_driver_t *sim_roll_driver(int32_t host);
sim_driver_t *sim_roll_any_driver(void);
sim_publisher_t *sim_roll_publisher(sim_driver_t *driver, const char *channel, int32_t stream_id,
    bool is_ipc, bool is_hot);
/* sure: it must get all to the end where nothing dies; it is not where others may go ahead of it.
 */
sim_subscriber_t *sim_roll_subscriber(sim_driver_t *driver, const char *channel, int32_t stream_id,
    bool is_reliable, bool is_sure);

/* A client, and now and then one more role of one that is there. */
sim_client_t *sim_roll_client(sim_driver_t *driver);
void sim_roll_part(const sim_part_kind_t *kind, int32_t number, sim_driver_t *driver);

/* mishaps.c */
void sim_roll_faults(void);
void sim_client_kill_for(sim_client_t *client, int64_t restart_after_ns);

/* dead_claim.c */
void sim_roll_dead_claim(void);

/* faces.c: after all others, with dice of its own. */
void sim_roll_faces(void);

/* rates.c: after all others, with dice of its own. */
void sim_roll_rates(void);

/* budgets.c */
void sim_roll_budgets(void);

/* groups.c */
void sim_roll_group_stream(int32_t number);
void sim_roll_merged_stream(int32_t number);
void sim_roll_custom_group(int32_t number); /* under a law of flow control of its own */

/* extras.c: what only some worlds have, rolled after all else. */
void sim_roll_extras(void);

/* strategy.c */
#define SIM_STRATEGY "slowest"
void sim_strategy_register(void);

/* variants.c */
void sim_roll_any_ports(int32_t number);
void sim_roll_session_stream(int32_t number);
void sim_roll_tagged_streams(int32_t number); /* three numbers */
void sim_roll_control_stream(int32_t number);
void sim_roll_local_destinations(int32_t number);
void sim_roll_spied_stream(int32_t number);
void sim_roll_session_limit(void);
void sim_roll_long_way(void);

/* names.c, responses.c, refusals.c */
void sim_roll_named_stream(int32_t number);
void sim_roll_service(void);
int32_t sim_service_sessions(void); /* of one stream that all of them need; 0: no network */
void sim_roll_refusals(void);

#endif
