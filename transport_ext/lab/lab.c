/* lab.c: the loop of the queue engine, and its set-up. */
#include "lab/lab.h"

#include "util/alloc.h"
#include "util/error.h"
#include "util/int_math.h"

/* Finds the images whose field names that owner, in the order of the records. Returns their number.
 */
static int32_t collect(rsti_lab_t *lab, bool of_sender, int32_t owner, rsti_lab_image_t **list)
{
    int32_t count = 0;
    for (int32_t i = 0; i < lab->spec.counts[RSTI_LAB_IMAGE]; i++) {
        const rsti_lab_image_spec_t *image = &lab->spec.image[i];
        if ((int32_t)(of_sender ? image->sender : image->consumer) == owner) {
            list[count++] = &lab->images[i];
        }
    }
    return count;
}

static int allocate(rsti_lab_t *lab)
{
    const int32_t *counts = lab->spec.counts;
    const size_t images = (size_t)counts[RSTI_LAB_IMAGE];
    const size_t forgers = (size_t)counts[RSTI_LAB_FORGER] + 1;
    lab->senders = rsti_alloc((size_t)counts[RSTI_LAB_SENDER] * sizeof *lab->senders + 1);
    lab->consumers = rsti_alloc((size_t)counts[RSTI_LAB_CONSUMER] * sizeof *lab->consumers + 1);
    lab->images = rsti_alloc(images * sizeof *lab->images);
    lab->lists = rsti_alloc(2 * images * sizeof *lab->lists);
    lab->forge_due_ns = rsti_alloc(forgers * sizeof *lab->forge_due_ns);
    lab->overheard = rsti_alloc(forgers * sizeof *lab->overheard);
    lab->overheard_at = rsti_alloc(forgers * sizeof *lab->overheard_at);
    if (lab->senders == NULL || lab->consumers == NULL || lab->images == NULL || lab->lists == NULL
        || lab->forge_due_ns == NULL || lab->overheard == NULL || lab->overheard_at == NULL) {
        return RST_SET_ERR(RST_ENOMEM, "a run of %zu images", images);
    }
    return 0;
}

static int connect_all(rsti_lab_t *lab)
{
    const rsti_lab_spec_t *spec = &lab->spec;
    rsti_lab_image_t **list = lab->lists;
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_IMAGE]; i++) {
        const int result = rsti_lab_image_init(&lab->images[i], spec, i);
        if (result < 0) {
            return result;
        }
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_SENDER]; i++) {
        const int32_t count = collect(lab, true, i, list);
        const int result = rsti_lab_sender_init(&lab->senders[i], spec, i, list, count);
        if (result < 0) {
            return result;
        }
        const double said = spec->sender[i].group_size;
        for (int32_t j = 0; j < count; j++) {
            list[j]->group_size = said > 0 ? said : (double)count;
        }
        list += count;
    }
    for (int32_t i = 0; i < spec->counts[RSTI_LAB_CONSUMER]; i++) {
        rsti_lab_consumer_t *consumer = &lab->consumers[i];
        consumer->spec = &spec->consumer[i];
        consumer->images = list;
        consumer->image_count = collect(lab, false, i, list);
        for (int32_t j = 0; j < consumer->image_count; j++) {
            list[j]->siblings = list;
            list[j]->sibling_count = consumer->image_count;
        }
        list += consumer->image_count;
        rsti_lab_capacity_init(&consumer->capacity, spec, i);
    }
    return 0;
}

int rsti_lab_init(rsti_lab_t *lab, const double *values, size_t count)
{
    *lab = (rsti_lab_t){0};
    int result = rsti_lab_spec_init(&lab->spec, values, count);
    if (result < 0) {
        return result;
    }
    result = rsti_lab_samples_init(&lab->samples, &lab->spec);
    if (result == 0) {
        result = allocate(lab);
    }
    if (result == 0) {
        result = connect_all(lab);
    }
    if (result < 0) {
        rsti_lab_fini(lab);
    }
    return result;
}

void rsti_lab_fini(rsti_lab_t *lab)
{
    for (int32_t i = 0; lab->senders != NULL && i < lab->spec.counts[RSTI_LAB_SENDER]; i++) {
        rsti_lab_sender_fini(&lab->senders[i]);
    }
    rsti_free(lab->senders);
    rsti_free(lab->consumers);
    rsti_free(lab->images);
    rsti_free(lab->lists);
    rsti_free(lab->forge_due_ns);
    rsti_free(lab->overheard);
    rsti_free(lab->overheard_at);
    rsti_lab_samples_fini(&lab->samples);
    rsti_lab_spec_fini(&lab->spec);
    *lab = (rsti_lab_t){0};
}

static void deliver(rsti_lab_sender_t *sender, int64_t step, int64_t now_ns)
{
    const rsti_lab_chunk_t *chunk;
    while ((chunk = rsti_lab_link_receive_data(&sender->link, step)) != NULL) {
        for (int32_t i = 0; i < sender->image_count; i++) {
            if (!sender->images[i]->is_gone) {
                rsti_lab_image_on_data(sender->images[i], chunk, now_ns);
            }
        }
    }
}

static void run_step(rsti_lab_t *lab, int64_t step, int64_t now_ns)
{
    const int32_t *counts = lab->spec.counts;
    rsti_lab_forge(lab, step, now_ns);
    for (int32_t i = 0; i < counts[RSTI_LAB_SENDER]; i++) {
        rsti_lab_sender_step(&lab->senders[i], step, now_ns);
        deliver(&lab->senders[i], step, now_ns);
    }
    for (int32_t i = 0; i < counts[RSTI_LAB_CONSUMER]; i++) {
        rsti_lab_consumer_step(lab, &lab->consumers[i], step, now_ns);
    }
    for (int32_t i = 0; i < counts[RSTI_LAB_IMAGE]; i++) {
        rsti_lab_image_t *image = &lab->images[i];
        if (!image->is_gone) {
            rsti_lab_image_speak(image, &lab->senders[(int32_t)image->spec->sender].link, step,
                now_ns);
        }
    }
}

void rsti_lab_run(rsti_lab_t *lab)
{
    const int64_t step_ns = (int64_t)lab->spec.run->step_ns;
    for (int64_t step = 0; step < lab->samples.step_count; step++) {
        run_step(lab, step, step * step_ns);
        if (rsti_lab_samples_is_due(&lab->samples, step)) {
            rsti_lab_gather(lab);
            rsti_lab_samples_add(&lab->samples, step * step_ns);
        }
    }
    rsti_lab_gather(lab);
}
