/* Names: resolved beside the conductor, and again when their addresses fall silent
 * (docs/reference/aeron/wire.md 18). The driver of the harness waits for a table whose answers the
 * test changes. */
#include "driver/base/name_lookup.h"
#include "driver/conductor/names.h"
#include "driver/conductor/waiting.h"
#include "tests/driver/harness.h"

#include <pthread.h>

#define STREAM 10
#define OLD "127.0.0.1:24400"
#define NEW "127.0.0.2:24400"

typedef struct table_t {
    const char *answer; /* NULL: unknown */
    int asked;
} table_t;

static int resolve(void *arg, const char *host, int family, struct sockaddr_storage *address)
{
    table_t *table = arg;
    (void)family;
    table->asked++;
    if (table->answer == NULL || !rsti_netaddr_parse_numeric(table->answer, address)) {
        return RST_SET_ERR(RST_EUNKNOWNHOST, "cannot resolve host \"%s\": not in the table", host);
    }
    return 0;
}

static harness_t *open_with(table_t *table, const char *answer)
{
    harness_t *h = harness_open();
    *table = (table_t){.answer = answer};
    h->driver->resolver = (rsti_name_resolver_t){resolve, table};
    return h;
}

static void send_sm(harness_t *h, const char *from)
{
    const rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    const rsti_log_t *log = &publication->base.file.log;
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = publication->base.session_id,
        .stream_id = STREAM,
        .consumption_term_id = log->initial_term_id,
        .receiver_window = 32 * 1024,
        .receiver_id = 99,
    };
    inject(h, publication->endpoint->socket, from, &sm, sizeof sm);
}

static bool went_to(const harness_t *h, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    const frame_t *frame = &h->sent[h->sent_count - 1];
    return h->sent_count > 0 && rsti_netaddr_equal(&frame->address, &address);
}

/* J4, N15, L14, P: silent for five seconds, then resolved every second, until the address sends
 * again. */
TEST(a_silent_endpoint_is_looked_up_again)
{
    table_t table;
    harness_t *h = open_with(&table, "127.0.0.1");
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=reader:24400", STREAM);
    CHECK_EQ(table.asked, 1);
    advance_alive(h, 900 * MS, 100 * MS);
    CHECK(went_to(h, OLD));
    send_sm(h, OLD);
    table.answer = "127.0.0.2";
    advance_alive(h, 4900 * MS, 100 * MS);
    CHECK_EQ(table.asked, 1); /* it sent, so its address is valid */
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 0);
    advance_alive(h, 2000 * MS, 100 * MS);
    CHECK(table.asked >= 2);
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 1);
    forget_frames(h);
    advance_alive(h, 300 * MS, 50 * MS);
    CHECK(went_to(h, NEW));
    table.answer = "127.0.0.1";
    advance_alive(h, 2000 * MS, 100 * MS);
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 2);
    forget_frames(h);
    advance_alive(h, 300 * MS, 50 * MS);
    CHECK(went_to(h, OLD));
    /* A name that cannot be resolved keeps its address, and is reported once. */
    table.answer = NULL;
    const int64_t errors = counter(h, RSTI_SYSTEM_ERRORS);
    advance_alive(h, 3000 * MS, 100 * MS);
    CHECK(counter(h, RSTI_SYSTEM_ERRORS) > errors);
    CHECK(went_to(h, OLD));
    harness_close(h);
}

/* J4 */
TEST(numbers_and_living_peers_are_not_looked_up)
{
    table_t table;
    harness_t *h = open_with(&table, "127.0.0.1");
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=" OLD, STREAM);
    advance_alive(h, 10000 * MS, 100 * MS);
    CHECK_EQ(table.asked, 0);
    harness_close(h);
    h = open_with(&table, "127.0.0.1");
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=reader:24400", STREAM);
    for (int i = 0; i < 100; i++) {
        send_sm(h, OLD);
        advance_alive(h, 100 * MS, 50 * MS);
    }
    CHECK_EQ(table.asked, 1);
    harness_close(h);
}

