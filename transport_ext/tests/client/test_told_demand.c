/* test_told_demand.c: a demand that publishers are told and that limits no poll. */
#include "client/subscription_ready.h"
#include "tests/client/data.h"

static const rsti_position_ext_t *told_by(const fake_log_t *log)
{
    const rsti_counter_value_t *value = (const void *)fake_value(log->counter_id);
    return (const void *)value->spare;
}

/* A demand that is only told: publishers learn it, and no poll is limited by it. */
TEST(told_demand)
{
    CHECK(begin("told-demand"));
    fake_log_t *log = fake_image_named(subscription, 0, "ticks");
    int64_t at = 0;
    for (int i = 0; i < 10; i++) {
        at = fake_data(log, at, "x");
    }
    rst_subscription_tell_demand(subscription, 0);
    rst_subscription_tell_demand(NULL, 1);
    rst_subscription_tell_demand(subscription, 6);
    const rsti_position_ext_t *told = told_by(log);
    CHECK_EQ(told->requested, 6);
    CHECK_EQ(told->remaining, 6);
    CHECK_EQ(rst_subscription_poll(subscription, 4, 0, batch), 4);
    CHECK_EQ(rst_subscription_demand(subscription), 2);
    CHECK_EQ(told->remaining, 6); /* behind the position, which has not moved */
    rst_batch_consume(batch, 3);
    CHECK_EQ(told->remaining, 3);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), 3 * 64);
    rst_batch_consume(batch, 3);
    CHECK_EQ(told->remaining, 3);
    rst_batch_release(batch);
    CHECK_EQ(told->remaining, 2);
    /* Messages that nobody asked for are handed out too; they take no more than there is. */
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 6);
    CHECK_EQ(rst_subscription_demand(subscription), 0);
    CHECK_EQ(told->remaining, 2);
    rst_batch_consume(batch, 5);
    CHECK_EQ(told->remaining, 0);
    rst_batch_release(batch);
    CHECK_EQ(told->remaining, 0);
    rst_subscription_tell_demand(subscription, 5);
    CHECK_EQ(told->requested, 11);
    CHECK_EQ(told->remaining, 5);
    /* The law of the driver goes by the window, not by this demand. */
    CHECK_EQ(told->demand, INT64_MAX);
    CHECK_EQ(told->mean_bytes, 0);
    CHECK_EQ(told->has_read, 1);
    end();
}

/* A subscription that asked for nothing when it was made takes what comes once it tells. */
TEST(told_demand_ends_holding_back)
{
    CHECK(begin("told-on-demand"));
    rsti_store_release_i32(&subscription->is_demanded, 1);
    fake_log_t *log = fake_image_named(subscription, 0, "ticks");
    CHECK_EQ(told_by(log)->remaining, 0);
    (void)fake_data(log, 0, "x");
    uint32_t told = 0;
    rst_image_event_t event;
    while (rst_subscription_next_event(subscription, &event) == 1) {
    }
    CHECK(!rsti_subscription_is_ready(subscription, &told));
    rst_subscription_tell_demand(subscription, 1);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    rst_batch_release(batch);
    (void)fake_data(log, 64, "x");
    CHECK_EQ(rst_subscription_demand(subscription), 0);
    CHECK(rsti_subscription_is_ready(subscription, &told));
    end();
}

CHECK_MAIN(RUN(told_demand), RUN(told_demand_ends_holding_back))
