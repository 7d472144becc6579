/* tool.h: what the parts of a tool share. */
#ifndef RSTI_CLIENT_TOOL_H
#define RSTI_CLIENT_TOOL_H

#include "concurrent/counters.h"
#include "rstream/rstream.h"

const rsti_counters_t *rsti_tool_counters(const rst_tool_t *tool);
const char *rsti_tool_dir(const rst_tool_t *tool);

#endif
