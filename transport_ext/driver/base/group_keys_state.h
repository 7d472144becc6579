/* group_keys_state.h: the keys of one group, as the endpoints that use them see them. Made and
 * changed by the conductor (conductor/group_keys.h). */
#ifndef RSTI_DRIVER_BASE_GROUP_KEYS_STATE_H
#define RSTI_DRIVER_BASE_GROUP_KEYS_STATE_H

#include "channel/channel.h"
#include "cnc/file_system.h"
#include "cnc/key_file.h"
#include "seal/keyring.h"

typedef struct rsti_group_keys_t {
    rsti_keyring_t ring; /* written by: conductor; any agent takes from it */
    /* written by: conductor */
    char reference[RSTI_CHANNEL_HOST_MAX]; /* rs-key of the channels */
    char path[RSTI_PATH_MAX];
    rsti_key_file_stamp_t stamp; /* of what was read last */
    int32_t ref_count; /* endpoints */
    int32_t counter_id; /* that tells their ids */
} rsti_group_keys_t;

#endif
