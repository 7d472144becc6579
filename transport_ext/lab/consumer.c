/* consumer.c: how much a consumer takes from each of its images in a step. With q_i their queues
 * and b the bytes that its capacity allows in the step:
 *
 *   in the order of arrival  q_i min(1, b / sum q) from each image: shares in proportion to queues
 *   in turn                  equal shares; a queue shorter than its share is taken whole
 *
 * A consumer that publishes takes no more than its own sender has room for. So a full backlog holds
 * the queue before it, and that queue its sender, hop by hop. */
#include "lab/lab.h"

#include "util/int_math.h"

static int64_t queue_of(const rsti_lab_image_t *image)
{
    return image->is_gone ? 0 : rsti_lab_image_ready(image) - image->consumed;
}

static int64_t total_of(const rsti_lab_consumer_t *consumer)
{
    int64_t total = 0;
    for (int32_t i = 0; i < consumer->image_count; i++) {
        total += queue_of(consumer->images[i]);
    }
    return total;
}

static void take_shares(rsti_lab_consumer_t *consumer, int64_t budget, int64_t total,
    int64_t now_ns)
{
    const double share = total > 0 ? (double)budget / (double)total : 0;
    int64_t left = budget;
    for (int32_t i = 0; i < consumer->image_count; i++) {
        rsti_lab_image_t *image = consumer->images[i];
        const int64_t queue = queue_of(image);
        const bool is_last = i == consumer->image_count - 1;
        int64_t bytes = share >= 1 ? queue : (int64_t)((double)queue * share);
        bytes = rsti_min_i64(is_last ? rsti_min_i64(queue, left) : bytes, left);
        rsti_lab_image_consume(image, bytes, now_ns);
        left -= bytes;
    }
}

/* In each round all images get an equal part of the rest, and at least one queue is emptied. */
static void take_in_turn(rsti_lab_consumer_t *consumer, int64_t budget, int64_t now_ns)
{
    int64_t left = budget;
    for (int32_t round = 0; round < consumer->image_count && left > 0; round++) {
        int64_t busy = 0;
        for (int32_t i = 0; i < consumer->image_count; i++) {
            busy += queue_of(consumer->images[i]) > 0;
        }
        const int64_t part = busy > 0 ? rsti_max_i64(1, left / busy) : 0;
        for (int32_t i = 0; i < consumer->image_count && left > 0; i++) {
            rsti_lab_image_t *image = consumer->images[i];
            const int64_t bytes = rsti_min_i64(rsti_min_i64(queue_of(image), part), left);
            rsti_lab_image_consume(image, bytes, now_ns);
            left -= bytes;
        }
    }
}

static void end_images(rsti_lab_t *lab, rsti_lab_consumer_t *consumer, int64_t step, int64_t now_ns)
{
    const bool is_dead = (double)now_ns >= consumer->spec->dies_ns;
    for (int32_t i = 0; i < consumer->image_count; i++) {
        rsti_lab_image_t *image = consumer->images[i];
        if (image->is_gone) {
            continue;
        }
        if (is_dead) {
            image->is_gone = true;
        } else if ((double)(now_ns - image->moved_ns) >= consumer->spec->evict_ns) {
            rsti_lab_image_leave(image, &lab->senders[(int32_t)image->spec->sender].link, step);
            image->is_gone = true;
        }
    }
}

void rsti_lab_consumer_step(rsti_lab_t *lab, rsti_lab_consumer_t *consumer, int64_t step,
    int64_t now_ns)
{
    const double step_s = lab->spec.run->step_ns / 1e9;
    const double gained = rsti_lab_capacity_at(&consumer->capacity, now_ns) * step_s;
    consumer->taken_most += gained;
    consumer->rest += gained;
    int64_t budget = (int64_t)consumer->rest;
    consumer->rest -= (double)budget;
    const int64_t total = total_of(consumer);
    budget = rsti_min_i64(budget, total);
    const int32_t forward_to = (int32_t)consumer->spec->forward_to;
    if (forward_to >= 0) {
        budget = rsti_min_i64(budget, rsti_lab_sender_room(&lab->senders[forward_to]));
        rsti_lab_sender_feed(&lab->senders[forward_to], budget);
    }
    if (consumer->spec->in_turn > 0) {
        take_in_turn(consumer, budget, now_ns);
    } else {
        take_shares(consumer, budget, total, now_ns);
    }
    end_images(lab, consumer, step, now_ns);
}
