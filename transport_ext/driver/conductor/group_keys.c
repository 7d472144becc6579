/* group_keys.c: see group_keys.h. */
#include "driver/conductor/group_keys.h"

#include "driver/base/counters.h"
#include "logbuffer/descriptor.h"
#include "protocol/frame.h"
#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_PREFIX "file:"
#define ID_PREFIX "id:"
#define MTU_MIN 64 /* a header and a little payload */
#define SEAL_ROOM rsti_align_i32(RSTI_SEALED_OVERHEAD, RSTI_FRAME_ALIGNMENT)

static rsti_group_keys_t *find(const rst_driver_t *driver, const char *reference)
{
    const rsti_ptr_array_t *all = &driver->conductor->group_keys;
    for (size_t i = 0; i < all->count; i++) {
        rsti_group_keys_t *keys = all->items[i];
        if (strcmp(keys->reference, reference) == 0) {
            return keys;
        }
    }
    return NULL;
}

/* 0, or as rsti_group_keys_get. */
static int read_keys(rsti_group_keys_t *keys)
{
    rsti_keys_t read;
    rsti_key_file_stamp_t stamp;
    const int result = rsti_key_file_read(keys->path, &read, &stamp);
    if (result == 0) {
        rsti_keyring_set(&keys->ring, &read);
    }
    keys->stamp = stamp;
    explicit_bzero(&read, sizeof read);
    return result;
}

/* A label cannot change, so the counter of keys that have changed is another one. */
static void tell_ids(rst_driver_t *driver, rsti_group_keys_t *keys)
{
    rsti_keys_t all = {0};
    int64_t seen = 0;
    char opens[32] = "";
    char text[64 + sizeof keys->reference];
    (void)rsti_keyring_take(&keys->ring, &seen, &all);
    if (all.count > 1) {
        (void)snprintf(opens, sizeof opens, ", opens %08" PRIx32, all.keys[1].id);
    }
    (void)snprintf(text, sizeof text, "seals %08" PRIx32 "%s: %s", all.keys[0].id, opens,
        keys->reference);
    rsti_counter_release(driver, &keys->counter_id);
    keys->counter_id = rsti_channel_counter_allocate(driver, RSTI_COUNTER_KEY, "rs-key", text, 0,
        -1);
    if (keys->counter_id < 0) {
        rsti_driver_log_trail(driver, "counter of a key");
    } else {
        rsti_counter_store(driver, keys->counter_id, all.keys[0].id);
    }
    explicit_bzero(&all, sizeof all);
}

static int set_path(const rst_driver_t *driver, rsti_group_keys_t *keys)
{
    const char *reference = keys->reference;
    if (strncmp(reference, ID_PREFIX, strlen(ID_PREFIX)) == 0) {
        const uint32_t id = (uint32_t)strtoul(reference + strlen(ID_PREFIX), NULL, 16);
        return rsti_key_file_of_id(keys->path, sizeof keys->path, driver->dir, id);
    }
    RST_ASSERT(strncmp(reference, FILE_PREFIX, strlen(FILE_PREFIX)) == 0); /* channel.c */
    (void)snprintf(keys->path, sizeof keys->path, "%s", reference + strlen(FILE_PREFIX));
    return 0;
}

int rsti_group_keys_get(rst_driver_t *driver, const char *reference, rsti_group_keys_t **keys)
{
    if (reference[0] == '\0' && driver->params.key_required) {
        return RST_SET_ERR(RST_ECHANNEL,
            "this driver opens no socket without a key (key-required): give the channel a key"
            " (rs-key=, key=, or RSTREAM_KEY_FILE of the program)");
    }
    *keys = reference[0] == '\0' ? NULL : find(driver, reference);
    if (*keys != NULL || reference[0] == '\0') {
        if (*keys != NULL) {
            (*keys)->ref_count++;
        }
        return 0;
    }
    rsti_group_keys_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->ref_count = 1;
    made->counter_id = RSTI_NULL_COUNTER;
    (void)snprintf(made->reference, sizeof made->reference, "%s", reference);
    int result = set_path(driver, made);
    result = result == 0 ? read_keys(made) : result;
    if (result < 0) {
        (void)RST_APPEND_ERR("channel parameter rs-key=%s", reference);
    } else {
        result = rsti_ptr_array_add(&driver->conductor->group_keys, made);
    }
    if (result < 0) {
        rsti_free(made);
        return result;
    }
    tell_ids(driver, made);
    *keys = made;
    return 0;
}

void rsti_group_keys_put(rst_driver_t *driver, rsti_group_keys_t *keys)
{
    if (keys == NULL || --keys->ref_count > 0) {
        return;
    }
    rsti_ptr_array_t *all = &driver->conductor->group_keys;
    for (size_t i = all->count; i > 0; i--) {
        if (all->items[i - 1] == keys) {
            rsti_ptr_array_remove_at(all, i - 1);
        }
    }
    rsti_counter_release(driver, &keys->counter_id);
    explicit_bzero(keys, sizeof *keys);
    rsti_free(keys);
}

const rsti_keyring_t *rsti_group_keys_ring(const rsti_group_keys_t *keys)
{
    return keys == NULL ? NULL : &keys->ring;
}

void rsti_group_keys_on_timer(rst_driver_t *driver)
{
    const rsti_ptr_array_t *all = &driver->conductor->group_keys;
    for (size_t i = 0; i < all->count; i++) {
        rsti_group_keys_t *keys = all->items[i];
        if (!rsti_key_file_has_changed(keys->path, &keys->stamp)) {
            continue;
        }
        const uint32_t before = rsti_keyring_id(&keys->ring);
        const int64_t version = keys->ring.version;
        if (read_keys(keys) < 0) {
            rsti_driver_log_trail(driver, "keys stay as they are");
            continue;
        }
        if (keys->ring.version != version) {
            tell_ids(driver, keys);
        }
        if (rsti_keyring_id(&keys->ring) != before) {
            char text[96 + sizeof keys->reference];
            (void)snprintf(text, sizeof text, "%s: datagrams are sealed with key %08" PRIx32 " now",
                keys->reference, rsti_keyring_id(&keys->ring));
            rsti_error_log_notice(&driver->error_log, text, rsti_clock_epoch_ms(&driver->clock));
        }
    }
}

int rsti_group_keys_shorten_mtu(const rsti_group_keys_t *keys, int32_t *mtu)
{
    if (keys == NULL) {
        return 0;
    }
    if (*mtu < MTU_MIN + SEAL_ROOM) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel parameter mtu=%" PRId32 ": with rs-key at least %d, since %d bytes are the"
            " seal's",
            *mtu, MTU_MIN + SEAL_ROOM, RSTI_SEALED_OVERHEAD);
    }
    *mtu -= SEAL_ROOM;
    return 0;
}

int64_t rsti_group_keys_mtu_of_channel(const rsti_group_keys_t *keys, int32_t mtu)
{
    return keys == NULL ? mtu : mtu + SEAL_ROOM;
}
