/* waiting.c: see waiting.h. */
#include "driver/conductor/waiting.h"

#include "driver/conductor/responses.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct waiting_command_t {
    int32_t type;
    int64_t client_id;
    int64_t correlation_id;
    size_t length;
    uint8_t record[];
} waiting_command_t;

/* Keeps the order. */
static void remove_at(rsti_ptr_array_t *waiting, size_t index)
{
    rsti_free(waiting->items[index]);
    waiting->count--;
    for (size_t i = index; i < waiting->count; i++) {
        waiting->items[i] = waiting->items[i + 1];
    }
}

bool rsti_waiting_concerns(const rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_ptr_array_t *waiting = &driver->conductor->waiting;
    for (size_t i = 0; i < waiting->count; i++) {
        const waiting_command_t *other = waiting->items[i];
        if (other->client_id == command->client_id
            && other->correlation_id == command->registration_id
            && other->correlation_id != command->correlation_id) {
            return true;
        }
    }
    return false;
}

static int32_t count_of_client(const rst_driver_t *driver, int64_t client_id)
{
    const rsti_ptr_array_t *waiting = &driver->conductor->waiting;
    int32_t count = 0;
    for (size_t i = 0; i < waiting->count; i++) {
        count += ((const waiting_command_t *)waiting->items[i])->client_id == client_id;
    }
    return count;
}

void rsti_waiting_add(rst_driver_t *driver, const rsti_command_t *command, const void *record,
    size_t length)
{
    if (count_of_client(driver, command->client_id) >= RSTI_WAITING_MAX) {
        char text[160];
        snprintf(text, sizeof text,
            "%d commands of this client wait for host names or closing sockets already: try again "
            "later",
            RSTI_WAITING_MAX);
        rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_TEMPORARILY_UNAVAILABLE,
            text);
        return;
    }
    waiting_command_t *made = rsti_alloc(sizeof *made + length);
    if (made == NULL || rsti_ptr_array_add(&driver->conductor->waiting, made) < 0) {
        rsti_free(made);
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    made->type = command->type;
    made->client_id = command->client_id;
    made->correlation_id = command->correlation_id;
    made->length = length;
    memcpy(made->record, record, length);
}

/* A command that waits behind another one of the list is tried after it. */
static bool is_behind(const rst_driver_t *driver, const rsti_command_t *command, size_t index)
{
    const rsti_ptr_array_t *waiting = &driver->conductor->waiting;
    for (size_t i = 0; i < index; i++) {
        const waiting_command_t *other = waiting->items[i];
        if (other->client_id == command->client_id
            && other->correlation_id == command->registration_id) {
            return true;
        }
    }
    return false;
}

int64_t rsti_waiting_retry(rst_driver_t *driver, rsti_dispatch_t dispatch)
{
    rsti_ptr_array_t *waiting = &driver->conductor->waiting;
    int64_t done = 0;
    for (size_t i = 0; i < waiting->count;) {
        const waiting_command_t *item = waiting->items[i];
        rsti_command_t command;
        const int code = rsti_command_decode(item->type, item->record, item->length, &command);
        RST_ASSERT(code == 0); /* it was decoded when it came */
        command.type = item->type;
        rsti_error_clear();
        if (code == 0 && (is_behind(driver, &command, i) || dispatch(driver, &command))) {
            i++;
        } else {
            remove_at(waiting, i);
            done++;
        }
    }
    return done;
}

void rsti_waiting_forget_client(rst_driver_t *driver, int64_t client_id)
{
    rsti_ptr_array_t *waiting = &driver->conductor->waiting;
    for (size_t i = waiting->count; i > 0; i--) {
        const waiting_command_t *item = waiting->items[i - 1];
        if (item->client_id == client_id) {
            remove_at(waiting, i - 1);
        }
    }
}

void rsti_waiting_fini(rst_driver_t *driver)
{
    rsti_ptr_array_t *waiting = &driver->conductor->waiting;
    for (size_t i = 0; i < waiting->count; i++) {
        rsti_free(waiting->items[i]);
    }
    rsti_ptr_array_fini(waiting);
}
