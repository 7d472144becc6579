/* loss_report_file.h: loss-report.dat, made by the driver and mapped by tools. */
#ifndef RSTI_CNC_LOSS_REPORT_FILE_H
#define RSTI_CNC_LOSS_REPORT_FILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct rsti_loss_report_file_t {
    uint8_t *base; /* NULL when closed */
    size_t length;
} rsti_loss_report_file_t;

/* Driver: zeroed, rounded up to pages, its space reserved (-RST_ESTORAGE). */
int rsti_loss_report_file_create(rsti_loss_report_file_t *file, const char *dir, int64_t length,
    int64_t page_size);
/* Tools: maps an existing one to read. A directory without one is -RST_ENODRIVER. */
int rsti_loss_report_file_open(rsti_loss_report_file_t *file, const char *dir);
void rsti_loss_report_file_close(rsti_loss_report_file_t *file);

#endif
