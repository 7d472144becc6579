#include "concurrent/counters.h"

#include "tests/check.h"
#include "tests/vectors/counters.h"
#include "util/error.h"

#include <pthread.h>

#define COUNTERS 4
#define REUSE_MS 1000

static _Alignas(64) uint8_t values[COUNTERS * RSTI_COUNTER_VALUE_LENGTH];
static _Alignas(64) uint8_t metadata[COUNTERS * RSTI_COUNTER_METADATA_LENGTH];
static rsti_counters_manager_t manager;

static void make(void)
{
    memset(values, 0, sizeof values);
    memset(metadata, 0, sizeof metadata);
    if (rsti_counters_manager_init(&manager, values, sizeof values, metadata, sizeof metadata,
            REUSE_MS)
        < 0) {
        abort();
    }
}

static int32_t allocate(int32_t type_id, const char *label, int64_t now_ms)
{
    return rsti_counters_allocate(&manager, type_id, NULL, 0, label, strlen(label), now_ms);
}

TEST(regions_are_checked)
{
    rsti_counters_t counters;
    CHECK_EQ(rsti_counters_init(&counters, values, 128, metadata, 511), -RST_EINVAL);
    CHECK_EQ(rsti_counters_init(&counters, values, 127, metadata, 512), -RST_EINVAL);
    CHECK_EQ(rsti_counters_init(&counters, values + 4, 128, metadata, 512), -RST_EINVAL);
    CHECK_EQ(rsti_counters_init(&counters, values, sizeof values, metadata, sizeof metadata), 0);
    CHECK_EQ(counters.max_counter_id, COUNTERS - 1);
}

/* E4, E2 */
TEST(client_heartbeat_matches_the_vector)
{
    make();
    int64_t client_id = 77;
    const char *label = "client-heartbeat: id=77";
    int32_t id = rsti_counters_allocate(&manager, 11, &client_id, sizeof client_id, label,
        strlen(label), 0);
    CHECK_EQ(id, 0);
    rsti_counters_set_ids(&manager, id, client_id, client_id, 0);
    rsti_store_release_i64(rsti_counter_address(&manager.counters, id), INT64_C(1700000000123));
    CHECK_MEM(values, vector_value_record_first_32, 32);
    CHECK_MEM(metadata, vector_metadata_first_24, 24);
    CHECK_MEM(metadata + 128, vector_metadata_from_128_len_27, 27);
    CHECK_EQ(rsti_counters_find(&manager.counters, 11, 77), 0);
    CHECK_EQ(rsti_counters_find(&manager.counters, 11, 78), RSTI_NULL_COUNTER);
    CHECK_EQ(rsti_counters_find(&manager.counters, 12, 77), RSTI_NULL_COUNTER);
    rsti_counters_manager_fini(&manager);
}

/* E1 */
TEST(reuse_waits_for_the_cool_down_and_resets)
{
    make();
    CHECK_EQ(allocate(1, "a", 0), 0);
    CHECK_EQ(allocate(1, "b", 0), 1);
    rsti_counters_set_ids(&manager, 0, 5, 6, 7);
    manager.counters.values[0].spare[20] = 9;
    *rsti_counter_address(&manager.counters, 0) = 99;
    manager.counters.metadata[0].key[3] = 1;
    rsti_counters_free(&manager, 0, 10000);
    CHECK_EQ(manager.counters.metadata[0].state, RSTI_COUNTER_RECLAIMED);
    CHECK_EQ(manager.counters.metadata[0].key[3], 0);
    CHECK_EQ(manager.counters.metadata[0].free_for_reuse_deadline_ms, 11000);
    CHECK_EQ(allocate(2, "c", 10999), 2);
    CHECK_EQ(allocate(2, "d", 11000), 0);
    const rsti_counter_value_t *value = &manager.counters.values[0];
    CHECK_EQ(value->value, 0);
    CHECK_EQ(value->registration_id, 0);
    CHECK_EQ(value->owner_id, 0);
    CHECK_EQ(value->reference_id, 0);
    CHECK_EQ(value->spare[20], 0);
    CHECK_EQ(manager.counters.metadata[0].free_for_reuse_deadline_ms, INT64_MAX);
    rsti_counters_manager_fini(&manager);
}

/* E1 */
TEST(full_is_an_error_until_something_is_freed)
{
    make();
    for (int32_t i = 0; i < COUNTERS; i++) {
        CHECK_EQ(allocate(1, "x", 0), i);
    }
    CHECK_EQ(allocate(1, "x", 0), -RST_EFULL);
    CHECK(strstr(rst_last_error_text(), "4 counters") != NULL);
    rsti_counters_free(&manager, 3, 0);
    rsti_counters_free(&manager, 1, 0);
    CHECK_EQ(allocate(1, "x", REUSE_MS - 1), -RST_EFULL);
    CHECK_EQ(allocate(1, "x", REUSE_MS), 3); /* first freed, first used */
    CHECK_EQ(allocate(1, "x", REUSE_MS), 1);
    rsti_counters_manager_fini(&manager);
    rsti_counters_manager_fini(&manager);
}

