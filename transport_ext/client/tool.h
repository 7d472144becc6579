/* tool.h: what the parts of a tool share. */
#ifndef RSTI_CLIENT_TOOL_H
#define RSTI_CLIENT_TOOL_H

#include "cnc/log_file.h"
#include "concurrent/counters.h"
#include "rstream/rstream.h"

const rsti_counters_t *rsti_tool_counters(const rst_tool_t *tool);
/* Maps the log of a publication; the caller closes it. 0, or negative with a trail. */
int rsti_tool_open_log(const rst_tool_t *tool, int64_t registration_id, rsti_log_file_t *file);

#endif
