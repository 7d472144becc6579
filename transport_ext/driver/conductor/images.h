/* images.h: images come (a SETUP arrived), are rebuilt, and go. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGES_H
#define RSTI_DRIVER_CONDUCTOR_IMAGES_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"
#include "protocol/command.h"

void rsti_on_create_image(rst_driver_t *driver, const rsti_agent_command_t *command);
void rsti_on_reject_image(rst_driver_t *driver, const rsti_command_t *command);
void rsti_images_rebuild(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);
void rsti_images_check(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

#endif
