/* reader_left.c: see reader_left.h. */
#include "driver/base/reader_left.h"

static void tell(rsti_publication_t *publication)
{
    RSTI_MAILBOX_WRITE(&publication->file.log.metadata->ext.left, &publication->left);
}

void rsti_reader_left(rsti_publication_t *publication, int64_t consumed, int64_t joined)
{
    publication->left = (rsti_log_left_t){publication->left.count + 1, consumed, joined};
    tell(publication);
}

void rsti_reader_joined(rsti_publication_t *publication, int64_t position)
{
    if (publication->left.count > 0 && publication->left.joined < 0) {
        publication->left.joined = position;
        tell(publication);
    }
}