/* J4: a publication that answers sends to learned addresses: it has no endpoint to resolve. */
TEST(response_channels_are_not_looked_up)
{
    table_t table;
    harness_t *h = open_with(&table, "127.0.0.1");
    const int64_t id = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION,
        "aeron:udp?control-mode=response|"
        "control=server:24500|response-correlation-id=prototype",
        STREAM);
    CHECK(answer(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, id) != NULL);
    const int asked = table.asked;
    table.answer = "127.0.0.2";
    advance_alive(h, 20 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(table.asked, asked);
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 0);
    harness_close(h);
}

/* N15: a name without an address is no error for a manual destination; it is resolved again later.
 */
TEST(a_manual_destination_may_be_resolved_later_and_move)
{
    table_t table;
    harness_t *h = open_with(&table, NULL);
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?control-mode=manual", STREAM);
    const char *channel = "aeron:udp?endpoint=reader:24400";
    rsti_command_t c = {
        .type = RSTI_CMD_ADD_DESTINATION,
        .registration_id = id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, command(h, &c)) != NULL);
    advance_alive(h, 4000 * MS, 100 * MS);
    CHECK_EQ(h->sent_count, 0);
    table.answer = "127.0.0.1";
    advance_alive(h, 3000 * MS, 100 * MS);
    CHECK(went_to(h, OLD));
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 1);
    table.answer = "127.0.0.2";
    forget_frames(h);
    advance_alive(h, 2000 * MS, 100 * MS);
    CHECK(went_to(h, NEW));
    CHECK_EQ(counter(h, RSTI_SYSTEM_RESOLUTION_CHANGES), 2);
    /* Removed by its name, whatever address that has now. */
    c.type = RSTI_CMD_REMOVE_DESTINATION;
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, command(h, &c)) != NULL);
    forget_frames(h);
    advance_alive(h, 1000 * MS, 100 * MS);
    CHECK_EQ(h->sent_count, 0);
    harness_close(h);
}

/* L14: a result for an endpoint that is closing is dropped. */
TEST(removed_names_are_not_looked_up)
{
    table_t table;
    harness_t *h = open_with(&table, "127.0.0.1");
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=reader:24400", STREAM);
    const rsti_agent_command_t stale = {
        .endpoint = h, /* no endpoint at all */
        .registration_id = -1,
    };
    CHECK(rsti_tell_conductor(h->driver, RSTI_AGENT_RERESOLVE, &stale));
    pass(h);
    CHECK_EQ(table.asked, 1);
    CHECK_EQ(h->driver->conductor->reresolution_count, 0);
    harness_close(h);
}

/* N15 */
TEST(an_unknown_endpoint_is_refused_by_name)
{
    table_t table;
    harness_t *h = open_with(&table, NULL);
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=reader:24400", STREAM);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    CHECK(error != NULL);
    CHECK_EQ(error->response.error_code, RSTI_DRIVER_UNKNOWN_HOST);
    CHECK(strstr(error->text, "endpoint=reader:24400") != NULL);
    harness_close(h);
}

