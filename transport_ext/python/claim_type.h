/* claim_type.h: Claim, a writable part of the log between try_claim and commit. */
#ifndef RSTI_PYTHON_CLAIM_TYPE_H
#define RSTI_PYTHON_CLAIM_TYPE_H

#include "publication.h"

/* Pins the publication until the claim ends; aborts the claim when it fails. NULL with an
 * exception. */
PyObject *rsti_py_claim_make(rsti_py_publication_t *publication, const rst_claim_t *claim);

#endif
