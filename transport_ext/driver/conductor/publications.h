/* publications.h: adds and removes publications, and the passes over all of them
 * (docs/reference/aeron/driver.md 6 and 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_PUBLICATIONS_H
#define RSTI_DRIVER_CONDUCTOR_PUBLICATIONS_H

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* Answers the command with a result or with an error. True: not possible yet. Call again in the
 * next pass. */
bool rsti_on_add_publication(rst_driver_t *driver, const rsti_command_t *command);
/* Removes the link of a client. Answers the command with a result or with an error. */
void rsti_on_remove_publication(rst_driver_t *driver, const rsti_command_t *command);
/* Drops one reference. The stream ends with the last reference, or at once if is_revoke. */
void rsti_publication_release(rst_driver_t *driver, rsti_publication_t *publication,
    bool is_revoke);
/* Each pass: positions and limits of all publications. */
void rsti_publications_update(rst_driver_t *driver, int64_t now_ns);
/* Lifecycle pass over all publications. Frees those that are done. is_timer: the timer is due in
 * this pass. */
void rsti_publications_check(rst_driver_t *driver, int64_t now_ns, bool is_timer,
    int64_t *next_deadline_ns);

#endif
