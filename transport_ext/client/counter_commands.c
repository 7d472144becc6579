/* counter_commands.c: asking the driver for counters of the application. */
#include "client/pending.h"
#include "client/user_counter.h"
#include "util/error.h"

#include <string.h>

static int64_t ask_counter(rst_client_t *client, rsti_command_t *command, const void *key,
    size_t key_length, const char *label)
{
    const int checked = rsti_client_check(client);
    if (checked < 0) {
        return checked;
    }
    const size_t label_length = label != NULL ? strlen(label) : 0;
    if (key_length > RSTI_COUNTER_KEY_MAX || (key == NULL && key_length > 0)) {
        return RST_SET_ERR(RST_EINVAL, "counter key of %zu bytes: at most %d", key_length,
            RSTI_COUNTER_KEY_MAX);
    }
    if (label_length > RSTI_COUNTER_LABEL_MAX) {
        return RST_SET_ERR(RST_EINVAL, "counter label of %zu bytes: at most %d", label_length,
            RSTI_COUNTER_LABEL_MAX);
    }
    rsti_pending_t *pending = rsti_pending_create(client, RSTI_PENDING_COUNTER,
        label != NULL ? label : "", label_length, 0);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    pending->is_static = command->type == RSTI_CMD_ADD_STATIC_COUNTER;
    pending->counter_registration_id = command->registration_id;
    command->key = (rsti_text_t){.text = key, .length = (int32_t)key_length};
    command->label = (rsti_text_t){.text = pending->channel, .length = (int32_t)label_length};
    return rsti_client_ask(client, pending, command);
}

RST_API int64_t rst_client_add_counter(rst_client_t *client, int32_t type_id, const void *key,
    size_t key_length, const char *label)
{
    rsti_command_t command = {.type = RSTI_CMD_ADD_COUNTER, .counter_type_id = type_id};
    return ask_counter(client, &command, key, key_length, label);
}

RST_API int64_t rst_client_add_static_counter(rst_client_t *client, int32_t type_id,
    int64_t registration_id, const void *key, size_t key_length, const char *label)
{
    rsti_command_t command = {.type = RSTI_CMD_ADD_STATIC_COUNTER,
        .counter_type_id = type_id,
        .registration_id = registration_id};
    return ask_counter(client, &command, key, key_length, label);
}

RST_API rst_user_counter_t *rst_client_take_counter(rst_client_t *client, int64_t correlation_id)
{
    rsti_pending_t *pending = rsti_client_take(client, correlation_id, RSTI_PENDING_COUNTER);
    if (pending == NULL) {
        return NULL;
    }
    rst_user_counter_t *counter = pending->counter;
    pending->counter = NULL;
    rsti_pending_free(pending);
    return counter;
}
