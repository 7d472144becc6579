/* publication_lists.h: finds publications of both kinds, IPC and UDP. */
#ifndef RSTI_DRIVER_CONDUCTOR_PUBLICATION_LISTS_H
#define RSTI_DRIVER_CONDUCTOR_PUBLICATION_LISTS_H

#include "driver/base/publication.h"
#include "driver/conductor/conductor_state.h"
#include "driver/sender/send_endpoint.h"
#include "protocol/command.h"

/* The list that holds the publications of one kind; its items begin with rsti_publication_t. */
rsti_ptr_array_t *rsti_publication_list(rst_driver_t *driver, bool is_network);
/* The endpoint of a UDP publication; NULL for IPC. */
const rsti_send_endpoint_t *rsti_publication_endpoint(const rsti_publication_t *publication);
/* Finds a publication by its own id or by the id of a client's link to it. NULL when there is
 * none. */
rsti_publication_t *rsti_publication_of_id(const rst_driver_t *driver, int64_t registration_id);
/* Answers the command with the error "unknown publication". */
void rsti_respond_unknown_publication(rst_driver_t *driver, const rsti_command_t *command);

#endif
