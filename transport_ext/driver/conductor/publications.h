/* publications.h: adding and removing publications, and a pass over all of them
 * (docs/reference/aeron/driver.md 6 and 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_PUBLICATIONS_H
#define RSTI_DRIVER_CONDUCTOR_PUBLICATIONS_H

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* True: leave the command in the ring and try it again. */
bool rsti_on_add_publication(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_remove_publication(rst_driver_t *driver, const rsti_command_t *command);
void rsti_publication_release(rst_driver_t *driver, rsti_publication_t *publication,
    bool is_revoke);
void rsti_publications_update(rst_driver_t *driver, int64_t now_ns);
void rsti_publications_check(rst_driver_t *driver, int64_t now_ns, bool is_timer,
    int64_t *next_deadline_ns);

#endif
