/* images.h: the list of images: creation after a SETUP, rejection, and the passes over all images.
 */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGES_H
#define RSTI_DRIVER_CONDUCTOR_IMAGES_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

/* Makes an image and links its subscribers. A failure goes to the error log, at most once a
 * second. */
void rsti_on_create_image(rst_driver_t *driver, const rsti_agent_command_t *command);
/* Puts another image in the place of one that was overrun (receiver/image_overrun.h). A failure
 * goes to the error log; the image that was overrun then stays. */
void rsti_on_resume_image(rst_driver_t *driver, const rsti_agent_command_t *command);
/* Rejects an image or an IPC publication. Answers the command with a result or with an error. */
void rsti_on_reject_image(rst_driver_t *driver, const rsti_command_t *command);
/* Notes why the only reader of an IPC publication is about to leave. */
void rsti_on_say_why(rst_driver_t *driver, const rsti_command_t *command);
/* Rebuild pass over all images. */
void rsti_images_rebuild(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);
/* Lifecycle pass over all images. Frees those that are done. */
void rsti_images_check(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

#endif
