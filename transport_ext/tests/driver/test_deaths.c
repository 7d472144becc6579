/* test_deaths.c: a client whose process is killed is removed in the next passes, without any
 * time-out. The clients are raw commands; the processes are real. */
#include "tests/driver/harness.h"

#include "cnc/death_watch.h"
#include "driver/conductor/clients.h"
#include "logbuffer/appender.h"
#include "logbuffer/rebuilder.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define SENDER "127.0.0.1:30001"
#define SESSION 1234
#define STREAM 10
#define TERM 65536

/* A process that lives until it is killed. */
static pid_t start_process(void)
{
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        for (;;) {
            (void)pause();
        }
    }
    return pid;
}

static void kill_process(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Tells the driver that the client of the harness is this process, as an rstream client does. */
static void become(harness_t *h, pid_t pid)
{
    const rsti_process_t self = rsti_process_self();
    const int32_t id = rsti_counters_find(&h->driver->counters.counters,
        RSTI_COUNTER_CLIENT_HEARTBEAT, CLIENT_ID);
    rsti_heartbeat_ext_t
        *ext = (rsti_heartbeat_ext_t *)(void *)h->driver->counters.counters.values[id].spare;
    ext->pid = pid;
    ext->start_time = rsti_process_start_time(pid);
    ext->pid_namespace = self.pid_namespace;
    become_rstream(h);
    advance_alive(h, 20 * MS, MS); /* the driver looks for new marks */
}

static int64_t client_count(const harness_t *h)
{
    return (int64_t)h->driver->conductor->clients.count;
}

static bool is_death_seen(const harness_t *h)
{
    struct pollfd watched = {h->driver->conductor->deaths.epoll_fd, POLLIN, 0};
    return poll(&watched, 1, 5000) == 1;
}

TEST(a_killed_client_is_removed_without_a_time_out)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    const int64_t sub = add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, pub) != NULL);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, sub) != NULL);
    const pid_t pid = start_process();
    become(h, pid);
    CHECK_EQ(client_count(h), 1);
    kill_process(pid);
    CHECK(is_death_seen(h));
    advance(h, 20 * MS, 10 * MS);
    CHECK_EQ(client_count(h), 0);
    CHECK_EQ(h->driver->conductor->subscriptions.count, 0);
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0); /* nobody reads it */
    CHECK_EQ(counter(h, RSTI_SYSTEM_CLIENT_TIMEOUTS), 1);
    CHECK(answer_of_type(h, RSTI_RSP_CLIENT_TIMEOUT) != NULL);
    advance(h, 500 * MS, 10 * MS); /* the port of a reader without images */
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    harness_close(h);
}

/* Killed within milliseconds of opening: the driver has no mark of it yet, and a child that it had
 * forked holds its FIFO. It was once removed after 11 s. */
TEST(a_client_killed_before_its_mark_is_removed)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, pub) != NULL);
    const pid_t pid = start_process();
    rsti_process_t process = rsti_process_self();
    process.pid = pid;
    process.start_time = rsti_process_start_time(pid);
    const int held = rsti_life_hold(h->dir, CLIENT_ID, &process); /* ours is the child's */
    CHECK(held >= 0);
    kill_process(pid);
    advance(h, 100 * MS, 5 * MS);
    CHECK_EQ(client_count(h), 0);
    CHECK_EQ(counter(h, RSTI_SYSTEM_CLIENT_TIMEOUTS), 1);
    close(held);
    harness_close(h);
}

/* Likewise without a child: what it wrote into its FIFO went with it. */
TEST(a_client_killed_before_its_mark_leaves_a_fifo_that_nobody_holds)
{
    harness_t *h = harness_open();
    const rsti_process_t process = rsti_process_self();
    const int held = rsti_life_hold(h->dir, CLIENT_ID, &process);
    CHECK(held >= 0);
    close(held);
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, pub) != NULL);
    advance(h, 100 * MS, 5 * MS);
    CHECK_EQ(client_count(h), 0);
    CHECK_EQ(counter(h, RSTI_SYSTEM_CLIENT_TIMEOUTS), 1);
    harness_close(h);
}

