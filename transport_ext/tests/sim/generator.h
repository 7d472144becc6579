/* generator.h: generates scenarios. scenario.c generates the drivers and plain streams, faults.c
 * the faults, groups.c the streams with several receivers or several sources. */
#ifndef RSTI_SIM_GENERATOR_H
#define RSTI_SIM_GENERATOR_H

#include "tests/sim/actors.h"
#include "tests/sim/world.h"

#define SIM_PORT 40000
#define SIM_BYTES_MAX (512 * 1024) /* of a publisher */

static inline int64_t between(int64_t least, int64_t most)
{
    return sim_between(RNG_SCENARIO, least, most);
}

static inline bool chance(double probability)
{
    return sim_chance(RNG_SCENARIO, probability);
}

/* Mostly small, sometimes large: 1 … 2^bits. */
static inline int64_t skewed(int bits)
{
    return between(1, INT64_C(1) << between(0, bits));
}

sim_driver_t *sim_generate_driver(int32_t host);
sim_driver_t *sim_generate_any_driver(void);
sim_publisher_t *sim_generate_publisher(sim_driver_t *driver, const char *channel,
    int32_t stream_id, bool is_ipc, bool is_hot);
/* is_sure: the reader must receive everything where nothing dies. It is not sure where the group
 * may advance without it. */
sim_subscriber_t *sim_generate_subscriber(sim_driver_t *driver, const char *channel,
    int32_t stream_id, bool is_reliable, bool is_sure);

/* A new client, or sometimes one that exists, which gets one more role. */
sim_client_t *sim_generate_client(sim_driver_t *driver);
void sim_generate_part(const sim_part_kind_t *kind, int32_t number, sim_driver_t *driver);

/* faults.c */
void sim_generate_faults(void);
void sim_client_kill_for(sim_client_t *client, int64_t restart_after_ns);

/* dead_claim.c */
void sim_generate_dead_claim(void);

/* api_usage.c: runs after all others, with its own random numbers. */
void sim_generate_api_usage(void);

/* rates.c: runs after all others, with its own random numbers. */
void sim_generate_rates(void);

/* budgets.c */
void sim_generate_budgets(void);

/* groups.c */
void sim_generate_group_stream(int32_t number);
void sim_generate_merged_stream(int32_t number);
void sim_generate_custom_group(int32_t number); /* under a flow control law of its own */

/* extra_streams.c: streams that only some scenarios have, generated after all else. */
void sim_generate_extra_streams(void);

/* strategy.c */
#define SIM_STRATEGY "slowest"
void sim_strategy_register(void);

/* channel_variants.c */
void sim_generate_any_ports(int32_t number);
void sim_generate_session_stream(int32_t number);
void sim_generate_tagged_streams(int32_t number); /* takes three numbers */
void sim_generate_control_stream(int32_t number);
void sim_generate_local_destinations(int32_t number);
void sim_generate_spied_stream(int32_t number);
void sim_generate_session_limit(void);
void sim_generate_long_delay(void);

/* names.c, responses.c, refusals.c */
void sim_generate_named_stream(int32_t number);
void sim_generate_service(void);
int32_t sim_service_sessions(void); /* sessions of one stream that all askers need; 0: no network */
void sim_generate_refusals(void);

#endif
