/* publication_demand.c: what the readers of a publication ask for, where they tell it: behind the
 * positions of an IPC log's readers, and in a network log by the driver's sender.
 *
 * Several readers are told as one that lies behind all of them and wants no more than any. That is
 * never more than each of them allows, and whoever holds it back has data to read, or wants none.
 */
#include "client/internal.h"

#include "concurrent/sequence.h"
#include "util/error.h"

#define LOOKS_MAX 10000

static void clear(rst_demand_t *demand)
{
    *demand = (rst_demand_t){.position = INT64_MAX, .messages = INT64_MAX};
}

static int64_t mixed(int64_t change, int64_t value)
{
    return (int64_t)((uint64_t)change * 31 + (uint64_t)value + 1);
}

/* Adds one reader, if it tells: 1. The position first, see rsti_position_ext_t. */
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
        demand->change = mixed(demand->change, id); /* one that takes another's place is news */
    }
    /* What one reader has consumed is no news: it wants as much less behind it. Of several the one
     * that lies behind may let the others have what they have asked for long since. */
    if (demand->reader_count > 1) {
        demand->change = mixed(mixed(demand->change, demand->position), demand->messages);
    }
}

/* The writer takes a few stores, so a torn look is soon a whole one; if it died between them,
 * nothing is told. */
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
    demand->is_connected = rsti_load_acquire_i32(&publication->log->file.log.metadata->is_connected)
        != 0;
    if (publication->is_ipc) {
        add_ipc_readers(publication, demand);
    } else {
        read_network(publication, demand);
    }
}

static bool is_dead(const rst_publication_t *publication)
{
    return rsti_is_forked(publication->generation)
        || rsti_load_acquire_i32(&publication->is_closed) != 0;
}

RST_API int64_t rst_publication_demand(rst_publication_t *publication, rst_demand_t *demand)
{
    if (publication == NULL || is_dead(publication)) {
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
    if (is_dead(publication) || !publication->is_ipc) {
        return false;
    }
    rst_demand_t demand;
    look(publication, &demand);
    return demand.reader_count > 1;
}

RST_API bool rst_publication_has_new_demand(const rst_publication_t *publication)
{
    if (publication == NULL || is_dead(publication)) {
        return true;
    }
    rst_demand_t demand;
    look(publication, &demand);
    return demand.change != rsti_load_acquire_i64(&publication->demand_seen)
        || demand.is_connected != (rsti_load_acquire_i32(&publication->demand_was_connected) != 0);
}