/* N15, L6: a channel with a tag means its socket also after its name got another address. */
TEST(a_tagged_channel_survives_a_new_address)
{
    static const struct {
        int32_t type, ready;
        const char *channel;
    } rows[] = {
        {RSTI_CMD_ADD_PUBLICATION, RSTI_RSP_PUBLICATION_READY,
            "aeron:udp?endpoint=reader:24400|tags=7"},
        {RSTI_CMD_ADD_SUBSCRIPTION, RSTI_RSP_SUBSCRIPTION_READY,
            "aeron:udp?control=writer:24400|control-mode=dynamic|tags=7"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        table_t table;
        harness_t *h = open_with(&table, "127.0.0.1");
        int64_t id = add(h, rows[i].type, rows[i].channel, STREAM);
        CHECK(answer(h, rows[i].ready, id) != NULL);
        table.answer = "127.0.0.2";
        id = add(h, rows[i].type, rows[i].channel, STREAM);
        CHECK(answer(h, rows[i].ready, id) != NULL);
        advance_alive(h, 8000 * MS, 100 * MS);
        h->answer_count = 0;
        id = add(h, rows[i].type, rows[i].channel, STREAM);
        CHECK(answer(h, rows[i].ready, id) != NULL);
        id = add(h, rows[i].type, "aeron:udp?tags=7", STREAM);
        CHECK(answer(h, rows[i].ready, id) != NULL);
        const int64_t other = add(h, rows[i].type, "aeron:udp?endpoint=127.0.0.9:24400|tags=7",
            STREAM);
        CHECK(answer(h, RSTI_RSP_ON_ERROR, other) != NULL);
        harness_close(h);
    }
}

/* N15, P: the name table that tests of drivers of other programs use. */
TEST(a_table_gives_the_answer_that_its_counter_says)
{
    harness_t *h = harness_open();
    rst_driver_t *driver = h->driver;
    snprintf(driver->params.name_resolver, sizeof driver->params.name_resolver, "csv_table");
    snprintf(driver->params.name_resolver_args, sizeof driver->params.name_resolver_args,
        "reader,127.0.0.1,127.0.0.2|other,[::1,localhost");
    CHECK_EQ(rsti_names_init(driver), 0);
    const int32_t counter_id = rsti_counters_find(&driver->counters.counters,
        RSTI_COUNTER_NAME_ENTRY, 0);
    int64_t *choice = rsti_counter_address(&driver->counters.counters, counter_id);
    /* Aeron's tests find the counter by its type and key. */
    CHECK_EQ(RSTI_COUNTER_NAME_ENTRY, 2001);
    const rsti_counter_metadata_t *metadata = &driver->counters.counters.metadata[counter_id];
    CHECK_EQ(memcmp(metadata->key, "\6\0\0\0reader", 10), 0);
    CHECK_STR(metadata->label,
        "NameEntry{name='reader', initialResolutionHost='127.0.0.1', "
        "reResolutionHost='127.0.0.2'}");
    driver->params.resolver_threshold_ns = -1; /* the clock stands still during a look-up */
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=reader:24400", STREAM);
    advance_alive(h, 1000 * MS, 100 * MS);
    CHECK(went_to(h, OLD));
    CHECK(counter(h, RSTI_SYSTEM_NAME_RESOLVER_TIME_EXCEEDED) > 0);
    rsti_store_release_i64(choice, 1);
    advance_alive(h, 7000 * MS, 100 * MS);
    CHECK(went_to(h, NEW));
    rsti_store_release_i64(choice, -1);
    const int64_t refused = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=reader:24401",
        STREAM);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, refused) != NULL);
    harness_close(h);
}

TEST(bad_tables_and_kinds_are_refused)
{
    static const char *const tables[] = {"a", "a,b", "a,b,c,d", "a,,c", ",b,c", "a,b,c||d,e,f"};
    static rsti_csv_resolver_t table;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (rsti_csv_resolver_parse(&table, tables[i]) != -RST_EINVAL
            || strstr(rst_last_error_text(), "name-resolver-init-args") == NULL) {
            CHECK_FAIL("\"%s\" gave: %s", tables[i], rst_last_error_text());
        }
    }
    CHECK_EQ(rsti_csv_resolver_parse(&table, "a,b,c|d,e,f|"), 0);
    CHECK_EQ(table.count, 2);
    CHECK_EQ(rsti_csv_resolver_parse(&table, ""), 0);
    CHECK_EQ(table.count, 0);
    char text[6 * (RSTI_CSV_ROWS_MAX + 1) + 1] = "";
    for (int i = 0; i <= RSTI_CSV_ROWS_MAX; i++) {
        CHECK_EQ(rsti_csv_resolver_parse(&table, text), 0);
        strcat(text, "a,b,c|");
    }
    CHECK_EQ(rsti_csv_resolver_parse(&table, text), -RST_EINVAL);
    rst_driver_params_t params;
    rst_driver_t *driver = NULL;
    rsti_driver_params_init(&params);
    snprintf(params.dir, sizeof params.dir, "/dev/shm/rstream-names-test-%d", (int)getpid());
    snprintf(params.name_resolver, sizeof params.name_resolver, "gossip");
    CHECK_EQ(rst_driver_open(&driver, &params), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "name-resolver=gossip") != NULL);
}

