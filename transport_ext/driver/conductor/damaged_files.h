/* damaged_files.h: ends what used a file that another process has cut short (cnc/map_guard.h): a
 * publication, an image, or the driver if it is cnc.dat. The error log names the stream. */
#ifndef RSTI_DRIVER_CONDUCTOR_DAMAGED_FILES_H
#define RSTI_DRIVER_CONDUCTOR_DAMAGED_FILES_H

#include "driver/base/driver_state.h"

/* Each pass. One load unless a mapping of this process was damaged since the last call. */
void rsti_damaged_files_check(rst_driver_t *driver);

#endif
