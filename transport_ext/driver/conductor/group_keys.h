/* group_keys.h: the keys that channels refer to by rs-key. A file is read when the first endpoint
 * wants it, and again once a second if it has changed: so keys rotate (decision 109). */
#ifndef RSTI_DRIVER_CONDUCTOR_GROUP_KEYS_H
#define RSTI_DRIVER_CONDUCTOR_GROUP_KEYS_H

#include "driver/base/group_keys_state.h"
#include "driver/conductor/conductor_state.h"

/* The keys of a channel for an endpoint that is made; reference: rs-key, "": *keys is NULL. 0, or a
 * negative error code with a trail: the file cannot be read, or its content cannot be used. */
int rsti_group_keys_get(rst_driver_t *driver, const char *reference, rsti_group_keys_t **keys);
/* The endpoint is destroyed, with its sockets. keys may be NULL. */
void rsti_group_keys_put(rst_driver_t *driver, rsti_group_keys_t *keys);
/* The ring for a socket; NULL: plain. */
const rsti_keyring_t *rsti_group_keys_ring(const rsti_group_keys_t *keys);
/* Reads the files again that have changed. What cannot be used is logged, and the keys stay. */
void rsti_group_keys_on_timer(rst_driver_t *driver);
/* The mtu of a channel counts the bytes of its datagrams on the wire, and sealed frames are
 * shorter: *mtu becomes that of the frames. keys may be NULL. 0 or -RST_ECHANNEL. */
int rsti_group_keys_shorten_mtu(const rsti_group_keys_t *keys, int32_t *mtu);
/* The mtu of the channel whose frames have that mtu. keys may be NULL. */
int64_t rsti_group_keys_mtu_of_channel(const rsti_group_keys_t *keys, int32_t mtu);

#endif