/* ---- in a thread ---- */

typedef struct slow_t {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open; /* the answer may leave */
    int done;
} slow_t;

static int resolve_slowly(void *arg, const char *host, int family, struct sockaddr_storage *address)
{
    slow_t *slow = arg;
    (void)family;
    pthread_mutex_lock(&slow->lock);
    while (!slow->is_open) {
        pthread_cond_wait(&slow->changed, &slow->lock);
    }
    pthread_mutex_unlock(&slow->lock);
    return strcmp(host, "known") == 0 && rsti_netaddr_parse_numeric("10.0.0.1", address)
        ? 0
        : RST_SET_ERR(RST_EUNKNOWNHOST, "nobody knows %s", host);
}

static void on_done(void *arg, int64_t took_ns)
{
    slow_t *slow = arg;
    (void)took_ns;
    pthread_mutex_lock(&slow->lock);
    slow->done++;
    pthread_cond_broadcast(&slow->changed);
    pthread_mutex_unlock(&slow->lock);
}

static int resolve_all_but_slow(void *arg, const char *host, int family,
    struct sockaddr_storage *address)
{
    return strcmp(host, "slow") == 0 ? resolve_slowly(arg, host, family, address)
        : rsti_netaddr_parse_numeric("10.0.0.1", address)
        ? 0
        : RST_SET_ERR(RST_EUNKNOWNHOST, "nobody knows %s", host);
}

static void wait_done(slow_t *slow, int done)
{
    pthread_mutex_lock(&slow->lock);
    while (slow->done < done) {
        pthread_cond_wait(&slow->changed, &slow->lock);
    }
    pthread_mutex_unlock(&slow->lock);
}

static void open_and_wait(slow_t *slow, int done)
{
    pthread_mutex_lock(&slow->lock);
    slow->is_open = true;
    pthread_cond_broadcast(&slow->changed);
    pthread_mutex_unlock(&slow->lock);
    wait_done(slow, done);
}

/* N15: a name that takes long holds neither other names nor other commands up. */
TEST(a_slow_name_does_not_hold_others_up)
{
    static slow_t slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    rsti_manual_clock_t manual = {.now_ns = RSTI_NS_PER_S};
    rsti_name_lookup_params_t params = {
        .inner = {resolve_all_but_slow, &slow}, .on_done = on_done, .arg = &slow};
    params.clock = rsti_clock_manual(&manual);
    rsti_name_lookup_t *lookup;
    struct sockaddr_storage address;
    CHECK_EQ(rsti_name_lookup_create(&lookup, &params), 0);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "slow", AF_INET, &address), RSTI_LOOKUP_PENDING);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "known", AF_INET, &address), RSTI_LOOKUP_PENDING);
    wait_done(&slow, 1); /* the slow one is still under way */
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "known", AF_INET, &address), 0);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "slow", AF_INET, &address), RSTI_LOOKUP_PENDING);
    open_and_wait(&slow, 2);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "slow", AF_INET, &address), -RST_EUNKNOWNHOST);
    rsti_name_lookup_destroy(lookup);
}

static int resolve_when_open(void *arg, const char *host, int family,
    struct sockaddr_storage *address)
{
    table_t *table = arg;
    return strcmp(host, "slow") == 0 && table->asked < 1000 ? RSTI_LOOKUP_PENDING
                                                            : resolve(table, host, family, address);
}