#define OTHER 78

static int64_t add_as(harness_t *h, int64_t client_id, int32_t type)
{
    uint8_t buffer[256];
    const rsti_command_t add_stream = {
        .type = type,
        .client_id = client_id,
        .correlation_id = rsti_mpsc_rb_next_correlation_id(&h->driver->to_driver),
        .registration_id = -1,
        .stream_id = STREAM,
        .channel = {"aeron:ipc", 9},
    };
    const int64_t length = rsti_command_encode(&add_stream, buffer, sizeof buffer);
    (void)rsti_mpsc_rb_write(&h->driver->to_driver, type, buffer, (size_t)length);
    pass(h);
    return add_stream.correlation_id;
}

static void live_on(harness_t *h, int64_t ns)
{
    for (const int64_t end = h->manual.now_ns + ns; h->manual.now_ns < end;) {
        h->manual.now_ns += 100 * MS;
        const int32_t id = rsti_counters_find(&h->driver->counters.counters,
            RSTI_COUNTER_CLIENT_HEARTBEAT, OTHER);
        rsti_counter_store(h->driver, id, rsti_clock_epoch_ms(&h->clock));
        pass(h);
    }
}

/* A process is killed between claim and commit of a publication that others share. Readers once
 * waited 15 s for it, which is how long a claim of a living process may take. */
TEST(the_claim_of_a_killed_process_is_skipped)
{
    harness_t *h = harness_open();
    (void)add_as(h, CLIENT_ID, RSTI_CMD_ADD_PUBLICATION);
    (void)add_as(h, OTHER, RSTI_CMD_ADD_PUBLICATION);
    (void)add_as(h, OTHER, RSTI_CMD_ADD_SUBSCRIPTION);
    const pid_t pid = start_process();
    become(h, pid);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 1);
    rsti_appender_t killed, other;
    rsti_appender_init(&killed, &base->file.log, base->pub_lmt, base->session_id, STREAM, false);
    other = killed;
    killed.owner = rsti_claim_owner(CLIENT_ID);
    other.owner = rsti_claim_owner(OTHER);
    rsti_data_header_t *frame, *slow;
    CHECK(rsti_append_claim(&killed, 32, 0, &frame) > 0);
    CHECK(rsti_append_claim(&other, 32, 0, &slow) > 0);
    live_on(h, 3 * RSTI_NS_PER_S);
    CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 0); /* both live */
    kill_process(pid);
    CHECK(is_death_seen(h));
    live_on(h, 1200 * MS);
    CHECK_EQ(client_count(h), 1);
    CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 1);
    CHECK_EQ(frame->frame.frame_length, 64);
    CHECK_EQ(frame->frame.type, RSTI_FRAME_PAD);
    *base->subscribers.items[0].position = 64;
    live_on(h, 5 * RSTI_NS_PER_S);
    CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 1); /* its owner lives */
    CHECK_EQ(slow->frame.frame_length, -64);
    rsti_append_commit(slow);
    CHECK_EQ(slow->frame.frame_length, 64);
    CHECK_EQ(slow->frame.version, 0);
    CHECK_EQ(slow->frame.type, RSTI_FRAME_DATA);
    harness_close(h);
}

static void connect_image(harness_t *h)
{
    rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = TERM,
        .mtu = 1408,
    };
    inject(h, endpoint->owned[0]->socket, SENDER, &setup, sizeof setup);
    pass(h);
    pass(h);
}

/* The writer is told three times that nobody reads, and the port is free within half a second. */
TEST(the_port_of_a_killed_reader_is_free_soon)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    connect_image(h);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    const pid_t pid = start_process();
    become(h, pid);
    forget_frames(h);
    kill_process(pid);
    CHECK(is_death_seen(h));
    advance(h, 20 * MS, 10 * MS);
    CHECK_EQ(count_frames(h, RSTI_FRAME_SM), 1);
    const rsti_sm_t *sm = (const void *)last_frame(h, RSTI_FRAME_SM)->data;
    CHECK((sm->frame.flags & RSTI_SM_FLAG_EOS) != 0);
    advance(h, 480 * MS, 10 * MS);
    CHECK(count_frames(h, RSTI_FRAME_SM) >= 2);
    CHECK_EQ(h->driver->conductor->images.count, 0);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    harness_close(h);
}

