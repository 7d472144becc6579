/* keys.h: worlds whose UDP channels have a group's key (decision 109).
 *
 * The linker takes over rsti_udp_channel_resolve_with: in such a world every UDP channel has rs-key
 * there. So no role writes its channels otherwise, and no text depends on it. The key is a file in
 * each driver's directory, as clients leave it: the drivers read it, count its users and refuse
 * what is unproven, as for real users. A keyring made here would pass by all that. In some worlds
 * the key is rotated: all learn the next one, then all seal with it, then the old one goes.
 *
 * Only some datagrams of such a world are plain: refusals, and what drivers tell of names. */
#ifndef RSTI_SIM_KEYS_H
#define RSTI_SIM_KEYS_H

#include "media/media.h"

#include <stdbool.h>

typedef enum sim_keys_choice_t {
    SIM_KEYS_SOME, /* as the seed says */
    SIM_KEYS_ALWAYS,
    SIM_KEYS_NEVER
} sim_keys_choice_t;

/* Of the command line, for all runs. */
void sim_keys_choose(sim_keys_choice_t of_runs);
const char *sim_keys_choice_text(void);

void sim_generate_keys(void);
bool sim_has_keys(void);
/* The id of the key that seals. */
uint32_t sim_keys_id(void);
/* Whether a key of the group has that id by now. */
bool sim_keys_has(uint32_t key_id);
/* Leaves the key in the directory of a driver that was opened. */
void sim_keys_leave(const char *dir);
/* The media table of a driver on that host. It belongs to the driver's process. */
rsti_media_t sim_keys_media(int32_t host, const rsti_clock_t *clock);
void sim_keys_media_close(rsti_media_t *media);

/* What is in the datagram that is sent now, as its owner gave it to the media table; the datagram
 * itself in a world without keys, and where the media table answers on its own. Called once for
 * each datagram. */
const rsti_datagram_t *sim_keys_frame_of(const rsti_datagram_t *sent);

#endif