/* What nobody holds is given away before what cools down. */
TEST(an_id_that_nobody_holds_is_free_at_once)
{
    make();
    for (int32_t i = 0; i < COUNTERS; i++) {
        CHECK_EQ(allocate(1, "x", 0), i);
    }
    rsti_counters_free(&manager, 3, 100);
    rsti_counters_free_at_once(&manager, 1, 100);
    rsti_counters_free_at_once(&manager, 1, 100); /* twice: nothing */
    rsti_counters_free_at_once(&manager, -1, 100);
    CHECK_EQ(manager.counters.metadata[1].state, RSTI_COUNTER_RECLAIMED);
    CHECK_EQ(allocate(2, "y", 100), 1);
    CHECK_EQ(allocate(2, "y", 100), -RST_EFULL);
    CHECK_EQ(allocate(2, "y", 100 + REUSE_MS), 3);
    rsti_counters_manager_fini(&manager);
}

TEST(shares_count_what_an_owner_keeps_from_others)
{
    make();
    for (int32_t i = 0; i < 3; i++) {
        CHECK_EQ(allocate(1, "x", 0), i);
    }
    rsti_counters_set_ids(&manager, 0, 10, 77, 0);
    rsti_counters_set_ids(&manager, 1, 11, 77, 0);
    rsti_counters_set_ids(&manager, 2, 12, 0, 0); /* the driver's own */
    manager.counters.values[0].owner_id = 5; /* another process wrote there: not trusted */
    rsti_counters_shares_t shares = rsti_counters_shares(&manager, 77, 0);
    CHECK(shares.count == COUNTERS && shares.room == 1 && shares.owned == 2);
    rsti_counters_free(&manager, 0, 0);
    shares = rsti_counters_shares(&manager, 77, REUSE_MS - 1);
    CHECK(shares.room == 1 && shares.owned == 2); /* nobody else gets it yet */
    shares = rsti_counters_shares(&manager, 77, REUSE_MS);
    CHECK(shares.room == 2 && shares.owned == 1);
    rsti_counters_free_at_once(&manager, 1, REUSE_MS);
    shares = rsti_counters_shares(&manager, 77, REUSE_MS);
    CHECK(shares.room == 3 && shares.owned == 0);
    rsti_counters_manager_fini(&manager);
}

/* E1 */
TEST(freeing_nonsense_does_nothing)
{
    make();
    CHECK_EQ(allocate(1, "x", 0), 0);
    rsti_counters_free(&manager, -1, 0);
    rsti_counters_free(&manager, 1, 0);
    rsti_counters_free(&manager, 1000, 0);
    CHECK_EQ(manager.free_count, 0);
    rsti_counters_free(&manager, 0, 0);
    rsti_counters_free(&manager, 0, 0);
    CHECK_EQ(manager.free_count, 1);
    rsti_counters_manager_fini(&manager);
}

typedef struct seen_t {
    int count;
    int stop_at;
    rsti_counter_view_t views[COUNTERS];
} seen_t;

static _Bool on_counter(void *arg, const rsti_counter_view_t *view)
{
    seen_t *seen = arg;
    seen->views[seen->count++] = *view;
    return seen->count != seen->stop_at;
}

/* E2 */
TEST(iteration_skips_reclaimed_and_stops_at_unused)
{
    static seen_t seen;
    make();
    CHECK_EQ(allocate(1, "a", 0), 0);
    CHECK_EQ(allocate(2, "b", 0), 1);
    CHECK_EQ(rsti_counters_allocate(&manager, 3, "key", 3, "c", 1, 0), 2);
    rsti_counters_set_ids(&manager, 2, 30, 31, 32);
    *rsti_counter_address(&manager.counters, 2) = 33;
    rsti_counters_free(&manager, 1, 0);
    manager.counters.metadata[3].state = RSTI_COUNTER_UNUSED;
    seen = (seen_t){0};
    rsti_counters_for_each(&manager.counters, on_counter, &seen);
    CHECK_EQ(seen.count, 2);
    const rsti_counter_view_t *view = &seen.views[1];
    CHECK_EQ(view->counter_id, 2);
    CHECK_EQ(view->type_id, 3);
    CHECK_EQ(view->registration_id, 30);
    CHECK_EQ(view->owner_id, 31);
    CHECK_EQ(view->reference_id, 32);
    CHECK_EQ(view->value, 33);
    CHECK_STR(view->label, "c");
    CHECK_MEM(view->key, "key\0\0", 5);
    CHECK_EQ(rsti_counters_find(&manager.counters, 2, 0), RSTI_NULL_COUNTER);
    seen = (seen_t){.stop_at = 1};
    rsti_counters_for_each(&manager.counters, on_counter, &seen);
    CHECK_EQ(seen.count, 1);
    rsti_counters_manager_fini(&manager);
}