/* Its last commands lie in the ring when it dies. Carried out later they would make it anew. */
TEST(the_last_commands_of_a_dead_client_are_carried_out_first)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    const pid_t pid = start_process();
    become(h, pid);
    kill_process(pid);
    CHECK(is_death_seen(h));
    for (int i = 0; i < 50; i++) { /* more than a pass reads */
        uint8_t buffer[256];
        const rsti_command_t late = {
            .type = RSTI_CMD_ADD_SUBSCRIPTION,
            .client_id = CLIENT_ID,
            .correlation_id = rsti_mpsc_rb_next_correlation_id(&h->driver->to_driver),
            .registration_id = -1,
            .stream_id = STREAM,
            .channel = {"aeron:ipc", 9},
        };
        const int64_t length = rsti_command_encode(&late, buffer, sizeof buffer);
        CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, late.type, buffer, (size_t)length),
            RSTI_RB_OK);
    }
    advance(h, 60 * MS, 10 * MS);
    CHECK_EQ(client_count(h), 0);
    CHECK_EQ(h->driver->conductor->subscriptions.count, 0);
    CHECK_EQ(h->driver->conductor->dead_count, 0);
    harness_close(h);
}

/* Aeron's clients tell no process, and some tell one that cannot be checked: their heartbeat
 * decides. */
TEST(others_keep_the_time_out)
{
    for (int row = 0; row < 3; row++) {
        harness_t *h = harness_open();
        (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
        const pid_t pid = start_process();
        if (row > 0) {
            become(h, row == 1 ? 0 : pid);
        }
        if (row < 2) {
            kill_process(pid);
        } else {
            (void)kill(pid, SIGSTOP); /* it lives, and does nothing */
        }
        const int64_t limit_ns = h->driver->params.client_liveness_ns;
        advance(h, limit_ns - 200 * MS, 50 * MS);
        CHECK_EQ(client_count(h), 1);
        advance(h, 4 * RSTI_NS_PER_S, 50 * MS); /* it is looked at once a second */
        CHECK_EQ(client_count(h), 0);
        if (row == 2) {
            kill_process(pid);
        }
        harness_close(h);
    }
}

/* An orderly end is no death, although the process ends right after it. */
TEST(a_closed_client_is_not_counted_as_dead)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    const pid_t pid = start_process();
    become(h, pid);
    kill_process(pid);
    CHECK(is_death_seen(h));
    h->manual.now_ns += 10 * MS;
    const rsti_command_t end = {.type = RSTI_CMD_CLIENT_CLOSE};
    rsti_command_t closing = end;
    (void)command(h, &closing);
    CHECK_EQ(client_count(h), 0);
    CHECK_EQ(counter(h, RSTI_SYSTEM_CLIENT_TIMEOUTS), 0);
    CHECK_EQ(h->driver->conductor->dead_count, 0);
    advance(h, 100 * MS, 10 * MS);
    CHECK_EQ(counter(h, RSTI_SYSTEM_CLIENT_TIMEOUTS), 0);
    harness_close(h);
}

CHECK_MAIN(RUN(a_killed_client_is_removed_without_a_time_out),
    RUN(a_client_killed_before_its_mark_is_removed),
    RUN(a_client_killed_before_its_mark_leaves_a_fifo_that_nobody_holds),
    RUN(the_claim_of_a_killed_process_is_skipped), RUN(the_port_of_a_killed_reader_is_free_soon),
    RUN(the_last_commands_of_a_dead_client_are_carried_out_first), RUN(others_keep_the_time_out),
    RUN(a_closed_client_is_not_counted_as_dead))