/* L13, N15: commands that wait for a name leave the ring. Later ones are carried out, but not those
 * about what is not there yet, and a client that goes takes its waiting commands with it. */
TEST(commands_that_wait_leave_the_ring)
{
    table_t table;
    harness_t *h = open_with(&table, "127.0.0.1");
    h->driver->resolver.resolve = resolve_when_open;
    const int64_t slow = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=slow:24400", STREAM);
    const int64_t gone = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=slow:24401", STREAM);
    const int64_t ipc = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", STREAM);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, ipc) != NULL);
    const int64_t udp = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=" OLD, STREAM);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, udp) != NULL);
    const int64_t removal = take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, gone);
    CHECK_EQ(h->driver->conductor->waiting.count, 3);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, slow) == NULL);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, removal) == NULL);
    table.asked = 1000;
    pass(h);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, slow) != NULL);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, gone) != NULL);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, removal) != NULL);
    CHECK_EQ(h->driver->conductor->waiting.count, 0);
    CHECK_EQ(h->driver->conductor->subscriptions.count, 0);
    table.asked = 0;
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=slow:24402", STREAM);
    CHECK_EQ(h->driver->conductor->waiting.count, 1);
    (void)take_away(h, RSTI_CMD_CLIENT_CLOSE, 0);
    CHECK_EQ(h->driver->conductor->waiting.count, 0);
    table.asked = 1000;
    pass(h);
    CHECK_EQ(h->driver->conductor->clients.count, 0);
    harness_close(h);
}

/* A client that lets more commands wait than RSTI_WAITING_MAX is told to try again. */
TEST(waiting_commands_are_bounded)
{
    table_t table;
    harness_t *h = open_with(&table, "127.0.0.1");
    h->driver->resolver.resolve = resolve_when_open;
    for (int32_t i = 0; i < RSTI_WAITING_MAX; i++) {
        (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=slow:24400", i);
    }
    CHECK_EQ(h->driver->conductor->waiting.count, RSTI_WAITING_MAX);
    CHECK_EQ(h->answer_count, 1); /* the client's heartbeat counter */
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=slow:24400", -1);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    CHECK(error != NULL);
    CHECK_EQ(error->response.error_code, RSTI_DRIVER_TEMPORARILY_UNAVAILABLE);
    harness_close(h);
}

/* N15 */
TEST(lookups_are_asked_for_until_they_are_there)
{
    static slow_t slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    rsti_manual_clock_t manual = {.now_ns = RSTI_NS_PER_S};
    rsti_name_lookup_params_t params = {
        .inner = {resolve_slowly, &slow}, .on_done = on_done, .arg = &slow};
    params.clock = rsti_clock_manual(&manual);
    rsti_name_lookup_t *lookup;
    struct sockaddr_storage address;
    CHECK_EQ(rsti_name_lookup_create(&lookup, &params), 0);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "known", AF_INET, &address), RSTI_LOOKUP_PENDING);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "known", AF_INET, &address), RSTI_LOOKUP_PENDING);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "other", AF_INET, &address), RSTI_LOOKUP_PENDING);
    open_and_wait(&slow, 2);
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "known", AF_INET, &address), 0);
    const struct sockaddr_storage expected = address_of("10.0.0.1:0");
    CHECK(rsti_netaddr_equal(&address, &expected));
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "other", AF_INET, &address), -RST_EUNKNOWNHOST);
    CHECK(strstr(rst_last_error_text(), "nobody knows other") != NULL);
    CHECK_EQ(slow.done, 2);
    /* No request waits for the answer any more: the next request starts a new look-up. */
    manual.now_ns += RSTI_LOOKUP_FRESH_NS + 1;
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "known", AF_INET, &address), RSTI_LOOKUP_PENDING);
    open_and_wait(&slow, 3);
    manual.now_ns += 2 * RSTI_NS_PER_S; /* the name is requested once a second */
    CHECK_EQ(rsti_name_lookup_resolve(lookup, "known", AF_INET, &address), 0);
    rsti_name_lookup_destroy(lookup);
}

