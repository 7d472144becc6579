/* test_agents.c: a run with real agents is set up, keeps its invariants, and frees everything: in
 * virtual time, and in real time, where a busy machine limits how much can be checked. */
#include "lab/agents.h"
#include "tests/lab/world.h"
#include "util/error.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[64]; /* of the drivers' files, made with each world */

/* One sender by credit, at 20 MB/s of the application for 0.1 s, to that many receivers. */
static void make_world(world_t *world, int receivers, double loss)
{
    *world = (world_t){0};
    (void)snprintf(dir, sizeof dir, "/dev/shm/rstream-lab-test-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        perror(dir);
        exit(1);
    }
    ADD(world, run, RSTI_LAB_RUN, .step_ns = 1e5, .duration_ns = 4e8, .sample_ns = 1e6, .seed = 3,
        .traced_images = receivers);
    ADD(world, sender, RSTI_LAB_SENDER, .law = 4, .fc = 1, .rtt_ns = 1e6, .link_rate = 1000 * MB,
        .mtu = 1408, .timeout_ns = 5e9, .loss = loss, .history_bytes = 1e9, .ends_ns = 1e8,
        .app_rate = 20 * MB, .backlog_bytes = 1e6, .floor_share = 0.05, .target_delay_ns = 1e7,
        .detect_ns = RSTI_DETECT_NS, .window_ns = 5e7, .cut50 = 0.1, .cut75 = 0.25, .cut87 = 0.5,
        .cut100 = 0.75, .decrease = 0.5);
    for (int i = 0; i < receivers; i++) {
        ADD(world, consumer, RSTI_LAB_CONSUMER, .noise_ns = 1e7, .forward_to = -1,
            .dies_ns = RSTI_LAB_NEVER, .hangs_ns = RSTI_LAB_NEVER, .evict_ns = RSTI_LAB_NEVER);
        ADD(world, level, RSTI_LAB_LEVEL, .consumer = i, .bytes_per_s = 100 * MB);
        ADD(world, image, RSTI_LAB_IMAGE, .consumer = i, .buffer_bytes = 131072,
            .cubic_rtt_ns = 1e5, .target_delay_ns = 1e7);
    }
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_files(void)
{
    CHECK_EQ(nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void run_world(int receivers, double loss)
{
    world_t world;
    make_world(&world, receivers, loss);
    rsti_lab_agents_t agents;
    CHECK_EQ(rsti_lab_agents_init(&agents, world.values, world.count, dir), 0);
    rsti_lab_agents_run(&agents);
    const rsti_lab_sender_facts_t *sender = &agents.samples.senders[0];
    CHECK(sender->sent > 1.9 * MB && sender->sent < 2.1 * MB);
    CHECK_EQ((int64_t)sender->backlog < 1408, 1);
    for (int i = 0; i < receivers; i++) {
        CHECK_EQ((int64_t)agents.samples.images[i].consumed, (int64_t)sender->sent);
        CHECK_EQ(agents.samples.images[i].lost > 0, loss > 0);
    }
    rsti_lab_agents_fini(&agents);
    remove_files();
}

TEST(sent_data_arrive)
{
    run_world(1, 0);
    run_world(1, 0.02);
    run_world(3, 0);
}

/* Behind the record of the run. */
static rsti_lab_sender_spec_t *sender_of(world_t *world)
{
    return (rsti_lab_sender_spec_t *)(world->values + 1 + SAME_SIZE(run) + 1);
}

/* One receiver stops for a while and reports it. Then four forgers report beside it, one of them
 * with the receiver's own words, and the reports of another receiver are replaced. One report each
 * per millisecond. */
TEST(liars_and_forgers_send_their_recorded_values)
{
    world_t world;
    make_world(&world, 2, 0);
    sender_of(&world)->law = 0;
    sender_of(&world)->fc = 0;
    sender_of(&world)->app_rate = 0;
    ADD(&world, pause, RSTI_LAB_PAUSE, .consumer = 1, .at_ns = 1e7, .length_ns = 2e7);
    ADD(&world, liar, RSTI_LAB_LIAR, .from_ns = 3e7, .to_ns = 9e7, .period_ns = 1e6, .allowed = 1,
        .fill = 1, .drain_share = 0.01);
    for (int kind = RSTI_LAB_FORGES_FRESH; kind <= RSTI_LAB_REPLAYS; kind++) {
        ADD(&world, forger, RSTI_LAB_FORGER, .from_ns = 5e7, .to_ns = 9e7, .period_ns = 1e6,
            .kind = kind, .image = 1, .allowed = 1, .fill = 1, .drain = MB);
    }
    rsti_lab_agents_t agents;
    CHECK_EQ(rsti_lab_agents_init(&agents, world.values, world.count, dir), 0);
    for (int i = 0; i < 2; i++) {
        agents.spec.image[i].reports = 1;
    }
    rsti_lab_agents_run(&agents);
    CHECK_EQ((int64_t)agents.samples.senders[0].forged, 4 * 40);
    CHECK(agents.interference.forgers[3].length > RSTI_SM_TAGGED_LENGTH);
    CHECK(agents.samples.images[0].reports >= 60);
    CHECK(agents.samples.senders[0].ignored > 0);
    CHECK(agents.samples.images[0].consumed > 0 && agents.samples.images[1].consumed > 0);
    rsti_lab_agents_fini(&agents);
    CHECK(agents.interference.forgers == NULL);
    remove_files();
}

TEST(a_set_up_that_fails_gives_everything_back)
{
    world_t world;
    rsti_lab_agents_t agents;
    make_world(&world, 2, 0);
    CHECK_EQ(rsti_lab_agents_init(&agents, world.values, world.count, "/dev/shm/nowhere/at/all")
            < 0,
        1);
    CHECK(agents.hosts == NULL && agents.samples.values == NULL);
    CHECK_EQ(rsti_lab_agents_init(&agents, world.values, world.count - 1, dir), -RST_EINVAL);
    ADD(&world, liar, RSTI_LAB_LIAR, .to_ns = 1, .period_ns = 1e6);
    CHECK_EQ(rsti_lab_agents_init_real(&agents, world.values, world.count, dir), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "record liar: on real sockets") != NULL);
    CHECK(agents.interference.images == NULL);
    CHECK_EQ(rsti_lab_agents_init(&agents, world.values, world.count, "/dev/shm/nowhere/at/all")
            < 0,
        1);
    CHECK(agents.interference.images == NULL && agents.wire.guard == NULL);
    remove_files();
}

static void run_in_real_time(int receivers)
{
    world_t world;
    make_world(&world, receivers, 0);
    rsti_lab_agents_t agents;
    CHECK_EQ(rsti_lab_agents_init_real(&agents, world.values, world.count, dir), 0);
    while (!rsti_lab_agents_run_real(&agents, 50 * RSTI_NS_PER_MS)) {
    }
    const rsti_lab_samples_t *samples = &agents.samples;
    CHECK_EQ(samples->row_count, 400);
    for (int64_t row = 0; row < samples->row_count; row++) {
        CHECK_EQ((int64_t)(samples->values[row * samples->row_width] * 1e6 + 0.5), row * 1000);
    }
    const rsti_lab_sender_facts_t *sender = &samples->senders[0];
    CHECK(agents.step_count > 0 && agents.gap_most_ns > 0);
    CHECK(sender->sent > 0 && sender->sent < 20 * MB && sender->control_bytes > 0);
    for (int i = 0; i < receivers; i++) {
        const double consumed = samples->images[i].consumed;
        CHECK(consumed > 0 && consumed <= sender->sent);
        /* The thread that had the processor has had the time to read the rest. */
        CHECK(agents.gap_most_ns > 50 * RSTI_NS_PER_MS || consumed == sender->sent);
    }
    rsti_lab_agents_fini(&agents);
    remove_files();
}

TEST(real_time_delivers_and_has_its_rows_at_their_times)
{
    run_in_real_time(1);
    run_in_real_time(2);
}

TEST(impossible_loopback_worlds_are_refused)
{
    world_t world;
    rsti_lab_agents_t agents;
    make_world(&world, 2, 0.01);
    CHECK_EQ(rsti_lab_agents_init_real(&agents, world.values, world.count, dir), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "nothing is lost on purpose") != NULL);
    remove_files();
    make_world(&world, 1, 0);
    ADD(&world, consumer, RSTI_LAB_CONSUMER, .noise_ns = 1e7, .forward_to = -1,
        .dies_ns = RSTI_LAB_NEVER, .hangs_ns = RSTI_LAB_NEVER, .evict_ns = RSTI_LAB_NEVER);
    ADD(&world, image, RSTI_LAB_IMAGE, .consumer = 1, .buffer_bytes = 5e8, .cubic_rtt_ns = 1e5,
        .target_delay_ns = 1e7);
    CHECK_EQ(rsti_lab_agents_init_real(&agents, world.values, world.count, dir), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "image 1: a buffer of 500000000 bytes") != NULL);
    remove_files();
}

CHECK_MAIN(RUN(sent_data_arrive), RUN(liars_and_forgers_send_their_recorded_values),
    RUN(a_set_up_that_fails_gives_everything_back),
    RUN(real_time_delivers_and_has_its_rows_at_their_times),
    RUN(impossible_loopback_worlds_are_refused))
