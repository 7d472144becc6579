/* publication_demand.c: see publication_demand.h. The readers of an IPC log write their demand
 * behind their positions; the driver's sender writes that of a network log into the log's metadata.
 *
 * Several readers are told as one reader that lies behind all of them and wants no more than any of
 * them. That is never more than each of them allows. A reader that holds the others back has data
 * to read, or wants none. */
#include "client/publication_demand.h"

#include "client/publication_readers.h"
#include "concurrent/sequence.h"
#include "util/error.h"
#include "util/int_math.h"

#define LOOKS_MAX 10000

static void clear(rst_demand_t *demand)
{
    *demand = (rst_demand_t){.position = INT64_MAX, .messages = INT64_MAX};
}

static int64_t mixed(int64_t change, int64_t value)
{
    return (int64_t)((uint64_t)change * 31 + (uint64_t)value + 1);
}

/* Adds a reader that has written its demand. The position must be loaded second, see
 * rsti_position_ext_t. */
static void add_reader(rst_demand_t *demand, const rsti_counter_value_t *value)
{
    const rsti_position_ext_t *ext = (const void *)value->spare;
    if (rsti_load_acquire_i32(&ext->version) == 0) {
        return;
    }
    const int64_t requested = rsti_load_acquire_i64(&ext->requested);
    const int64_t position = rsti_load_acquire_i64(&value->value);
    const int64_t messages = rsti_load_relaxed_i64(&ext->remaining);
    demand->position = rsti_min_i64(demand->position, position);
    demand->messages = rsti_min_i64(demand->messages, rsti_max_i64(messages, 0));
    demand->reader_count++;
    demand->change = mixed(demand->change, requested);
}

static void add_ipc_readers(const rst_publication_t *publication, rst_demand_t *demand)
{
    int32_t id = 0;
    const rsti_counter_value_t *value;
    while ((value = rsti_publication_next_reader(publication, &id)) != NULL) {
        add_reader(demand, value);
        /* a reader in the place of another one is a change */
        demand->change = mixed(demand->change, id);
    }
    /* With one reader, consuming is no change: the wanted messages and the position move together.
     * With several, the slowest reader may by consuming release demand that the others have had for
     * long. */
    if (demand->reader_count > 1) {
        demand->change = mixed(mixed(demand->change, demand->position), demand->messages);
    }
}

/* The writer makes a few stores, so a torn value is soon whole. A writer that died between them
 * leaves no demand to read. */
static void read_network(const rst_publication_t *publication, rst_demand_t *demand)
{
    const rsti_log_ext_t *ext = publication->ext;
    if (!publication->is_rstream || ext->magic != RSTI_EXT_MAGIC) {
        return;
    }
    for (int32_t i = 0; i < LOOKS_MAX; i++) {
        rsti_log_demand_t told;
        const int64_t change = RSTI_MAILBOX_READ(&ext->demand, &told);
        if (change != RSTI_MAILBOX_TORN) {
            demand->change = change;
            if (change != 0 && told.messages >= 0) {
                demand->position = told.position;
                demand->messages = told.messages;
                demand->reader_count = 1;
            }
            return;
        }
        rsti_cpu_pause();
    }
}

static void look(const rst_publication_t *publication, rst_demand_t *demand)
{
    clear(demand);
    demand->is_connected = rsti_publication_is_log_connected(publication);
    if (publication->is_ipc) {
        add_ipc_readers(publication, demand);
    } else {
        read_network(publication, demand);
    }
}

RST_API int64_t rst_publication_demand(rst_publication_t *publication, rst_demand_t *demand)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (demand == NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "no room for the demand");
        return RST_ERROR;
    }
    look(publication, demand);
    rsti_store_release_i64(&publication->demand_seen, demand->change);
    rsti_store_release_i32(&publication->demand_was_connected, demand->is_connected);
    return demand->reader_count;
}

bool rsti_publication_is_demand_polled(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication) || !publication->is_ipc) {
        return false;
    }
    rst_demand_t demand;
    look(publication, &demand);
    return demand.reader_count > 1;
}

RST_API bool rst_publication_has_new_demand(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication)) {
        return true;
    }
    rst_demand_t demand;
    look(publication, &demand);
    return demand.change != rsti_load_acquire_i64(&publication->demand_seen)
        || demand.is_connected != (rsti_load_acquire_i32(&publication->demand_was_connected) != 0);
}