/* An answer expires although it is requested again and again: a failure may be temporary, and an
 * address may change. */
TEST(answers_grow_old_however_often_they_are_asked_for)
{
    static slow_t slow = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .is_open = true};
    rsti_manual_clock_t manual = {.now_ns = RSTI_NS_PER_S};
    rsti_name_lookup_params_t params = {
        .inner = {resolve_slowly, &slow}, .on_done = on_done, .arg = &slow};
    params.clock = rsti_clock_manual(&manual);
    rsti_name_lookup_t *lookup;
    struct sockaddr_storage address;
    CHECK_EQ(rsti_name_lookup_create(&lookup, &params), 0);
    const struct {
        const char *host;
        int result;
        int64_t kept_ns;
    } cases[] = {
        {"other", -RST_EUNKNOWNHOST, RSTI_LOOKUP_FRESH_NS}, {"known", 0, RSTI_LOOKUP_KEPT_NS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *host = cases[i].host;
        CHECK_EQ(rsti_name_lookup_resolve(lookup, host, AF_INET, &address), RSTI_LOOKUP_PENDING);
        open_and_wait(&slow, (int)i + 1);
        CHECK_EQ(rsti_name_lookup_resolve(lookup, host, AF_INET, &address), cases[i].result);
        const int64_t taken_ns = manual.now_ns;
        while (manual.now_ns < taken_ns + cases[i].kept_ns) {
            manual.now_ns += 20 * RSTI_NS_PER_MS;
            CHECK_EQ(rsti_name_lookup_resolve(lookup, host, AF_INET, &address), cases[i].result);
        }
        manual.now_ns += 20 * RSTI_NS_PER_MS;
        CHECK_EQ(rsti_name_lookup_resolve(lookup, host, AF_INET, &address), RSTI_LOOKUP_PENDING);
        open_and_wait(&slow, (int)i + 2);
        slow.done--; /* each case counts its first one */
    }
    rsti_name_lookup_destroy(lookup);
}

TEST(too_many_names_at_once_are_refused)
{
    static slow_t slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    rsti_manual_clock_t manual = {.now_ns = RSTI_NS_PER_S};
    rsti_name_lookup_params_t params = {
        .inner = {resolve_slowly, &slow}, .on_done = on_done, .arg = &slow};
    params.clock = rsti_clock_manual(&manual);
    rsti_name_lookup_t *lookup;
    struct sockaddr_storage address;
    CHECK_EQ(rsti_name_lookup_create(&lookup, &params), 0);
    for (int i = 0; i <= RSTI_LOOKUPS_MAX; i++) {
        char host[24];
        snprintf(host, sizeof host, "host-%d", i);
        CHECK_EQ(rsti_name_lookup_resolve(lookup, host, AF_INET, &address),
            i < RSTI_LOOKUPS_MAX ? RSTI_LOOKUP_PENDING : -RST_EFULL);
    }
    open_and_wait(&slow, RSTI_LOOKUPS_MAX);
    rsti_name_lookup_destroy(lookup);
}

CHECK_MAIN(RUN(a_silent_endpoint_is_looked_up_again),
    RUN(numbers_and_living_peers_are_not_looked_up),
    RUN(a_manual_destination_may_be_resolved_later_and_move), RUN(removed_names_are_not_looked_up),
    RUN(response_channels_are_not_looked_up), RUN(an_unknown_endpoint_is_refused_by_name),
    RUN(a_tagged_channel_survives_a_new_address),
    RUN(a_table_gives_the_answer_that_its_counter_says), RUN(bad_tables_and_kinds_are_refused),
    RUN(a_slow_name_does_not_hold_others_up), RUN(commands_that_wait_leave_the_ring),
    RUN(waiting_commands_are_bounded), RUN(lookups_are_asked_for_until_they_are_there),
    RUN(answers_grow_old_however_often_they_are_asked_for), RUN(too_many_names_at_once_are_refused))
