/* tool_segments.c: how many bytes of large messages wait for the readers of a publication. Another
 * process writes the values: they are shown as they are. */
#include "client/tool.h"

#include "client/segments.h"
#include "util/error.h"

RST_API int64_t rst_tool_segments(rst_tool_t *tool, int64_t registration_id, int64_t *wait,
    void (*on_segment)(void *arg, int64_t end_position, int64_t bytes_before), void *arg)
{
    if (tool == NULL || wait == NULL || on_segment == NULL) {
        return RST_SET_ERR(RST_EINVAL, "tool, place or function is NULL");
    }
    rsti_log_file_t file;
    const int result = rsti_tool_open_log(tool, registration_id, &file);
    if (result < 0) {
        return result;
    }
    const rsti_log_ext_t *ext = &file.log.metadata->ext;
    const bool is_told = ext->magic == RSTI_EXT_MAGIC;
    *wait = is_told ? rsti_max_i64(0, rsti_load_relaxed_i64(&ext->segment_wait)) : 0;
    const int64_t bytes = is_told ? rsti_load_acquire_i64(&ext->segment_bytes_sent) : 0;
    for (int32_t i = 0; bytes > 0 && i < RSTI_LOG_SEGMENTS; i++) {
        const int64_t end = rsti_load_acquire_i64(&ext->segments[i].end_position);
        if (end > 0) {
            on_segment(arg, end, rsti_load_relaxed_i64(&ext->segments[i].bytes_before));
        }
    }
    (void)rsti_log_file_close(&file, false);
    return rsti_max_i64(0, bytes);
}
