/* reader_left.c: see reader_left.h. */
#include "driver/base/reader_left.h"

#include <string.h>

static void tell(rsti_publication_t *publication)
{
    RSTI_MAILBOX_WRITE(&publication->file.log.metadata->ext.left, &publication->left);
}

void rsti_reader_left(rsti_publication_t *publication, int64_t consumed, int64_t joined,
    int64_t now_ms, rsti_log_left_who_t *who)
{
    who->count = publication->left.count + 1;
    RSTI_MAILBOX_WRITE(&publication->file.log.metadata->ext.left_who, who);
    publication->left = (rsti_log_left_t){publication->left.count + 1, consumed, joined, now_ms};
    tell(publication);
}

void rsti_reader_joined(rsti_publication_t *publication, int64_t position)
{
    if (publication->left.count > 0 && publication->left.joined < 0) {
        publication->left.joined = position;
        tell(publication);
    }
}

void rsti_reader_left_why(rsti_publication_t *publication, const char *text, int32_t length)
{
    rsti_log_ext_t *ext = &publication->file.log.metadata->ext;
    rsti_log_left_t told = {0}; /* the sender of a network publication writes it */
    if (RSTI_MAILBOX_READ(&ext->left, &told) == RSTI_MAILBOX_TORN) {
        return;
    }
    const bool is_there = told.count == 0 || told.joined >= 0;
    rsti_log_left_why_t why = {.count = told.count + is_there};
    const int32_t room = (int32_t)sizeof why.text - 1;
    memcpy(why.text, text, (size_t)(length < room ? length : room));
    RSTI_MAILBOX_WRITE(&ext->left_why, &why);
}