/* E3 */
TEST(keys_and_labels_are_cut)
{
    static seen_t seen;
    make();
    char text[600];
    memset(text, 'z', sizeof text);
    int32_t id = rsti_counters_allocate(&manager, 1, text, 113, text, 381, 0);
    CHECK_EQ(id, 0);
    CHECK_EQ(manager.counters.metadata[0].label_length, RSTI_COUNTER_LABEL_MAX);
    CHECK_EQ(manager.counters.metadata[1].state, 0); /* the next field is not overwritten */
    CHECK_EQ(manager.counters.metadata[1].type_id, 0);
    seen = (seen_t){0};
    rsti_counters_for_each(&manager.counters, on_counter, &seen);
    CHECK_EQ(strlen(seen.views[0].label), RSTI_COUNTER_LABEL_MAX);
    CHECK_EQ(seen.views[0].key[RSTI_COUNTER_KEY_MAX - 1], 'z');
    rsti_counters_append_label(&manager.counters, 0, "more");
    CHECK_EQ(manager.counters.metadata[0].label_length, RSTI_COUNTER_LABEL_MAX);
    rsti_counters_manager_fini(&manager);
}

/* E3 */
TEST(labels_grow_to_their_limit)
{
    make();
    CHECK_EQ(allocate(11, "client-heartbeat: id=1", 0), 0);
    rsti_counters_append_label(&manager.counters, 0, " name=me");
    CHECK_EQ(manager.counters.metadata[0].label_length, 30);
    CHECK_MEM(manager.counters.metadata[0].label, "client-heartbeat: id=1 name=me", 30);
    char text[401];
    memset(text, 'n', sizeof text - 1);
    text[400] = '\0';
    rsti_counters_append_label(&manager.counters, 0, text);
    CHECK_EQ(manager.counters.metadata[0].label_length, RSTI_COUNTER_LABEL_MAX);
    CHECK_EQ(manager.counters.metadata[1].state, 0);
    rsti_counters_append_label(&manager.counters, -1, "x");
    rsti_counters_append_label(&manager.counters, COUNTERS, "x");
    rsti_counters_manager_fini(&manager);
}

/* E3 */
TEST(foreign_label_lengths_are_bounded)
{
    static const int32_t lengths[] = {-1, INT32_MIN, 381, INT32_MAX};
    static seen_t seen;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        make();
        CHECK_EQ(allocate(1, "abc", 0), 0);
        manager.counters.metadata[0].label_length = lengths[i];
        seen = (seen_t){0};
        rsti_counters_for_each(&manager.counters, on_counter, &seen);
        CHECK_STR(seen.views[0].label, lengths[i] < 0 ? "" : "abc");
        rsti_counters_append_label(&manager.counters, 0, "x");
        rsti_counters_manager_fini(&manager);
    }
}

/* E4 */
TEST(propose_max_never_lowers)
{
    int64_t value = 5;
    rsti_counter_propose_max(&value, 4);
    CHECK_EQ(value, 5);
    rsti_counter_propose_max(&value, 6);
    CHECK_EQ(value, 6);
}

/* --- a reader beside the manager: labels belong to their registration ------------------------- */

static int32_t is_done;

static _Bool check_view(void *arg, const rsti_counter_view_t *view)
{
    int64_t of_label = 0;
    if (view->registration_id != 0 && sscanf(view->label, "c-%" SCNd64, &of_label) == 1
        && of_label != view->registration_id) {
        (*(int *)arg)++;
    }
    return true;
}

static void *read_all(void *arg)
{
    do {
        rsti_counters_for_each(&manager.counters, check_view, arg);
    } while (rsti_load_acquire_i32(&is_done) == 0);
    return NULL;
}

/* E1, E2 */
TEST(readers_never_see_a_mixture)
{
    make();
    rsti_store_release_i32(&is_done, 0);
    int mixtures = 0;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, read_all, &mixtures), 0);
    for (int64_t i = 1; i <= 20000; i++) {
        char label[32];
        (void)snprintf(label, sizeof label, "c-%" PRId64, i);
        int32_t id = allocate(1, label, i * REUSE_MS);
        if (id >= 0) {
            rsti_counters_set_ids(&manager, id, i, 1, 2);
            rsti_counters_free(&manager, id, i * REUSE_MS);
        }
    }
    rsti_store_release_i32(&is_done, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(mixtures, 0);
    rsti_counters_manager_fini(&manager);
}

CHECK_MAIN(RUN(regions_are_checked), RUN(client_heartbeat_matches_the_vector),
    RUN(reuse_waits_for_the_cool_down_and_resets), RUN(full_is_an_error_until_something_is_freed),
    RUN(an_id_that_nobody_holds_is_free_at_once), RUN(shares_count_what_an_owner_keeps_from_others),
    RUN(freeing_nonsense_does_nothing), RUN(iteration_skips_reclaimed_and_stops_at_unused),
    RUN(keys_and_labels_are_cut), RUN(labels_grow_to_their_limit),
    RUN(foreign_label_lengths_are_bounded), RUN(propose_max_never_lowers),
    RUN(readers_never_see_a_mixture))
