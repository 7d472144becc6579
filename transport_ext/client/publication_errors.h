/* publication_errors.h: errors that receivers report about a publication. */
#ifndef RSTI_CLIENT_PUBLICATION_ERRORS_H
#define RSTI_CLIENT_PUBLICATION_ERRORS_H

#include "client/publication.h"

#define RSTI_PUBLICATION_ERRORS_MAX 16

/* Stores the error with every handle of the publication and wakes the waiters. A full ring drops
 * its oldest error and counts it. The caller holds client->lock. */
void rsti_client_on_publication_error(rst_client_t *client, const rsti_response_t *response);

#endif
